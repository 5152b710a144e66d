//! Test data: from a path the user gives to samples a network can run on.
//!
//! [`Dataset::open`] reads a file or folder (see [`formats::ALL`] for what it recognises) and keeps the
//! samples as they are stored. [`Dataset::prepare`] decides once how they meet a model's input (scale and
//! axis order, see [`Preparation`]) and gives [`Samples`], which convert on the fly: ten thousand CIFAR
//! images stay thirty megabytes of `u8`.
//!
//! [`arrays`] reads and [`write`](mod@write) writes numpy files, for the suites and tables the product saves.
//!
//! What is not here: a mean/std normalisation in front of the model is part of the network, and the
//! search domain is the caller's choice ([`Samples::observed_range`] and [`Samples::is_image`] inform it).
//!
//! Files are not trusted. A size found in a header is compared with what the file can hold before any
//! memory is taken, and garbage is an error, never a panic.

pub mod arrays;
mod dataset;
mod elements;
mod error;
mod format;
pub mod formats;
mod layout;
mod npz_labels;
mod preparation;
mod samples;
mod several;
mod shape;
mod values;
pub mod write;

pub use dataset::Dataset;
pub use elements::Elements;
pub use error::{ArrayError, DatasetError, Mismatch};
pub use format::{Format, OpenOptions};
pub use layout::Layout;
pub use preparation::Preparation;
pub use samples::Samples;
pub use several::{ModelInput, SamplePart, has_arrays_of};
pub use values::Values;
