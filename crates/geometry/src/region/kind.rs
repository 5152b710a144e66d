//! What every kind of search region says of itself.

use deepconcolic_network::BitSet;
use rayon::prelude::*;

use crate::{Ends, Norm, SearchSpace, Unsupported};

/// A kind of search region. A region consists of parts: two inputs of one requirement lie in one part.
pub(crate) trait RegionKind: Sync {
    /// The parts that an input lies in, by number; seeds are given one after the other.
    fn parts(&self, space: &SearchSpace, input: &[f32], seeds: &[f32]) -> BitSet;

    /// The same of each of many inputs.
    fn parts_of_each(&self, space: &SearchSpace, inputs: &[&[f32]], seeds: &[f32]) -> Vec<BitSet> {
        let parts = inputs
            .par_iter()
            .map(|input| self.parts(space, input, seeds));
        parts.collect()
    }

    /// Whether an input lies in the region, as far as that can be said without its seed.
    fn has(&self, _input: &[f32]) -> bool {
        true
    }

    /// Why an input with this root does not lie in the region, if it does not.
    fn outside(&self, space: &SearchSpace, input: &[f32], root: &[f32]) -> Option<String>;

    /// How far from its root a test may be, if that is what limits it.
    fn radius(&self) -> Option<f64> {
        None
    }

    /// The part that a search keeps to, or why there is none.
    fn part(&self, space: &SearchSpace, which: Which<'_>) -> Result<Part, Unsupported>;

    /// Boxes that hold every input of the region, of so many seeds.
    fn covers(&self, norm: Norm, seeds: usize) -> Vec<Cover>;

    /// Whether a seed lies in every part that it is the root of.
    fn holds_seeds(&self) -> bool {
        true
    }

    /// Where inputs lie, in a few words.
    fn place(&self, norm: Norm) -> String;

    /// What the two inputs of one requirement may be.
    fn two_inputs(&self, norm: Norm) -> String;

    /// Which inputs the figures of a run speak of.
    fn scope(&self, words: &ScopeWords<'_>) -> String;

    /// What an assessor must know of proofs over the region; a sentence with a space before it, or nothing.
    fn proof_note(&self, _norm: Norm) -> &'static str {
        ""
    }
}

/// Which part of a region a search keeps to; where all inputs of a root lie in one part, that part.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// One after the other, by this number.
    Turn(usize),
    /// The first that holds this input.
    Holding(&'a [f32]),
}

/// A part of a region, as far as a box can say it.
#[derive(Clone, Debug)]
pub struct Part {
    /// Values that elements may have, within the domain.
    pub ends: Ends,
    /// What a step along an element is a part of, where no radius limits it.
    pub room: Room,
}

/// What a step along an element is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The domain's width.
    Width,
    /// From one end of the part to the other.
    Ends,
}

/// A box that holds a part of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Cover {
    /// The seed that the part belongs to, by number.
    pub seed: Option<usize>,
    /// The box in exact arithmetic: whoever computes its ends rounds outward.
    pub hull: Hull,
}

/// A box in exact arithmetic, within the domain.
#[derive(Clone, Debug, PartialEq)]
pub enum Hull {
    /// All of the domain.
    Domain,
    /// So many widths of the domain on either side of the seed.
    Around(f64),
    /// Between these ends.
    Box(Vec<f64>, Vec<f64>),
    /// All of the domain, with at most so many positions that differ from the seed.
    Changes(usize),
}

/// What the words about the scope of a run are made of.
#[derive(Clone, Copy, Debug)]
pub struct ScopeWords<'a> {
    /// How distances are measured.
    pub norm: Norm,
    /// Seeds of the run.
    pub seeds: usize,
    /// SHA-256 of the file that gave the region; empty if none did.
    pub file_hash: &'a str,
    /// Whether some requirement is about two inputs.
    pub two_inputs: bool,
}

impl ScopeWords<'_> {
    /// That two inputs lie in the same part, where there are two.
    pub(super) fn together(&self, part: &str) -> String {
        if self.two_inputs {
            format!("; the two inputs of a requirement lie in the same {part}")
        } else {
            String::new()
        }
    }
}

/// The parts of so many for which something holds.
pub(super) fn parts_where(count: usize, holds: impl Fn(usize) -> bool) -> BitSet {
    let mut parts = BitSet::new(count);
    let holding = (0..count).filter(|&part| holds(part));
    holding.for_each(|part| parts.insert(part));
    parts
}
