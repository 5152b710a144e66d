//! `verify`: answers a property of the verification competition.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use deepconcolic::VerifyJob;
use deepconcolic_report::html::{self, ReportRequest};
use deepconcolic_report::{Busy, Text, json};

use crate::arguments::{ModelArguments, ThreadArguments};
use crate::exit::{Status, tell_notes};
use crate::{Outcome, exit};

/// Decide a VNN-LIB property: prints sat with a counterexample, unsat, or unknown
#[derive(Args)]
pub struct Verify {
    #[command(flatten)]
    model: ModelArguments,
    /// The property: a .vnnlib file, plain or gzip
    property: PathBuf,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = VerifyJob::TIMEOUT, help_heading = "Limits")]
    timeout: f64,
    /// Write the answer, its certificate or counterexample, and a copy of the property into this folder
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Verify {
    /// Answers, and writes what was asked for.
    pub fn run(&self) -> Outcome {
        let job = VerifyJob {
            model: self.model.settings()?,
            property: self.property.clone(),
            timeout: self.timeout,
        };
        if self.out.is_some() {
            job.can_be_stored()?;
        }
        let busy = Busy::with(format!("deciding {}", self.property.display()));
        let answer = self
            .threads
            .run(|| job.run(&mut |event| tell_notes(&event)))?;
        drop(busy);
        let answer = match answer {
            // Without the model there is nothing to record; whoever reads the first line wants an answer all the same.
            Err(why) if why.is_out_of_time() && self.out.is_none() && !self.json => {
                exit::tell(format_args!("note: {why}"));
                writeln!(exit::output(), "unknown")?;
                return Ok(Status::Done);
            }
            answer => answer?,
        };
        // Before anything is printed: whoever reads the first line may close the pipe.
        if let Some(folder) = &self.out {
            answer.write(folder)?;
            html::write(folder, &ReportRequest::default())?;
        }
        if self.json {
            json(&answer, &mut exit::output())?;
            return Ok(Status::Done);
        }
        if answer.counterexample.is_some() {
            for note in answer.notes.iter().chain(&answer.reason) {
                exit::tell(format_args!("note: {note}"));
            }
        }
        answer.text(&mut exit::output())?;
        Ok(Status::Done)
    }
}
