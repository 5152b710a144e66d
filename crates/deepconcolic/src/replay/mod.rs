//! A saved suite run again, on its model or another.

mod compare;
pub mod coverage_change;
mod nearest_adversarial;
pub mod renumbering;
mod slopes;

pub use compare::{Replay, ReplayReport};
