//! What can be wrong with an ONNX file.

use std::path::PathBuf;

use super::array::ValueError;
use super::opset::{OPSET_NEWEST, OPSET_OLDEST};
use super::quote::quote;
use super::shape::ShapeFault;
use super::tensor::TensorFault;
use crate::until::{Ended, LoadUntil};

/// Why a file is refused. Each message says what, where, and the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// Any of the others, with the file it is about.
    #[error("{}: {fault}", path.display())]
    InFile {
        /// The path as the user gave it.
        path: PathBuf,
        /// What is wrong with the file.
        fault: Box<OnnxError>,
    },
    /// The time was up before all of it was read.
    #[error(
        "the time was up before the model was read; give more (--budget, or --timeout of verify)"
    )]
    OutOfTime,
    /// The user wanted an end before all of it was read.
    #[error("interrupted while the model was read; nothing was begun, so that nothing is lost")]
    Interrupted,
    /// Nothing is there to read.
    #[error("there is no such file; check the path and the folder you are in")]
    Missing,
    /// The operating system refuses.
    #[error("cannot be read: {error}")]
    CannotRead {
        /// The system's reason.
        error: std::io::Error,
    },
    /// A folder, a device, a pipe.
    #[error("not a regular file; give the path of an .onnx file")]
    NotAFile,
    /// Other numbers were wanted in a constant.
    #[error("the numbers of {} cannot be written: {why}", quote(tensor))]
    CannotRewrite {
        /// The constant.
        tensor: String,
        /// Why not, and the way out.
        why: String,
    },
    /// Beyond what protobuf can express.
    #[error(
        "the file has {size} bytes, more than the 2 GiB an ONNX file can have; \
         re-export with the weights in a separate file (external data)"
    )]
    TooLarge {
        /// Size on disk.
        size: u64,
    },
    /// The bytes are something else, or only part of a model.
    #[error("not an ONNX model: {reason}; {advice}")]
    NotOnnx {
        /// What was found.
        reason: String,
        /// What the user may do.
        advice: &'static str,
    },
    /// One part inside the file does not decode.
    #[error(
        "{place} cannot be decoded ({reason}); the file is damaged, export or download it again"
    )]
    DamagedPart {
        /// Which part.
        place: String,
        /// The decoder's reason.
        reason: String,
    },
    /// Something that must have a name has none.
    #[error("{place} has no name; the file is damaged, export it again")]
    NoName {
        /// Which thing.
        place: String,
    },

    /// Before numpy-style broadcasting.
    #[error(
        "the model uses operator set {version}, older than any supported; \
         re-export with opset >= {OPSET_OLDEST}"
    )]
    OpsetTooOld {
        /// The version in the file.
        version: i64,
    },
    /// Newer than what was checked against the specification.
    #[error(
        "the model uses operator set {version}, newer than any supported; \
         re-export with opset <= {OPSET_NEWEST}"
    )]
    OpsetTooNew {
        /// The version in the file.
        version: i64,
    },
    /// Standard operators are used but no version of them is declared.
    #[error(
        "the model does not say which version of the standard operators it uses; \
         re-export with opset >= {OPSET_OLDEST}, or check that the download is complete"
    )]
    OpsetMissing,
    /// One domain imported twice.
    #[error(
        "the model imports both version {first} and version {second} of operator domain {}; \
         export it again",
        quote(domain)
    )]
    OpsetConflict {
        /// The domain.
        domain: String,
        /// One version.
        first: i64,
        /// Another.
        second: i64,
    },

    /// More nodes than a real model has.
    #[error("the graph has {nodes} nodes, more than the {maximum} supported")]
    TooManyNodes {
        /// Nodes in the file.
        nodes: usize,
        /// The limit.
        maximum: usize,
    },
    /// A graph nobody can read a result from.
    #[error("the graph declares no output; re-export the model with its outputs")]
    NoOutput,
    /// A node without an operator.
    #[error(
        "node {} has no operator type; the file is damaged, export it again",
        quote(node)
    )]
    NoOperator {
        /// The node's label.
        node: String,
    },
    /// Two definitions of one name.
    #[error(
        "the value {} is defined twice (the second time as {by}); \
         every value needs its own name, export the model again",
        quote(value)
    )]
    DefinedTwice {
        /// The name.
        value: String,
        /// The later definition.
        by: String,
    },
    /// A node reads a value that does not exist.
    #[error(
        "node {} ({}) reads {}, which no node, input or initializer defines; \
         export the model again",
        quote(node),
        quote(op_type),
        quote(input)
    )]
    UndefinedInput {
        /// The node's label.
        node: String,
        /// Its operator.
        op_type: String,
        /// The missing value.
        input: String,
    },
    /// The graph promises a value that does not exist.
    #[error(
        "the graph output {} is not defined by any node, input or initializer; \
         export the model again",
        quote(output)
    )]
    UndefinedOutput {
        /// The missing value.
        output: String,
    },
    /// A node needs its own result.
    #[error(
        "node {} ({}) depends on its own output; loops are not supported, \
         export the model as a feed-forward graph",
        quote(node),
        quote(op_type)
    )]
    Cycle {
        /// A node on the cycle.
        node: String,
        /// Its operator.
        op_type: String,
    },

    /// A graph input or output with an impossible shape.
    #[error("graph input or output {}: {fault}", quote(value))]
    ValueShape {
        /// The input or output.
        value: String,
        /// What is wrong with its shape.
        fault: ShapeFault,
    },
    /// A constant that cannot be decoded.
    #[error("{place}: {fault}")]
    Tensor {
        /// The initializer or attribute.
        place: String,
        /// What is wrong with it.
        fault: TensorFault,
    },
    /// A constant stored as a sparse tensor.
    #[error(
        "the initializer {} is a sparse tensor, which is not supported; re-export it as a dense one",
        quote(tensor)
    )]
    SparseInitializer {
        /// Its name.
        tensor: String,
    },
    /// The same attribute given twice.
    #[error(
        "node {}: attribute {} is given twice; export the model again",
        quote(node),
        quote(attribute)
    )]
    AttributeTwice {
        /// The node's label.
        node: String,
        /// The attribute's name.
        attribute: String,
    },
    /// An attribute of another type than the operator wants.
    #[error(
        "node {}: attribute {} must be {expected}, but the file holds {found}; \
         export the model again",
        quote(node),
        quote(attribute)
    )]
    AttributeType {
        /// The node's label.
        node: String,
        /// The attribute's name.
        attribute: String,
        /// What the operator needs.
        expected: &'static str,
        /// What the file has.
        found: &'static str,
    },
    /// Nothing is left to be tested.
    #[error("the model has no input that is not fixed, so there is nothing to test")]
    NoInput,
    /// An option about inputs that fits none of them.
    #[error("{problem}")]
    InputOption {
        /// The option, what is wrong with it, and the way out.
        problem: String,
    },
    /// An input that cannot be fed.
    #[error("the input {}: {problem}", quote(input))]
    Input {
        /// Its name.
        input: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A mean or standard deviation that does not fit the input.
    #[error("{problem}")]
    Normalisation {
        /// What is wrong.
        problem: String,
    },
    /// A node, or the graph as a whole, that cannot become a network.
    #[error("{problem}")]
    Import {
        /// Which node, what is wrong with it, and the way out.
        problem: String,
    },
    /// A constant asked for in a form it does not have.
    #[error(transparent)]
    Value(#[from] ValueError),
}

impl OnnxError {
    /// Whether the user wanted an end.
    pub(crate) fn is_interruption(&self) -> bool {
        matches!(self.fault(), Self::Interrupted)
    }

    /// Whether the time was up before all of it was read.
    pub(crate) fn is_out_of_time(&self) -> bool {
        matches!(self.fault(), Self::OutOfTime)
    }

    /// What is wrong, in whatever file.
    fn fault(&self) -> &Self {
        match self {
            Self::InFile { fault, .. } => fault.fault(),
            other => other,
        }
    }

    /// The error of reading that must end now, if it must.
    pub(super) fn unless_over(until: &LoadUntil) -> Result<(), Self> {
        match until.ended() {
            None => Ok(()),
            Some(Ended::Time) => Err(Self::OutOfTime),
            Some(Ended::Interrupted) => Err(Self::Interrupted),
        }
    }
}
