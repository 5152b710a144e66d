//! Builds a network tensor by tensor, the way a model file lists it.
//!
//! Files order axes channels first; the kernels want channels last. So a convolution is added as
//! "reorder, convolve, reorder back", and the builder *holds reorderings back*: each tensor is a
//! stored one plus a pending order of axes. Orders compose, cancel, and pass through operators that
//! commute with them; only where one meets an operator that does not commute is a Transpose
//! really run. The file's own Transposes vanish the same way.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::input_part::InputPart;
use crate::network::{Constant, Label, Layer, Network, Node, Source, StoredTensor, Value, ValueId};
use crate::numbers::Numbers;
use crate::operator::{Batch, Nature, Operand, Operator, Reordered};
use crate::ops::{Transpose, reorder};
use crate::workspace::KeptWorkspaces;
use crate::{Head, Order, Plain, Scalar, Shape};

/// A tensor of the network under construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor(usize);

/// Collects operators into a [`Network`].
///
/// ```
/// use deepconcolic_network::{NetworkBuilder, Pass, Point, Shape, ops};
/// # fn main() -> Result<(), String> {
/// let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2])?);
/// let u = builder.add(ops::Dense::new(2, 1, vec![1.0, -1.0], vec![0.5])?, &[x], "dense")?;
/// let v = builder.add(ops::Elementwise::new(ops::Relu), &[u], "relu")?;
/// let network = builder.finish(&[("y", v)], 0)?;
/// let trace = network.forward(&[3.0f32, 1.0, 0.0, 2.0], &Pass::keep([Point::Pre(0), Point::Output(0)]));
/// assert_eq!(trace.get(Point::Pre(0)), [2.5, -1.5]);
/// assert_eq!(trace.get(Point::Output(0)), [2.5, 0.0]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct NetworkBuilder {
    values: Vec<Value>,
    nodes: Vec<Node>,
    tensors: Vec<StoredTensor>,
    layers: Vec<Layer>,
    input_name: String,
    inputs: Vec<InputPart>,
    /// The tensor of the model file that is being computed, if there is a file.
    origin: Option<String>,
}

impl NetworkBuilder {
    /// A network with one input of this shape, and that input.
    pub fn new(input_name: &str, input: Shape) -> (Self, Tensor) {
        let mut builder = Self {
            values: Vec::new(),
            nodes: Vec::new(),
            tensors: Vec::new(),
            layers: Vec::new(),
            input_name: input_name.to_owned(),
            inputs: vec![InputPart::new(input_name, input.clone())],
            origin: None,
        };
        let value = builder.store(Source::Input, input.elements());
        let tensor = builder.hold(value, input);
        (builder, tensor)
    }

    /// What the input is made of.
    pub fn inputs(&self) -> &[InputPart] {
        &self.inputs
    }

    /// Says what the input is made of.
    pub(crate) fn declare_inputs(&mut self, parts: Vec<InputPart>) {
        self.inputs = parts;
    }

    /// A tensor that is part of the model.
    pub fn constant(
        &mut self,
        shape: Shape,
        numbers: impl Into<Numbers>,
    ) -> Result<Tensor, String> {
        let numbers = numbers.into();
        if shape.elements() != numbers.len() {
            return Err(format!("{} numbers for shape {shape}", numbers.len()));
        }
        let value = self.store_constant(numbers);
        Ok(self.hold(value, shape))
    }

    /// Shape of a tensor as the model file has it.
    pub fn shape(&self, tensor: Tensor) -> Shape {
        self.tensors[tensor.0].file_shape()
    }

    /// The numbers of a tensor that does not depend on the input, in the file's order.
    pub fn known(&self, tensor: Tensor) -> Option<Vec<f64>> {
        let place = &self.tensors[tensor.0];
        let data = self.values[place.value].constant()?.numbers().to_double();
        if place.order.is_identity() {
            return Some(data);
        }
        let mut ordered = vec![0.0; data.len()];
        reorder(&place.order, &place.shape, &data, &mut ordered);
        Some(ordered)
    }

