//! A saved suite run again, on its model or another.

mod compare;
pub mod coverage_change;
pub mod renumbering;

pub use compare::{Replay, ReplayReport};
