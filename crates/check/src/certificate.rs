//! What a certificate holds: plain data.

use std::sync::Arc;

use crate::digest::Digest;
use crate::question::numbered;

/// A box of inputs, in the order of the model file; of those in it, all or the ones that differ little from
/// one of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region {
    /// Lowest values.
    pub lower: Vec<f64>,
    /// Highest values.
    pub upper: Vec<f64>,
    /// Where inputs may differ from one of them, if that is limited.
    pub changes: Option<Changes>,
}

/// "At most so many positions differ from the centre." Exact: an element differs or it does not.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// The input that others differ from. It lies in the box.
    pub centre: Vec<f64>,
    /// For each element the position that it belongs to: its pixel, or itself. Below the number of elements.
    pub positions: Arc<[u32]>,
    /// How many positions may differ.
    pub allowed: u32,
}

impl Changes {
    /// How many positions of an input differ from the centre.
    pub fn count(&self, input: &[f32]) -> usize {
        let input: Vec<f64> = input.iter().map(|&x| f64::from(x)).collect();
        self.count_from(&input)
    }

    fn count_from(&self, input: &[f64]) -> usize {
        let both = input.iter().zip(&self.centre).zip(&*self.positions);
        #[expect(clippy::float_cmp, reason = "changed means not the same")]
        let changed = both.filter(|((x, c), _)| **x != **c);
        let mut positions: Vec<u32> = changed.map(|(_, position)| *position).collect();
        positions.sort_unstable();
        positions.dedup();
        positions.len()
    }

    /// Whether every input that another limit lets through passes this one too.
    fn admits(&self, other: &Self) -> bool {
        let same = self.centre == other.centre && self.positions == other.positions;
        same && self.allowed >= other.allowed
    }
}

impl Region {
    /// Whether an input lies in it.
    pub fn has(&self, input: &[f32]) -> bool {
        let ends = self.lower.iter().zip(&self.upper);
        let mut inside = input.iter().zip(ends).map(|(&x, (&l, &u))| {
            let x = f64::from(x);
            l <= x && x <= u
        });
        input.len() == self.lower.len() && inside.all(|inside| inside) && self.allows_changes(input)
    }

    /// Whether an input differs from the centre in no more positions than allowed, if that is limited.
    pub fn allows_changes(&self, input: &[f32]) -> bool {
        let changes = self.changes.as_ref();
        changes.is_none_or(|changes| changes.count(input) <= changes.allowed as usize)
    }

    /// Whether any input lies in its box.
    pub fn is_inhabited(&self) -> bool {
        let mut ends = self.lower.iter().zip(&self.upper);
        ends.all(|(l, u)| l <= u)
    }

    /// Cuts the box. Where the centre of the changes is cut off, they are no longer limited: what is left then
    /// holds more than it must.
    pub fn narrow(&mut self, lower: impl Fn(usize) -> f64, upper: impl Fn(usize) -> f64) {
        let ends = self.lower.iter_mut().zip(&mut self.upper).enumerate();
        for (element, (l, u)) in ends {
            *l = l.max(lower(element));
            *u = u.min(upper(element));
        }
        self.changes.take_if(|changes| {
            let mut ends = self.lower.iter().zip(&self.upper).zip(&changes.centre);
            !ends.all(|((l, u), c)| l <= c && c <= u)
        });
    }

    /// The box, whatever the changes in it.
    #[must_use]
    pub fn hull(&self) -> Self {
        Self {
            changes: None,
            ..self.clone()
        }
    }

    /// Keeps to inputs that another limit lets through besides, as far as one limit can say both; false if no
    /// input is left. What cannot be said is left out: the region then holds more than it must.
    pub(crate) fn limit(&mut self, other: &Changes) -> bool {
        let mut ends = self.lower.iter().zip(&self.upper).zip(&other.centre);
        if !ends.all(|((l, u), c)| l <= c && c <= u) {
            return true;
        }
        let Some(own) = &mut self.changes else {
            self.changes = Some(other.clone());
            return true;
        };
        if numbered(&own.positions) != numbered(&other.positions) {
            return true;
        }
        let differ = own.count_from(&other.centre);
        if differ == 0 {
            own.allowed = own.allowed.min(other.allowed);
        }
        // From one centre to the other it takes no more changes than both limits together.
        differ <= own.allowed as usize + other.allowed as usize
    }

    /// Whether every input of another region lies in this one.
    pub fn contains(&self, other: &Self) -> bool {
        let below = self.lower.iter().zip(&other.lower).all(|(a, b)| a <= b);
        let above = self.upper.iter().zip(&other.upper).all(|(a, b)| a >= b);
        let same = self.lower.len() == other.lower.len() && self.upper.len() == other.upper.len();
        let admits = |changes: &Changes| {
            let other = other.changes.as_ref();
            other.is_some_and(|other| changes.admits(other))
        };
        same && below && above && self.changes.as_ref().is_none_or(admits)
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
#[derive(Debug, Clone, PartialEq)]
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
    /// First the inputs that differ from the centre in at most `most` of these positions, then those that
    /// differ in more of them.
    Changes {
        /// Positions, ascending.
        positions: Vec<u32>,
        /// How many.
        most: u32,
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
    /// No more splits: at most three inputs move here, and bounds by lines that go forward from them show it. Which
    /// conditions of the case are added up, and with which positive factors.
    Forward(Vec<(u32, f32)>),
    /// A proof of its own, about executions and not about real numbers: run at the corner that is best
    /// for a sum of inputs, the network does not meet the condition.
    Corner,
}

impl Tree {
    /// The leaf that it is, if it is one.
    pub fn leaf(&self) -> Option<&Leaf> {
        match self {
            Self::Leaf(leaf) => Some(leaf),
            Self::Split(_) | Self::Forward(_) | Self::Corner => None,
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
