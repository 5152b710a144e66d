//! `suite`: fewer tests that show the same; the tests in other forms.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use deepconcolic::{EXPORTS, MINIMAL, SuiteExport, SuiteMinimisation};
use deepconcolic_report::{Busy, Text, json};

use crate::arguments::ThreadArguments;
use crate::criteria::section;
use crate::exit::Status;
use crate::{Outcome, exit};

/// Work with the suite of a run: fewer tests that show the same, or the tests in other forms
#[derive(Args)]
pub struct Suite {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Minimise(Minimise),
    Export(Export),
}

impl Suite {
    /// Does it.
    pub fn run(&self) -> Outcome {
        match &self.action {
            Action::Minimise(minimise) => minimise.run(),
            Action::Export(export) => export.run(),
        }
    }
}

/// Find few tests that meet everything that all tests of a run meet, and how few it could be
#[derive(Args)]
struct Minimise {
    /// The folder of a run
    dir: PathBuf,
    /// The file to write (default: minimal-suite.npz in the folder)
    #[arg(short, long, value_name = "FILE.npz")]
    out: Option<PathBuf>,
    /// Keep every adversarial test
    #[arg(long)]
    keep_adversarial: bool,
    /// The model, if it does not lie where the run found it
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Minimise {
    fn run(&self) -> Outcome {
        let asked = SuiteMinimisation {
            dir: self.dir.clone(),
            model: self.model.clone(),
            keep_adversarial: self.keep_adversarial,
        };
        let busy = Busy::with("running every test alone");
        let found = self.threads.run(|| asked.run())??;
        drop(busy);
        let path = self.out.clone().unwrap_or_else(|| self.dir.join(MINIMAL));
        found.write(&path)?;
        let mut out = exit::output_beside([path.as_path()]);
        if self.json {
            json(&found, &mut out)?;
        } else {
            found.text(&mut out)?;
            writeln!(out, "wrote {}", path.display())?;
        }
        Ok(Status::Done)
    }
}

/// Write the tests of a run in the forms of other tools
#[derive(Args)]
#[command(after_help = forms())]
struct Export {
    /// The folder of a run
    dir: PathBuf,
    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Only these forms, by name
    #[arg(long, value_name = "FORM,...", value_delimiter = ',')]
    form: Vec<String>,
}

impl Export {
    fn run(&self) -> Outcome {
        let export = SuiteExport {
            dir: self.dir.clone(),
            out: self.out.clone(),
            forms: self.form.clone(),
        };
        let mut out = exit::output();
        for written in export.run()? {
            writeln!(out, "{}", written.0)?;
        }
        Ok(Status::Done)
    }
}

fn forms() -> String {
    section(
        "Forms",
        EXPORTS.iter().map(|form| (form.name, form.description)),
    )
}
