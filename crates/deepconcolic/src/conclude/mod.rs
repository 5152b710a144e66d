//! What came of a run: figures, tables, comparisons, and the page for an assessor.

pub mod certified_distance;
mod conclusion;
pub mod confidence;
pub mod controls;
pub mod figures;
pub mod minimise;
pub mod nearest_adversarial;
pub mod slopes;
pub mod statement;

pub use conclusion::{Conclusion, Ended, parts};
