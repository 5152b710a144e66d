//! Confirms what a search claims, by code that did not find it.
//!
//! [`witness`] runs generated inputs again and says which requirements they meet, [`pair`] does so for
//! claims about two inputs, [`audit`] for a whole suite.
//!
//! A [`Certificate`] claims that no input of a region meets a requirement. [`check`] accepts it or
//! says why not. It shares the model parser, the plain data of the network and the requirement
//! language with the search that made the certificate, and no arithmetic: bounds are computed here
//! again, in double precision, and widened by more than their rounding errors. `docs/certificates.md`
//! says what is proven and how the file looks.
//!
//! This crate depends on the network and on what is asked of it, and on nothing that searches.

mod accepted;
mod answer;
pub mod audit;
mod bounds;
mod bytes;
mod certificate;
mod decode;
mod digest;
mod encode;
mod error;
mod execution;
mod inference;
pub mod pair;
mod question;
mod region;
mod slope;
pub mod steepness;
mod until;
mod verdict;
pub mod witness;

pub use accepted::{Accepted, Bound};
pub use answer::{Replaced, on_logits};
pub use audit::Audit;
pub use bounds::forward_leaves::{ForwardPart, ForwardProblem, UpperBound};
pub use certificate::{Certificate, Changes, Entry, Leaf, Proof, Region, Split, Tree, Unit};
pub use digest::{Digest, hex, sha256};
pub use error::{Rejection, Unsupported};
pub use execution::meets;
pub use inference::deduction::Deduction;
pub use inference::proven::ProvenFacts;
pub use pair::{PairClaim, PairJudge, Standing};
pub use question::{Atom, Case, Term, cases};
pub use region::{SearchBox, regions};
pub use slope::certain_ratio;
pub use until::Until;
pub use verdict::{Expectation, check, check_each, check_until};
pub use witness::{Claim, Confirmed, Slot, Witnesses};
