//! `check`: judges what a folder says, from its files.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use deepconcolic::{CHECK_BUDGET, CheckReport, notation};
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
    /// Stop after this time: 90, 60s, 10m, 2h or none; what there was no time for is named, and the check fails
    #[arg(
        long,
        value_name = "TIME",
        default_value_t = notation::budget_words(CHECK_BUDGET),
        allow_hyphen_values = true,
        help_heading = "Limits"
    )]
    budget: String,
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
        let budget = notation::budget(&self.budget)?;
        let check = || deepconcolic::check(&self.folder, self.model.as_deref(), budget);
        let busy = Busy::with(format!("checking {}", self.folder.display()));
        let mut report = self.threads.run(check)??;
        html::check(&self.folder, &mut report);
        drop(busy);
        let (holds, late) = (report.holds(), !report.left_out().is_empty());
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
        if late {
            exit::tell(format_args!("{}", way_out(budget)));
        }
        if !holds {
            exit::annotate("check", &format!("{} does not hold", self.folder.display()));
        }
        Ok(Status::of(holds))
    }
}

/// What helps where time was up.
fn way_out(budget: Option<Duration>) -> String {
    let more = budget.map(|budget| notation::budget_words(4 * budget));
    format!(
        "time was up before everything was checked: give it more with --budget {}",
        more.as_deref().unwrap_or("none")
    )
}
