//! The network as plain data: which element is which sum of which others, which curve, which
//! maximum. For analyses that bring their own arithmetic, above all a checker that must share none
//! with the search it checks.

use crate::Shape;
use crate::network::{Network, Node, Point, Source, ValueId};
use crate::operator::Nature;

/// One straight part of a curve: `slope * x + intercept` from `from` to where the next part begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StraightPart {
    /// Where it begins; minus infinity for the first.
    pub from: f64,
    /// Slope.
    pub slope: f64,
    /// Value at 0, were the part that long.
    pub intercept: f64,
}

/// One element of an affine operator's output: a sum of multiples of input elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AffineRow {
    /// Which input of the operator, which element of it, and the coefficient.
    pub terms: Vec<(u32, u32, f64)>,
    /// What is added.
    pub constant: f64,
}

/// What an operator computes, as far as it can be told as data.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    /// Each output is a sum of multiples of inputs: read it with [`Network::plain_row`].
    Affine,
    /// Each output is a continuous piecewise-linear function of the input element in its place.
    Curve(Vec<StraightPart>),
    /// Each output is the largest of some input elements: read them with [`Network::plain_members`].
    Largest,
    /// The same with the smallest.
    Smallest,
    /// Each output is the element in its place of the first input where that is at least 0, and
    /// elsewhere that element times [`Network::plain_slope`].
    Leaky,
    /// Anything else.
    Opaque,
}

/// Where a stored tensor comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is the network's input.
    Input,
    /// It is the output of this node.
    Node(usize),
    /// It is part of the model.
    Constant,
}

/// An element of a stored tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element {
    /// Which stored tensor.
    pub value: usize,
    /// Which element, in the order it is stored.
    pub index: usize,
}

impl Network {
    /// Where an element of a tensor, counted in the model file's order, is stored.
    pub fn element(&self, point: Point, element: usize) -> Element {
        let place = self.place(point);
        Element {
            value: place.value,
            index: place.stored_index(element),
        }
    }

    /// The neuron of a hidden layer (number `0..`), in the model file's order, whose
    /// pre-activation is stored there.
    pub fn neuron_stored_at(&self, layer: usize, index: usize) -> usize {
        self.layers[layer].pre.file_index(index)
    }

    /// The hidden layer that a node is the activation of.
    pub fn layer_of_node(&self, node: usize) -> Option<usize> {
        self.layers.iter().position(|layer| layer.node == node)
    }

    /// What the output of a node is called in the model file; no two nodes that are a curve or an
    /// extreme share a name.
    pub fn node_name(&self, node: usize) -> &str {
        &self.nodes[node].label.name
    }

    /// The node that is a curve or an extreme and has this name.
    pub fn node_named(&self, name: &str) -> Option<usize> {
        let unlike = |node: usize| matches!(self.plain(node), Plain::Affine | Plain::Opaque);
        (0..self.nodes.len()).find(|&node| self.nodes[node].label.name == name && !unlike(node))
    }

    /// Where the model file has an element of a node's output.
    pub fn node_file_index(&self, node: usize, stored: usize) -> usize {
        self.nodes[node].label.place.file_index(stored)
    }

    /// Where an element of a node's output in the file's order is stored; none if there is no such
    /// element.
    pub fn node_stored_index(&self, node: usize, element: usize) -> Option<usize> {
        let place = &self.nodes[node].label.place;
        (element < place.shape.elements()).then(|| place.stored_index(element))
    }

    /// Where a stored tensor comes from.
    pub fn origin(&self, value: usize) -> Origin {
        match self.values[value].source {
            Source::Input => Origin::Input,
            Source::Node(node) => Origin::Node(node),
            Source::Constant(_) => Origin::Constant,
        }
    }

