//! `statement.md`: what an assessor asks of a run. What was asked, of what, what came of it, what that
//! rests on, and which questions it does not answer.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use deepconcolic_criteria::{Family, Polarity, Rule};
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_geometry::{ScopeWords, SearchSpace};
use deepconcolic_language::Inputs;
use deepconcolic_record::{
    NearestAdversarialSummary, RequirementSummary, RequirementTable, SlopeSummary, State, Summary,
};

use crate::criterion::{polarity, polarity_of};
use crate::error::Error;
use crate::tables::Table;

use crate::settings::{LipschitzName, SeedChoice, Settings};

/// Most requirements of a file that are listed one by one.
const LISTED: usize = 200;
/// Most input elements whose ends are listed one by one.
const ELEMENTS: usize = 64;

/// What the page is made from.
pub struct Page<'a> {
    pub summary: &'a Summary,
    pub settings: &'a Settings,
    pub space: &'a SearchSpace,
    pub verdicts: Verdicts,
}

/// How the requirements of a file ended, one by one.
#[derive(Default)]
pub struct Verdicts {
    /// Name and verdict of the first of them.
    listed: Vec<(String, &'static str)>,
    /// How many more there are.
    more: usize,
    /// Whether some speak of two inputs.
    two_inputs: bool,
}

/// How the requirements of a file ended. Criteria have too many.
pub fn verdicts(family: &dyn Family, table: &RequirementTable, settings: &Settings) -> Verdicts {
    let mut verdicts = Verdicts {
        two_inputs: family.has_pairs() || family.ratios().is_some(),
        ..Verdicts::default()
    };
    if settings.requirements.is_none() {
        return verdicts;
    }
    for (row, &state) in table.state.iter().enumerate() {
        let Some(slot) = table.slot(family, row) else {
            continue;
        };
        let (group, slot) = (slot.group as usize, slot.slot as usize);
        let requirement = family.requirement(group, slot).ok();
        verdicts.two_inputs |= requirement
            .as_ref()
            .is_some_and(|r| r.inputs == Inputs::Two);
        if verdicts.listed.len() == LISTED {
            verdicts.more += 1;
            continue;
        }
        let property = polarity_of(settings, family, group, slot) == Polarity::Property;
        let words = match (state, property) {
            (s, true) if s == State::Covered as u8 => "refuted by a test",
            (s, true) if s == State::Infeasible as u8 => "proven",
            (s, _) if s == State::Covered as u8 => "met by a test",
            (s, _) if s == State::Infeasible as u8 => "cannot be met",
            (s, _) if s == State::NotRequired as u8 => "not required",
            _ => "unresolved",
        };
        verdicts.listed.push((family.label(group, slot), words));
    }
    verdicts
}

/// Writes it.
pub fn write(path: &Path, page: &Page<'_>) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(text(page).as_bytes())
        .map_err(|e| Error::Request(format!("{} cannot be written: {e}", path.display())))?;
    Ok(file.commit()?)
}

/// The whole page.
pub fn text(page: &Page<'_>) -> String {
    let mut text = String::from("# Statement of a test run\n\n");
    subject(&mut text, page);
    domain(&mut text, page);
    results(&mut text, page);
    notes(&mut text, page);
    rests_on(&mut text, page);
    standard(&mut text, page);
    recheck(&mut text);
    text
}

/// Text inside a cell of a table, as it is.
fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' => cell.push_str("\\|"),
            '`' => cell.push('\''),
            c if c.is_control() => cell.push(' '),
            c => cell.push(c),
        }
    }
    cell
}

// Writing to a string cannot fail.
fn row(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "| {name} | {value} |");
}

