//! How results look: reporters over the events of a run and its summary, and other reports as text or JSON.
//!
//! To add a form for runs: a file here, a line in [`ALL`].

mod busy;
mod check;
mod coverage;
mod evaluation;
mod fault_audit;
mod gate;
pub mod html;
mod inspection;
mod minimal_suite;
mod pictures;
mod progress;
mod replay;
mod run;
mod summary;
mod verification;

use std::io::{self, Write};
use std::path::Path;

use deepconcolic::Error;
use deepconcolic_dataset::write::AtomicFile;
use serde::Serialize;

pub use busy::Busy;
pub use evaluation::EvaluationReport;
pub use fault_audit::write as write_audit;
pub use gate::{annotation, gate_line};
pub use run::{ALL, Form, Look, Reporter, Saved, form};
pub use summary::print as print_summary;

/// A report for people.
pub trait Text {
    /// Prints it.
    fn text(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// A form of a report as a file, which is there as a whole or not at all.
pub fn write_file(
    path: &Path,
    form: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    form(&mut file).map_err(|e| Error::Request(format!("{}: {e}", path.display())))?;
    Ok(file.commit()?)
}

/// Prints a report as indented JSON.
pub fn json(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}
