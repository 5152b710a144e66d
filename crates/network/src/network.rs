//! The network: operators in topological order, its input, its hidden layers, its outputs.

use std::sync::{Arc, OnceLock};

use crate::input_part::InputPart;
use crate::numbers::Numbers;
use crate::operator::{Nature, Operator};
use crate::workspace::KeptWorkspaces;
use crate::{Order, Shape};

/// Index of a stored tensor.
pub(crate) type ValueId = usize;

/// A tensor that is part of the model, in both number types: the one it is not kept in is made when it is
/// first asked for.
#[derive(Debug, Clone)]
pub struct Constant {
    numbers: Numbers,
    single: OnceLock<Vec<f32>>,
    double: OnceLock<Vec<f64>>,
}

impl Constant {
    pub(crate) fn new(numbers: Numbers) -> Self {
        Self {
            numbers,
            single: OnceLock::new(),
            double: OnceLock::new(),
        }
    }

    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    pub(crate) fn single(&self) -> &[f32] {
        match &self.numbers {
            Numbers::Single(single) => single,
            Numbers::Double(double) => self
                .single
                .get_or_init(|| double.iter().map(|&v| v as f32).collect()),
        }
    }

    pub(crate) fn double(&self) -> &[f64] {
        match &self.numbers {
            Numbers::Single(_) => self.double.get_or_init(|| self.numbers.to_double()),
            Numbers::Double(double) => double,
        }
    }
}

/// Where a stored tensor comes from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Input,
    Node(usize),
    /// Shared by all networks that a network was grafted into.
    Constant(Arc<Constant>),
}

/// A stored tensor.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub source: Source,
    pub elements: usize,
}

impl Value {
    pub fn constant(&self) -> Option<&Constant> {
        match &self.source {
            Source::Constant(constant) => Some(constant),
            _ => None,
        }
    }
}

/// One operator at its place in the network.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub op: Arc<dyn Operator>,
    /// The tensors it reads, each under the shape it reads them with.
    pub inputs: Vec<(ValueId, Shape)>,
    pub output: ValueId,
    pub shape: Shape,
    pub nature: Nature,
    pub label: Label,
}

/// What a node is called outside this program, and how its output lies in the model file.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    /// The name of the tensor of the file that it computes.
    pub name: String,
    /// Its output as the file orders it.
    pub place: StoredTensor,
}

/// A tensor of the model file: which stored tensor it is, and how its axes are ordered there.
#[derive(Debug, Clone)]
pub(crate) struct StoredTensor {
    pub value: ValueId,
    /// Shape as stored.
    pub shape: Shape,
    /// From the stored order of axes to the file's.
    pub order: Order,
}

impl StoredTensor {
    pub fn file_shape(&self) -> Shape {
        self.shape.permuted(&self.order)
    }

    /// Position in the stored tensor of an element in the file's order.
    pub fn stored_index(&self, element: usize) -> usize {
        if self.order.is_identity() {
            return element;
        }
        let file = self.file_shape();
        let (from, to) = (file.strides(), self.shape.strides());
        (0..file.rank())
            .map(|a| element / from[a] % file.dims()[a] * to[self.order.axes()[a]])
            .sum()
    }
}

impl StoredTensor {
    /// Position in the file's order of an element of the stored tensor.
    pub fn file_index(&self, element: usize) -> usize {
        self.file_indices()(element)
    }

    /// The same of many elements: what does not depend on them is computed once.
    pub fn file_indices(&self) -> impl Fn(usize) -> usize + use<> {
        // An axis: the stride and extent in the stored tensor, the stride in the file's.
        let mut axes: Vec<[usize; 3]> = Vec::new();
        if !self.order.is_identity() {
            let (from, to) = (self.shape.strides(), self.file_shape().strides());
            let each = self.order.axes().iter().zip(to);
            axes.extend(each.map(|(&a, stride)| [from[a], self.shape.dims()[a], stride]));
        }
        move |element| {
            if axes.is_empty() {
                return element;
            }
            let places = axes.iter();
            places
                .map(|&[from, extent, to]| element / from % extent * to)
                .sum()
        }
    }
}

/// A hidden layer: an activation operator, whose inputs are its neurons.
#[derive(Debug, Clone)]
pub struct Layer {
    pub(crate) name: String,
    pub(crate) node: usize,
    pub(crate) kind: &'static str,
    pub(crate) nature: Nature,
    pub(crate) pre: StoredTensor,
    pub(crate) post: StoredTensor,
}

impl Layer {
    /// Its name in the model file: the node's, else that of the node's output.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The activation operator.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Whether the activation is piecewise linear or smooth.
    pub fn nature(&self) -> Nature {
        self.nature
    }

    /// Shape in the model file, with its batch axis.
    pub fn shape(&self) -> Shape {
        self.pre.file_shape()
    }

    /// How many neurons.
    pub fn neurons(&self) -> usize {
        self.pre.shape.elements()
    }
}

/// The function that makes the answer from the logits. It keeps their order, so that every analysis of
/// decisions is one of the logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Head {
    /// The answer is the logits.
    Identity,
    /// A Softmax of the logits.
    Softmax,
    /// The logarithm of their Softmax.
    LogSoftmax,
    /// A Sigmoid of each logit.
    Sigmoid,
}