/// What was tested, with what, and where.
fn subject(text: &mut String, page: &Page<'_>) {
    let (summary, settings) = (page.summary, page.settings);
    let code = |value: &str| format!("`{}`", cell(value));
    text.push_str("| | |\n|---|---|\n");
    row(text, "date", &summary.date);
    row(text, "tool", &summary.tool);
    row(text, "command", &code(&summary.command.join(" ")));
    row(text, "model", &code(&summary.model.path));
    row(text, "SHA-256 of the model", &code(&summary.model.sha256));
    let list = |numbers: &Option<Vec<f64>>| match numbers {
        Some(numbers) => numbers
            .iter()
            .map(f64::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        None => "nothing".into(),
    };
    if settings.model.mean.is_some() || settings.model.std.is_some() {
        let (mean, std) = (list(&settings.model.mean), list(&settings.model.std));
        row(
            text,
            "before the model",
            &format!("subtracted: {mean}; divided by: {std}"),
        );
    }
    let data = settings.data.data.display().to_string();
    row(
        text,
        "data",
        &format!("{}, {} samples", code(&data), settings.samples),
    );
    row(
        text,
        "SHA-256 of the data as used",
        &code(&settings.data_sha256),
    );
    match (&settings.reference, &settings.reference_sha256) {
        (Some(path), Some(hash)) => {
            row(text, "reference data", &code(&path.display().to_string()));
            row(text, "SHA-256 of the reference data as used", &code(hash));
        }
        _ => row(text, "reference data", "the data"),
    }
    asked(text, page);
    answers(text, page);
    work(text, page);
    text.push('\n');
}

/// What was asked of it, and where.
fn asked(text: &mut String, page: &Page<'_>) {
    let (summary, settings) = (page.summary, page.settings);
    let code = |value: &str| format!("`{}`", cell(value));
    match &settings.requirements {
        Some(file) => {
            row(text, "requirements", &code(&file.name));
            row(text, "SHA-256 of the requirements", &code(&file.sha256));
        }
        None => row(text, "criterion", &cell(&summary.criterion)),
    }
    if let Some(partition) = settings.partition {
        let words =
            format!("{partition} of the requirements; those of other parts are not counted");
        row(text, "part", &words);
    }
    if let Some(words) = &settings.profile {
        row(text, "bounds of neurons from", &cell(words));
    }
    row(text, "scope", &scope(page));
    row(text, "domain", &cell(&summary.domain));
    if let Some(steps) = settings.quantise {
        row(
            text,
            "grid",
            &format!("{steps} steps of the domain for each element that was changed"),
        );
    }
    if let Some(least) = settings.validity {
        row(
            text,
            "similarity to the seed",
            &format!("at least {least} (structural similarity)"),
        );
    }
    row(text, "seeds", &seeds(page));
}

/// How its answers are read.
fn answers(text: &mut String, page: &Page<'_>) {
    let summary = page.summary;
    let accuracy = match summary.accuracy {
        Some(share) => format!(
            "{} on {} samples",
            percent(share),
            summary.baseline.data_inputs
        ),
        None => "not measured".into(),
    };
    row(text, "accuracy", &accuracy);
    let decision = summary.decision.map_or_else(
        || "none: nobody has said how the output is read".into(),
        Rule::words,
    );
    row(text, "decision", &cell(&decision));
}

/// How it was searched, and how that ended.
fn work(text: &mut String, page: &Page<'_>) {
    let (summary, settings) = (page.summary, page.settings);
    row(
        text,
        "arithmetic",
        "execution in single precision; proofs in real arithmetic with the weights as \
         stored, every bound rounded outward",
    );
    let proofs = if settings.proofs {
        "with proofs"
    } else {
        "without proofs"
    };
    let strategy = cell(&settings.strategy);
    row(
        text,
        "search",
        &format!(
            "{strategy}, {proofs}, random numbers of seed {}",
            summary.rng_seed
        ),
    );
    let work = &summary.executions;
    let ended = format!(
        "{} after {:.1} s; {} forward and {} backward passes, {} linear programs, {} parts bounded in proofs",
        summary.stop, summary.time_s.total, work.forward, work.vjp, work.lp, work.nodes
    );
    row(text, "ended", &ended);
}

/// Which inputs are spoken of.
fn scope(page: &Page<'_>) -> String {
    let scope = page.space.scope(&ScopeWords {
        norm: page.space.norm,
        seeds: page.summary.tests.seeds,
        file_hash: page.settings.region.as_deref().unwrap_or_default(),
        two_inputs: page.verdicts.two_inputs,
    });
    if page.settings.features.fixed.is_empty() {
        return scope;
    }
    format!("{scope}; they have that seed's values in fixed features")
}

fn seeds(page: &Page<'_>) -> String {
    let (tests, settings) = (&page.summary.tests, page.settings);
    let how = match settings.seed_choice {
        SeedChoice::First(_) => format!(
            "the first that the network gets right; {} misclassified ones set aside",
            tests.misclassified
        ),
        SeedChoice::Given => format!(
            "named by the user; the network gets {} of them wrong",
            tests.misclassified
        ),
    };
    format!("{} samples of the data, {how}", tests.seeds)
}

/// The domain as numbers.
fn domain(text: &mut String, page: &Page<'_>) {
    let domain = &page.settings.domain;
    text.push_str("## Domain\n\n");
    match (domain.lower.as_slice(), domain.upper.as_slice()) {
        ([lower], [upper]) => {
            let _ = writeln!(text, "Every input element lies from {lower} to {upper}.\n");
        }
        (lower, upper) if lower.len() <= ELEMENTS => {
            text.push_str("| element | from | to |\n|---|---|---|\n");
            for (element, (lower, upper)) in lower.iter().zip(upper).enumerate() {
                let _ = writeln!(text, "| {element} | {lower} | {upper} |");
            }
            text.push('\n');
        }
        (lower, _) => {
            let _ = writeln!(
                text,
                "Each of the {} input elements has its own range: `settings.domain` of `run.json`.\n",
                lower.len()
            );
        }
    }
}

/// How goals or properties ended, together and layer by layer.
fn counts(text: &mut String, table: &Table, mixed: bool, tests: &str) {
    let Table { polarity, all, .. } = table;
    let (met, impossible, open) = (polarity.met(), polarity.impossible(), polarity.open());
    let what = match (mixed, polarity) {
        (false, _) => "requirements",
        (true, Polarity::Goal) => "goals, which want a test",
        (true, Polarity::Property) => "properties, which want none",
    };
    let _ = write!(
        text,
        "| {what} | |\n|---|---|\n\
         | all | {} |\n\
         | {met}, each by {tests} of `suite.npz` | {} |\n\
         | of those, only within the margin of rounding | {} |\n\
         | {impossible}, by the certificates in `certificates/` | {} |\n\
         | {open}: neither a test nor a proof was found | {} |\n\n\
         | layer | required | {met} | {impossible} | {open} |\n|---|---|---|---|---|\n",
        all.total, all.covered, table.fragile, all.infeasible, all.unresolved
    );
    for layer in &table.layers {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            cell(&layer.name),
            layer.total,
            layer.covered,
            layer.infeasible,
            layer.unresolved
        );
    }
    text.push('\n');
}

