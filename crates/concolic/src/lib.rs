//! Measuring coverage: runs inputs through a network and lets criteria and requirements look at what
//! its neurons did.

mod coverage;
mod inputs;
mod noise;
mod requirements;

pub use coverage::{Accuracy, Measurement, measure, profile};
pub use inputs::Inputs;
pub use noise::Noise;
pub use requirements::{Answer, answer};
