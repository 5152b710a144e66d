//! Proving that no input of a region meets a requirement, or finding one that does.
//!
//! [`prove`] answers one requirement over one box. The ladder: gradient steps look for a witness;
//! interval bounds and backward linear bounds bound every unit that matters; the free slopes of the
//! linear bounds are optimised; what is still open is split, on phases or, where few inputs matter,
//! on the input box. Everything is computed on the part of the network that the question depends on.
//! Claims of infeasibility carry a certificate that `deepconcolic-check` has accepted.

mod answer;
mod ascent;
mod attack;
mod batch;
mod cell;
mod changes;
mod chunk;
mod confirm;
mod few_changes;
mod fewest;
mod frontier;
mod inputs;
mod joint;
mod knowledge;
mod lanes;
mod lines;
mod moving;
mod objective;
mod one_change;
mod open_part;
mod pass;
mod phases;
mod program;
mod prove;
mod region;
mod region_prover;
mod relaxed;
mod slopes;
mod sparse_box_bounds;
mod sufficient_conditions;
mod thresholds;
mod tree;
mod without_zero_terms;

pub use batch::{BatchLimits, Finding, Findings, Prover};
pub use fewest::{FewestChanges, fewest_changes};
pub use joint::Jointly;
pub use prove::{ProofLimits, Verdict, prove};
pub use region::regions;
pub use region_prover::{Decided, ProverLimits, RegionProver};
pub use slopes::{NoSlope, SlopeLimits, SlopeProof, prove_slope};
pub use sufficient_conditions::exists;