/// What came of it.
fn results(text: &mut String, page: &Page<'_>) {
    let summary = page.summary;
    let tests = match (summary.lipschitz.as_slice(), summary.criteria.as_slice()) {
        ([], _) => "a test",
        (_, []) => "two tests",
        _ => "a test, or two,",
    };
    text.push_str("## Results\n\n");
    let tables = Table::of_run(summary);
    for table in &tables {
        counts(text, table, tables.len() > 1, tests);
    }
    if !page.verdicts.listed.is_empty() {
        text.push_str("| requirement | verdict |\n|---|---|\n");
        for (name, verdict) in &page.verdicts.listed {
            row(text, &format!("`{}`", cell(name)), verdict);
        }
        if page.verdicts.more > 0 {
            let _ = writeln!(
                text,
                "\nThe other {} are in `requirements.npz`.",
                page.verdicts.more
            );
        }
        text.push('\n');
    }
    slopes(text, page);
    let settings = page.settings;
    let nearest = summary
        .nearest_adversarial
        .map_or_else(String::new, |near| {
            let norm = summary.norm.as_str();
            format!("{}.\n", nearest_words(&near, norm))
        });
    let adversarial = match &summary.adversarial {
        Some(bad) => format!(
            "{} of them adversarial: {}",
            bad.count,
            settings
                .oracle
                .adversarial(settings.adversarial_radius, settings.parameters.norm)
        ),
        None => "not judged by an oracle, for want of a decision rule".into(),
    };
    let _ = writeln!(
        text,
        "Tests: {} seeds and {} generated, {}.",
        summary.tests.seeds, summary.tests.generated, adversarial,
    );
    text.push_str(&nearest);
    if !summary.lipschitz.is_empty() && summary.criteria.is_empty() {
        text.push('\n');
        return;
    }
    let (random, data) = (
        measured(summary.baseline.random_coverage),
        measured(summary.baseline.data_coverage),
    );
    let without = match summary.lipschitz.as_slice() {
        [] => "",
        _ => " (slopes are compared above and not counted here)",
    };
    let of_goals = if tables.len() > 1 {
        " of the goals"
    } else {
        ""
    };
    let _ = match polarity(summary) {
        Polarity::Goal => write!(
            text,
            "Coverage is a measure of testing, not of safety. As many random inputs cover {random}{of_goals}, the user's \
             own data {data}{without}.\n\n"
        ),
        Polarity::Property => write!(
            text,
            "As many random inputs refute {random} of the requirements, the user's own data {data}{without}.\n\n"
        ),
    };
}

