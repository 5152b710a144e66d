//! Reading numpy arrays, alone (`.npy`) or in an archive (`.npz`).
//!
//! The parser is our own, on top of the `zip` crate. The `npyz` crate (0.9) takes a header's word for up to
//! 4 GiB of header text and multiplies dimensions unchecked, knows nothing of the length of the file behind
//! its reader, and its `npz` feature builds an old `zip` with C libraries for formats numpy never writes.
//! Untrusted files need the opposite of each, and the format is small.

mod decode;
mod dtype;
mod element;
mod float16;
mod header;
mod npy;
mod npz;

pub use element::Element;
pub use npy::{Array, read_npy};
pub use npz::NpzReader;

pub(crate) use dtype::{Dtype, Scalar};
pub(crate) use element::Codec;
pub(crate) use header::Header;
pub(crate) use npy::{ArraySource, inflated_at_most};
