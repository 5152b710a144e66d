//! Requirements that are shown one by one: those of a file and of regions by name, those of neurons where they are few.

use deepconcolic::{Polarity, SavedRun, State, is_about_pairs};
use deepconcolic_record::AskedSummary;

/// Most requirements that have a row of their own.
pub const MOST: usize = 2000;

/// How a requirement ended, in the words of what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A goal that a test meets.
    Covered,
    /// A goal that nothing can meet.
    Impossible,
    /// A property that a test refutes.
    Refuted,
    /// A property that holds.
    Proven,
    /// Neither.
    Open,
}

impl Verdict {
    fn of(state: State, polarity: Polarity) -> Option<Self> {
        Some(match (state, polarity) {
            (State::NotRequired, _) => return None,
            (State::Unresolved, _) => Self::Open,
            (State::Covered, Polarity::Goal) => Self::Covered,
            (State::Covered, Polarity::Property) => Self::Refuted,
            (State::Infeasible, Polarity::Goal) => Self::Impossible,
            (State::Infeasible, Polarity::Property) => Self::Proven,
        })
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Covered => "covered",
            Self::Impossible => "impossible",
            Self::Refuted => "refuted",
            Self::Proven => "proven",
            Self::Open => "open",
        }
    }

    /// Its mark, a shape of its own.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Covered | Self::Proven => "●",
            Self::Impossible => "▨",
            Self::Refuted => "✕",
            Self::Open => "○",
        }
    }
}

/// One requirement.
pub struct Named {
    /// Its criterion, where there are several.
    pub criterion: Option<String>,
    /// What it is called.
    pub name: String,
    /// Its row in the table.
    pub row: usize,
    /// How it ended.
    pub verdict: Verdict,
    /// The tests that show it.
    pub tests: Vec<usize>,
    /// The certificate that shows it, by its number.
    pub certificate: Option<usize>,
    /// Whether a test shows it only within the margin of rounding.
    pub fragile: bool,
    /// An upper bound on its value, where one is known.
    pub bound: Option<f32>,
}

/// The requirements of a run that are shown one by one; none where there are too many.
pub fn of(run: &SavedRun, polarity: Polarity) -> Vec<Named> {
    let table = &run.requirements;
    let groups = &run.summary.rows;
    // Of many, those that have names.
    let are_few = table.pair_rows().start <= MOST;
    let mut named = Vec::new();
    let mut first = 0_usize;
    for (number, group) in groups.iter().enumerate() {
        if !are_few && group.asked.is_empty() {
            first = first.saturating_add(group.rows);
            continue;
        }
        let criterion = criterion_of(run, number);
        let neurons = each_of(run, group.layer.as_deref(), group.rows);
        for at in 0..group.rows.min(MOST) {
            let row = first.saturating_add(at);
            let Some(state) = table.state.get(row).copied().and_then(State::from_number) else {
                return named;
            };
            let asked = group.asked.get(at);
            let name = match (asked, &group.layer) {
                (Some(asked), _) => {
                    // Of several criteria, each names its requirements with its own name first.
                    let prefix = criterion.map(|criterion| format!("{criterion} "));
                    let name = prefix.and_then(|prefix| asked.name.strip_prefix(&prefix));
                    region_name(run, name.unwrap_or(&asked.name))
                }
                (None, Some(layer)) => match at / neurons {
                    neuron if neurons == 1 => format!("{layer}:{neuron}"),
                    neuron => format!("{layer}:{neuron} part {}", at % neurons),
                },
                (None, None) => format!("row {row}"),
            };
            let polarity = asked.map_or(polarity, polarity_of);
            let name = match criterion {
                Some(criterion) => format!("{criterion} {name}"),
                None => name,
            };
            let Some(verdict) = Verdict::of(state, polarity) else {
                continue;
            };
            named.push(Named {
                criterion: criterion.map(str::to_owned),
                name,
                row,
                verdict,
                tests: tests(run, row),
                certificate: usize::try_from(table.certificate[row]).ok(),
                fragile: table.fragile[row] != 0,
                bound: Some(table.bound[row]).filter(|bound| bound.is_finite()),
            });
        }
        first = first.saturating_add(group.rows);
    }
    named
}

fn polarity_of(asked: &AskedSummary) -> Polarity {
    if asked.property {
        Polarity::Property
    } else {
        Polarity::Goal
    }
}

/// What a witness of the requirement in a row means, by what is asked there; none where the folder does not say it of
/// each.
pub fn polarity_of_row(run: &SavedRun, row: usize) -> Option<Polarity> {
    let mut first = 0_usize;
    for group in &run.summary.rows {
        let at = row.checked_sub(first)?;
        if at < group.rows {
            return group.asked.get(at).map(polarity_of);
        }
        first = first.saturating_add(group.rows);
    }
    None
}

/// The criterion of a group, where a run has several: each has a group for every layer that it counts, but those about
/// pairs of neurons, whose rows say for themselves what they are.
fn criterion_of(run: &SavedRun, group: usize) -> Option<&str> {
    let mut end = 0;
    let criteria = run.summary.criteria.iter();
    let mut with_groups = criteria.filter(|criterion| !is_about_pairs(&criterion.criterion));
    with_groups.find_map(|criterion| {
        end += criterion.layers.len();
        (group < end).then_some(criterion.criterion.as_str())
    })
}

/// Rows for each neuron of a layer.
fn each_of(run: &SavedRun, layer: Option<&str>, rows: usize) -> usize {
    let number = run.summary.model.layers.iter();
    let number = number.clone().position(|name| Some(name.as_str()) == layer);
    let shape = number.and_then(|n| run.settings.shapes.as_ref()?.layers.get(n));
    let count = shape.map_or(rows, |shape| shape.iter().product());
    if count > 0 && rows.is_multiple_of(count) {
        (rows / count).max(1)
    } else {
        1
    }
}

/// Regions are numbered in the order of seeds; people know seeds by their numbers in the data.
fn region_name(run: &SavedRun, name: &str) -> String {
    let Some(rest) = name.strip_prefix("seed ") else {
        return name.to_owned();
    };
    let (number, words) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
    let sample = number.parse::<usize>().ok();
    match sample.and_then(|number| run.settings.seeds.get(number)) {
        Some(sample) if run.settings.requirements.is_none() => format!("sample {sample}{words}"),
        _ => name.to_owned(),
    }
}

/// The tests of a row, each once.
fn tests(run: &SavedRun, row: usize) -> Vec<usize> {
    let table = &run.requirements;
    let both = [table.test[row], table.test2[row]];
    let mut tests: Vec<usize> = both
        .iter()
        .filter_map(|&test| usize::try_from(test).ok())
        .collect();
    tests.dedup();
    tests
}
