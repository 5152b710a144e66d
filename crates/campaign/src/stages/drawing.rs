//! Whether inputs drawn from the search region bring more than climbers do.
//!
//! Where requirements are sections of neurons' ranges, any input meets a section of every neuron, so that drawn inputs meet
//! more for what they cost than climbers at first, and less once few sections are left. A climber meets what a drawn input
//! does and what it aims at; before that is much beside what a drawn input meets, climbers, for which all tests must be
//! ranked, are not sent. From then on both are measured as the campaign goes: the stage that brought more when it last
//! worked works next. What it brings falls as less is open, until the other one, whose figure is older, is tried again.

use super::ascend;
use crate::campaign::Round;
use crate::provenance::Stage;

/// What a test costs beside the passes that found it, in passes: it is ranked, run again in the end, judged and saved.
const KEPT: usize = 4;

/// What a round of each brought for its cost in passes, when there last was one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drawing {
    drawn: Option<f64>,
    climbed: Option<f64>,
    /// What a drawn input met, in the last round of them.
    each: f64,
}

impl Drawing {
    /// Takes a round into account.
    pub fn take(&mut self, round: &Round) {
        let cost = round.passes.total() + round.tests.len() * KEPT;
        let brought = round.gain as f64 / cost.max(1) as f64;
        match round.stage {
            Stage::Random => {
                self.drawn = Some(brought);
                self.each = round.gain as f64 / round.passes.forward.max(1) as f64;
            }
            Stage::Ascend => self.climbed = Some(brought),
            _ => {}
        }
    }

    /// Whether inputs are drawn next: first of all, as long as one meets more than a climber aims at, and as long as they
    /// bring more.
    pub fn is_next(&self) -> bool {
        match (self.drawn, self.climbed) {
            (None, _) => true,
            (Some(_), None) => self.each > f64::from(ascend::COMPANY.1),
            (Some(drawn), Some(climbed)) => drawn > climbed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Passes;

    fn round(stage: Stage, gain: usize, forward: usize) -> Round {
        Round {
            stage,
            passes: Passes {
                forward,
                ..Passes::default()
            },
            tests: Vec::new(),
            pairs: Vec::new(),
            tried: Vec::new(),
            starts: Vec::new(),
            reasons: Vec::new(),
            gain,
        }
    }

    #[test]
    fn the_one_that_brings_more_for_a_pass_works_next() {
        let mut drawing = Drawing::default();
        assert!(drawing.is_next());
        drawing.take(&round(Stage::Random, 100_000, 100));
        assert!(
            drawing.is_next(),
            "what climbers aim at is little beside this"
        );
        drawing.take(&round(Stage::Random, 1000, 100));
        assert!(!drawing.is_next(), "climbers were never tried");
        drawing.take(&round(Stage::Ascend, 500, 100));
        assert!(drawing.is_next());
        drawing.take(&round(Stage::Prove, 9, 1));
        assert!(drawing.is_next(), "other stages say nothing of these two");
        drawing.take(&round(Stage::Random, 400, 100));
        assert!(!drawing.is_next());
        drawing.take(&round(Stage::Ascend, 300, 100));
        assert!(drawing.is_next(), "the other one is tried again");
    }
}
