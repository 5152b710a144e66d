//! What data cover, for people.

use std::io::{self, Write};

use deepconcolic::{
    CoverageReport, CriterionReport, PropertySummary, RequirementReport, percent, share,
};

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
            requirements.text(out)?;
        }
        Ok(())
    }
}

impl Text for RequirementReport {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n{}:", self.file.display())?;
        if let Some(coverage) = self.coverage {
            writeln!(
                out,
                "  {} of {} goals covered ({:.2} %)",
                self.covered,
                self.total,
                percent(coverage, 2)
            )?;
        }
        if let Some(properties) = &self.properties {
            writeln!(out, "  {}", refuted(properties))?;
        }
        for note in &self.notes {
            writeln!(out, "  note: {note}")?;
        }
        for refuted in &self.refuted {
            let by = match refuted.samples.as_slice() {
                [one] => format!("sample {one}"),
                several => {
                    let names: Vec<String> = several.iter().map(ToString::to_string).collect();
                    format!("samples {}", names.join(" and "))
                }
            };
            writeln!(out, "  refuted by {by}: {}", refuted.requirement)?;
        }
        for open in &self.open {
            writeln!(out, "  open: {open}")?;
        }
        Ok(())
    }
}

/// What data say of properties: they can refute, and prove nothing.
fn refuted(properties: &PropertySummary) -> String {
    let of = match properties.total {
        1 => "1 property".into(),
        total => format!("{total} properties"),
    };
    format!(
        "{} of {of} refuted, {} not refuted by these samples (open)",
        properties.refuted, properties.open
    )
}

impl Text for CriterionReport {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n{}: {}", self.name, self.definition)?;
        let noise = |verb: &str| match self.noise {
            Some(noise) => format!("; as many noise inputs{verb}: {:.2} %", percent(noise, 2)),
            None => String::new(),
        };
        match (&self.properties, self.coverage) {
            (Some(properties), _) => {
                writeln!(out, "  {}{}", refuted(properties), noise(" refute"))?;
            }
            (None, coverage) => writeln!(
                out,
                "  {} of {} covered: {:.2} %{}",
                self.covered,
                self.total,
                percent(coverage.unwrap_or_default(), 2),
                noise("")
            )?,
        }
        let width = self.layers.iter().map(|l| l.name.len()).max().unwrap_or(0);
        for layer in &self.layers {
            // Of a property no percentage says anything: nothing refuted is not nothing done.
            let part = match self.properties {
                Some(_) => " refuted".into(),
                None => format!("  {:>6.2} %", percent(share(layer.covered, layer.total), 2)),
            };
            writeln!(
                out,
                "  {:width$}  {:>10} of {:>10}{part}",
                layer.name, layer.covered, layer.total,
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
