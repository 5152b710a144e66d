//! `check`: judges what a folder says, from its files.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use crate::arguments::ThreadArguments;
use crate::audit::{Report, judge};
use crate::exit::Status;
use crate::{Outcome, check_verify, exit, outcome};

/// Findings shown of each file.
const SHOWN: usize = 10;

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
        self.threads.run(|| self.work())?
    }

    fn work(&self) -> Outcome {
        if !self.folder.join(outcome::SUMMARY).exists() {
            return check_verify::judge(&self.folder, self.model.as_deref());
        }
        let report = judge(&self.folder, self.model.as_deref())?;
        print(&mut exit::output(), &report)?;
        Ok(if report.holds() {
            Status::Done
        } else {
            Status::GateFailed
        })
    }
}

/// The report of a run, for people.
fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for line in &report.scope {
        writeln!(out, "scope: {line}")?;
    }
    for line in &report.done {
        writeln!(out, "{line}")?;
    }
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in &report.findings {
        let count = shown.entry(&finding.file).or_default();
        *count += 1;
        if *count <= SHOWN {
            writeln!(out, "differs: {finding}")?;
        }
    }
    for (file, count) in shown.iter().filter(|(_, count)| **count > SHOWN) {
        writeln!(out, "and {} more in {file}", count - SHOWN)?;
    }
    for line in &report.unverified {
        writeln!(out, "not verified: {line}")?;
    }
    match report.findings.len() {
        0 => writeln!(out, "everything else that the folder says holds"),
        count => writeln!(out, "{count} findings: the folder says what is not so"),
    }
}
