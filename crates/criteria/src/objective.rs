//! What a requirement asks of inputs, as data that searches and judges read: a formula, a pair of neurons that
//! change, or a ratio of distances.

use std::fmt;

use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{Assignment, Evaluator, Formula, Inputs, Observations, Requirement};

use super::pair_requirement::PairRequirement;
use super::ratio::Ratio;

/// What is wanted of one or two inputs.
#[derive(Clone, Debug)]
pub enum Objective {
    /// A formula of the requirement language holds.
    Formula {
        /// What must hold.
        formula: Formula,
        /// Of how many inputs.
        inputs: Inputs,
    },
    /// A condition and a decision change from one input to the other, and other signs stay.
    PairOfChanges(PairRequirement),
    /// Outputs differ more than a constant times as much as inputs do.
    Ratio(Ratio),
}

impl Objective {
    /// What would decide a requirement: a witness of what exists, or of the opposite of what holds for all.
    pub fn of(requirement: &Requirement) -> Self {
        Self::Formula {
            formula: requirement.goal(),
            inputs: requirement.inputs,
        }
    }

    /// What sort of thing it asks for.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Formula { .. } => "a formula",
            Self::PairOfChanges(_) => "a pair of neurons",
            Self::Ratio(_) => "a ratio of distances",
        }
    }

    /// Of how many inputs it is.
    pub fn inputs(&self) -> Inputs {
        match self {
            Self::Formula { inputs, .. } => *inputs,
            Self::PairOfChanges(_) | Self::Ratio(_) => Inputs::Two,
        }
    }

    /// Whether the first test, or the first two, meet it.
    pub fn judge<O: Observations + ?Sized>(&self, tests: &O, space: &InputSpace) -> bool {
        match self {
            Self::Formula { formula, inputs } => {
                let assignment = match inputs {
                    Inputs::One => Assignment::One(0),
                    Inputs::Two => Assignment::Two(0, 1),
                };
                Evaluator::new(tests, space).satisfies(formula, assignment)
            }
            Self::PairOfChanges(pair) => pair.judge(tests),
            Self::Ratio(ratio) => ratio.judge(tests, space),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Formula { formula, .. } => formula.fmt(f),
            Self::PairOfChanges(pair) => {
                let (from, to) = (&pair.condition, &pair.decision);
                let name = |layer: usize, neuron: usize| format!("[{},{neuron}]", layer + 2);
                let [from, to] = [from, to].map(|n| name(n.layer, n.neuron));
                write!(f, "{from} -> {to}")
            }
            Self::Ratio(ratio) => ratio.fmt(f),
        }
    }
}
