//! What a run leaves: files in its folder, and a summary for people.

use std::io::{self, Write};
use std::time::Instant;

use deepconcolic_archive::{
    AdversarialSummary, Baseline, ClassSummary, Executions, LayerSummary, ModelSummary,
    RequirementSummary, RequirementTable, RunFolder, Spread, SuiteTable, Summary, TestSummary,
    Times, write_adversarial,
};
use deepconcolic_check::{Audit, PairClaim, Witnesses};
use deepconcolic_concolic::oracle::{Judgement, Verdict};
use deepconcolic_concolic::{
    Accuracy, Answers, Inputs, Limits, Passes, Scatter, Seeds, Stop, Suite, measure, sanity,
};
use deepconcolic_network::Network;
use deepconcolic_spec::criteria::{BitSet, Family, Group, Means};
use deepconcolic_spec::{Decision, SearchSpace, Truth};
use serde_json::Value;

use crate::exit::Failure;
use crate::minimise::minimise;
use crate::paths;
use crate::plan;
use crate::prove::Proven;
use crate::settings::Settings;
use crate::statement;

/// Names of the files in the folder of a run.
pub const SUITE: &str = "suite.npz";
pub const REQUIREMENTS: &str = "requirements.npz";
pub const SUMMARY: &str = "run.json";
pub const PROFILE: &str = "profile.npz";
const STATEMENT: &str = "statement.md";
const NEAREST: &str = "nearest.npz";
const ADVERSARIAL: &str = "adversarial";

/// Most inputs of the data that are run for comparison.
const CONTROL: usize = 10_000;
/// Seconds that comparing may take when time is up.
const GRACE: f64 = 2.0;

/// Where the time went.
pub struct Stopwatch {
    pub started: Instant,
    last: Instant,
    before: f64,
    pub times: Times,
}

impl Stopwatch {
    /// From now on.
    pub fn start() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            last: now,
            before: 0.0,
            times: Times::default(),
        }
    }

    /// Takes in the time of earlier sittings, which is counted as search.
    pub fn carry(&mut self, seconds: f64) {
        self.before = seconds;
        self.times.ascend += seconds;
    }

    /// Seconds so far, over all sittings.
    pub fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }

    /// Books the time since the last lap.
    pub fn lap(&mut self, of: impl FnOnce(&mut Times) -> &mut f64) {
        let now = Instant::now();
        *of(&mut self.times) += (now - self.last).as_secs_f64();
        self.last = now;
    }
}

/// A campaign that has ended.
pub struct Finished<'a> {
    pub folder: &'a RunFolder,
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub space: &'a SearchSpace,
    pub means: &'a Means,
    pub seeds: &'a Seeds,
    pub suite: &'a Suite,
    pub judgements: &'a [Judgement],
    pub claims: &'a [PairClaim],
    pub minimise: bool,
    pub proven: &'a Proven,
    pub data: &'a dyn Inputs,
    /// Names of classes, where the data give them by name.
    pub class_names: Option<&'a [String]>,
    pub decision: &'a Decision,
    pub rng_seed: u64,
    pub limits: &'a Limits<'a>,
    pub passes: Passes,
    pub stop: Stop,
    pub settings: &'a Settings,
    pub settings_value: Value,
    pub domain_words: &'a str,
    pub misclassified: usize,
    pub notes: Vec<String>,
}

