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
        if !self.regression {
            if self.findings.is_empty() {
                writeln!(out, "agrees with what was saved")?;
            }
            return Ok(());
        }
        // All of them: whoever mends a model wants the whole list.
        let lost = self.regressions();
        for line in &lost {
            writeln!(out, "{line}")?;
        }
        let tests = self.newly_adversarial.len();
        match lost.len() {
            0 if self.passes() => writeln!(
                out,
                "PASS regression: the model loses nothing that the suite showed"
            ),
            0 => writeln!(
                out,
                "FAIL regression: tests of the suite do not lie where they may"
            ),
            _ => {
                let (goals, properties) = self
                    .coverage
                    .as_ref()
                    .map_or((0, 0), |change| (change.lost.len(), change.refuted.len()));
                writeln!(
                    out,
                    "FAIL regression: {goals} goals lost, {properties} properties newly refuted, {tests} tests newly \
                     adversarial"
                )
            }
        }
    }
}
