//! What data cover, for people.

use std::io::{self, Write};

use deepconcolic::{CoverageReport, CriterionReport, percent, share};

use crate::Text;

impl Text for CoverageReport {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} samples ({}), domain {}",
            self.samples, self.layout, self.domain
        )?;
        if let Some(profile) = &self.profile {
            writeln!(out, "profile: {profile}")?;
        }
        if let Some(rule) = self.decision {
            writeln!(out, "decision: {}", rule.words())?;
        }
        if let Some(accuracy) = self.accuracy {
            writeln!(out, "accuracy {:.2} %", percent(accuracy, 2))?;
        }
        if !self.classes.is_empty() {
            let classes: Vec<String> = self.classes.iter().map(ToString::to_string).collect();
            writeln!(out, "samples by predicted class: {}", classes.join(" "))?;
        }
        for note in &self.notes {
            writeln!(out, "warning: {note}")?;
        }
        for criterion in &self.criteria {
            criterion.text(out)?;
        }
        if let Some(requirements) = &self.requirements {
            writeln!(
                out,
                "\n{}: {} of {} requirements met ({:.2} %)",
                requirements.file.display(),
                requirements.covered,
                requirements.total,
                percent(requirements.coverage, 2)
            )?;
            for note in &requirements.notes {
                writeln!(out, "  note: {note}")?;
            }
            for open in &requirements.open {
                writeln!(out, "  open: {open}")?;
            }
        }
        Ok(())
    }
}

impl Text for CriterionReport {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n{}: {}", self.name, self.definition)?;
        let noise = match self.noise {
            Some(noise) => format!("; as many noise inputs: {:.2} %", percent(noise, 2)),
            None => String::new(),
        };
        writeln!(
            out,
            "  {} of {} covered: {:.2} %{noise}",
            self.covered,
            self.total,
            percent(self.coverage, 2)
        )?;
        let width = self.layers.iter().map(|l| l.name.len()).max().unwrap_or(0);
        for layer in &self.layers {
            writeln!(
                out,
                "  {:width$}  {:>10} of {:>10}  {:>6.2} %",
                layer.name,
                layer.covered,
                layer.total,
                percent(share(layer.covered, layer.total), 2)
            )?;
        }
        for note in &self.notes {
            writeln!(out, "  note: {note}")?;
        }
        for formula in &self.formulas {
            writeln!(out, "  {formula}")?;
        }
        for open in &self.open {
            writeln!(out, "  open: {open}")?;
        }
        Ok(())
    }
}
