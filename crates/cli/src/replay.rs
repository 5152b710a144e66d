//! `replay`: runs a saved suite again and compares what it shows with what was claimed.

use std::path::PathBuf;

use clap::Args;
use deepconcolic_report::{Busy, Text, json};

use crate::arguments::ThreadArguments;
use crate::exit::{Status, tell_notes};
use crate::{Outcome, exit};

/// Annotations that GitHub shows of one step.
const ANNOTATED: usize = 10;

/// Run a saved suite again, on the same model or another, and say what changed
#[derive(Args)]
pub struct Replay {
    /// The folder of a run
    dir: PathBuf,
    /// Another model with the same layers: exit code 1 if it loses what the suite showed
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
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
        let busy = Busy::with(format!("replaying {}", self.dir.display()));
        let report = self
            .threads
            .run(|| replay.run(&mut |event| tell_notes(&event)))??;
        drop(busy);
        if self.json {
            json(&report, &mut exit::output())?;
        } else {
            report.text(&mut exit::output())?;
        }
        for loss in report.regressions().iter().take(ANNOTATED) {
            exit::annotate("replay", loss);
        }
        Ok(Status::of(report.passes()))
    }
}