impl Finished<'_> {
    /// Writes everything. What is claimed is computed from the suite as it was read back from disk.
    pub fn save(mut self, watch: &mut Stopwatch) -> Result<Summary, Failure> {
        let shape = self.network.input_shape().without_batch().to_vec();
        // Until it is written anew, no earlier summary vouches for the files below.
        self.folder.remove(SUMMARY)?;
        let path = self.folder.file(SUITE);
        SuiteTable::new(self.suite, self.seeds, self.judgements).write(&path, &shape)?;
        let suite = SuiteTable::read(&path, self.network.input_elements())?;
        let witnesses = Witnesses {
            network: self.network,
            family: self.family,
            guide: plan::guide(self.family),
            space: self.space,
            means: self.means,
            decision: self.decision,
        };
        let audit = witnesses
            .audit(&suite.x, self.claims)
            .map_err(Failure::Internal)?;
        let mut table = RequirementTable::new(self.family, &audit);
        for group in 0..self.family.groups().len() {
            table.refute(self.family, &audit, group, self.proven.numbers(group));
        }
        for (&slot, &bound) in &self.proven.bounds {
            table.bound[RequirementTable::row(self.family, slot)] = bound;
        }
        table.write(&self.folder.file(REQUIREMENTS))?;
        let mut passes = self.passes;
        if self.minimise {
            let path = self.folder.file(NEAREST);
            let done = minimise(&path, &witnesses, self.seeds, &suite, &table, self.limits)?;
            passes.forward += done.effort.forward;
            passes.vjp += done.effort.vjp;
            passes.lp += done.effort.lp;
            self.notes.push(done.to_string());
            watch.lap(|times| &mut times.symbolic);
        }
        self.passes = passes;
        let pictures = write_adversarial(
            &self.folder.file(ADVERSARIAL),
            &suite,
            self.judgements,
            &shape,
            &self.space.domain,
        )?;
        self.notes.extend(pictures);
        watch.lap(|times| &mut times.measure);
        let (baseline, answers) = self.controls(suite.len());
        if let Some(answers) = &answers {
            self.notes
                .extend(sanity::findings(answers, self.class_names));
        }
        let accuracy = answers
            .and_then(|answers| answers.accuracy())
            .map(Accuracy::share);
        watch.lap(|times| &mut times.controls);
        watch.times.total = watch.seconds();
        let summary = self.summary(&suite, &audit, baseline, accuracy, watch.times);
        statement::write(&self.folder.file(STATEMENT), &summary)?;
        summary.write(&self.folder.file(SUMMARY))?;
        Ok(summary)
    }

    /// What as many random inputs, and the data alone, cover. Left out when the user wants an end.
    fn controls(&self, tests: usize) -> (Baseline, Option<Answers>) {
        let mut baseline = Baseline {
            random_coverage: None,
            random_inputs: 0,
            data_coverage: None,
            data_inputs: 0,
        };
        if self.limits.is_interrupted() {
            return (baseline, None);
        }
        let share = |covered: &[BitSet]| share(self.family.groups(), covered);
        let started = Instant::now();
        let random = Scatter::new(self.space, self.seeds, tests, self.rng_seed);
        let measured = measure(self.network, &random, &[self.family], self.decision);
        baseline.random_coverage = Some(share(&measured.covered[0]));
        baseline.random_inputs = tests;
        // Controls may take a little longer than the budget, not much.
        let each = started.elapsed().as_secs_f64() / tests.max(1) as f64;
        let affordable = self.limits.deadline.map_or(CONTROL, |end| {
            let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
            (left.max(GRACE) / each) as usize
        });
        let data = First {
            inputs: self.data,
            len: self.data.len().min(CONTROL).min(affordable.max(1)),
        };
        let measured = measure(self.network, &data, &[self.family], self.decision);
        baseline.data_coverage = Some(share(&measured.covered[0]));
        baseline.data_inputs = data.len;
        (baseline, Some(measured.answers))
    }

    fn summary(
        &self,
        suite: &SuiteTable,
        audit: &Audit,
        baseline: Baseline,
        accuracy: Option<f64>,
        times: Times,
    ) -> Summary {
        let groups = self.family.groups();
        let total: usize = groups.iter().map(Group::total).sum();
        let covered = audit.covered_count();
        let infeasible: Vec<BitSet> = groups
            .iter()
            .enumerate()
            .map(|(g, group)| {
                let claimed = self.proven.of_group(g, group.slots());
                claimed.without(&audit.covered[g])
            })
            .collect();
        let refuted: usize = infeasible.iter().map(BitSet::count).sum();
        let requirements = RequirementSummary {
            total,
            covered,
            infeasible: refuted,
            unresolved: total - covered - refuted,
            fragile: audit.fragile_count(),
        };
        let part = |count: usize| {
            if total == 0 {
                1.0
            } else {
                count as f64 / total as f64
            }
        };
        let seeds = suite.seeds();
        let generated = suite.len() - seeds;
        Summary {
            schema: Summary::SCHEMA,
            tool: concat!("deepconcolic ", env!("CARGO_PKG_VERSION")).into(),
            command: paths::command_line(),
            model: ModelSummary {
                path: self.settings.model.model.display().to_string(),
                sha256: self.settings.sha256.clone(),
                layers: self
                    .network
                    .layers()
                    .iter()
                    .map(|l| l.name().to_owned())
                    .collect(),
            },
            criterion: match &self.settings.requirements {
                Some(file) => file.name.clone(),
                None => self.settings.criterion.clone().unwrap_or_default(),
            },
            norm: self.space.norm.name().into(),
            radius: self.settings.radius,
            domain: self.domain_words.into(),
            rng_seed: self.rng_seed,
            decision: self.decision.rule(),
            accuracy,
            requirements,
            coverage: part(covered),
            resolved: part(covered + refuted),
            layers: layers(self.network, groups, &audit.covered, &infeasible),
            classes: self.classes(suite),
            tests: TestSummary {
                seeds,
                generated,
                misclassified: self.misclassified,
            },
            adversarial: (self.decision.rule().is_some())
                .then(|| adversarial(self.judgements, generated)),
            distance: Spread::of(suite.distance.iter().skip(seeds).map(|&d| f64::from(d))),
            baseline,
            time_s: times,
            executions: Executions {
                forward: self.passes.forward,
                vjp: self.passes.vjp,
                lp: self.passes.lp,
                nodes: self.proven.nodes,
            },
            stop: self.stop.name().into(),
            notes: self.notes.clone(),
            settings: self.settings_value.clone(),
        }
    }

    fn classes(&self, suite: &SuiteTable) -> Vec<ClassSummary> {
        let count = |label: usize, verdict: Option<Verdict>| {
            let rows = suite.label.iter().zip(self.judgements);
            rows.filter(|(l, j)| {
                **l == label as i64 && verdict.is_none_or(|verdict| j.verdict == verdict)
            })
            .count()
        };
        (0..self.decision.classes())
            .map(|label| ClassSummary {
                label,
                tests: count(label, None),
                adversarial: count(label, Some(Verdict::Adversarial)),
            })
            .collect()
    }
}