impl Head {
    /// The operator's name; none if there is none.
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Softmax => Some("Softmax"),
            Self::LogSoftmax => Some("LogSoftmax"),
            Self::Sigmoid => Some("Sigmoid"),
        }
    }
}

/// A tensor of the network that can be kept from a run, or that a derivative can be taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// The input.
    Input,
    /// The pre-activations u of hidden layer number `0..`.
    Pre(usize),
    /// The activations v of hidden layer number `0..`.
    Post(usize),
    /// The last tensor before a final Softmax or Sigmoid, if any.
    Logits,
    /// The answer: the primary output of the model file, with its final Softmax or Sigmoid, if any.
    Answer,
    /// An output of the model file.
    Output(usize),
}

/// A trained network.
///
/// Built by a model format or with a [`crate::NetworkBuilder`]; see there for an example.
#[derive(Debug, Clone)]
pub struct Network {
    pub(crate) values: Vec<Value>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) input: StoredTensor,
    pub(crate) input_name: String,
    pub(crate) inputs: Vec<InputPart>,
    pub(crate) before: Option<Arc<Network>>,
    pub(crate) outputs: Vec<(String, StoredTensor)>,
    pub(crate) primary: usize,
    pub(crate) logits: StoredTensor,
    pub(crate) head: Head,
    pub(crate) layers: Vec<Layer>,
    /// What running it needs and gives back.
    pub(crate) workspaces: KeptWorkspaces,
}

impl Network {
    /// Shape of one input as the model file has it, with its batch axis.
    pub fn input_shape(&self) -> Shape {
        self.input.file_shape()
    }

    /// Numbers in one input.
    pub fn input_elements(&self) -> usize {
        self.input.shape.elements()
    }

    /// Name of the input in the model file.
    pub fn input_name(&self) -> &str {
        &self.input_name
    }

    /// What one input is made of: the tensors of the model file that are one vector here.
    pub fn inputs(&self) -> &[InputPart] {
        &self.inputs
    }

    /// Where the model file was cut, what computes the input of this network from the file's own: its outputs are
    /// the parts of this network's input, in their order.
    pub fn before(&self) -> Option<&Network> {
        self.before.as_deref()
    }

    /// The same network, with what computes its input.
    #[must_use]
    pub fn computed_by(mut self, before: Network) -> Self {
        self.before = Some(Arc::new(before));
        self
    }

    /// The hidden layers in topological order.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Names and shapes of the outputs.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = (&str, Shape)> {
        self.outputs
            .iter()
            .map(|(name, place)| (name.as_str(), place.file_shape()))
    }

    /// The output that is the network's answer: the first of floating-point type.
    pub fn primary_output(&self) -> usize {
        self.primary
    }

    /// Shape of the logits.
    pub fn logits_shape(&self) -> Shape {
        self.logits.file_shape()
    }

    /// What makes the answer from the logits, left out of every analysis.
    pub fn head(&self) -> Head {
        self.head
    }

    /// The hidden layer with this name, or with this number counted as the paper does (the input is
    /// layer 1, so the first hidden layer is 2).
    pub fn layer_named(&self, name: &str) -> Option<usize> {
        self.layers
            .iter()
            .position(|layer| layer.name == name)
            .or_else(|| {
                let number: usize = name.parse().ok()?;
                number.checked_sub(2).filter(|&l| l < self.layers.len())
            })
    }

    /// Elements of a tensor for one sample.
    pub fn elements(&self, point: Point) -> usize {
        self.place(point).shape.elements()
    }

    /// The operators in the order they run: kind and nature.
    pub fn operators(&self) -> impl ExactSizeIterator<Item = (&'static str, Nature)> {
        self.nodes.iter().map(|node| (node.op.kind(), node.nature))
    }

    /// The least tractable operator between the input and the logits: what decides whether cells
    /// are exact.
    pub fn nature(&self) -> Nature {
        self.ancestors(std::iter::once(self.logits.value))
            .iter()
            .zip(&self.nodes)
            .filter(|(needed, _)| **needed)
            .map(|(_, node)| node.nature)
            .max()
            .unwrap_or(Nature::Affine)
    }

    pub(crate) fn place(&self, point: Point) -> &StoredTensor {
        match point {
            Point::Input => &self.input,
            Point::Pre(layer) => &self.layers[layer].pre,
            Point::Post(layer) => &self.layers[layer].post,
            Point::Logits => &self.logits,
            Point::Answer => &self.outputs[self.primary].1,
            Point::Output(output) => &self.outputs[output].1,
        }
    }

    /// Which nodes must run so that these tensors exist.
    pub(crate) fn ancestors(&self, values: impl Iterator<Item = ValueId>) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        for value in values {
            if let Source::Node(node) = self.values[value].source {
                needed[node] = true;
            }
        }
        for node in (0..self.nodes.len()).rev() {
            if needed[node] {
                for (value, _) in &self.nodes[node].inputs {
                    if let Source::Node(before) = self.values[*value].source {
                        needed[before] = true;
                    }
                }
            }
        }
        needed
    }
}
