//! The engines, one file each. To add one: a file here, and a line in [`ENGINES`].

mod nearest;
mod pairs;
mod paper;
mod walk;

use crate::engine::Engine;

/// Every engine there is. Where several can search for a goal, the first is asked.
pub const ENGINES: &[&dyn Engine] = &[&pairs::Pairs, &walk::Walk, &nearest::Nearest, &paper::Paper];
