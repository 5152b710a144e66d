//! Confirms what a search claims, by code that did not find it.
//!
//! [`witness`] runs generated inputs again and says which requirements they meet; [`audit`] does so for
//! a whole suite, [`pair`] for claims about two inputs. This crate depends on the network and on what is asked of it, and on nothing that
//! searches.

pub mod audit;
pub mod pair;
pub mod witness;

pub use audit::Audit;
pub use pair::{PairClaim, PairJudge, Standing};
pub use witness::{Claim, Confirmed, Slot, Witnesses};