    /// The same without copying them where that can be: large weights are held once.
    pub fn numbers(&self, tensor: Tensor) -> Option<Numbers> {
        let place = &self.tensors[tensor.0];
        if place.order.is_identity() {
            Some(self.values[place.value].constant()?.numbers().clone())
        } else {
            self.known(tensor).map(Numbers::from)
        }
    }

    /// The first number of a constant that single precision holds as an infinity or not at all: its
    /// place in the file's order, and the number.
    pub fn not_finite(&self, tensor: Tensor) -> Option<(usize, f64)> {
        let place = &self.tensors[tensor.0];
        let numbers = self.values[place.value].constant()?.numbers();
        let at = numbers.not_finite()?;
        Some((place.file_index(at), numbers.at(at)))
    }

    /// The element count of a tensor that copies of model constants may fill: a hostile file asks
    /// for far more than it holds.
    pub fn affordable(&self, shape: &Shape) -> Result<usize, String> {
        const MAX_COPIED: usize = 1 << 26;
        let elements = shape.elements();
        if elements > MAX_COPIED {
            return Err(format!(
                "a tensor of shape {shape} is beyond the limit of {MAX_COPIED} copied elements"
            ));
        }
        Ok(elements)
    }

    /// From here on operators compute this tensor of the model file.
    pub fn computing(&mut self, tensor: &str) {
        self.origin = Some(tensor.to_owned());
    }

    /// Adds an operator; `name` is kept for hidden layers. What depends on no input is computed
    /// here and now.
    pub fn add(
        &mut self,
        op: impl Into<Arc<dyn Operator>>,
        inputs: &[Tensor],
        name: &str,
    ) -> Result<Tensor, String> {
        self.add_shared(op.into(), inputs, name)
    }

    fn add_shared(
        &mut self,
        op: Arc<dyn Operator>,
        inputs: &[Tensor],
        name: &str,
    ) -> Result<Tensor, String> {
        let file_shapes: Vec<Shape> = inputs.iter().map(|&t| self.shape(t)).collect();
        let file_shape = op.output_shape(&file_shapes.iter().collect::<Vec<_>>())?;
        if inputs.iter().all(|&t| self.is_constant(t)) {
            return self.fold(op.as_ref(), inputs, file_shape);
        }
        let constant: Vec<bool> = inputs.iter().map(|&t| self.is_constant(t)).collect();
        if let Some(why) = op.refusal(&constant) {
            return Err(why);
        }
        if let Some(at) = inputs.iter().position(|&t| self.not_finite(t).is_some()) {
            return Err(format!(
                "its constant input {at} holds infinity or a number that is none"
            ));
        }
        if let Some(order) = op.as_reordering() {
            let mut place = self.tensors[inputs[0].0].clone();
            place.order = place.order.then(order);
            self.relabel(&place, name);
            return Ok(self.name_place(place));
        }
        if op.is_view() {
            let place = self.in_file_order(inputs[0]);
            return Ok(self.hold(place.value, file_shape));
        }
        let (op, places, order) = if let Some(commuted) = self.commute(&op, inputs)? {
            commuted
        } else {
            let places = inputs.iter().map(|&t| self.in_file_order(t)).collect();
            (op, places, Order::identity(file_shape.rank()))
        };
        let stored = file_shape.permuted(&order.inverse());
        let output = self.push_node(op, &places, stored.clone());
        let place = StoredTensor {
            value: output,
            shape: stored,
            order,
        };
        self.label(&place, name);
        if self.nodes.last().is_some_and(|n| n.op.is_activation()) {
            let before = places.into_iter().next().unwrap_or_else(|| place.clone());
            self.add_layer(before, place.clone(), name);
        }
        Ok(self.name_place(place))
    }