    /// What a node computes.
    pub fn plain(&self, node: usize) -> Plain {
        let node = &self.nodes[node];
        let empty = node.shape.elements() == 0;
        let row = &mut AffineRow::default();
        if node.nature == Nature::Affine && (empty || self.row_of(node, 0, row)) {
            return Plain::Affine;
        }
        if let Some(parts) = node.op.straight_parts() {
            return Plain::Curve(parts);
        }
        if node.op.takes_largest() {
            return Plain::Largest;
        }
        if node.op.takes_smallest() {
            return Plain::Smallest;
        }
        if node.op.leaks() && self.constant_of(node.inputs[1].0).is_some() {
            return Plain::Leaky;
        }
        Plain::Opaque
    }

    /// How many nodes there are; they are numbered in the order they run.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// How many stored tensors there are.
    pub fn values(&self) -> usize {
        self.values.len()
    }

    /// The stored tensor a node writes.
    pub fn node_output(&self, node: usize) -> usize {
        self.nodes[node].output
    }

    /// Shape of a node's output as it is stored.
    pub fn node_shape(&self, node: usize) -> &Shape {
        &self.nodes[node].shape
    }

    /// Elements of a stored tensor.
    pub fn value_elements(&self, value: usize) -> usize {
        self.values[value].elements
    }

    /// The position in the model file's order of an element of the stored input.
    pub fn input_file_index(&self, index: usize) -> usize {
        self.input.file_index(index)
    }

    /// The stored tensors a node reads.
    pub fn plain_inputs(&self, node: usize) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.nodes[node].inputs.iter().map(|(value, _)| *value)
    }

    /// One output element of a [`Plain::Affine`] node as a sum of elements of its variable inputs, as the
    /// operator states it. Where the operator stores a divisor, the coefficient is the nearest double of the
    /// quotient; all other coefficients are the model's own. It costs the length of the row.
    pub fn plain_row(&self, node: usize, element: usize, row: &mut AffineRow) {
        row.terms.clear();
        row.constant = 0.0;
        let stated = self.row_of(&self.nodes[node], element, row);
        debug_assert!(stated, "plain() says which nodes have rows");
    }

    /// The slope below 0 of output `element` of a [`Plain::Leaky`] node.
    pub fn plain_slope(&self, node: usize, element: usize) -> f64 {
        let node = &self.nodes[node];
        let shapes: Vec<_> = node.inputs.iter().map(|(_, shape)| shape).collect();
        let slopes = self.constant_of(node.inputs[1].0).unwrap_or_default();
        let place = node.op.cone(1, &shapes, &node.shape, &[element]);
        place.first().map_or(0.0, |&index| slopes[index])
    }

    /// An element of a stored tensor that is part of the model.
    pub fn constant_element(&self, element: Element) -> Option<f64> {
        let values = self.constant_of(element.value)?;
        values.get(element.index).copied()
    }

    /// The elements that output `element` of a [`Plain::Largest`] or [`Plain::Smallest`] node is the
    /// largest or smallest of. They may be constants.
    pub fn plain_members(&self, node: usize, element: usize) -> Vec<Element> {
        let node = &self.nodes[node];
        let shapes: Vec<_> = node.inputs.iter().map(|(_, shape)| shape).collect();
        let of_input = |position: usize| {
            let value = node.inputs[position].0;
            let elements = node.op.cone(position, &shapes, &node.shape, &[element]);
            elements
                .into_iter()
                .map(move |index| Element { value, index })
        };
        (0..node.inputs.len()).flat_map(of_input).collect()
    }

    /// What an operator is told when it is asked for a row.
    fn row_of(&self, node: &Node, element: usize, row: &mut AffineRow) -> bool {
        let inputs: Vec<_> = node
            .inputs
            .iter()
            .map(|(value, shape)| (shape, self.constant_of(*value)))
            .collect();
        node.op.affine_row(element, &inputs, &node.shape, row)
    }

    fn constant_of(&self, value: ValueId) -> Option<&[f64]> {
        self.values[value]
            .constant()
            .map(crate::network::Constant::double)
    }
}