/// The first so many inputs.
struct First<'a> {
    inputs: &'a dyn Inputs,
    len: usize,
}

impl Inputs for First<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        self.inputs.gather(indices, into);
    }

    fn truth(&self, index: usize) -> Option<Truth> {
        self.inputs.truth(index)
    }
}

fn share(groups: &[Group], covered: &[BitSet]) -> f64 {
    let total: usize = groups.iter().map(Group::total).sum();
    let done: usize = groups
        .iter()
        .zip(covered)
        .map(|(group, covered)| covered.count_without(&group.void))
        .sum();
    done as f64 / total.max(1) as f64
}

fn adversarial(judgements: &[Judgement], generated: usize) -> AdversarialSummary {
    let bad = judgements
        .iter()
        .filter(|j| j.verdict == Verdict::Adversarial);
    let distances: Vec<f64> = bad.map(|j| j.distance).collect();
    let spread = Spread::of(distances.iter().copied());
    AdversarialSummary {
        count: distances.len(),
        fraction: distances.len() as f64 / generated.max(1) as f64,
        min_distance: spread.min,
        median_distance: spread.median,
    }
}

/// Figures by layer, in the order of the layers.
fn layers(
    network: &Network,
    groups: &[Group],
    covered: &[BitSet],
    infeasible: &[BitSet],
) -> Vec<LayerSummary> {
    let mut rows: Vec<LayerSummary> = Vec::new();
    for ((group, covered), infeasible) in groups.iter().zip(covered).zip(infeasible) {
        let name = match group.layer {
            Some(layer) => network.layers()[layer].name(),
            None => "output",
        };
        let done = covered.count_without(&group.void);
        let row = LayerSummary {
            name: name.to_owned(),
            total: group.total(),
            covered: done,
            infeasible: infeasible.count(),
            unresolved: group.total() - done - infeasible.count(),
        };
        match rows.iter_mut().find(|r| r.name == name) {
            Some(known) => {
                known.total += row.total;
                known.covered += row.covered;
                known.infeasible += row.infeasible;
                known.unresolved += row.unresolved;
            }
            None => rows.push(row),
        }
    }
    rows
}

