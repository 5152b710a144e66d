//! `merge`: several runs of one job as one.

use std::io;
use std::path::PathBuf;

use clap::Args;
use deepconcolic_report::html::{self, ReportRequest};
use deepconcolic_report::{Look, Saved, form};

use crate::arguments::ThreadArguments;
use crate::exit::{Failure, Status, tell_notes};
use crate::{Outcome, exit};

/// Join runs of one job, say of `run --partition i/n`, into one folder; every test is run again
#[derive(Args)]
pub struct Merge {
    /// The folder to write to; new or empty
    out: PathBuf,
    /// Folders that `run` or `merge` wrote, in any order
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,
    /// The model, if it does not lie where the parts say
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Merge {
    /// Joins, saves and reports.
    pub fn run(&self) -> Outcome {
        let form = form(if self.quiet { "quiet" } else { "text" });
        let form = form.ok_or_else(|| Failure::Usage("there is no such form".into()))?;
        let merge = deepconcolic::Merge {
            out: self.out.clone(),
            parts: self.parts.clone(),
            model: self.model.clone(),
            kept: None,
            command: exit::command_line(),
        };
        let summary = self
            .threads
            .run(|| merge.run(&mut |event| tell_notes(&event)))??;
        html::write(&self.out, &ReportRequest::default())?;
        let saved = Saved {
            summary: &summary,
            folder: Some(&self.out),
        };
        let mut reporter = (form.reporter)(&Look::default());
        reporter.finish(&saved, &mut exit::output(), &mut io::stderr())?;
        Ok(Status::Done)
    }
}
