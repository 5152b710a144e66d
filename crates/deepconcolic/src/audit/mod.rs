//! `check` of a run: everything that a person or a script may read in its folder, computed again from
//! the files and compared. Data in, findings out; nothing is printed here.

mod beside;
mod certificates;
mod figures;
mod finding;
mod judge;
mod left_out;
mod nearest_adversarial;
mod opened;
mod origins;
mod other_files;
mod rows;
mod slopes;
mod tests;

pub use finding::{Finding, RunFindings};
use judge::judge;
pub use left_out::{CHECK_BUDGET, LeftOut};
pub use opened::Opened;
pub use other_files::OtherFiles;

use std::path::Path;
use std::time::Duration;

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
    /// Whether everything was checked and holds.
    pub fn holds(&self) -> bool {
        match self {
            Self::Run(report) => report.holds(),
            Self::Answer(findings) => findings.holds(),
        }
    }

    /// What there was no time to check.
    pub fn left_out(&self) -> &[LeftOut] {
        match self {
            Self::Run(report) => &report.left_out,
            Self::Answer(findings) => &findings.left_out,
        }
    }

    /// Enters that there was no time to check some things.
    pub fn leave_out(&mut self, left_out: LeftOut) {
        match self {
            Self::Run(report) => report.left_out.push(left_out),
            Self::Answer(findings) => findings.left_out.push(left_out),
        }
    }

    /// Files of the folder that are not looked at.
    pub fn other_files(&mut self) -> &mut OtherFiles {
        match self {
            Self::Run(report) => &mut report.other_files,
            Self::Answer(findings) => &mut findings.other_files,
        }
    }
}

/// Judges everything in a folder again, from its files, with the model that it names or the file given instead. What
/// the budget does not reach for is left out, and the folder then does not hold.
pub fn check(
    folder: &Path,
    model: Option<&Path>,
    budget: Option<Duration>,
) -> Result<CheckReport, Error> {
    let deadline = left_out::deadline(budget);
    if folder.join(SUMMARY).exists() {
        judge(folder, model, deadline).map(CheckReport::Run)
    } else {
        verify::check::judge(folder, model, deadline).map(CheckReport::Answer)
    }
}
