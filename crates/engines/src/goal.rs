//! Where criteria and engines meet: what is asked for, and what came of it.

use std::fmt;

use deepconcolic_geometry::SearchSpace;
use deepconcolic_language::{Formula, Inputs};

/// How far a generated test must clear every comparison, so that another runtime's rounding gives
/// the same answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    /// In units of the sum of |coefficient| times mean |u| of the comparison's terms.
    pub relative: f64,
    /// At least this much per unit of the sum of |coefficient|.
    pub floor: f64,
}

impl Default for Margin {
    fn default() -> Self {
        Self {
            relative: 1e-5,
            floor: 1e-6,
        }
    }
}

/// What an engine is asked for: one or two inputs that satisfy a formula, within a region round a
/// seed.
#[derive(Debug, Clone)]
pub struct Goal<'a> {
    /// What must hold.
    pub formula: &'a Formula,
    /// Of how many inputs.
    pub inputs: Inputs,
    /// The seed that the region and all distances refer to.
    pub root: &'a [f32],
    /// Tests whose cells are tried, the most promising first. For a pair, a start is `x1`, and `x2`
    /// is searched from there.
    pub starts: &'a [&'a [f32]],
    /// Domain, norm, region and grid.
    pub space: &'a SearchSpace,
    /// Mean |u| of layers 1, 2, ... over a data sample.
    pub means: &'a [f64],
    /// How far comparisons must be cleared.
    pub margin: Margin,
    /// Passes through the network after which the engine gives up, at the next step.
    pub most: Option<usize>,
}

/// Inputs that satisfy a goal; they were run, and every comparison is cleared by its margin.
#[derive(Debug, Clone, PartialEq)]
pub struct Witness {
    /// `x`, or `x1` and `x2`.
    pub inputs: Vec<Vec<f32>>,
    /// The largest distance of a new input from the root (for a step of the paper's algorithm: from
    /// the start).
    pub distance: f64,
    /// A certified lower bound on that distance for all inputs of the cell that was searched, where
    /// one was asked for and the network is piecewise linear.
    pub bound: Option<f64>,
}

/// Why an engine found nothing. None of it says that the goal cannot be met.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// A part of the goal is beyond this engine.
    Unsupported {
        /// The part, as the requirement language writes it.
        part: String,
        /// Why.
        why: &'static str,
    },
    /// No start led to a witness.
    NotFound {
        /// Cells that were tried.
        cells: usize,
        /// Those among them of which it is certain that they hold no witness.
        infeasible: usize,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { part, why } => write!(f, "`{part}`: {why}"),
            Self::NotFound { cells, infeasible } => write!(
                f,
                "no witness from {cells} cells, {infeasible} of which hold none"
            ),
        }
    }
}

/// What came of a goal.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Inputs that satisfy it.
    Witness(Witness),
    /// Nothing found; the requirement stays open.
    GaveUp(Reason),
}

/// Work done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Inputs run.
    pub forward: usize,
    /// Vector-Jacobian products.
    pub vjp: usize,
    /// Linear or quadratic programs solved.
    pub lp: usize,
}

impl Effort {
    /// Whether so many passes, forward and backward, were made.
    pub(crate) fn reaches(self, most: Option<usize>) -> bool {
        most.is_some_and(|most| self.forward + self.vjp >= most)
    }
}

impl std::ops::AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.forward += other.forward;
        self.vjp += other.vjp;
        self.lp += other.lp;
    }
}

/// An outcome and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What came of the goal.
    pub outcome: Outcome,
    /// What it took.
    pub effort: Effort,
}

impl Report {
    /// The witness, if there is one.
    pub fn witness(&self) -> Option<&Witness> {
        match &self.outcome {
            Outcome::Witness(witness) => Some(witness),
            Outcome::GaveUp(_) => None,
        }
    }
}