    /// A tensor times a factor plus a shift, one of each for every position along its second axis, taken into the
    /// operator that computes it; none where that operator cannot. The tensor itself stays as it is for others.
    pub fn scaled(
        &mut self,
        tensor: Tensor,
        factor: &[f64],
        shift: &[f64],
        name: &str,
    ) -> Option<Tensor> {
        let place = &self.tensors[tensor.0];
        let Source::Node(node) = self.values[place.value].source else {
            return None;
        };
        let last = place.shape.rank().checked_sub(1)?;
        if place.order.axes().get(1) != Some(&last) {
            return None;
        }
        let node = &self.nodes[node];
        let op = node.op.then(factor, shift)?;
        let inputs = node.inputs.iter().map(|(value, shape)| StoredTensor {
            value: *value,
            shape: shape.clone(),
            order: Order::identity(shape.rank()),
        });
        let inputs: Vec<StoredTensor> = inputs.collect();
        let mut place = place.clone();
        place.value = self.push_node(op, &inputs, place.shape.clone());
        self.label(&place, name);
        Some(self.name_place(place))
    }

    /// Adds a finished network that reads the input of this one, with what `rename` makes of its names:
    /// its logits and its outputs. Operators and constants are shared with it, not copied.
    pub(crate) fn append(
        &mut self,
        part: &Network,
        rename: impl Fn(&str) -> String,
    ) -> (Tensor, Vec<Tensor>) {
        // The input is the first stored tensor of every network; the others are numbered on from here.
        let (values, nodes) = (self.values.len() - 1, self.nodes.len());
        let value = |value: ValueId| if value == 0 { 0 } else { values + value };
        let place = |place: &StoredTensor| StoredTensor {
            value: value(place.value),
            ..place.clone()
        };
        for Value { source, elements } in &part.values[1..] {
            let source = match source {
                Source::Node(node) => Source::Node(nodes + node),
                Source::Input | Source::Constant(_) => source.clone(),
            };
            self.store(source, *elements);
        }
        self.nodes.extend(part.nodes.iter().map(|node| {
            Node {
                inputs: (node.inputs.iter())
                    .map(|(read, shape)| (value(*read), shape.clone()))
                    .collect(),
                output: value(node.output),
                label: Label {
                    name: rename(&node.label.name),
                    place: place(&node.label.place),
                },
                ..node.clone()
            }
        }));
        self.layers.extend(part.layers.iter().map(|layer| Layer {
            name: rename(&layer.name),
            node: nodes + layer.node,
            pre: place(&layer.pre),
            post: place(&layer.post),
            ..layer.clone()
        }));
        let outputs = part.outputs.iter();
        (
            self.name_place(place(&part.logits)),
            outputs.map(|(_, at)| self.name_place(place(at))).collect(),
        )
    }

    /// The network with these outputs, of which number `primary` is its answer. Operators that no
    /// output needs are dropped.
    pub fn finish(self, outputs: &[(&str, Tensor)], primary: usize) -> Result<Network, String> {
        let outputs: Vec<(String, StoredTensor)> = outputs
            .iter()
            .map(|(name, tensor)| ((*name).to_owned(), self.tensors[tensor.0].clone()))
            .collect();
        let Some((name, answer)) = outputs.get(primary) else {
            return Err("the network has no floating-point output".into());
        };
        let name = name.replace(char::is_control, "\u{fffd}");
        if self.values[answer.value].constant().is_some() {
            return Err(format!("the output `{name}` does not depend on the input"));
        }
        if answer.shape.elements() == 0 {
            return Err(format!("the output `{name}` has no elements"));
        }
        let (logits, head) = self.before_head(answer);
        let mut layers = self.layers;
        if head != Head::Identity && !is_read(&self.nodes, answer.value) {
            layers.retain(|layer| layer.post.value != answer.value);
        }
        let network = Network {
            input: self.tensors[0].clone(),
            input_name: self.input_name,
            inputs: self.inputs,
            before: None,
            primary,
            logits,
            head,
            outputs,
            values: self.values,
            nodes: self.nodes,
            layers,
            workspaces: KeptWorkspaces::default(),
        };
        let mut network = network.pruned();
        network.tell_labels_apart();
        Ok(network)
    }

    /// The logits that the answer is made from, and how.
    fn before_head(&self, answer: &StoredTensor) -> (StoredTensor, Head) {
        if let Source::Node(node) = self.values[answer.value].source {
            let node = &self.nodes[node];
            let (before, shape) = &node.inputs[0];
            if let Some(head) = node.op.head(shape) {
                let mut logits = answer.clone();
                logits.value = *before;
                return (logits, head);
            }
        }
        (answer.clone(), Head::Identity)
    }

