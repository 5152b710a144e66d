//! Where criteria and engines meet: what is asked for.

use std::fmt;

use deepconcolic_criteria::Objective;
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::Network;

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

/// Where a search begins.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The seed that the region and all distances refer to.
    pub root: &'a [f32],
    /// Tests of its region whose cells are tried, the most promising first. For a pair of inputs a start is
    /// `x1`, and `x2` is searched from there.
    pub starts: &'a [&'a [f32]],
}

impl<'a> Origin<'a> {
    /// A seed from which the search begins itself.
    pub fn seed(root: &'a &'a [f32]) -> Self {
        Self {
            root,
            starts: std::slice::from_ref(root),
        }
    }
}

/// What an engine is asked for: inputs that meet an objective, in a region round a seed.
#[derive(Clone, Copy)]
pub struct Goal<'a> {
    /// The network.
    pub network: &'a Network,
    /// What is wanted, in parts. A test made for one objective of a part may serve another; parts know
    /// nothing of each other. Most engines take a single objective.
    pub objectives: &'a [&'a [Objective]],
    /// Where to begin; with several, each is tried.
    pub origins: &'a [Origin<'a>],
    /// Domain, norm, region and grid.
    pub space: &'a SearchSpace,
    /// Mean |u| of layers 1, 2, ... over a data sample.
    pub means: &'a [f64],
    /// How far comparisons must be cleared.
    pub margin: Margin,
    /// Seed of the random numbers, for engines that draw.
    pub rng_seed: u64,
}

impl<'a> Goal<'a> {
    /// The objective, for engines that take a single one.
    pub(crate) fn single(&self) -> Result<&'a Objective, Reason> {
        let mut all = self.objectives.iter().copied().flatten();
        match (all.next(), all.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Reason::Unsupported {
                part: "goal".into(),
                why: "it asks for nothing",
            }),
            (_, Some(_)) => Err(Reason::Objective {
                asked: "several objectives at once",
                takes: "one at a time",
            }),
        }
    }
}

/// Why an engine cannot help, or found nothing. None of it says that the goal cannot be met.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// A part of the goal is beyond this engine.
    Unsupported {
        /// The part, as the requirement language writes it.
        part: String,
        /// Why.
        why: &'static str,
    },
    /// The engine searches for something else.
    Objective {
        /// What the goal asks for.
        asked: &'static str,
        /// What the engine takes.
        takes: &'static str,
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
            Self::Objective { asked, takes } => {
                write!(
                    f,
                    "the goal asks for {asked}, and this engine takes {takes}"
                )
            }
            Self::NotFound { cells, infeasible } => write!(
                f,
                "no witness from {cells} cells, {infeasible} of which hold none"
            ),
        }
    }
}
