//! What a suite shows now, for people.

use std::io::{self, Write};

use deepconcolic::ReplayReport;

use crate::Text;

impl Text for ReplayReport {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.lines {
            writeln!(out, "{line}")?;
        }
        for finding in &self.findings {
            writeln!(out, "differs: {finding}")?;
        }
        if self.findings.is_empty() {
            writeln!(out, "agrees with what was saved")?;
        }
        Ok(())
    }
}
