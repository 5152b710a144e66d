//! Oracles: whether a test has the answer that it should have. Each is one file and its line in [`ALL`].

mod judgement;
mod kind;
mod nearest;
mod robustness;

pub use judgement::{Judgement, Verdict};
pub use kind::{Evidence, Judge, Oracle, OracleKind};
pub use nearest::{Nearest, nearest};

/// Every oracle; the first is the one of runs.
pub const ALL: [&dyn OracleKind; 1] = [&robustness::Robustness];
