//! What a model answered, for people and for scripts.

use std::io::{self, Write};
use std::path::Path;

use deepconcolic::{Evaluation, percent, serialize_path};
use serde::Serialize;

use crate::Text;

/// What was done, without the values, which are in a file.
#[derive(Serialize)]
pub struct EvaluationReport<'a> {
    samples: usize,
    layout: &'a str,
    /// Shape of what was written.
    shape: &'a [usize],
    #[serde(serialize_with = "serialize_path")]
    out: &'a Path,
    /// How outputs are read; none where nobody has said.
    decision: Option<deepconcolic::Rule>,
    /// Share of samples that get the answer of their label, when there are labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    /// What the user should know about the data.
    notes: &'a [String],
}

impl<'a> EvaluationReport<'a> {
    /// Of an evaluation whose values were written to a file.
    pub fn of(evaluation: &'a Evaluation, out: &'a Path) -> Self {
        Self {
            samples: evaluation.samples,
            layout: &evaluation.layout,
            shape: &evaluation.shape,
            out,
            decision: evaluation.decision,
            accuracy: evaluation.accuracy,
            notes: &evaluation.notes,
        }
    }
}

impl Text for EvaluationReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let shape: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        writeln!(out, "{} samples ({})", self.samples, self.layout)?;
        if let (Some(accuracy), Some(rule)) = (self.accuracy, self.decision) {
            writeln!(out, "decision: {}", rule.words())?;
            writeln!(out, "accuracy {:.2} %", percent(accuracy, 2))?;
        }
        for note in self.notes {
            writeln!(out, "warning: {note}")?;
        }
        writeln!(out, "wrote {} to {}", shape.join("x"), self.out.display())
    }
}
