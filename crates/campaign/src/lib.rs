//! The concolic loop and what it is measured by: runs inputs through a network, lets criteria and
//! requirements look at what its neurons did, makes the inputs that are missing, and judges them
//! against real data.

mod answers;
mod ascent;
mod batches;
mod campaign;
mod coverage;
mod filter;
mod identity;
mod inputs;
mod ledger;
mod limits;
mod noise;
pub mod oracle;
mod percentage;
mod portion;
mod provenance;
mod ranking;
mod requirements;
pub mod sanity;
mod selection;
mod stages;
mod steepest;
mod suite;

pub use answers::{Accuracy, AnswerCounts, Answers};
pub use campaign::{Added, AddedPair, Admitted, Campaign, FoundPair, Round, Stop, Subject, means};
pub use coverage::{Measurement, measure, measure_within, profile};
pub use filter::Filter;
pub use identity::{TestId, TestRef};
pub use inputs::{Inputs, InputsRange};
pub use ledger::Ledger;
pub use limits::{Limits, Passes};
pub use noise::Noise;
pub use percentage::percent;
pub use provenance::{Provenance, Stage};
pub use requirements::{Answer, answer};
pub use selection::{Choice, first_seeds, given_seeds};
pub use stages::{Scatter, Strategy};
pub use steepest::Steepest;
pub use suite::{Seeds, Suite, Test};
