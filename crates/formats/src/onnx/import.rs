//! From a decoded model to a [`Network`]: each node is handed to the builder of its operator.
//!
//! A sample is the model's inputs at a batch of one, so shapes are concrete and whatever depends on
//! no input (shape arithmetic above all) is computed on the way. A node that cannot be imported
//! poisons what depends on it; the model is refused only if its answer does.

mod control;

use std::collections::{HashMap, HashSet};

use deepconcolic_network::{InputPart, Network, NetworkBuilder, Tensor};

use super::cut::Section;
use super::dtype::DType;
use super::error::OnnxError;
use super::finite::NotFinite;
use super::gelu;
use super::inputs::Inputs;
use super::masking::Masks;
use super::model::Model;
use super::node::Node;
use super::notes::notes;
use super::operators::{self, Context};
use super::quote::quote;
use super::unit_sum;
use super::value_info::ValueInfo;
use crate::normalisation::normalise;
use crate::until::LoadUntil;
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
        let inputs = Inputs::of(&self.graph, options)?;
        let mut notes = notes(self);
        let (network, parts, after_integers) = if options.from.is_empty() {
            let whole = Section::whole(&self.graph);
            let mut import = Import::new(self, &inputs, &whole, Some(options), &options.until)?;
            import.nodes(&whole, &options.until)?;
            let after_integers = import.after_integers();
            let parts = import.parts.clone();
            (import.finish(&mut notes)?, parts, after_integers)
        } else {
            let (network, parts) = self.import_cut(&inputs, options, &mut notes)?;
            (network, parts, Vec::new())
        };
        Ok(Loaded {
            network,
            format: format!("ONNX, opset {}", self.standard_opset()),
            producer: self.producer.clone(),
            sha256: self.sha256.clone(),
            scope: inputs.scope(&parts, &options.from),
            after_integers,
            notes,
        })
    }

    /// The network after the tensors where the model is cut, with the one before them.
    fn import_cut(
        &self,
        inputs: &Inputs,
        options: &LoadOptions,
        notes: &mut Vec<String>,
    ) -> Result<(Network, Vec<InputPart>), OnnxError> {
        let after = Section::after(&self.graph, &options.from)?;
        let before = Section::before(&self.graph, &options.from, &after);
        let until = &options.until;
        let mut import = Import::new(self, inputs, &before, None, until)?;
        import.nodes(&before, until)?;
        let cut = import.cut_tensors(&options.from)?;
        let inputs_after = inputs.replaced(&cut);
        let mut network = Import::new(self, &inputs_after, &after, Some(options), until)?;
        network.nodes(&after, until)?;
        let parts = network.parts.clone();
        let network = network.finish(notes)?;
        let before = import.computing(&parts)?;
        Ok((network.computed_by(before), parts))
    }
}

struct Import<'a> {
    model: &'a Model,
    builder: NetworkBuilder,
    /// Element types of the constants of the file.
    types: HashMap<&'a str, DType>,
    /// What the input vector is made of.
    parts: Vec<InputPart>,
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

impl<'a> Import<'a> {
    /// The inputs that a section reads, and all constants. The normalisation that options ask for is put in front.
    fn new(
        model: &'a Model,
        inputs: &Inputs,
        section: &Section<'_>,
        options: Option<&LoadOptions>,
        until: &LoadUntil,
    ) -> Result<Self, OnnxError> {
        let parts = inputs.tested(section);
        if parts.is_empty() {
            return Err(OnnxError::NoInput);
        }
        let problem = |problem| OnnxError::InputOption { problem };
        let (mut builder, mut tensors) = NetworkBuilder::of_inputs(parts).map_err(problem)?;
        if let (Some(options), [tensor]) = (options, tensors.as_mut_slice()) {
            *tensor = normalise(&mut builder, *tensor, options)
                .map_err(|problem| OnnxError::Normalisation { problem })?;
        }
        let parts = builder.inputs().to_vec();
        let tested = parts.iter().zip(&tensors).map(|(part, &tensor)| {
            let integer = part.integer;
            (part.name.clone(), Ok(Value { tensor, integer }))
        });
        let mut values: HashMap<String, Slot> = tested.collect();
        for fixed in &inputs.fixed {
            let slot = builder.constant(fixed.shape.clone(), fixed.values.clone());
            let integer = fixed.integer;
            let slot = slot.map(|tensor| Value { tensor, integer });
            values.insert(fixed.name.clone(), slot);
        }
        let mut import = Self {
            model,
            builder,
            parts,
            types: model.graph.constant_types(),
            values,
            names: HashSet::new(),
            not_finite: NotFinite::default(),
            masks: Masks::new(
                &model.graph.nodes,
                model
                    .graph
                    .outputs
                    .iter()
                    .map(|output| output.name.as_str()),
                model.standard_opset(),
            ),
            opset: model.standard_opset(),
            unrolled: Unrolled::default(),
            repeats: HashMap::new(),
        };
        import.constants(until)?;
        Ok(import)
    }

