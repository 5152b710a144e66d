//! What an oracle says of a test.

use deepconcolic_criteria::Truth;

/// What the oracle says of a test; the numbers are those of saved suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// It has the answer of its nearest reference.
    Passes = 0,
    /// It is close to its nearest reference and has another answer.
    Adversarial = 1,
    /// It is too far from any reference to be judged.
    TooFar = 2,
    /// Nobody has said what the network's answer is, or the reference has none.
    NotJudged = 3,
}

/// A test judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The nearest reference, if it was looked for.
    pub reference: Option<usize>,
    /// How far it is.
    pub distance: f64,
    /// The answer the test should have: the reference's true label, or what the network says of the
    /// reference where true labels are not known.
    pub truth: Option<Truth>,
    /// The verdict.
    pub verdict: Verdict,
}

impl Verdict {
    /// The verdict on a test, by whether it is close enough to be judged and, where it has an answer that it
    /// should have, whether it has it.
    pub fn of(is_close: bool, agrees: Option<bool>) -> Self {
        match (is_close, agrees) {
            (false, _) => Self::TooFar,
            (true, None) => Self::NotJudged,
            (true, Some(false)) => Self::Adversarial,
            (true, Some(true)) => Self::Passes,
        }
    }
}

impl Judgement {
    /// Of a test that nobody can judge.
    pub(super) fn none() -> Self {
        Self {
            reference: None,
            distance: f64::INFINITY,
            truth: None,
            verdict: Verdict::NotJudged,
        }
    }
}
