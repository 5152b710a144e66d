//! An answer to a property, as the verification competition writes it.

use std::io::{self, Write};

use deepconcolic::Verification;

use crate::Text;

impl Text for Verification {
    /// What follows the first line of a `sat` is the counterexample and nothing else; its notes are for
    /// another place.
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.verdict)?;
        if let Some(counterexample) = &self.counterexample {
            return write!(out, "{counterexample}");
        }
        for note in self.notes.iter().chain(&self.reason) {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }
}
