//! Measuring coverage: runs inputs through a network and lets criteria and requirements look at what
//! its neurons did. And judging tests: an oracle compares their labels with those of known inputs.

mod coverage;
mod inputs;
mod noise;
pub mod oracle;
mod requirements;

pub use coverage::{Accuracy, Measurement, measure, profile};
pub use inputs::Inputs;
pub use noise::Noise;
pub use requirements::{Answer, answer};