/// Prints a summary for people. It depends on the run alone, not on how long it took.
pub fn print(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let radius = match summary.radius {
        Some(radius) => format!("within {radius} ({}) of a seed", summary.norm),
        None => "anywhere in the search region".into(),
    };
    writeln!(
        out,
        "{}: tests {radius}, domain {}",
        summary.criterion, summary.domain
    )?;
    if let Some(rule) = summary.decision {
        writeln!(out, "decision: {}", rule.words())?;
    }
    if let Some(accuracy) = summary.accuracy {
        writeln!(
            out,
            "accuracy {:.2} % on {} samples",
            accuracy * 100.0,
            summary.baseline.data_inputs
        )?;
    }
    print_layers(out, summary)?;
    let tests = &summary.tests;
    let plural = if tests.seeds == 1 { "" } else { "s" };
    write!(out, "tests: {} seed{plural}", tests.seeds)?;
    if tests.misclassified > 0 {
        write!(
            out,
            " ({} misclassified ones set aside)",
            tests.misclassified
        )?;
    }
    write!(out, ", {} generated", tests.generated)?;
    if let (Some(median), Some(max)) = (summary.distance.median, summary.distance.max) {
        write!(
            out,
            ", {median:.4} from their seeds in the median, {max:.4} at most"
        )?;
    }
    writeln!(out)?;
    if let Some(bad) = &summary.adversarial {
        print_adversarial(out, bad)?;
    }
    let baseline = &summary.baseline;
    if let (Some(random), Some(data)) = (baseline.random_coverage, baseline.data_coverage) {
        writeln!(
            out,
            "for comparison: as many random tests cover {:.2} %, {} samples of the data {:.2} %",
            random * 100.0,
            baseline.data_inputs,
            data * 100.0
        )?;
    }
    let work = &summary.executions;
    writeln!(
        out,
        "{} forward and {} backward passes, {} linear programs; stopped: {}",
        work.forward, work.vjp, work.lp, summary.stop
    )?;
    for note in &summary.notes {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

fn print_adversarial(out: &mut impl Write, bad: &AdversarialSummary) -> io::Result<()> {
    write!(
        out,
        "adversarial: {} ({:.2} % of generated)",
        bad.count,
        bad.fraction * 100.0
    )?;
    if let (Some(min), Some(median)) = (bad.min_distance, bad.median_distance) {
        write!(
            out,
            ", {min:.4} from real data at least, {median:.4} in the median"
        )?;
    }
    writeln!(out)
}

fn print_layers(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let width = summary
        .layers
        .iter()
        .map(|layer| layer.name.chars().count())
        .chain(["layer".len()])
        .max()
        .unwrap_or(0);
    writeln!(
        out,
        "\n{:width$}  {:>9} {:>9} {:>10} {:>10} {:>9}",
        "layer", "required", "covered", "infeasible", "unresolved", "coverage"
    )?;
    let all = &summary.requirements;
    let total = LayerSummary {
        name: "all".into(),
        total: all.total,
        covered: all.covered,
        infeasible: all.infeasible,
        unresolved: all.unresolved,
    };
    for layer in summary.layers.iter().chain([&total]) {
        let percent = 100.0 * layer.covered as f64 / layer.total.max(1) as f64;
        writeln!(
            out,
            "{:width$}  {:>9} {:>9} {:>10} {:>10} {percent:>7.2} %",
            layer.name, layer.total, layer.covered, layer.infeasible, layer.unresolved
        )?;
    }
    if all.fragile > 0 {
        writeln!(
            out,
            "{} of the covered ones only within the margin of rounding (fragile)",
            all.fragile
        )?;
    }
    writeln!(out)
}
