//! The engines, one file each. To add one: a file here, and a line in [`ENGINES`].

mod boundary;
mod compass;
mod gradient;
mod l0;
mod nearest;
mod pairs;
mod paper;
mod random;
mod walk;

use crate::engine::Engine;

pub use random::random_pairs;

/// Every engine there is. Where several can search for a goal, the first is asked.
pub const ENGINES: &[&dyn Engine] = &[
    &pairs::Pairs,
    &walk::Walk,
    &l0::L0,
    &nearest::Nearest,
    &paper::Paper,
    &boundary::Boundary,
    &gradient::Gradient,
    &compass::Compass,
    &random::Random,
];
