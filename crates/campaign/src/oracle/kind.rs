//! What every oracle is: evidence and tests go in, judgements come out.

use std::fmt;

use deepconcolic_criteria::{Decision, Prediction};
use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_network::Network;

use super::{Judgement, Verdict};
use crate::Inputs;

/// What a run has to judge its tests by.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// Inputs whose answers are known, or taken from the network.
    pub references: &'a dyn Inputs,
    /// How distances are measured.
    pub norm: Norm,
    /// In which units.
    pub units: &'a InputSpace,
    /// How close a test must be to be judged.
    pub radius: f64,
    /// What the network's answer is.
    pub decision: &'a Decision,
}

/// Tests to be judged.
#[derive(Clone, Copy)]
pub struct Tests<'a> {
    /// Their values, one test after another.
    pub values: &'a [f32],
    /// What the network says of each.
    pub predictions: &'a [Prediction],
    /// The reference that each was made from; none where the seeds are no references.
    pub roots: &'a [Option<usize>],
}

/// A way of judging tests, listed in [`ALL`](super::ALL).
pub trait Oracle: Sync {
    /// Its name, on the command line and in saved runs.
    fn name(&self) -> &'static str;

    /// What it means to pass, in a sentence.
    fn definition(&self) -> &'static str;

    /// What adversarial tests are, for a report on those that were found: how they lie, and what is wrong.
    fn adversarial(&self, radius: f64, norm: Norm) -> String;

    /// The verdict on a test that lies so far from the reference it is judged by, and has that one's
    /// answer or not. A saved suite without its reference data is judged by this alone.
    fn verdict(&self, distance: f64, radius: f64, agrees: Option<bool>) -> Verdict;

    /// What judges tests by this evidence.
    fn judge<'a>(&self, evidence: Evidence<'a>) -> Box<dyn Judge + 'a>;
}

impl fmt::Debug for dyn Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Judges tests.
pub trait Judge: Sync {
    /// A judgement for each test.
    ///
    /// # Panics
    /// If values, predictions and roots are not of equally many tests.
    fn judge(&self, network: &Network, tests: Tests<'_>) -> Vec<Judgement>;
}
