//! The paper's tables and figures again, and ours beside them, by one command.
//!
//! Experiments are a table ([`experiment::ALL`]); each runs by several strategies, and what came of a run is a file
//! of its own. A run whose file is there is not repeated, so that the command can be stopped and gone on with. The page, the
//! plots and the table of numbers are made from these files alone.

mod curves;
mod experiment;
mod outcome;
mod page;
mod plot;
mod steepness;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::BenchError;
use crate::shelf::Shelf;
use experiment::{Experiment, Length};
use outcome::Outcome;
use steepness::Steepness;

/// What to do.
pub struct Plan {
    /// Ten minutes instead of an hour or two.
    pub quick: bool,
    /// Where files of runs are kept.
    pub out: PathBuf,
    /// Where the page and its plots go, if anywhere.
    pub docs: Option<PathBuf>,
    /// Only experiments whose names contain this.
    pub named: String,
    /// Runs nothing: the page is made from what is there.
    pub kept_only: bool,
}

/// Runs what is missing and writes the page.
pub fn run(shelf: &Shelf, plan: &Plan) -> Result<(), BenchError> {
    let folder = plan.out.join(if plan.quick { "quick" } else { "full" });
    fs::create_dir_all(&folder)?;
    let length = if plan.quick {
        Length::Quick
    } else {
        Length::Full
    };
    let mut kept = Kept {
        folder,
        runs: !plan.kept_only,
        started: Instant::now(),
        missing: 0,
    };
    let mut outcomes = Vec::new();
    for experiment in chosen(&plan.named) {
        outcomes.extend(runs(shelf, experiment, length, &mut kept)?);
    }
    let steepness = steepness::run(shelf, &plan.named, length, &mut kept)?;
    let results = Results {
        outcomes,
        steepness,
        published: curves::read(&shelf.paper_curves())?,
        quick: plan.quick,
        missing: kept.missing,
    };
    write(&plan.out.join("results.json"), &page::json(&results)?)?;
    write(&plan.out.join("results.csv"), &page::csv(&results))?;
    if let Some(docs) = &plan.docs {
        page::write(&results, docs)?;
        println!("wrote {}", docs.join("RESULTS.md").display());
    }
    Ok(())
}

/// Everything the page is made from.
pub struct Results {
    outcomes: Vec<Outcome>,
    steepness: Vec<Steepness>,
    published: curves::Curves,
    quick: bool,
    /// Runs that were not made.
    missing: usize,
}

fn chosen(named: &str) -> impl Iterator<Item = &'static Experiment> {
    let named = named.to_owned();
    experiment::ALL
        .iter()
        .filter(move |experiment| experiment.name.contains(&named))
}

/// What came of an experiment by each strategy and from each seed.
fn runs(
    shelf: &Shelf,
    experiment: &Experiment,
    length: Length,
    kept: &mut Kept,
) -> Result<Vec<Outcome>, BenchError> {
    let mut outcomes = Vec::new();
    for strategy in experiment.strategies(length) {
        for seed in 0..experiment.repetitions(length, strategy) {
            let name = format!("{}-{strategy}-{seed}", experiment.name);
            outcomes.extend(kept.once(&name, Outcome::in_words, || {
                outcome::run(shelf, experiment, strategy, seed, length)
            })?);
        }
    }
    Ok(outcomes)
}

/// What runs came to, a file each, now and in earlier sittings.
struct Kept {
    folder: PathBuf,
    /// Whether what is missing is run.
    runs: bool,
    started: Instant,
    /// Runs that are not there and were not to be made.
    missing: usize,
}

impl Kept {
    /// What an earlier sitting found; where it did not, it is found now and kept, or missing.
    fn once<T: Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        in_words: impl Fn(&T) -> String,
        find: impl FnOnce() -> Result<T, BenchError>,
    ) -> Result<Option<T>, BenchError> {
        let path = self.folder.join(format!("{name}.json"));
        let failed = |e: serde_json::Error| {
            BenchError::Campaign(format!(
                "{}: {e}; remove the file to have it made again",
                path.display()
            ))
        };
        let found = if path.exists() {
            let text = fs::read_to_string(&path).map_err(|e| BenchError::File(path.clone(), e))?;
            serde_json::from_str(&text).map_err(failed)?
        } else if !self.runs {
            self.missing += 1;
            return Ok(None);
        } else {
            let found = find()?;
            write(
                &path,
                &serde_json::to_string_pretty(&found).map_err(failed)?,
            )?;
            found
        };
        let seconds = self.started.elapsed().as_secs_f64();
        println!("{seconds:>6.0} s  {name:34} {}", in_words(&found));
        Ok(Some(found))
    }
}

/// Writes a file whole or not at all, so that a run that is stopped leaves nothing half done.
fn write(path: &Path, text: &str) -> Result<(), BenchError> {
    let failed = |e| BenchError::File(path.to_owned(), e);
    let half = path.with_extension("part");
    fs::write(&half, text).map_err(failed)?;
    fs::rename(&half, path).map_err(failed)
}
