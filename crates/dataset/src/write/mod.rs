//! Writing numpy files, so that every array the product saves opens with `numpy.load`, and images.
//!
//! Files appear whole or not at all: they are written beside their place under another name, then renamed.
//! Links are followed; devices and pipes are written to and keep their place.

mod archive;
mod atomic;
mod destination;
mod npy;
mod npz;
mod png;

pub use atomic::AtomicFile;
pub use destination::is_standard_output;
pub use npy::write_npy;
pub use npz::NpzWriter;
pub use png::{png_contents, png_contents_16, write_png, write_png_16};
