//! Targets of the symbolic engines.

mod nearest;
mod pairs;

pub use nearest::run as nearest;
pub use pairs::{layer, run as pairs};
