//! How steep a network is over a box: certificates that |f(x1) - f(x2)| <= c |x1 - x2| for any two inputs of
//! it, and their judge. `docs/certificates.md` has the argument.

mod adjoints;
mod certificate;
mod definite;
#[cfg(test)]
mod drawn;
mod envelope;
#[cfg(test)]
mod exact;
mod file;
mod forms;
mod frontier;
mod gram;
mod maxima;
mod problem;
mod quadratic;
mod question;
mod ranges;
mod reading;
mod sizes;
mod subject;
mod verdict;

pub use certificate::{Eliminated, SlopeCertificate, SlopeLeaf, SlopeTree};
pub use problem::{SlopePart, SlopeProblem};
pub use quadratic::Quadratic;
pub use question::SlopeQuestion;
pub use reading::SlopeReading;
pub use subject::SlopeSubject;
pub use verdict::{AcceptedSlope, check_slopes, check_slopes_until};
