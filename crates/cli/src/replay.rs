//! `replay`: runs a saved suite again and compares what it shows with what was claimed.

use std::path::PathBuf;

use clap::Args;
use deepconcolic_report::Text;

use crate::arguments::ThreadArguments;
use crate::exit::{Status, tell_notes};
use crate::{Outcome, exit};

/// Run a saved suite again, on the same model or another, and say what changed
#[derive(Args)]
pub struct Replay {
    /// The folder of a run
    dir: PathBuf,
    /// Another model with the same layers, to see what the suite shows of it
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Replay {
    /// Replays and reports.
    pub fn run(&self) -> Outcome {
        let replay = deepconcolic::Replay {
            dir: &self.dir,
            model: self.model.as_deref(),
        };
        let report = self
            .threads
            .run(|| replay.run(&mut |event| tell_notes(&event)))??;
        report.text(&mut exit::output())?;
        Ok(Status::of(report.findings.is_empty()))
    }
}