    /// Whether a tensor is the same for every input.
    pub fn is_constant(&self, tensor: Tensor) -> bool {
        self.values[self.tensors[tensor.0].value]
            .constant()
            .is_some()
    }

    fn store(&mut self, source: Source, elements: usize) -> ValueId {
        self.values.push(Value { source, elements });
        self.values.len() - 1
    }

    fn store_constant(&mut self, numbers: Numbers) -> ValueId {
        let elements = numbers.len();
        self.store(Source::Constant(Arc::new(Constant::new(numbers))), elements)
    }

    fn hold(&mut self, value: ValueId, shape: Shape) -> Tensor {
        let order = Order::identity(shape.rank());
        self.name_place(StoredTensor {
            value,
            shape,
            order,
        })
    }

    fn name_place(&mut self, place: StoredTensor) -> Tensor {
        self.tensors.push(place);
        Tensor(self.tensors.len() - 1)
    }

    fn fold(
        &mut self,
        op: &dyn Operator,
        inputs: &[Tensor],
        shape: Shape,
    ) -> Result<Tensor, String> {
        self.affordable(&shape)?;
        let shapes: Vec<Shape> = inputs.iter().map(|&t| self.shape(t)).collect();
        let data: Vec<Vec<f64>> = inputs
            .iter()
            .map(|&t| self.known(t).unwrap_or_default())
            .collect();
        let operands: Vec<Operand<'_, f64>> = data
            .iter()
            .zip(&shapes)
            .map(|(data, shape)| Operand {
                data,
                shape,
                constant: true,
            })
            .collect();
        let mut output = vec![0.0; shape.elements()];
        let batch = Batch {
            samples: 1,
            inputs: &operands,
            output: &shape,
        };
        f64::evaluate(op).forward(&batch, &mut output, &mut Vec::new());
        self.constant(shape, output)
    }

    /// The operator on stored, reordered inputs, when it commutes with the order they share.
    #[expect(clippy::type_complexity, reason = "read once, next to its only caller")]
    fn commute(
        &mut self,
        op: &Arc<dyn Operator>,
        inputs: &[Tensor],
    ) -> Result<Option<(Arc<dyn Operator>, Vec<StoredTensor>, Order)>, String> {
        let variable: Vec<StoredTensor> = inputs
            .iter()
            .filter(|&&t| !self.is_constant(t))
            .map(|&t| self.tensors[t.0].clone())
            .collect();
        let order = variable[0].order.clone();
        let rank = order.axes().len();
        let alike = variable.iter().all(|p| p.order == order);
        let narrow = inputs.iter().all(|&t| self.shape(t).rank() <= rank);
        if order.is_identity() || !alike || !narrow {
            return Ok(None);
        }
        let op = match op.reordered(&order) {
            Reordered::Same => Arc::clone(op),
            Reordered::By(other) => other,
            Reordered::No => return Ok(None),
        };
        let places: Result<Vec<StoredTensor>, String> = inputs
            .iter()
            .map(|&t| match self.known(t) {
                None => Ok(self.tensors[t.0].clone()),
                Some(data) => {
                    let wide = self.shape(t).widened(rank);
                    let mut stored = vec![0.0; data.len()];
                    reorder(&order.inverse(), &wide, &data, &mut stored);
                    let constant = self.constant(wide.permuted(&order.inverse()), stored)?;
                    Ok(self.tensors[constant.0].clone())
                }
            })
            .collect();
        Ok(Some((op, places?, order)))
    }

    /// The tensor with no order pending: as it is, as a view, or through a Transpose.
    fn in_file_order(&mut self, tensor: Tensor) -> StoredTensor {
        let place = self.tensors[tensor.0].clone();
        if place.order.is_identity() {
            return place;
        }
        let shape = place.file_shape();
        let settled = if place.order.keeps_memory(&place.shape) {
            place.value
        } else if let Some(data) = self.known(tensor) {
            self.store_constant(data.into())
        } else {
            let transpose = Arc::new(Transpose::new(place.order.clone()));
            self.push_node(transpose, &[place], shape.clone())
        };
        let order = Order::identity(shape.rank());
        self.tensors[tensor.0] = StoredTensor {
            value: settled,
            shape,
            order,
        };
        self.tensors[tensor.0].clone()
    }

