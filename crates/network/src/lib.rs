//! Networks as DAGs of operators: batched execution, vector-Jacobian products, and bounds.
//!
//! A [`Network`] maps one sample tensor to output tensors; a batch is many samples. Build one with a
//! model format or a [`NetworkBuilder`], run it with [`Network::forward`], differentiate it with
//! [`Network::vjp`], bound it with [`Network::intervals`].
//!
//! Nothing here knows of files, requirements or searches.

mod bit_set;
pub mod bits;
mod builder;
mod cone;
mod cost;
mod forward;
mod graft;
mod input_part;
mod interval;
pub mod kernels;
mod linear;
mod network;
mod numbers;
pub mod operator;
mod operator_times;
pub mod ops;
mod plain;
mod scalar;
mod shape;
mod span;
mod tape;
mod vectorised;
mod vjp;
mod workspace;

pub use bit_set::{BitSet, ones};
pub use builder::{NetworkBuilder, Tensor};
pub use cone::Cones;
pub use forward::{Pass, Trace};
pub use graft::{Graft, GraftError, Part, graft};
pub use input_part::InputPart;
pub use interval::Bounds;
pub use network::{Constant, Head, Layer, Network, Point};
pub use numbers::Numbers;
pub use operator::{Nature, Operator};
pub use operator_times::OperatorTime;
pub use plain::{AffineRow, Element, Origin, Plain, StraightPart};
pub use scalar::Scalar;
pub use shape::{MAX_ELEMENTS, Order, Shape};
pub use span::Span;
pub use tape::Tape;
pub use vectorised::vectorised;
pub use vjp::{Row, Seed};