/// How steep the network is, region by region.
fn slopes(text: &mut String, page: &Page<'_>) {
    let regions = &page.summary.lipschitz;
    if regions.is_empty() {
        return;
    }
    let (parameters, number) = (&page.settings.parameters, |ratio: Option<f64>| {
        ratio.map_or_else(|| "none".into(), |ratio| format!("{ratio:.4}"))
    });
    let asked = match parameters.constant {
        Some(constant) => format!("Asked: whether two inputs of a region differ in their outputs more than {constant} times as much as in themselves."),
        None => "Asked: the largest ratio of how much outputs differ to how much inputs do, in each region.".into(),
    };
    let outputs = match parameters.lipschitz_output {
        LipschitzName::Label => "the logit of the seed's label",
        LipschitzName::All => "all logits",
    };
    let _ = write!(
        text,
        "{asked} Outputs: {outputs}; both differences in the norm {}, inputs in units of the domain's width.\n\n\
         | region | steepest pair found | tests | certified upper bound | steepest random pair |\n|---|---|---|---|---|\n",
        parameters.ratio_norm
    );
    for region in regions.iter().take(LISTED) {
        let tests = match (region.test, region.test2) {
            (-1, _) => "none".into(),
            (first, second) => format!("{first} and {second}"),
        };
        let root = region
            .root
            .map_or_else(String::new, |root| format!(" (sample {root})"));
        let _ = writeln!(
            text,
            "| {}{root} | {} | {tests} | {} | {} |",
            cell(&region.region),
            number(region.found),
            number(region.upper),
            number(region.random)
        );
    }
    if regions.len() > LISTED {
        let more = regions.len() - LISTED;
        let _ = writeln!(text, "\nThe other {more} are in `run.json`.");
    }
    let baseline = &page.summary.baseline;
    let random_inputs =
        (baseline.random_pairs).map_or(baseline.random_inputs, |pairs| 2 * pairs * regions.len());
    let _ = write!(
        text,
        "\n`lipschitz.csv` has the number of regions in which each constant from 0.01 to 20 is refuted, proven or \
         open. Random pairs: {random_inputs} inputs in all.\n\n"
    );
}

