//! What came of a goal.

use crate::budget::{Effort, StopReason};
use crate::goal::Reason;

/// Tests that meet an objective; they were run, and every comparison is cleared by its margin.
#[derive(Debug, Clone, PartialEq)]
pub struct Witness {
    /// Which objective of the goal, counted through all parts.
    pub objective: usize,
    /// `x`, or `x1` and `x2`, by their numbers among the tests.
    pub tests: Vec<usize>,
    /// The largest distance of a new test from the root (for a step of the paper's algorithm: from the
    /// start).
    pub distance: f64,
    /// A certified lower bound on that distance for all inputs of the cell that was searched, where
    /// one was asked for and the network is piecewise linear.
    pub bound: Option<f64>,
}

/// Tests round one root, and what they meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The number of the origin.
    pub origin: usize,
    /// The tests; the root may be among them.
    pub tests: Vec<Vec<f32>>,
    /// The objectives that they meet, each once.
    pub witnesses: Vec<Witness>,
}

impl Found {
    /// The tests of a witness.
    pub fn inputs(&self, witness: &Witness) -> Vec<&[f32]> {
        let tests = witness.tests.iter();
        tests.map(|&test| self.tests[test].as_slice()).collect()
    }
}

/// What an engine found, why it ended and what it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// What was found, in the order of the search.
    pub found: Vec<Found>,
    /// Of a search for a large ratio that met no constant: the steepest two tests, which meet nothing.
    pub steepest: Option<Found>,
    /// Why nothing was; the requirement stays open.
    pub reason: Option<Reason>,
    /// Why the search ended.
    pub stop: StopReason,
    /// What it took.
    pub effort: Effort,
}

impl Report {
    /// Nothing was searched for, since the engine cannot.
    pub(crate) fn refused(reason: Reason) -> Self {
        Self {
            reason: Some(reason),
            ..Self::default()
        }
    }

    /// The first witness, if there is one, and the tests it names.
    pub fn witness(&self) -> Option<(&Found, &Witness)> {
        let mut all = self.found.iter();
        all.find_map(|found| Some((found, found.witnesses.first()?)))
    }
}
