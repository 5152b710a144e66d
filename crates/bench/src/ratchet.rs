//! Figures that must not get worse: kept in a file of the tree, measured on demand, compared one by one. All are ratios of
//! one run or counts, so that the machine matters little; less is better for each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use deepconcolic::{Job, Radius};
use deepconcolic_geometry::Norm;
use serde::{Deserialize, Serialize};

use crate::campaign::Field;
use crate::contest::print_load;
use crate::error::BenchError;
use crate::speed::pool;
use crate::stages::{self, Bed};

/// The file in the tree.
pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ratchet.json");
/// How much worse a ratio of times may be than the one kept: machines differ, and have other work.
const NOISE: f64 = 0.25;

/// Searches that are cut after as many passes: the figure is what they leave open.
const SEARCHES: [Search; 5] = [
    Search::of("nbc left by 1,000 passes", "nbc"),
    Search::of("kmnc left by 1,000 passes", "kmnc"),
    Search::of("tknc left by 1,000 passes", "tknc"),
    Search::of("ssc left by 1,000 passes", "ssc"),
    Search {
        pixels: Some(20.0),
        ..Search::of("nc in 20 pixels left by 1,000", "nc")
    },
];
/// The passes of each.
const PASSES: usize = 1000;

/// A search of the demo's network.
struct Search {
    /// What its figure is called.
    name: &'static str,
    criterion: &'static str,
    /// Pixels that a test may change; none for tests anywhere.
    pixels: Option<f64>,
}

impl Search {
    const fn of(name: &'static str, criterion: &'static str) -> Self {
        Self {
            name,
            criterion,
            pixels: None,
        }
    }

    /// How many requirements it leaves open.
    fn left(&self, bed: &Bed) -> Result<usize, BenchError> {
        let mut job = Job {
            max_executions: Some(PASSES),
            ..bed.job(self.criterion)
        };
        if let Some(pixels) = self.pixels {
            job.parameters.norm = Norm::L0;
            job.radius = Radius::Within(pixels);
        }
        let (session, _) = Field::new(job)?.search(&pool(1)?, |_, _| true)?;
        let (covered, total) = session.coverage();
        Ok(total - covered)
    }
}

/// A figure that was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    value: f64,
    /// The part of it by which another may be worse.
    tolerance: f64,
}

/// A figure as it is now.
struct Figure {
    name: &'static str,
    value: f64,
    tolerance: f64,
}

/// How a figure compares with the one kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    New,
    Better,
    Same,
    Worse,
}

impl Change {
    fn of(kept: Option<&Kept>, value: f64) -> Self {
        match kept {
            None => Self::New,
            Some(kept) if value < kept.value => Self::Better,
            Some(kept) if value <= kept.value * (1.0 + kept.tolerance) => Self::Same,
            // Also a figure that is no number.
            Some(_) => Self::Worse,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Better => "better",
            Self::Same => "same",
            Self::Worse => "WORSE",
        }
    }
}

/// Measures, prints, and says whether nothing is worse. With `update`, figures that are better or new are kept.
pub fn run(file: &Path, update: bool) -> Result<bool, BenchError> {
    println!(
        "== ratchet: figures of the demo's network beside those kept in {}",
        file.display()
    );
    print_load();
    let mut kept = read(file)?;
    let figures = measured()?;
    println!(
        "{:34} {:>10} {:>10} {:>8}  change",
        "figure (less is better)", "kept", "now", "ratio"
    );
    let mut passes = true;
    for figure in &figures {
        let before = kept.get(figure.name);
        let change = Change::of(before, figure.value);
        passes &= change != Change::Worse;
        let word = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.3}"));
        let value = before.map(|kept| kept.value);
        println!(
            "{:34} {:>10} {:>10.3} {:>8}  {}",
            figure.name,
            word(value),
            figure.value,
            word(value.map(|value| figure.value / value)),
            change.word()
        );
    }
    for name in kept
        .keys()
        .filter(|name| !figures.iter().any(|f| f.name == *name))
    {
        println!("{name:34} is kept and no longer measured");
        passes = false;
    }
    if update {
        keep(&mut kept, &figures);
        write(file, &kept)?;
    }
    Ok(passes)
}