/// How near to their seeds adversarial inputs lie.
fn nearest_words(near: &NearestAdversarialSummary, norm: &str) -> String {
    let (Some(min), Some(median), Some(max)) = (near.min, near.median, near.max) else {
        return "Nearest adversarial inputs: none was looked for, since no seed has an adversarial test that could be \
                made smaller, or time was up"
            .into();
    };
    let bounds = match near.median_bound {
        Some(bound) => format!(
            "; for {} of them a certificate shows that no input of the domain which is nearer than {bound} (the median) \
             has another answer than the seed, in real arithmetic",
            near.bounds
        ),
        None => "; no certificate shows how near one can be".into(),
    };
    format!(
        "Nearest adversarial inputs (`nearest-adversarial/`) of {} of {} seeds with adversarial tests: {min} from the \
         seed at least, {median} in the median, {max} at most ({norm} norm){bounds}",
        near.count, near.seeds
    )
}

fn notes(text: &mut String, page: &Page<'_>) {
    text.push_str("## Notes of the run\n\n");
    if page.summary.notes.is_empty() {
        text.push_str("None.\n");
    }
    for note in &page.summary.notes {
        let _ = writeln!(text, "- {}", cell(note));
    }
    text.push('\n');
}

fn rests_on(text: &mut String, page: &Page<'_>) {
    let boxes = [page.space.proof_note(), page.settings.features.proof_note()].concat();
    let single = (
        "the network, executed in single precision by this tool, meets the requirement \
             on the test named in `requirements.npz`. `replay` executes it again; another runtime rounds \
             otherwise and may decide otherwise where the requirement is marked fragile.",
        format!(
            "for every real-valued input of the scope, the network in real arithmetic \
                 with the weights as stored does not meet the requirement.{boxes} Execution in single precision adds \
                 rounding; `check` says for how many requirements executions, with sums in any order, cannot meet \
                 them either; the others might be met by rounding alone. Thresholds that data attain at a corner of \
                 the box are proven of executions by this tool instead; `check` counts those apart."
        ),
    );
    let slopes = (
        "the outputs of the two tests named in `requirements.npz`, enclosed in double precision, differ more \
             than the constant times as much as the tests do, whatever rounding does. `replay` computes it again.",
        format!(
            "for every two real-valued inputs of one region, the outputs of the network in real arithmetic with \
                 the weights as stored differ at most the constant times as much as the inputs do.{boxes} The same \
                 holds of certified upper bounds. Executions of nearly equal inputs may differ more, by rounding."
        ),
    );
    let (met, impossible) = match (
        page.summary.lipschitz.as_slice(),
        page.summary.criteria.as_slice(),
    ) {
        ([], _) => (single.0.to_owned(), single.1),
        (_, []) => (slopes.0.to_owned(), slopes.1),
        _ => (
            format!("{} Of lipschitz: {}", single.0, slopes.0),
            format!("{} Of lipschitz: {}", single.1, slopes.1),
        ),
    };
    let [shown, proven, open] = match Table::of_run(page.summary).as_slice() {
        [_, _] => [
            "*Covered*, of a goal, and *refuted*, of a property, which is met where it does not hold, mean",
            "*Infeasible*, of a goal, and *proven*, of a property, mean",
            "*Unresolved*, of a goal, and *open*, of a property, say nothing about whether there is such a test",
        ],
        _ => match polarity(page.summary) {
            Polarity::Goal => [
                "*Covered* means",
                "*Infeasible* means",
                "*Unresolved* says nothing about whether the requirement can be met",
            ],
            Polarity::Property => [
                "*Refuted* means",
                "*Proven* means",
                "*Open* says nothing about whether there is such a test",
            ],
        },
    };
    let _ = write!(
        text,
        "## What this rests on\n\n\
         - {shown}: {met}\n\
         - {proven}: {impossible}\n\
         - {open}.\n\
         - Trusted: the model parser, the requirement language, the executor, and the checker of \
         certificates. Not trusted: every search, every solver, every proof engine.\n\n",
    );
}

