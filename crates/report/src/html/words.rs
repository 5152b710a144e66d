//! What is said of a run in sentences, on its pages and in `summary.md`: no wider than what was checked.

use deepconcolic::{Polarity, Table};
use deepconcolic_record::Spread;

use super::number::{count, percent, plural, share, short};
use super::view::View;

/// What requirements of a criterion are about, and what was done to those that are covered.
const CRITERIA: &[(&str, &str, &str)] = &[
    ("nc", "neurons", "made active"),
    ("nbc", "corner cases of neurons", "reached"),
    ("snac", "upper corner cases of neurons", "reached"),
    ("kmnc", "sections of the ranges of neurons", "reached"),
    (
        "tknc",
        "neurons",
        "made one of the most active of their layer",
    ),
    ("ssc", "pairs of neurons", "shown by two tests"),
    ("vsc", "pairs of neurons", "shown by two tests"),
    ("svc", "pairs of neurons", "shown by two tests"),
    ("vvc", "pairs of neurons", "shown by two tests"),
];

/// A norm as the literature writes it.
pub fn norm(name: &str) -> &str {
    match name {
        "linf" => "L-infinity",
        "l2" => "L2",
        "l1" => "L1",
        "l0" => "L0, changed pixels",
        "l0-elements" => "L0, changed values",
        other => other,
    }
}

/// What inputs are called.
fn inputs(view: &View, number: usize) -> String {
    if view.has_pictures() {
        plural(number, "image", "images")
    } else {
        plural(number, "input", "inputs")
    }
}

/// Where the run looked.
pub fn place(view: &View) -> String {
    let summary = &view.run.summary;
    let mut seeds = inputs(view, summary.tests.seeds);
    let features = &view.run.settings.features.fixed;
    if !features.is_empty() {
        let fixed = plural(features.len(), "feature", "features");
        seeds = format!("{seeds} with {fixed} fixed");
    }
    match (summary.radius, &view.run.settings.region) {
        (_, Some(_)) => format!("In the boxes of the region file, from {seeds}"),
        (Some(radius), None) => {
            format!(
                "Within {} ({}) of {seeds}",
                short(radius),
                norm(&summary.norm)
            )
        }
        (None, None) => format!("Anywhere in the domain, from {seeds}"),
    }
}

/// The first sentence of a report.
pub fn headline(view: &View) -> String {
    if !view.run.summary.criteria.is_empty() {
        let each = of_criteria(view);
        return format!("{}, {each}. {}", place(view), adversarial(view));
    }
    let found = match (&*view.run.summary.lipschitz, view.is_property()) {
        ([], false) => goals(view),
        ([], true) => written(view).unwrap_or_else(|| regions(view)),
        _ => format!("{}.", slopes(view)),
    };
    format!("{}, {found} {}", place(view), adversarial(view))
}

/// Several criteria: the shares of goals, and what came of properties.
fn of_criteria(view: &View) -> String {
    let (mut goals, mut parts) = (Vec::new(), Vec::new());
    for criterion in &view.run.summary.criteria {
        let (name, r) = (&criterion.criterion, &criterion.requirements);
        match criterion.properties {
            // Where the largest ratio is searched, nothing is asked that could be refuted or proven.
            Some(_) if view.looks_for_largest() && view.is_of_slopes(name) => {
                parts.push(format!("{name}: {}", slopes(view)));
            }
            Some(p) => parts.push(format!(
                "{name}: {} refuted, {} proven, {}",
                count(p.refuted),
                count(p.proven),
                open(p.open)
            )),
            None if r.infeasible >= r.total => {
                parts.push(format!("{name}: all is proven impossible"));
            }
            None => goals.push(format!(
                "{} of {name}",
                percent(r.covered, r.total.saturating_sub(r.infeasible))
            )),
        }
    }
    if let Some((last, others)) = goals.split_last() {
        let others = match others {
            [] => String::new(),
            others => format!("{} and ", others.join(", ")),
        };
        let covered = format!("{others}{last} were covered, of what is not proven impossible");
        parts.insert(0, covered);
    }
    parts.join("; ")
}

fn goals(view: &View) -> String {
    let summary = &view.run.summary;
    let counts = &summary.requirements;
    if let Some(sentence) = written(view) {
        return sentence;
    }
    let known = CRITERIA
        .iter()
        .find(|(name, ..)| *name == summary.criterion);
    let (noun, done) = match known {
        Some((_, noun, done)) => (*noun, *done),
        None => ("requirements", "met"),
    };
    let feasible = counts.total - counts.infeasible.min(counts.total);
    if feasible == 0 {
        return format!(
            "none of the {} {noun} can be {done}, which is proven.",
            count(counts.total)
        );
    }
    let among = match counts.infeasible {
        0 => format!("of the {} {noun}", count(counts.total)),
        n => format!(
            "of the {noun} not proven impossible were {done} ({} of {}); {} provably cannot be",
            count(counts.covered),
            count(feasible),
            count(n)
        ),
    };
    let were = if counts.infeasible == 0 {
        format!(" were {done}")
    } else {
        String::new()
    };
    let part = percent(counts.covered, feasible);
    format!("{part} {among}{were}; {}.", open(counts.unresolved))
}

