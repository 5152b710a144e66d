//! The independent checker of certificates of infeasibility.
//!
//! A [`Certificate`] claims that no input of a region meets a requirement. [`check`] accepts it or
//! says why not. It shares the model parser, the plain data of the network and the requirement
//! language with the search that made the certificate, and no arithmetic: bounds are computed here
//! again, in double precision, and widened by more than their rounding errors. `docs/certificates.md`
//! says what is proven and how the file looks.

mod backward;
mod bytes;
mod certificate;
mod cone;
mod context;
mod decode;
mod digest;
mod encode;
mod error;
mod float;
mod leaf;
mod lines;
mod question;
mod verdict;

pub use certificate::{Certificate, Entry, Leaf, Proof, Region, Split, Tree, Unit};
pub use digest::{Digest, hex, sha256};
pub use error::{Rejection, Unsupported};
pub use question::{Atom, Case, Term, cases};
pub use verdict::{Accepted, Bound, Expectation, check, check_each};
