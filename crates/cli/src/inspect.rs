//! `inspect`: what is in a model, and what can be analysed of it.

use clap::Args;
use deepconcolic::{Event, Inspection};
use deepconcolic_report::{Text, json};

use crate::arguments::ModelArguments;
use crate::exit::{Status, tell_notes};
use crate::{Outcome, exit};

/// Show a model's layers, neurons and operators, and what cannot be analysed and why
#[derive(Args)]
pub struct Inspect {
    #[command(flatten)]
    model: ModelArguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl Inspect {
    /// Prints the report.
    pub fn run(&self) -> Outcome {
        let inspection = Inspection::of(&self.model.settings()?)?;
        let notes = inspection.notes.iter().cloned().map(Event::Note);
        notes.for_each(|note| tell_notes(&note));
        let mut out = exit::output();
        if self.json {
            json(&inspection, &mut out)?;
        } else {
            inspection.text(&mut out)?;
        }
        Ok(Status::Done)
    }
}