    fn push_node(
        &mut self,
        op: Arc<dyn Operator>,
        inputs: &[StoredTensor],
        shape: Shape,
    ) -> ValueId {
        let constant: Vec<bool> = inputs
            .iter()
            .map(|p| self.values[p.value].constant().is_some())
            .collect();
        let output = self.store(Source::Node(self.nodes.len()), shape.elements());
        self.nodes.push(Node {
            nature: op.nature(&constant),
            op,
            inputs: inputs.iter().map(|p| (p.value, p.shape.clone())).collect(),
            output,
            label: Label {
                name: String::new(),
                place: StoredTensor {
                    value: output,
                    order: Order::identity(shape.rank()),
                    shape: shape.clone(),
                },
            },
            shape,
        });
        output
    }

    /// Names the operator that was added last.
    fn label(&mut self, place: &StoredTensor, name: &str) {
        let name = self.origin.as_deref().unwrap_or(name).to_owned();
        if let Some(node) = self.nodes.last_mut() {
            let place = place.clone();
            node.label = Label { name, place };
        }
    }

    /// Notes how the output of an operator lies in the file, if it is reordered by what the same node
    /// of the file became.
    fn relabel(&mut self, place: &StoredTensor, name: &str) {
        let name = self.origin.as_deref().unwrap_or(name);
        if let Source::Node(node) = self.values[place.value].source {
            let label = &mut self.nodes[node].label;
            if label.name == name {
                label.place = place.clone();
            }
        }
    }

    fn add_layer(&mut self, pre: StoredTensor, post: StoredTensor, name: &str) {
        let node = self.nodes.len() - 1;
        // The stored input carries the order of the output: activations work element by element.
        let pre = StoredTensor {
            order: post.order.clone(),
            ..pre
        };
        self.layers.push(Layer {
            name: name.to_owned(),
            node,
            kind: self.nodes[node].op.kind(),
            nature: self.nodes[node].nature.max(Nature::PiecewiseLinear),
            pre,
            post,
        });
    }
}

fn is_read(nodes: &[Node], value: ValueId) -> bool {
    let mut read = nodes.iter().flat_map(|node| &node.inputs);
    read.any(|(input, _)| *input == value)
}

impl Network {
    /// The second operator with units that a node of the file became is `name#2`, and so on.
    fn tell_labels_apart(&mut self) {
        let mut seen = BTreeMap::new();
        for at in 0..self.nodes.len() {
            if matches!(self.plain(at), Plain::Affine | Plain::Opaque) {
                continue;
            }
            let name = &mut self.nodes[at].label.name;
            let count = seen.entry(name.clone()).or_insert(0);
            *count += 1;
            if *count > 1 {
                *name = format!("{name}#{count}");
            }
        }
    }

    /// Without the operators that no output needs, and without the constants that no operator reads: weights
    /// are held by the operators they became part of.
    fn pruned(mut self) -> Self {
        let needed = self.ancestors(self.outputs.iter().map(|(_, place)| place.value));
        let mut new_index = vec![None; self.nodes.len()];
        let mut kept = Vec::new();
        for (index, node) in self.nodes.into_iter().enumerate() {
            if needed[index] {
                new_index[index] = Some(kept.len());
                self.values[node.output].source = Source::Node(kept.len());
                kept.push(node);
            }
        }
        self.nodes = kept;
        let mut read = vec![false; self.values.len()];
        for (value, _) in self.nodes.iter().flat_map(|node| &node.inputs) {
            read[*value] = true;
        }
        for (_, place) in &self.outputs {
            read[place.value] = true;
        }
        for (value, _) in self.values.iter_mut().zip(read).filter(|(_, read)| !read) {
            if value.constant().is_some() {
                value.source = Source::Constant(Arc::new(Constant::new(Vec::<f32>::new().into())));
            }
        }
        self.layers.retain_mut(|layer| {
            let index = new_index[layer.node];
            layer.node = index.unwrap_or_default();
            index.is_some()
        });
        self
    }
}