/// Takes in what is better or new.
fn keep(kept: &mut BTreeMap<String, Kept>, figures: &[Figure]) {
    for figure in figures {
        let change = Change::of(kept.get(figure.name), figure.value);
        if matches!(change, Change::New | Change::Better) {
            let new = Kept {
                // Three digits say all that there is to say of a ratio.
                value: (figure.value * 1e3).ceil() / 1e3,
                tolerance: figure.tolerance,
            };
            kept.insert(figure.name.to_owned(), new);
        }
    }
    kept.retain(|name, _| figures.iter().any(|figure| figure.name == name));
}

/// All figures, as they are now.
fn measured() -> Result<Vec<Figure>, BenchError> {
    let bed = Bed::demo();
    let timed = |name, value| Figure {
        name,
        value,
        tolerance: NOISE,
    };
    let counted = |name, count: usize| Figure {
        name,
        value: count as f64,
        tolerance: 0.0,
    };
    let (stages, _) = stages::measure(&bed)?;
    let over_forward = |name: &str| {
        let stage = stages.iter().find(|stage| stage.name == name);
        stage.map_or(f64::NAN, |stage| 1.0 / stage.of_forward)
    };
    let field = Field::new(bed.search())?;
    let (session, _) = field.search(&pool(1)?, |session, _| {
        let (covered, total) = session.coverage();
        covered * 100 < total * 99
    })?;
    let (covered, total) = session.coverage();
    if covered * 100 < total * 99 {
        return Err(BenchError::Campaign(format!(
            "the search for nc ended at {covered} of {total}, below 99 %, so that there is no count to compare"
        )));
    }
    let mut figures = vec![
        timed("measuring / forward", over_forward("measuring")),
        timed(
            "derivative pass / forward",
            over_forward("forward and derivative"),
        ),
        timed("search pass / forward", over_forward("search for nc")),
        timed("box of a proof / forward", stages::box_over_forward()?),
        counted("passes to 99 % nc", session.passes().total()),
        counted("tests to 99 % nc", session.suite().len()),
    ];
    for search in &SEARCHES {
        figures.push(counted(search.name, search.left(&bed)?));
    }
    Ok(figures)
}

fn read(file: &Path) -> Result<BTreeMap<String, Kept>, BenchError> {
    match fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| BenchError::File(file.to_owned(), error.into())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(BenchError::File(file.to_owned(), error)),
    }
}

fn write(file: &Path, kept: &BTreeMap<String, Kept>) -> Result<(), BenchError> {
    let failed = |error| BenchError::File(PathBuf::from(file), error);
    let mut text = serde_json::to_string_pretty(kept).map_err(|error| failed(error.into()))?;
    text.push('\n');
    fs::write(file, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(value: f64, tolerance: f64) -> Kept {
        Kept { value, tolerance }
    }

    #[test]
    fn a_figure_is_worse_only_beyond_its_tolerance() {
        let ratio = kept(2.0, 0.25);
        assert_eq!(Change::of(Some(&ratio), 2.5), Change::Same);
        assert_eq!(Change::of(Some(&ratio), 2.51), Change::Worse);
        assert_eq!(Change::of(Some(&ratio), 1.9), Change::Better);
        assert_eq!(Change::of(Some(&ratio), f64::NAN), Change::Worse);
        assert_eq!(Change::of(Some(&kept(100.0, 0.0)), 101.0), Change::Worse);
        assert_eq!(Change::of(None, 1.0), Change::New);
    }

    #[test]
    fn only_better_and_new_figures_are_kept() {
        let figure = |name, value| Figure {
            name,
            value,
            tolerance: 0.1,
        };
        let mut all = BTreeMap::from([
            ("a".to_owned(), kept(2.0, 0.1)),
            ("b".to_owned(), kept(2.0, 0.1)),
            ("gone".to_owned(), kept(1.0, 0.1)),
        ]);
        keep(
            &mut all,
            &[figure("a", 1.5), figure("b", 2.1), figure("c", 3.0)],
        );
        let values: Vec<(&str, f64)> = all.iter().map(|(n, k)| (n.as_str(), k.value)).collect();
        assert_eq!(values, [("a", 1.5), ("b", 2.0), ("c", 3.0)]);
    }

    #[test]
    fn the_file_of_the_tree_can_be_read() {
        assert!(!read(Path::new(FILE)).unwrap().is_empty());
    }
}
