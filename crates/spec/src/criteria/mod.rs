//! The coverage criteria of the field, by name. To add one: a file here, a line in [`ALL`].

mod bit_set;
mod boundary;
mod criterion;
mod guide;
mod kmnc;
mod lipschitz;
mod nc;
mod neuron;
mod pair;
mod parameters;
mod patterns;
mod profile;
mod region;
mod safety;
mod selection;
mod ssc;
mod svc;
mod tknc;
mod vsc;
mod vvc;
mod written;

pub use bit_set::BitSet;
pub use criterion::{Criterion, Family, Group, Pairs, Rerun, Setting, Tally};
pub use guide::{Clearance, Confinement, Guide, Look, Means};
pub use pair::Change;
pub use parameters::{LipschitzOutput, Parameters, Scope};
pub use profile::{LayerProfile, Profile};
pub use region::{Ball, Region};
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
