//! Why a certificate is not accepted, and why a question cannot be asked of it.

use crate::digest::{Digest, hex};
use crate::until::Until;

/// Why a certificate is rejected. None of these is proof that the claim is false.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The bytes are no certificate.
    #[error("not a certificate: {0}")]
    Format(String),
    /// It was made for another model.
    #[error("made for another model: its sha256 is {expected}, the model's is {found}")]
    Model {
        /// The hash in the certificate.
        expected: String,
        /// The hash of the model at hand.
        found: String,
    },
    /// It was made for another region.
    #[error("made for another region than the one asked about")]
    Region,
    /// It is about another requirement.
    #[error("entry {entry} is about `{found}`, not `{expected}`")]
    Requirement {
        /// Which entry.
        entry: usize,
        /// What was asked about.
        expected: String,
        /// What the certificate says.
        found: String,
    },
    /// A requirement cannot be read or judged.
    #[error("entry {entry}: {reason}")]
    Question {
        /// Which entry.
        entry: usize,
        /// Why.
        reason: String,
    },
    /// Nothing was found to be wrong with it, as far as it was judged.
    #[error("time was up before it was judged")]
    Time,
    /// A step does not follow.
    #[error("{place}: {reason}")]
    Proof {
        /// Entry, region and case.
        place: String,
        /// What does not follow.
        reason: String,
    },
}

impl Rejection {
    /// Of a proof that was found wanting; one whose judging was cut short tells nothing.
    pub(crate) fn of_proof(place: String, reason: String, until: Until<'_>) -> Self {
        if until.is_over() {
            Self::Time
        } else {
            Self::Proof { place, reason }
        }
    }

    pub(crate) fn other_model(expected: &Digest, found: &Digest) -> Self {
        Self::Model {
            expected: hex(expected),
            found: hex(found),
        }
    }
}

/// Why a requirement is beyond proofs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// It is about two inputs.
    #[error("proofs about two inputs are not supported")]
    TwoInputs,
    /// It has too many alternatives.
    #[error("the formula has more than {0} alternatives")]
    Alternatives(usize),
    /// The region has an end that is no finite number.
    #[error("the region is unbounded in input element {0}")]
    Unbounded(usize),
    /// An operator has no checkable bounds.
    #[error("operator {kind} has no bounds that can be checked")]
    Operator {
        /// Its name.
        kind: String,
    },
    /// A batch of conditions is asked about something else.
    #[error("the requirement is not one condition on neurons")]
    NotOneCondition,
    /// A condition on the answer has no part in proofs.
    #[error("nothing about the logits follows from a condition on the output of the final {0}")]
    Answer(&'static str),
    /// A condition on the answer for two inputs.
    #[error("proofs about two inputs do not reach the output of the final {0}; ask about `logits`")]
    AnswerOfTwo(&'static str),
    /// Changes are measured in a norm without bounds.
    #[error("how steep a network is can be bounded in L1, L2 and L-infinity, not in {0}")]
    Steepness(&'static str),
    /// Work was to end before an answer was found.
    #[error("time was up before bounds of the question were known")]
    Time,
    /// Too many numbers are involved.
    #[error("the part of the network that the question depends on is too large")]
    Size,
}
