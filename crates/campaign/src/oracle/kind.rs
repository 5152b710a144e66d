//! What every oracle is: evidence goes in, judgements come out.

use std::ops::Deref;

use deepconcolic_criteria::{Decision, Prediction};
use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_network::Network;

use super::{ALL, Judgement};
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

/// A way of judging tests, listed in [`ALL`](super::ALL).
pub trait OracleKind: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What it means to pass, in a sentence.
    fn definition(&self) -> &'static str;

    /// What judges tests by this evidence.
    fn judge<'a>(&self, evidence: Evidence<'a>) -> Box<dyn Judge + 'a>;
}

/// The oracle of a run, with its evidence.
pub struct Oracle<'a>(Box<dyn Judge + 'a>);

impl<'a> Oracle<'a> {
    /// The first of the table: tests within `radius` of a reference, measured by the norm in these units, can
    /// be adversarial.
    pub fn new(
        references: &'a dyn Inputs,
        norm: Norm,
        units: &'a InputSpace,
        radius: f64,
        decision: &'a Decision,
    ) -> Self {
        let evidence = Evidence {
            references,
            norm,
            units,
            radius,
            decision,
        };
        Self(ALL[0].judge(evidence))
    }
}

impl<'a> Deref for Oracle<'a> {
    type Target = dyn Judge + 'a;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// Judges tests.
pub trait Judge: Sync {
    /// Judges tests, given one after another with what the network says and a reference that is
    /// probably near each (see [`nearest`](super::nearest)): a judgement for each.
    ///
    /// # Panics
    /// If tests, predictions and hints are not equally many.
    fn judge(
        &self,
        network: &Network,
        tests: &[f32],
        predictions: &[Prediction],
        hints: &[Option<usize>],
    ) -> Vec<Judgement>;
}
