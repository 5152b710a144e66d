//! How steep a network is over a box, bounded from above: multipliers for the checker's quadratic form, and
//! branching on phases where that helps.

mod growing;
mod largest;
mod matrix;
mod multipliers;
mod search;

pub use search::{NoSlope, SlopeLimits, SlopeProof, prove_slope};
