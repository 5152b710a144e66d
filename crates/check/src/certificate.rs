//! What a certificate holds: plain data.

use crate::digest::Digest;

/// A box of inputs, in the order of the model file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region {
    /// Lowest values.
    pub lower: Vec<f64>,
    /// Highest values.
    pub upper: Vec<f64>,
}

impl Region {
    /// Whether an input lies in it.
    pub fn has(&self, input: &[f32]) -> bool {
        let ends = self.lower.iter().zip(&self.upper);
        let mut inside = input.iter().zip(ends).map(|(&x, (&l, &u))| {
            let x = f64::from(x);
            l <= x && x <= u
        });
        input.len() == self.lower.len() && inside.all(|inside| inside)
    }

    /// Whether any input lies in it.
    pub fn is_inhabited(&self) -> bool {
        let mut ends = self.lower.iter().zip(&self.upper);
        ends.all(|(l, u)| l <= u)
    }

    /// Whether every input of another box lies in this one.
    pub fn contains(&self, other: &Self) -> bool {
        let below = self.lower.iter().zip(&other.lower).all(|(a, b)| a <= b);
        let above = self.upper.iter().zip(&other.upper).all(|(a, b)| a >= b);
        let same = self.lower.len() == other.lower.len() && self.upper.len() == other.upper.len();
        same && below && above
    }
}

/// The input of one kinked curve: a neuron of a piecewise-linear activation, or one comparison
/// inside a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    /// The node of the network.
    pub node: u32,
    /// The element of its output, as it is stored.
    pub element: u32,
    /// 0 for an activation. For the largest of `m0, m1, ...`: `k` for the comparison of `mk` with
    /// the largest of those before it.
    pub part: u32,
}

/// How a part of the region is cut in two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Split {
    /// First the inputs where the unit lies at or below its kink, then those at or above.
    Phase(Unit),
    /// First the inputs whose element is at most `at`, then those where it is at least `at`.
    Input {
        /// Which input element, in the order of the model file.
        element: u32,
        /// Where.
        at: f64,
    },
}

/// The numbers that make a part of the region follow from linear bounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Leaf {
    /// Which conditions of the case are added up, and with which positive factors.
    pub factors: Vec<(u32, f32)>,
    /// The slope of the free line at some units, in 255ths between those of the two parts; units
    /// not named take the slope of their wider part.
    pub slopes: Vec<(Unit, u8)>,
    /// For each phase split above the leaf, from the root down, the multiplier of its condition.
    pub multipliers: Vec<f32>,
}

/// One node of a split tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// The first part follows, then the second.
    Split(Split),
    /// No more splits.
    Leaf(Leaf),
    /// A proof of its own, about executions and not about real numbers: run at the corner that is best
    /// for a sum of inputs, the network does not meet the condition.
    Corner,
}

impl Tree {
    /// The leaf that it is, if it is one.
    pub fn leaf(&self) -> Option<&Leaf> {
        match self {
            Self::Leaf(leaf) => Some(leaf),
            Self::Split(_) | Self::Corner => None,
        }
    }
}

/// A split tree in depth-first order.
pub type Proof = Vec<Tree>;

/// One requirement that no input of the regions meets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// The requirement, in the requirement language.
    pub requirement: String,
    /// For each region, one proof for each alternative of the requirement's formula.
    pub proofs: Vec<Vec<Proof>>,
}

impl Entry {
    /// Whether it speaks of executions alone, not of real numbers.
    pub fn is_about_executions(&self) -> bool {
        let mut nodes = self.proofs.iter().flatten().flatten();
        nodes.any(|node| matches!(node, Tree::Corner))
    }
}

/// Requirements of one model that cannot be met in a union of boxes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Certificate {
    /// The SHA-256 of the model file.
    pub model: Digest,
    /// The boxes.
    pub regions: Vec<Region>,
    /// The requirements.
    pub entries: Vec<Entry>,
}
