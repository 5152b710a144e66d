//! What a certificate of steepness holds: plain data.

use crate::certificate::{Region, Unit};
use crate::digest::Digest;
use crate::steepness::subject::SlopeSubject;

/// The groups of variables that are eliminated first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Eliminated {
    /// How many, in the order they are computed.
    pub groups: u32,
    /// Those that are eliminated by a factor, ascending, each with it; the others go by sizes.
    pub factors: Vec<(u32, f32)>,
}

/// How a part of the region is bounded.
#[derive(Debug, Clone, PartialEq)]
pub enum SlopeLeaf {
    /// By the largest magnitudes that derivatives can have, once groups of variables are eliminated.
    Magnitudes {
        /// Which, and how.
        eliminated: Eliminated,
    },
    /// By one quadratic form: derivatives by variables that are left once groups are eliminated, less
    /// multiples of what is known of every unit whose slope is open.
    Quadratic {
        /// Which, and how.
        eliminated: Eliminated,
        /// The units and their multiples.
        multipliers: Vec<(Unit, f32)>,
    },
}

impl SlopeLeaf {
    /// What is eliminated first.
    pub fn eliminated(&self) -> &Eliminated {
        let (Self::Magnitudes { eliminated } | Self::Quadratic { eliminated, .. }) = self;
        eliminated
    }
}

/// One node of a split tree.
#[derive(Debug, Clone, PartialEq)]
pub enum SlopeTree {
    /// First the inputs where the unit lies at or below its kink, then those at or above.
    Split(Unit),
    /// No more splits.
    Leaf(SlopeLeaf),
}

/// Outputs of a model change at most `bound` times as much as its inputs, in a box.
#[derive(Debug, Clone, PartialEq)]
pub struct SlopeCertificate {
    /// The SHA-256 of the model file.
    pub model: Digest,
    /// The box.
    pub region: Region,
    /// Which outputs, and how changes are measured.
    pub subject: SlopeSubject,
    /// The bound.
    pub bound: f64,
    /// A split tree in depth-first order for each case of the subject.
    pub proofs: Vec<Vec<SlopeTree>>,
}
