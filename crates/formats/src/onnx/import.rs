//! From a decoded model to a [`Network`]: each node is handed to the builder of its operator.
//!
//! A sample is the model's input at a batch of one, so shapes are concrete and whatever depends on
//! no input (shape arithmetic above all) is computed on the way. A node that cannot be imported
//! poisons what depends on it; the model is refused only if its answer does.

mod control;

use std::collections::{HashMap, HashSet};

use deepconcolic_network::{Network, NetworkBuilder, Shape, Tensor, ops};

use super::dtype::DType;
use super::error::OnnxError;
use super::finite::NotFinite;
use super::gelu;
use super::masking::Masks;
use super::model::Model;
use super::node::Node;
use super::notes::notes;
use super::operators::{self, Context};
use super::quote::quote;
use super::value_info::{Dim, ValueInfo};
use crate::{LoadOptions, Loaded};

use control::Unrolled;

/// A value of the graph: the tensor, and whether its elements are integers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub tensor: Tensor,
    pub integer: bool,
}

/// A value, or why there is none.
pub(crate) type Slot = Result<Value, String>;

impl Model {
    /// The network this model describes.
    pub fn import(&self, options: &LoadOptions) -> Result<Loaded, OnnxError> {
        let input = self.only_input()?;
        let shape = input_shape(input, options)?;
        let (mut builder, tensor) = NetworkBuilder::new(&input.name, shape);
        let tensor = normalise(&mut builder, tensor, options)
            .map_err(|problem| OnnxError::Normalisation { problem })?;
        let mut import = Import {
            model: self,
            builder,
            values: HashMap::new(),
            names: HashSet::new(),
            not_finite: NotFinite::default(),
            masks: Masks::new(
                &self.graph.nodes,
                self.graph.outputs.iter().map(|output| output.name.as_str()),
                self.standard_opset(),
            ),
            opset: self.standard_opset(),
            unrolled: Unrolled::default(),
            repeats: HashMap::new(),
        };
        import.values.insert(
            input.name.clone(),
            Ok(Value {
                tensor,
                integer: false,
            }),
        );
        import.constants();
        let fused = gelu::erf_forms(&self.graph);
        for (index, node) in self.graph.nodes.iter().enumerate() {
            import.node(fused.get(&index).unwrap_or(node));
        }
        let mut notes = notes(self, input);
        let network = import.finish(&mut notes)?;
        Ok(Loaded {
            network,
            format: format!("ONNX, opset {}", self.standard_opset()),
            producer: self.producer.clone(),
            sha256: self.sha256.clone(),
            notes,
        })
    }

    fn only_input(&self) -> Result<&ValueInfo, OnnxError> {
        match self.graph.inputs.as_slice() {
            [input] => Ok(input),
            inputs => Err(OnnxError::Inputs {
                names: inputs
                    .iter()
                    .map(|i| quote(&i.name))
                    .collect::<Vec<_>>()
                    .join(", "),
                count: inputs.len(),
            }),
        }
    }
}

/// The input's shape at a batch of one.
fn input_shape(input: &ValueInfo, options: &LoadOptions) -> Result<Shape, OnnxError> {
    let refuse = |problem: String| OnnxError::Input {
        input: input.name.clone(),
        problem,
    };
    if let Some(dtype) = input.elem_type
        && !dtype.is_float()
    {
        return Err(refuse(format!(
            "its elements are {dtype}, not floating-point numbers; \
             export the model without the conversion in front"
        )));
    }
    let declared = input.shape.as_deref().unwrap_or_default();
    let dims = if let Some(given) = &options.input_shape {
        let agrees = declared.is_empty()
            || declared.len() == given.len()
                && declared
                    .iter()
                    .zip(given)
                    .enumerate()
                    .all(|(axis, (d, g))| {
                        axis == 0 || !matches!(d, Dim::Known(known) if known != g)
                    });
        if !agrees {
            return Err(refuse(format!(
                "the shape given, {given:?}, contradicts the model's {}",
                show(declared)
            )));
        }
        given.clone()
    } else if declared.is_empty() {
        return Err(refuse(
            "the model does not declare its shape; give it with --input-shape, for example 1,3,32,32"
                .into(),
        ));
    } else {
        concrete(declared).ok_or_else(|| {
            refuse(format!(
                "its shape {} is open beyond the batch axis; give it with --input-shape, \
                 for example 1,3,32,32",
                show(declared)
            ))
        })?
    };
    Shape::new(dims).map_err(refuse)
}

