//! `criteria`: what each criterion asks for, from its table and from the guide.

use std::io::Write;

use clap::Args;
use deepconcolic::{Polarity, find_criterion};
use deepconcolic_criteria::ALL;

use crate::exit::Status;
use crate::{Outcome, exit};

/// The guide that comes with the program; a test holds it against the criteria.
const GUIDE: &str = include_str!("../criteria.md");

/// Explain the criteria: all of them in a line each, or one of them at length
#[derive(Args)]
pub struct Criteria {
    /// A criterion by name
    name: Option<String>,
}

impl Criteria {
    /// Prints what was asked for.
    pub fn run(&self) -> Outcome {
        let mut out = exit::output();
        let Some(name) = &self.name else {
            for polarity in [Polarity::Goal, Polarity::Property] {
                let title = match polarity {
                    Polarity::Goal => "Goals: a test that meets one is wanted",
                    Polarity::Property => "Properties: a test that meets one refutes it",
                };
                writeln!(out, "{title}\n")?;
                for criterion in ALL.iter().filter(|c| c.polarity() == polarity) {
                    writeln!(out, "  {:10} {}", criterion.name(), criterion.definition())?;
                }
                writeln!(out)?;
            }
            writeln!(
                out,
                "u is a neuron's value before its activation function, v after it.\n\
                 More on one of them: deepconcolic criteria NAME"
            )?;
            return Ok(Status::Done);
        };
        let name = find_criterion(name)?.name();
        writeln!(out, "{}", section(name))?;
        Ok(Status::Done)
    }
}

/// What the guide says of a criterion.
fn section(name: &str) -> &'static str {
    let heading = format!("### `{name}`\n");
    let found = GUIDE.split_once(&heading).map_or("", |(_, rest)| rest);
    let ends = ["\n### ", "\n## "].map(|mark| found.find(mark));
    let end = ends.into_iter().flatten().min().unwrap_or(found.len());
    found[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_something_to_say_of_every_criterion() {
        for criterion in ALL {
            let text = section(criterion.name());
            assert!(text.len() > 100, "{}: {text}", criterion.name());
            assert!(!text.contains("\n### "), "{}", criterion.name());
        }
    }
}
