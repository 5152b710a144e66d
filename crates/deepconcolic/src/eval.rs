//! Runs a model on data.

use deepconcolic_campaign::{Accuracy, Answers, Inputs, sanity};
use deepconcolic_criteria::{Decision, Rule, UNSTATED};
use deepconcolic_network::{Network, Pass, Point, Shape};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::Event;
use crate::settings::{DataSettings, ModelSettings};
use crate::{model, samples};

/// What is to be run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EvalJob {
    /// The model and how it is read.
    pub model: ModelSettings,
    /// The data and how they are read.
    pub data: DataSettings,
    /// What the model's answer is; without it, what the model shows.
    pub decision: Option<Rule>,
    /// The output of the model that is wanted; without it, the first floating-point one.
    pub output: Option<String>,
    /// A hidden layer that is wanted instead, by name or number (the input is layer 1).
    pub layer: Option<String>,
    /// Its pre-activations u, not what comes out of it.
    pub pre: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// How many samples there are.
    pub samples: usize,
    /// How the data were laid out for the model.
    pub layout: String,
    /// The shape of the values: one row a sample.
    pub shape: Vec<usize>,
    /// The tensor that was wanted.
    pub values: Vec<f32>,
    /// How outputs are read; none where nobody has said.
    pub decision: Option<Rule>,
    /// Share of samples that get the answer of their label, when there are labels.
    pub accuracy: Option<f64>,
    /// What the user should know about the data.
    pub notes: Vec<String>,
}

/// Samples run at once: enough to occupy every core, little enough to keep in memory.
const BATCH: usize = 512;

impl EvalJob {
    /// Runs all samples.
    pub fn run(&self, tell: &mut dyn FnMut(Event)) -> Result<Evaluation, Error> {
        let loaded = model::load(&self.model)?;
        let told = loaded.notes.into_iter().chain(loaded.scope);
        told.map(Event::Note).for_each(tell);
        let network = loaded.network;
        let point = self.point(&network)?;
        let decision = model::decision(self.decision, &network)?;
        let samples = self.data.open(&network)?;
        let inputs = samples::inputs(&samples, &decision)?;
        let (values, answers) = evaluate(&network, &inputs, &decision, point);
        // A layer is looked at to find out where a number that is none comes from.
        if let (None, Some(why)) = (&self.layer, sanity::refusal(&answers)) {
            return Err(Error::Request(why));
        }
        let (domain, words) = samples::domain(None, &samples, &network)?;
        let mut notes = samples::notes(&samples, &answers, &domain, &words);
        if samples.quantity(0).is_none() {
            notes.retain(|note| !note.contains(UNSTATED));
        }
        Ok(Evaluation {
            samples: samples.len(),
            layout: samples.layout().to_owned(),
            shape: shape(&network, point, samples.len()),
            values,
            decision: decision.rule(),
            accuracy: answers.accuracy().map(Accuracy::share),
            notes,
        })
    }

    fn point(&self, network: &Network) -> Result<Point, Error> {
        if let Some(name) = &self.layer {
            return match network.layer_named(name) {
                Some(layer) if self.pre => Ok(Point::Pre(layer)),
                Some(layer) => Ok(Point::Post(layer)),
                None => Err(Error::Request(no_layer(network, name))),
            };
        }
        let Some(name) = &self.output else {
            return Ok(Point::Output(network.primary_output()));
        };
        let names: Vec<&str> = network.outputs().map(|(name, _)| name).collect();
        match names.iter().position(|n| n == name) {
            Some(output) => Ok(Point::Output(output)),
            None => Err(Error::Request(format!(
                "the model has no output `{name}`; its outputs are {}",
                names.join(", ")
            ))),
        }
    }
}

/// One row a sample, then the tensor's own axes.
fn shape(network: &Network, point: Point, samples: usize) -> Vec<usize> {
    let tensor: Shape = match point {
        Point::Output(output) => network
            .outputs()
            .nth(output)
            .map(|(_, shape)| shape)
            .unwrap_or_default(),
        Point::Pre(layer) | Point::Post(layer) => network.layers()[layer].shape(),
        // A Softmax or Sigmoid keeps the shape.
        Point::Logits | Point::Answer => network.logits_shape(),
        Point::Input => network.input_shape(),
    };
    let mut shape = vec![samples];
    shape.extend(tensor.without_batch());
    shape
}

/// The tensor asked for, all samples, and what the network says of them.
fn evaluate(
    network: &Network,
    inputs: &dyn Inputs,
    decision: &Decision,
    point: Point,
) -> (Vec<f32>, Answers) {
    let pass = if point == Point::Logits {
        Pass::keep([point])
    } else {
        Pass::keep([point, Point::Logits])
    };
    let mut values = Vec::with_capacity(inputs.len() * network.elements(point));
    let mut answers = Answers::new(decision);
    let mut x = Vec::new();
    for start in (0..inputs.len()).step_by(BATCH) {
        let numbers: Vec<usize> = (start..inputs.len().min(start + BATCH)).collect();
        x.resize(numbers.len() * network.input_elements(), 0.0);
        inputs.gather(&numbers, &mut x);
        let trace = network.forward(&x, &pass);
        values.extend_from_slice(trace.get(point));
        for (row, &number) in numbers.iter().enumerate() {
            let logits = trace.sample(Point::Logits, row);
            answers.observe(number, logits, inputs.truth(number).as_ref());
        }
    }
    (values, answers)
}

fn no_layer(network: &Network, name: &str) -> String {
    let layers: Vec<String> = network
        .layers()
        .iter()
        .enumerate()
        .map(|(index, layer)| format!("  {} {}", index + 2, layer.name()))
        .collect();
    if layers.is_empty() {
        format!("no hidden layer `{name}`: the model has no activation operator")
    } else {
        format!(
            "no hidden layer `{name}`; there are:\n{}",
            layers.join("\n")
        )
    }
}
