//! `check`: judges what a folder says, from its files.

use std::path::PathBuf;

use clap::Args;
use deepconcolic::CheckReport;
use deepconcolic_report::{Busy, Text, html, json};
use serde::Serialize;

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
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: ThreadArguments,
}

/// What was found, and whether it is good.
#[derive(Serialize)]
struct Judged {
    passes: bool,
    #[serde(flatten)]
    report: CheckReport,
}

impl Check {
    /// Checks, and says what was found.
    pub fn run(&self) -> Outcome {
        let check = || deepconcolic::check(&self.folder, self.model.as_deref());
        let busy = Busy::with(format!("checking {}", self.folder.display()));
        let mut report = self.threads.run(check)??;
        html::check(&self.folder, &mut report);
        drop(busy);
        let holds = report.holds();
        if self.json {
            json(
                &Judged {
                    passes: holds,
                    report,
                },
                &mut exit::output(),
            )?;
        } else {
            report.text(&mut exit::output())?;
        }
        if !holds {
            exit::annotate("check", &format!("{} does not hold", self.folder.display()));
        }
        Ok(Status::of(holds))
    }
}
