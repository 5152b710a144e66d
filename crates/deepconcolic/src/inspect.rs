//! What is in a model, and what can be analysed of it.

use std::collections::BTreeMap;

use deepconcolic_formats::Loaded;
use deepconcolic_network::{Head, InputPart, Nature, Network, Shape};
use serde::Serialize;

use crate::error::Error;
use crate::model;
use crate::settings::ModelSettings;

/// What is in a model.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// The format of the file.
    pub format: String,
    /// What wrote it.
    pub producer: String,
    /// The input.
    pub input: TensorReport,
    /// The tensors of the file that it is made of, where they are not simply that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputReport>,
    /// The outputs.
    pub outputs: Vec<TensorReport>,
    /// What the robustness of the network is judged by: the answer before a final Softmax or Sigmoid.
    pub logits: Vec<usize>,
    /// Whether the answer is a Softmax of the logits.
    pub softmax: bool,
    /// The operator that makes the answer from the logits.
    pub head: Option<&'static str>,
    /// The hidden layers.
    pub layers: Vec<HiddenLayer>,
    /// How many neurons there are.
    pub neurons: usize,
    /// Operators as they are executed, with their counts.
    pub operators: BTreeMap<&'static str, usize>,
    /// Whether the network is piecewise linear, so that every cell is exact.
    pub exact: bool,
    /// What cannot be analysed, and why.
    pub limits: Vec<String>,
    /// What is odd about how the file was read.
    pub notes: Vec<String>,
}

/// A tensor.
#[derive(Clone, Debug, Serialize)]
pub struct TensorReport {
    /// Its name.
    pub name: String,
    /// Its shape, without the batch axis.
    pub shape: Vec<usize>,
}

impl TensorReport {
    fn new(name: &str, shape: &Shape) -> Self {
        Self {
            name: name.to_owned(),
            shape: shape.without_batch().to_vec(),
        }
    }
}

/// A tensor of the file within the input vector.
#[derive(Clone, Debug, Serialize)]
pub struct InputReport {
    /// Its name.
    pub name: String,
    /// Its shape, as the file has it at a batch of one.
    pub shape: Vec<usize>,
    /// Where its elements begin in the input vector.
    pub first: usize,
    /// Whether its elements are integers, which are measured and not searched.
    pub integer: bool,
}

/// A hidden layer.
#[derive(Clone, Debug, Serialize)]
pub struct HiddenLayer {
    /// As the paper counts: the input is layer 1.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Its operator.
    pub kind: &'static str,
    /// Its shape, without the batch axis.
    pub shape: Vec<usize>,
    /// How many neurons there are.
    pub neurons: usize,
}

impl Inspection {
    /// Of a model file.
    pub fn of(settings: &ModelSettings) -> Result<Self, Error> {
        Ok(Self::new(model::load(settings)?))
    }

    fn new(loaded: Loaded) -> Self {
        let network = &loaded.network;
        let layers: Vec<HiddenLayer> = network
            .layers()
            .iter()
            .enumerate()
            .map(|(index, layer)| HiddenLayer {
                number: index + 2,
                name: layer.name().to_owned(),
                kind: layer.kind(),
                shape: layer.shape().without_batch().to_vec(),
                neurons: layer.neurons(),
            })
            .collect();
        let mut operators = BTreeMap::new();
        for (kind, _) in network.operators() {
            *operators.entry(kind).or_insert(0) += 1;
        }
        Self {
            input: TensorReport::new(network.input_name(), &network.input_shape()),
            inputs: parts(network),
            outputs: network
                .outputs()
                .map(|(name, shape)| TensorReport::new(name, &shape))
                .collect(),
            logits: network.logits_shape().without_batch().to_vec(),
            softmax: matches!(network.head(), Head::Softmax | Head::LogSoftmax),
            head: network.head().kind(),
            neurons: layers.iter().map(|l| l.neurons).sum(),
            layers,
            operators,
            exact: network.nature() <= Nature::PiecewiseLinear,
            limits: limits(network),
            format: loaded.format,
            producer: loaded.producer,
            notes: loaded.notes.into_iter().chain(loaded.scope).collect(),
        }
    }
}

/// What the input is made of, where there is more to say than its name and shape.
fn parts(network: &Network) -> Vec<InputReport> {
    let parts = network.inputs();
    if parts.len() == 1 && !parts[0].integer {
        return Vec::new();
    }
    let report = |part: &InputPart| InputReport {
        name: part.name.clone(),
        shape: part.shape.dims().to_vec(),
        first: part.first,
        integer: part.integer,
    };
    parts.iter().map(report).collect()
}

/// What symbolic engines and proofs will not be able to do here, and why.
fn limits(network: &Network) -> Vec<String> {
    let mut limits = Vec::new();
    let mut kinds: BTreeMap<&'static str, Nature> = BTreeMap::new();
    for (kind, nature) in network.operators() {
        kinds.insert(kind, nature);
    }
    let of = |wanted: Nature| -> Vec<&str> {
        let found = kinds.iter().filter(|(_, nature)| **nature == wanted);
        found.map(|(kind, _)| *kind).collect()
    };
    let ends_in = network.head().kind().unwrap_or_default();
    let smooth: Vec<&str> = of(Nature::Smooth)
        .into_iter()
        .filter(|k| *k != ends_in)
        .collect();
    if !smooth.is_empty() {
        limits.push(format!(
            "{} {} smooth: cells are linearised at a point, not exact; bounds are relaxed",
            smooth.join(", "),
            if smooth.len() == 1 { "is" } else { "are" }
        ));
    }
    let discrete = of(Nature::Discrete);
    if !discrete.is_empty() {
        limits.push(format!(
            "{} {} discrete: run, but not seen through by symbolic analysis",
            discrete.join(", "),
            if discrete.len() == 1 { "is" } else { "are" }
        ));
    }
    for part in network.inputs().iter().filter(|part| part.integer) {
        limits.push(format!(
            "the input {} holds integers: data can be measured, tests are made only with it fixed (--fix-input) or \
             the model cut after it (--from)",
            part.name
        ));
    }
    if network.layers().is_empty() {
        limits.push(
            "no activation operator, so no hidden layer: neuron criteria have nothing to cover"
                .into(),
        );
    }
    limits
}
