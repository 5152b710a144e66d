//! `check`: judges what a folder says, from its files.

use std::path::PathBuf;

use clap::Args;
use deepconcolic_report::Text;

use crate::arguments::ThreadArguments;
use crate::exit::Status;
use crate::{Outcome, exit};

/// Judge everything in a folder again, independently; exit code 1 if something does not hold
#[derive(Args)]
pub struct Check {
    /// A folder that `run` or `verify --out` wrote
    folder: PathBuf,
    /// Check against this model instead of the one that the folder names
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Check {
    /// Checks, and says what was found.
    pub fn run(&self) -> Outcome {
        let check = || deepconcolic::check(&self.folder, self.model.as_deref());
        let report = self.threads.run(check)??;
        report.text(&mut exit::output())?;
        Ok(Status::of(report.holds()))
    }
}