/// The declared shape with one sample in an open batch axis.
fn concrete(declared: &[Dim]) -> Option<Vec<usize>> {
    declared
        .iter()
        .enumerate()
        .map(|(axis, dim)| match dim {
            Dim::Known(extent) => Some(*extent),
            Dim::Symbolic(_) | Dim::Unknown => (axis == 0).then_some(1),
        })
        .collect()
}

fn show(declared: &[Dim]) -> String {
    let dims: Vec<String> = declared
        .iter()
        .map(|dim| match dim {
            Dim::Known(extent) => extent.to_string(),
            Dim::Symbolic(name) => quote(name),
            Dim::Unknown => "?".into(),
        })
        .collect();
    format!("[{}]", dims.join(", "))
}

/// The input as the first node sees it: minus the mean, over the standard deviation.
fn normalise(
    builder: &mut NetworkBuilder,
    input: Tensor,
    options: &LoadOptions,
) -> Result<Tensor, String> {
    let mut tensor = input;
    if let Some(mean) = &options.mean {
        if mean.iter().any(|m| !(*m as f32).is_finite()) {
            return Err("a mean must be a finite number".into());
        }
        let mean = per_channel(builder, input, "mean", mean)?;
        tensor = builder.add(ops::Binary::new(ops::Sub), &[tensor, mean], "mean")?;
    }
    if let Some(std) = &options.std {
        // As the network will hold it: what is too small for single precision is zero there.
        let usable = |s: &f64| (*s as f32).is_finite() && *s as f32 > 0.0;
        if !std.iter().all(usable) {
            return Err("a standard deviation must be a positive number".into());
        }
        let std = per_channel(builder, input, "standard deviation", std)?;
        tensor = builder.add(ops::Binary::new(ops::Div), &[tensor, std], "std")?;
    }
    Ok(tensor)
}

/// One number for all elements, for each channel, or for each element of the input.
fn per_channel(
    builder: &mut NetworkBuilder,
    input: Tensor,
    what: &str,
    numbers: &[f64],
) -> Result<Tensor, String> {
    let shape = builder.shape(input);
    let count = numbers.len();
    if count == shape.elements() && count > 1 {
        return builder.constant(shape, numbers.to_vec());
    }
    let dims = shape.dims();
    let candidates: Vec<usize> = match dims.len() {
        4 => vec![1, 3],
        rank => vec![rank.saturating_sub(1)],
    };
    let axes: Vec<usize> = candidates
        .into_iter()
        .filter(|&axis| dims.get(axis) == Some(&count))
        .collect();
    let mut spread = vec![1; dims.len()];
    match axes.as_slice() {
        _ if count == 1 => {}
        [axis] => spread[*axis] = count,
        _ => {
            return Err(format!(
                "{count} numbers of {what} fit neither the channels nor the elements of an input \
                 of shape {shape}; give one number, or one for each channel"
            ));
        }
    }
    builder.constant(Shape::new(spread)?, numbers.to_vec())
}

struct Import<'a> {
    model: &'a Model,
    builder: NetworkBuilder,
    values: HashMap<String, Slot>,
    /// Names of layers so far: each must be unique on the command line.
    names: HashSet<String>,
    not_finite: NotFinite,
    masks: Masks,
    /// Version of the standard operators where the import stands.
    opset: i64,
    unrolled: Unrolled,
    /// How often a name of a layer was taken already.
    repeats: HashMap<String, usize>,
}

