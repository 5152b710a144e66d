//! Where a test comes from. Suite, journal, `suite.npz` and audits know of a test's origin what is in a
//! [`Provenance`] and nothing else: to add a kind of origin is a field here and a column in
//! `crates/record/src/provenance.rs`.

use serde::{Deserialize, Serialize};

/// The part of a campaign that made a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Stage {
    /// A seed: taken from the data, run and measured.
    Measure = 0,
    /// Many requirements at once.
    Ascend = 1,
    /// One requirement at a time.
    Focus = 2,
    /// Drawn at random.
    Random = 3,
    /// One requirement at a time, by the symbolic engines.
    Symbolic = 4,
    /// Pairs of neurons, by the symbolic engines.
    Pairs = 5,
    /// A step of the paper's algorithm.
    Paper = 6,
    /// Found by a proof that it cannot be found.
    Prove = 7,
    /// Taken over from another campaign. Its rounds have this stage; their tests keep their own.
    Merge = 8,
    /// Two inputs between which the network is steep.
    Slopes = 9,
    /// A step of the published tool.
    Published = 10,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Self; 11] = [
        Self::Measure,
        Self::Ascend,
        Self::Focus,
        Self::Random,
        Self::Symbolic,
        Self::Pairs,
        Self::Paper,
        Self::Prove,
        Self::Merge,
        Self::Slopes,
        Self::Published,
    ];

    /// What it is called in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measure => "measure",
            Self::Ascend => "ascend",
            Self::Focus => "focus",
            Self::Random => "random",
            Self::Symbolic => "symbolic",
            Self::Pairs => "pairs",
            Self::Paper => "paper",
            Self::Prove => "prove",
            Self::Merge => "merge",
            Self::Slopes => "slopes",
            Self::Published => "published",
        }
    }

    /// The stage with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&stage| stage as u8 == number)
    }

    /// Whether tests other than seeds can be its work.
    pub fn makes_tests(self) -> bool {
        !matches!(self, Self::Measure | Self::Merge)
    }
}

/// Where a test comes from. The test it was made from is named by its number in a suite, or, where there
/// is no such number, by a [`TestRef`](crate::TestRef).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance<T = usize> {
    /// Number of its root seed.
    pub root: usize,
    /// The test it was made from; none for a seed.
    pub parent: Option<T>,
    /// What made it.
    pub stage: Stage,
}

impl Provenance {
    /// That of a seed, by number.
    pub fn of_seed(number: usize) -> Self {
        Self {
            root: number,
            parent: None,
            stage: Stage::Measure,
        }
    }
}

impl<T> Provenance<T> {
    /// The same with the parent named otherwise, if it can be.
    pub fn rename<U, E>(&self, name: impl FnOnce(&T) -> Result<U, E>) -> Result<Provenance<U>, E> {
        Ok(Provenance {
            root: self.root,
            parent: self.parent.as_ref().map(name).transpose()?,
            stage: self.stage,
        })
    }
}
