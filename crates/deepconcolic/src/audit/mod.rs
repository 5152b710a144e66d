//! `check` of a run: everything that a person or a script may read in its folder, computed again from
//! the files and compared. Data in, findings out; nothing is printed here.

mod beside;
mod certificates;
mod figures;
mod finding;
mod judge;
mod nearest_adversarial;
mod opened;
mod origins;
mod rows;
mod slopes;
mod tests;

pub use finding::{Finding, RunFindings};
use judge::judge;
pub use opened::Opened;

use std::path::Path;

use serde::Serialize;

use crate::error::Error;
use crate::folder::SUMMARY;
use crate::verify::{self, AnswerFindings};

/// What came of judging a folder.
#[derive(Serialize)]
#[serde(tag = "of", rename_all = "lowercase")]
pub enum CheckReport {
    /// Of a run.
    Run(RunFindings),
    /// Of an answer that `verify` wrote.
    Answer(AnswerFindings),
}

impl CheckReport {
    /// Whether everything that was checked holds.
    pub fn holds(&self) -> bool {
        match self {
            Self::Run(report) => report.holds(),
            Self::Answer(findings) => findings.wrong.is_empty(),
        }
    }
}

/// Judges everything in a folder again, from its files, with the model that it names or the file given instead.
pub fn check(folder: &Path, model: Option<&Path>) -> Result<CheckReport, Error> {
    if folder.join(SUMMARY).exists() {
        judge(folder, model).map(CheckReport::Run)
    } else {
        verify::check::judge(folder, model).map(CheckReport::Answer)
    }
}
