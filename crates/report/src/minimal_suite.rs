//! Fewer tests that show the same, for people.

use std::io::{self, Write};

use deepconcolic::MinimalSuite;

use crate::Text;

impl Text for MinimalSuite {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (kept, of) = (self.tests.len(), self.of);
        writeln!(
            out,
            "{kept} of {of} tests meet all {} requirements that the suite meets, measured again",
            self.covered
        )?;
        if kept == self.at_least {
            writeln!(out, "no choice of fewer does")?;
        } else {
            writeln!(out, "no choice of fewer than {} does", self.at_least)?;
        }
        for note in &self.notes {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }
}
