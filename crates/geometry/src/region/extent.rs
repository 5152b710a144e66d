//! The region that was chosen, as plain data.

use super::RegionKind;
use super::balls::Balls;
use super::boxes::Boxes;
use super::whole::Whole;

/// Where generated tests may lie.
#[derive(Clone, Debug, PartialEq)]
pub enum Extent {
    /// Anywhere in the domain.
    Domain,
    /// Within this distance of the test's root seed, in units of the domain's width.
    Balls(f64),
    /// In one of these boxes: lowest and highest values, as they were given.
    Boxes(Vec<(Vec<f64>, Vec<f64>)>),
}

impl Extent {
    /// What its kind knows: the one place that tells kinds apart.
    pub(crate) fn kind(&self) -> Box<dyn RegionKind + '_> {
        match self {
            Self::Domain => Box::new(Whole),
            Self::Balls(radius) => Box::new(Balls { radius: *radius }),
            Self::Boxes(boxes) => Box::new(Boxes(boxes)),
        }
    }
}
