//! `report`: pages, `junit.xml` and `summary.md` of a folder, written anew.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use deepconcolic_report::html::{ReportRequest, write};

use crate::exit::{Failure, Status};
use crate::{Outcome, exit};

/// Write the report of a folder anew: index.html, junit.xml, summary.md
#[derive(Args)]
pub struct Report {
    /// A folder that `run` or `verify --out` wrote, or one that holds such folders
    folder: PathBuf,
    /// Open it in the browser
    #[arg(long)]
    open: bool,
    /// Also write report.html: everything in one file, to send
    #[arg(long)]
    single_file: bool,
    /// Compare with the run in this folder (compare.html)
    #[arg(long, value_name = "DIR")]
    compare: Option<PathBuf>,
}

impl Report {
    /// Writes it, and says where.
    pub fn run(&self) -> Outcome {
        let request = ReportRequest {
            single_file: self.single_file,
            compare: self.compare.clone(),
        };
        let first = write(&self.folder, &request)?;
        writeln!(exit::output(), "{}", first.display())?;
        if self.open {
            open(&first)?;
        }
        Ok(Status::Done)
    }
}

/// Hands a file to the program that people have chosen for pages.
fn open(path: &Path) -> Result<(), Failure> {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    command.arg(path).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Usage(format!(
            "--open: {program} cannot be started ({error}); open {} in a browser",
            path.display()
        ))),
    }
}
