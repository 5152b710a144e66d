//! The layers of a model file that have weights, and the same file with other weights.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use super::array::{Array, Data};
use super::attributes::Attribute;
use super::dtype::DType;
use super::error::OnnxError;
use super::graph::Graph;
use super::model::{self, Model};
use super::node::Node;
use super::rewrite;
use crate::until::LoadUntil;

/// A convolution or dense layer whose weights are constants of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedLayer {
    /// The tensor that it computes, bias included.
    pub output: String,
    /// The tensor that it reads.
    pub input: String,
    /// Whether it is dense: every output reads every input.
    pub dense: bool,
    /// The constant with its weights.
    pub weight: String,
    /// The constant with one number for each output channel, if there is one.
    pub bias: Option<String>,
    /// How many output channels it has.
    pub channels: usize,
    /// The step from a weight of a channel to the next channel's in the same place, and how many weights of one
    /// channel lie one after the other.
    stride: usize,
}

impl WeightedLayer {
    /// The places of a channel's weights among all of the layer's.
    pub fn places(&self, channel: usize, weights: usize) -> impl Iterator<Item = usize> + use<> {
        let (stride, channels) = (self.stride, self.channels);
        let blocks = weights / (stride * channels).max(1);
        (0..blocks).flat_map(move |block| {
            let start = (block * channels + channel) * stride;
            start..start + stride
        })
    }
}

/// A model file whose weights can be changed.
pub struct Weights {
    bytes: Bytes,
    graph: Graph,
    layers: Vec<WeightedLayer>,
}

impl Weights {
    /// Reads a model from its file.
    ///
    /// # Errors
    /// When the file is no model, with the reason.
    pub fn open(path: &Path) -> Result<Self, OnnxError> {
        let in_file = |fault| OnnxError::InFile {
            path: path.to_owned(),
            fault: Box::new(fault),
        };
        let bytes = model::read(path, &LoadUntil::default()).map_err(in_file)?;
        Self::decode(bytes, path.parent()).map_err(in_file)
    }

    /// Reads a model that is in memory.
    ///
    /// # Errors
    /// When it is none, with the reason.
    pub fn of_bytes(bytes: Vec<u8>) -> Result<Self, OnnxError> {
        Self::decode(bytes.into(), None)
    }

    fn decode(bytes: Bytes, folder: Option<&Path>) -> Result<Self, OnnxError> {
        let graph = Model::decode(bytes.clone(), folder)?.graph;
        let layers = graph.nodes.iter().filter_map(|node| layer(&graph, node));
        Ok(Self {
            layers: layers.collect(),
            bytes,
            graph,
        })
    }

    /// The layers, in the order in which they run.
    pub fn layers(&self) -> &[WeightedLayer] {
        &self.layers
    }

    /// The numbers of a constant; none where it has no 32-bit floating-point numbers.
    pub fn numbers(&self, name: &str) -> &[f32] {
        match self.graph.initializers.get(name).map(|array| &array.data) {
            Some(Data::F32(values)) => values,
            _ => &[],
        }
    }

    /// The file with other numbers in these constants.
    ///
    /// # Errors
    /// When there are no such constants of so many numbers.
    pub fn with(&self, numbers: &BTreeMap<String, Vec<f32>>) -> Result<Vec<u8>, OnnxError> {
        rewrite::with_numbers(&self.bytes, &self.graph, numbers)
    }
}

/// The layer that a node is, if its weights are constants of the file.
fn layer(graph: &Graph, node: &Node) -> Option<WeightedLayer> {
    if !node.domain.is_empty() {
        return None;
    }
    let weight = node.inputs.get(1)?;
    let shape = &floats(graph, weight)?.shape;
    let rows_are_channels = match node.op_type.as_str() {
        "Conv" if shape.len() > 2 => true,
        "Gemm" if shape.len() == 2 => is_transposed(node),
        "MatMul" if shape.len() == 2 => false,
        _ => return None,
    };
    let (channels, stride) = if rows_are_channels {
        (shape[0], shape[1..].iter().product())
    } else {
        (shape[1], 1)
    };
    let input = node.inputs.first()?.clone();
    let output = node.outputs.first()?.clone();
    let is_bias = |name: &&String| floats(graph, name).is_some_and(|bias| bias.len() == channels);
    let own = node.inputs.get(2).filter(is_bias).cloned();
    let (bias, output) = match own {
        None if node.op_type == "MatMul" => added(graph, &output, channels),
        own => (own, output),
    };
    Some(WeightedLayer {
        output,
        input,
        dense: node.op_type != "Conv",
        weight: weight.clone(),
        bias,
        channels,
        stride,
    })
}

/// Whether the rows of a Gemm's weights are its outputs.
fn is_transposed(node: &Node) -> bool {
    matches!(node.attributes.get("transB"), Some(Attribute::Int(flag)) if *flag != 0)
}

/// What the one reader of a product adds to it, and the sum.
fn added(graph: &Graph, product: &str, channels: usize) -> (Option<String>, String) {
    let reads = |node: &&Node| node.inputs.iter().any(|name| name == product);
    let mut readers = graph.nodes.iter().filter(reads);
    if let (Some(node), None) = (readers.next(), readers.next())
        && node.op_type == "Add"
        && let Some(bias) = node.inputs.iter().find(|name| *name != product)
        && let Some(sum) = node.outputs.first()
        && floats(graph, bias)
            .is_some_and(|b| b.len() == channels && b.shape.last() == Some(&channels))
    {
        return (Some(bias.clone()), sum.clone());
    }
    (None, product.to_owned())
}

fn floats<'a>(graph: &'a Graph, name: &str) -> Option<&'a Array> {
    let array = graph.initializers.get(name)?;
    (array.dtype == DType::Float && !array.is_empty()).then_some(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(name: &str) -> Weights {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        Weights::open(&folder.join(name)).unwrap()
    }

    #[test]
    fn layers_and_their_biases_are_found() {
        let mlp = open("mlp.onnx");
        assert_eq!(mlp.layers().len(), 3);
        assert!(
            mlp.layers()
                .iter()
                .all(|layer| layer.dense && layer.bias.is_some())
        );
        assert_eq!(mlp.layers()[2].channels, 3);
        let cnn = open("cnn_nhwc.onnx");
        assert!(!cnn.layers()[0].dense && cnn.layers().last().unwrap().dense);
    }

    #[test]
    fn every_weight_belongs_to_one_channel() {
        for name in [
            "mlp.onnx",
            "cnn_nchw.onnx",
            "cnn_nhwc.onnx",
            "external.onnx",
        ] {
            let weights = open(name);
            for layer in weights.layers() {
                let count = weights.numbers(&layer.weight).len();
                let mut places: Vec<usize> = (0..layer.channels)
                    .flat_map(|channel| layer.places(channel, count))
                    .collect();
                places.sort_unstable();
                assert!(places.into_iter().eq(0..count), "{name}: {layer:?}");
            }
        }
    }
}