    fn nodes(&mut self, section: &Section<'_>, until: &LoadUntil) -> Result<(), OnnxError> {
        let mut fused = gelu::erf_forms(&self.model.graph);
        fused.extend(unit_sum::already(&self.model.graph));
        for (index, node) in section.nodes() {
            OnnxError::unless_over(until)?;
            self.node(fused.get(&index).unwrap_or(node));
        }
        Ok(())
    }

    /// The shapes of the tensors where the model is cut.
    fn cut_tensors(&self, names: &[String]) -> Result<Vec<InputPart>, OnnxError> {
        let refuse = |name: &str, why: &str| OnnxError::InputOption {
            problem: format!("--from {}: {why}", quote(name)),
        };
        let tensor = |name: &String| match self.values.get(name) {
            Some(Ok(value)) if value.integer => Err(refuse(
                name,
                "its elements are integers; name the first floating-point tensor after it",
            )),
            Some(Ok(value)) if self.builder.is_constant(value.tensor) => Err(refuse(
                name,
                "it does not depend on an input that is tested",
            )),
            Some(Ok(value)) => Ok(InputPart::new(name, self.builder.shape(value.tensor))),
            Some(Err(problem)) => Err(refuse(name, &format!("it cannot be computed: {problem}"))),
            None => Err(refuse(name, "it is not computed")),
        };
        names.iter().map(tensor).collect()
    }

    /// The network that computes these tensors.
    fn computing(self, parts: &[InputPart]) -> Result<Network, OnnxError> {
        let refuse = |problem| OnnxError::Import { problem };
        let mut outputs = Vec::new();
        for part in parts {
            match self.values.get(&part.name) {
                Some(Ok(value)) => outputs.push((part.name.as_str(), value.tensor)),
                Some(Err(problem)) => return Err(refuse(problem.clone())),
                None => return Err(refuse(format!("{} is not computed", quote(&part.name)))),
            }
        }
        self.builder.finish(&outputs, 0).map_err(refuse)
    }

    /// For each input of integers, the first floating-point tensor that is computed from it.
    fn after_integers(&self) -> Vec<(String, String)> {
        let integers = self.parts.iter().filter(|part| part.integer);
        let first = |part: &InputPart| {
            let mut reached: HashSet<&str> = HashSet::from([part.name.as_str()]);
            for node in &self.model.graph.nodes {
                if !node
                    .inputs
                    .iter()
                    .any(|name| reached.contains(name.as_str()))
                {
                    continue;
                }
                for output in &node.outputs {
                    reached.insert(output);
                    if let Some(Ok(value)) = self.values.get(output)
                        && !value.integer
                        && !self.builder.is_constant(value.tensor)
                    {
                        return Some((part.name.clone(), output.clone()));
                    }
                }
            }
            None
        };
        integers.filter_map(first).collect()
    }

    fn constants(&mut self, until: &LoadUntil) -> Result<(), OnnxError> {
        for (name, array) in &self.model.graph.initializers {
            OnnxError::unless_over(until)?;
            let slot = operators::constant(&mut self.builder, array);
            if let Ok(value) = &slot {
                self.not_finite.weights(&self.builder, name, value.tensor);
            }
            self.values.insert(name.clone(), slot);
        }
        Ok(())
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
            // Where the model is cut, the tensor is there already.
            self.values.entry(name.clone()).or_insert(slot);
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
            types: &self.types,
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