impl Import<'_> {
    fn constants(&mut self) {
        for (name, array) in &self.model.graph.initializers {
            let slot = operators::constant(&mut self.builder, array);
            if let Ok(value) = &slot {
                self.not_finite.weights(&self.builder, name, value.tensor);
            }
            self.values.insert(name.clone(), slot);
        }
    }

    fn node(&mut self, node: &Node) {
        let slots = match self.written_out(node) {
            Some(Ok(slots)) => slots,
            Some(Err(problem)) => {
                let label = format!("node {} ({})", quote(node.label()), quote(&node.op_type));
                vec![Err(format!("{label}: {problem}")); node.outputs.len()]
            }
            None => match self.outputs_of(node) {
                Ok(values) => values.into_iter().map(Ok).collect::<Vec<Slot>>(),
                Err(problem) => vec![Err(problem); node.outputs.len()],
            },
        };
        let missing = Err(format!(
            "{}: this output of {} is not supported",
            quote(node.label()),
            quote(&node.op_type)
        ));
        for (position, name) in node.outputs.iter().enumerate() {
            let slot = slots.get(position).unwrap_or(&missing).clone();
            self.values.insert(name.clone(), slot);
        }
    }

    fn outputs_of(&mut self, node: &Node) -> Result<Vec<Value>, String> {
        let label = format!("node {} ({})", quote(node.label()), quote(&node.op_type));
        let build = operators::find(node)
            .ok_or_else(|| format!("{label}: {}", operators::unsupported(node)))?;
        let inputs: Result<Vec<Option<Value>>, String> = node
            .inputs
            .iter()
            .map(|name| match self.values.get(name) {
                _ if name.is_empty() => Ok(None),
                Some(Ok(value)) => Ok(Some(*value)),
                Some(Err(problem)) => Err(problem.clone()),
                None => Err(format!("{label}: {} is not there", quote(name))),
            })
            .collect();
        let mut inputs = inputs?;
        if let Some(replaced) = self.masks.replaced(&mut self.builder, node, &inputs) {
            inputs = replaced;
        } else {
            self.not_finite
                .check(&self.builder, node, &inputs)
                .map_err(|problem| format!("{label}: {problem}"))?;
        }
        let name = self.layer_name(node);
        self.builder
            .computing(node.outputs.first().map_or("", |output| output));
        let mut context = Context {
            node,
            name: &name,
            opset: self.opset,
            inputs,
            constants: &self.model.graph.initializers,
            builder: &mut self.builder,
        };
        let outputs = build(&mut context).map_err(|problem| format!("{label}: {problem}"))?;
        self.names.insert(name);
        self.not_finite.computed(&self.builder, node, &outputs);
        Ok(outputs)
    }

    /// The node's name, else its output's; the latter also when another node has that name.
    fn layer_name(&mut self, node: &Node) -> String {
        let output = node.outputs.first().cloned().unwrap_or_default();
        let name = if node.name.is_empty() || self.names.contains(&node.name) {
            output
        } else {
            node.name.clone()
        };
        // Names are printed as they are; a hostile one must not steer the terminal.
        let mut name = name.replace(char::is_control, "\u{fffd}");
        // The rounds of a loop bring the same names again.
        while self.unrolled.happened() && self.names.contains(&name) {
            let count = self.repeats.entry(name.clone()).or_insert(1);
            *count += 1;
            name = format!("{name}#{count}");
        }
        name
    }

    /// The network with every output that could be imported; the answer is the first
    /// floating-point one.
    fn finish(self, notes: &mut Vec<String>) -> Result<Network, OnnxError> {
        let mut outputs = Vec::new();
        let mut primary = None;
        let mut problems = Vec::new();
        for output in &self.model.graph.outputs {
            match self.values.get(&output.name) {
                Some(Ok(value)) => {
                    if let Some(problem) = self.not_finite.problem(&output.name) {
                        problems.push((output, problem));
                        continue;
                    }
                    if !value.integer && primary.is_none() {
                        primary = Some(outputs.len());
                    }
                    outputs.push((output.name.as_str(), value.tensor));
                }
                Some(Err(problem)) => problems.push((output, problem.clone())),
                None => problems.push((output, "it is not computed".into())),
            }
        }
        let Some(primary) = primary else {
            let problem = problems.first().map_or_else(
                || "the model has no floating-point output to test".to_owned(),
                |(_, problem)| problem.clone(),
            );
            return Err(OnnxError::Import { problem });
        };
        // A float output before the answer that failed would silently change which output is
        // tested.
        if let Some((_, problem)) = problems.iter().find(|(output, _)| {
            output.elem_type.is_some_and(DType::is_float)
                && self.position(output) < self.position_named(outputs[primary].0)
        }) {
            return Err(OnnxError::Import {
                problem: problem.clone(),
            });
        }
        notes.extend(problems.iter().map(|(output, problem)| {
            format!("output {} is left out: {problem}", quote(&output.name))
        }));
        self.builder
            .finish(&outputs, primary)
            .map_err(|problem| OnnxError::Import { problem })
    }

    fn position(&self, output: &ValueInfo) -> usize {
        self.position_named(&output.name)
    }

    fn position_named(&self, name: &str) -> usize {
        let outputs = &self.model.graph.outputs;
        outputs
            .iter()
            .position(|o| o.name == name)
            .unwrap_or(outputs.len())
    }
}
