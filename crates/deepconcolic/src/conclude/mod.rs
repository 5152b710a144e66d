//! What came of a run: figures, tables, comparisons, and the page for an assessor.

mod conclusion;
pub mod controls;
pub mod figures;
pub mod minimise;
pub mod statement;

pub use conclusion::{Conclusion, Ended};