/// Of a file, goals and properties are counted apart; none where all are goals.
fn written(view: &View) -> Option<String> {
    view.run.settings.requirements.as_ref()?;
    let tables = Table::of_run(&view.run.summary);
    let is_property = |table: &Table| table.polarity == Polarity::Property;
    if !tables.iter().any(is_property) {
        return None;
    }
    let part = |Table { polarity, all, .. }: &Table| {
        let open = open(all.unresolved);
        match polarity {
            Polarity::Goal => format!(
                "{} met by a test, {} cannot be met, {open}",
                plural(all.covered, "goal is", "goals are"),
                count(all.infeasible)
            ),
            Polarity::Property => format!(
                "{} proven, {} refuted by a test, {open}",
                plural(all.infeasible, "property is", "properties are"),
                count(all.covered)
            ),
        }
    };
    let parts: Vec<String> = tables.iter().map(part).collect();
    Some(format!("{}.", parts.join("; ")))
}

fn open(number: usize) -> String {
    match number {
        0 => "none is open".into(),
        1 => "1 is open".into(),
        n => format!("{} are open", count(n)),
    }
}

/// Safety: how many regions hold another answer.
fn regions(view: &View) -> String {
    let counts = &view.run.summary.requirements;
    format!(
        "no other answer is possible round {} of {} (proven), one was found round {} (refuted); {}.",
        count(counts.infeasible),
        count(counts.total),
        count(counts.covered),
        open(counts.unresolved),
    )
}

/// Lipschitz: how steep the network is.
fn slopes(view: &View) -> String {
    let regions = &view.run.summary.lipschitz;
    let median = |of: fn(&deepconcolic_record::SlopeSummary) -> Option<f64>| {
        let known: Vec<f64> = regions.iter().filter_map(of).collect();
        (known.len(), Spread::of(known).median)
    };
    let (_, found) = median(|r| r.found);
    let (bounds, upper) = median(|r| r.upper);
    let (_, random) = median(|r| r.random);
    let beside = match random {
        Some(random) => format!("random pairs: {}", short(random)),
        None => "random pairs were not drawn".into(),
    };
    let or_none = |number: Option<f64>| number.map_or_else(|| "none".into(), short);
    let certified = match upper {
        Some(upper) => format!(
            "no steeper one than {} is possible in the median of {}, by certificates",
            short(upper),
            plural(bounds, "region", "regions")
        ),
        None => "no upper bound is certified".into(),
    };
    let pairs = match regions.first().and_then(|region| region.constant) {
        None => "the steepest pairs found".to_owned(),
        Some(constant) => {
            format!("the pairs found, of which a search wants one steeper than {constant},")
        }
    };
    format!(
        "{pairs} have a ratio of {} in the median of {} ({beside}); {certified}",
        or_none(found),
        plural(regions.len(), "region", "regions"),
    )
}

/// Adversarial inputs in a sentence.
pub fn adversarial(view: &View) -> String {
    let Some(bad) = &view.run.summary.adversarial else {
        return "Tests were not judged: nobody has said how outputs are read (--decision).".into();
    };
    let away = match view.adversarial.first() {
        Some(nearest) => format!(", the nearest {} away", short(nearest.distance)),
        None => return "No adversarial input was found.".into(),
    };
    let beside = match &view.run.summary.nearest_adversarial {
        Some(near) if near.count > 0 => format!(
            " and the nearest input found beside them for {}",
            plural(near.count, "seed", "seeds")
        ),
        _ => String::new(),
    };
    let tests = plural(bad.count, "adversarial input", "adversarial inputs");
    format!("{tests}{beside}{away}.")
}

/// What a report does not say: of what it speaks, and what its words mean.
pub fn not_claimed(view: &View) -> [String; 2] {
    let summary = &view.run.summary;
    let place = place(view);
    let mut letters = place.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string());
    let scope = format!(
        "This speaks of inputs {}{}, with values in {}, and of no others; tests were run in single precision, \
         proofs hold in real arithmetic with the weights as stored.",
        first.unwrap_or_default(),
        letters.as_str(),
        summary.domain,
    );
    let has = |polarity: Polarity| {
        let tables = Table::of_run(summary);
        tables.iter().any(|table| table.polarity == polarity)
    };
    let mut meaning = Vec::new();
    if has(Polarity::Goal) {
        let random = summary.baseline.random_coverage;
        let beside = random.map_or_else(String::new, |random| {
            // Goals are counted here, whatever else is asked. Random inputs meet nothing that is impossible, and the
            // share beside which this stands is of the rest.
            let r = &summary.requirements;
            match summary.criteria.as_slice() {
                [] if r.infeasible >= r.total => String::new(),
                [] if summary.properties.is_none() => {
                    let met = (random * r.total as f64).round() as usize;
                    let feasible = r.total.saturating_sub(r.infeasible);
                    format!(
                        ": as many random inputs reach {} of the same",
                        percent(met, feasible)
                    )
                }
                _ => format!(
                    ": as many random inputs reach {} of all goals together",
                    share(random)
                ),
            }
        });
        meaning.push(format!(
            "Coverage says what was exercised, not that answers are right{beside}."
        ));
    }
    if has(Polarity::Property) {
        meaning.push(
            "What is proven holds for these regions; what is open is neither proven nor refuted, and that no nearer \
             adversarial input exists is claimed nowhere without a certificate."
                .into(),
        );
    }
    [scope, meaning.join(" ")]
}

/// An answer that is wrong: `1 taken for 3`.
pub fn mistaken(view: &View, truth: i64, found: i64) -> String {
    format!("{} taken for {}", view.class(truth), view.class(found))
}
