//! The coverage criteria of the field, by name: each a family of requirements that counts, names,
//! measures and steers itself. To add one: a file here, a line in [`ALL`].
//! [`Objective`] is what one requirement asks of inputs, as plain data: searches and judges read it and
//! know no criterion.
//!
//! [`Decision`] says what a network's answer is, and when an answer is another.

mod boundary;
mod criterion;
mod decision;
mod guide;
mod joined;
mod kmnc;
mod lipschitz;
mod nc;
mod neuron;
mod objective;
mod pair;
mod pair_requirement;
mod parameters;
mod partition;
mod patterns;
mod polarity;
mod profile;
mod ratio;
mod region;
mod safety;
mod sections;
mod selection;
mod ssc;
mod svc;
mod tknc;
mod vsc;
mod vvc;
mod written;

pub use criterion::{Criterion, Family, Group, Pairs, Ratios, Rerun, Setting, Tally};
pub use decision::{Decision, Departure, Prediction, Rule, Truth, UNSTATED};
pub use guide::{Clearance, Confinement, Guide, Means, SampleView};
pub use joined::Joined;
pub use objective::Objective;
pub use pair_requirement::{Change, Changing, Contrast, Kept, PairRequirement};
pub use parameters::{LipschitzOutput, Parameters, Scope};
pub use partition::Partition;
pub use polarity::Polarity;
pub use profile::{LayerProfile, Profile};
pub use ratio::Ratio;
pub use region::{Ball, Region};
pub use sections::Sections;
pub use selection::Selection;
pub use written::Written;

/// Every criterion there is.
pub const ALL: &[&dyn Criterion] = &[
    &nc::Nc,
    &boundary::Nbc,
    &boundary::Snac,
    &kmnc::Kmnc,
    &tknc::Tknc,
    &ssc::Ssc,
    &vsc::Vsc,
    &svc::Svc,
    &vvc::Vvc,
    &lipschitz::Lipschitz,
    &safety::Safety,
];

/// The criterion with this name.
pub fn find(name: &str) -> Option<&'static dyn Criterion> {
    ALL.iter()
        .copied()
        .find(|criterion| criterion.name() == name)
}
