//! Random statements, formulas and suites for the property tests beside the code they test.

mod formula;
mod syntax;

pub use formula::{formula, means, ordered_formula, recording, requirement, signature};
pub(super) use syntax::statement;
