//! Model files: from a path to a [`Network`]. One module per format, one line each in [`ALL`].

mod load;
mod nnet;
mod normalisation;
pub mod onnx;
mod until;

pub use load::{ALL, FixedInput, Format, LoadError, LoadOptions, Loaded, load, load_bytes};
pub use until::LoadUntil;

#[cfg(doc)]
use deepconcolic_network::Network;