/// What it says in the terms of the standard on formal methods for robustness. Its clauses are named by
/// their titles; what each asks in full is in the standard.
fn standard(text: &mut String, page: &Page<'_>) {
    let summary = page.summary;
    let written = page.settings.requirements.is_some();
    let stability = match (counts_of(page, "safety"), written) {
        (Some(counts), _) => format!(
            "For {} of {} seeds no input of the scope round the seed changes the decision (proven); for {} a test \
             changes it; {} are unresolved.",
            counts.infeasible, counts.total, counts.covered, counts.unresolved
        ),
        (_, true) => "As far as a requirement of the file states it: `proven` and `cannot be met` are proofs \
             over the scope, `refuted` and `met` are examples."
            .into(),
        _ => match &summary.adversarial {
            Some(bad) => format!(
                "Not shown. {} adversarial tests are examples against it; that there are no more is not claimed.",
                bad.count
            ),
            None => "Not addressed.".into(),
        },
    };
    let sensitivity = match (counts_of(page, "lipschitz"), written) {
        (Some(counts), _) => sensitivity_of(&summary.lipschitz, counts),
        (_, true) => "As far as a requirement of the file states it, as above.".into(),
        _ => "Not addressed.".into(),
    };
    let _ = write!(
        text,
        "## In the terms of ISO/IEC 24029-2:2023\n\n\
         This page is no assessment under the standard. What a run can contribute to its four properties:\n\n\
         | clause | this run |\n|---|---|\n\
         | 5.3 Stability | {stability} |\n\
         | 5.4 Sensitivity | {sensitivity} |\n\
         | 5.5 Relevance | Not addressed: which inputs matter to a decision is not computed. |\n\
         | 5.6 Reachability | Not addressed: the network is tested alone, not in an environment over time. |\n\n\
         Coverage of neurons or pairs of neurons is none of these properties.\n\n"
    );
}

/// How the requirements of a criterion ended, if it is that of the run or one of several.
fn counts_of<'p>(page: &'p Page<'_>, criterion: &str) -> Option<&'p RequirementSummary> {
    let summary = page.summary;
    if page.settings.criterion.as_deref() == Some(criterion) {
        return Some(&summary.requirements);
    }
    let mut criteria = summary.criteria.iter();
    let of = criteria.find(|part| part.criterion == criterion)?;
    Some(&of.requirements)
}

/// How much outputs change for a change of inputs.
fn sensitivity_of(regions: &[SlopeSummary], counts: &RequirementSummary) -> String {
    let bounded = regions.iter().filter(|r| r.upper.is_some()).count();
    let asked = if regions.iter().any(|region| region.constant.is_some()) {
        format!(
            "; the constant asked about is proven in {}, exceeded by two tests in {} and open in {}",
            counts.infeasible, counts.covered, counts.unresolved
        )
    } else {
        String::new()
    };
    format!(
        "In {bounded} of {} regions a bound on the change of the output is certified{asked}.",
        counts.total
    )
}

fn recheck(text: &mut String) {
    text.push_str(
        "## Checking it again\n\n\
         In the folder of this file, with MODEL the file whose SHA-256 is above:\n\n\
         ```sh\ndeepconcolic check . --model MODEL\n```\n\n\
         It runs every test again, judges every certificate, computes every figure of this page from the files, \
         and names what it could not verify. Without the data it says what it could not check for want of them.\n",
    );
}

fn percent(share: f64) -> String {
    format!("{:.2} %", deepconcolic_campaign::percent(share, 2))
}

fn measured(share: Option<f64>) -> String {
    share.map_or_else(|| "(not measured)".into(), percent)
}
