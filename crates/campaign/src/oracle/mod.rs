//! Oracles: whether a test has the answer that it should have. Each is one file and its line in [`ALL`].

mod judgement;
mod kind;
#[cfg(test)]
mod laws;
mod nearest;
mod robustness;
mod truths;

pub use judgement::{Judgement, Verdict};
pub use kind::{Evidence, Judge, Oracle, Tests};
pub use nearest::{Nearest, nearest};

/// Every oracle; the first is the default.
pub const ALL: &[&dyn Oracle] = &[&robustness::Robustness];

/// The oracle of a name.
pub fn find(name: &str) -> Option<&'static dyn Oracle> {
    ALL.iter().copied().find(|oracle| oracle.name() == name)
}
