//! ONNX files, decoded and checked: from bytes on disk to a plain-Rust [`Model`].
//!
//! Decoding does not decide what a node *means*: an LSTM or a custom operator decodes
//! like any other node, and so does a convolution with a stride of zero. It promises
//! that names resolve, that nodes come in an order that can be executed, and that
//! every number the file claims to hold was really there. Importing ([`Model::import`])
//! then turns the nodes into a network, by the table in `operators`.
//!
//! ```no_run
//! use deepconcolic_formats::onnx::Model;
//!
//! let model = Model::open("net.onnx".as_ref())?;
//! for node in &model.graph.nodes {
//!     println!("{} {:?} -> {:?}", node.op_type, node.inputs, node.outputs);
//! }
//! # Ok::<(), deepconcolic_formats::onnx::OnnxError>(())
//! ```

mod array;
mod attributes;
mod cut;
mod dtype;
mod error;
mod external;
mod finite;
mod foreign;
mod function;
mod gelu;
mod graph;
mod half;
mod import;
mod inputs;
mod masking;
mod model;
mod node;
mod notes;
mod operators;
mod opset;
mod order;
mod proto;
mod quote;
mod rewrite;
mod shape;
mod tensor;
mod unit_sum;
mod value_info;
mod weights;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod import_tests;

pub use array::{Array, Data, ValueError};
pub use attributes::{Attribute, Attributes};
pub use dtype::DType;
pub use error::OnnxError;
pub use external::ExternalFault;
pub use graph::Graph;
pub use model::Model;
pub use node::Node;
pub use opset::{OPSET_NEWEST, OPSET_OLDEST};
pub use quote::quote;
pub use shape::ShapeFault;
pub use tensor::TensorFault;
pub use value_info::{Dim, ValueInfo};
pub use weights::{WeightedLayer, Weights};
