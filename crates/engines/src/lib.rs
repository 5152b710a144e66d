//! Symbolic engines: from a [`Goal`] to an [`Outcome`].
//!
//! [`search`] finds some witness, [`nearest`] the nearest one in the cells of given tests with the
//! certified optimum, [`paper_step`] is one linear program of the paper's Section 8.1. All take any
//! formula of the requirement language over one or two inputs.
//!
//! Hidden layers are never encoded: unknowns are the input elements that matter, rows are
//! vector-Jacobian products, and sign rows join a problem when a run shows them broken. Every witness
//! was run, and clears each comparison by its margin.

mod atom;
mod cell;
mod compile;
mod cone;
mod cover;
mod demands;
mod goal;
mod meet;
mod nearness;
mod observed;
mod pair_tree;
mod pairs;
mod program;
mod region;
mod same_signs;
mod search;
mod solver;
mod step;
mod task;
mod tree;
mod walk;

pub use cell::{nearest, paper_step};
pub use cover::{PairLimits, Rooted};
pub use goal::{Effort, Goal, Margin, Outcome, Reason, Report, Witness};
pub use pairs::{FoundPair, Harvest, PairSearch};
pub use search::search;
