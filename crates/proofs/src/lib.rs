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
mod chunk;
mod confirm;
mod frontier;
mod inputs;
mod joint;
mod knowledge;
mod lanes;
mod lines;
mod needs;
mod objective;
mod pass;
mod phases;
mod place;
mod program;
mod prove;
mod region;
mod relaxed;
mod slim;
mod thin;
mod thresholds;
mod tree;

pub use batch::{BatchLimits, Finding, Findings, Prover};
pub use joint::Jointly;
pub use needs::exists;
pub use place::{Place, PlaceLimits, Settled};
pub use prove::{Limits, Verdict, prove};
pub use region::regions;
