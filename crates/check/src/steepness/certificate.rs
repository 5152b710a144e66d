//! What a certificate of steepness holds: plain data.

use crate::certificate::{Region, Unit};
use crate::digest::Digest;
use crate::steepness::subject::SlopeSubject;

/// How a part of the region is bounded.
#[derive(Debug, Clone, PartialEq)]
pub enum SlopeLeaf {
    /// By the largest magnitudes that derivatives can have, once so many groups of variables are eliminated.
    Magnitudes {
        /// How many.
        cut: u32,
    },
    /// By one quadratic form: derivatives by variables that are left once so many groups are eliminated, less
    /// multiples of what is known of every unit whose slope is open.
    Quadratic {
        /// How many.
        cut: u32,
        /// The units and their multiples.
        multipliers: Vec<(Unit, f32)>,
    },
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
