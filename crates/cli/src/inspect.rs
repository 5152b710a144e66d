//! `inspect`: what is in a model, and what can be analysed of it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use clap::Args;
use deepconcolic_formats::Loaded;
use deepconcolic_network::{Head, Nature, Network, Shape};
use serde::Serialize;

use crate::arguments::ModelArguments;
use crate::exit::Status;
use crate::{Outcome, exit, model};

/// Show a model's layers, neurons and operators, and what cannot be analysed and why
#[derive(Args)]
pub struct Inspect {
    #[command(flatten)]
    model: ModelArguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    format: String,
    producer: String,
    input: TensorReport,
    outputs: Vec<TensorReport>,
    /// What the robustness of the network is judged by: the answer before a final Softmax or Sigmoid.
    logits: Vec<usize>,
    softmax: bool,
    /// The operator that makes the answer from the logits.
    head: Option<&'static str>,
    layers: Vec<LayerReport>,
    neurons: usize,
    operators: BTreeMap<&'static str, usize>,
    exact: bool,
    limits: Vec<String>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct TensorReport {
    name: String,
    shape: Vec<usize>,
}

impl TensorReport {
    fn new(name: &str, shape: &Shape) -> Self {
        Self {
            name: name.to_owned(),
            shape: shape.without_batch().to_vec(),
        }
    }
}

#[derive(Serialize)]
struct LayerReport {
    /// As the paper counts: the input is layer 1.
    number: usize,
    name: String,
    kind: &'static str,
    shape: Vec<usize>,
    neurons: usize,
}

impl Report {
    fn new(loaded: Loaded) -> Self {
        let network = &loaded.network;
        let layers: Vec<LayerReport> = network
            .layers()
            .iter()
            .enumerate()
            .map(|(index, layer)| LayerReport {
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
            notes: loaded.notes,
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let producer = match self.producer.as_str() {
            "" => String::new(),
            name => format!(", written by {name}"),
        };
        writeln!(out, "format   {}{producer}", self.format)?;
        writeln!(
            out,
            "input    {} {}",
            self.input.name,
            dims(&self.input.shape)
        )?;
        for output in &self.outputs {
            writeln!(out, "output   {} {}", output.name, dims(&output.shape))?;
        }
        let head = match self.head {
            Some(head) => format!(", before the final {head}"),
            None => String::new(),
        };
        writeln!(out, "logits   {}{head}", dims(&self.logits))?;
        self.print_layers(out)?;
        let operators: Vec<String> = self
            .operators
            .iter()
            .map(|(kind, count)| format!("{kind} x{count}"))
            .collect();
        writeln!(out, "operators as executed: {}", operators.join(", "))?;
        if self.exact {
            writeln!(out, "analysis: piecewise linear, so every cell is exact")?;
        }
        for limit in &self.limits {
            writeln!(out, "analysis: {limit}")?;
        }
        Ok(())
    }

    fn print_layers(&self, out: &mut impl Write) -> io::Result<()> {
        if self.layers.is_empty() {
            return Ok(());
        }
        let name_width = self
            .layers
            .iter()
            .map(|l| l.name.len())
            .max()
            .unwrap_or(0)
            .max(4);
        writeln!(
            out,
            "\n{:>5}  {:name_width$}  {:12} {:>14} {:>9}",
            "layer", "name", "kind", "shape", "neurons"
        )?;
        for layer in &self.layers {
            writeln!(
                out,
                "{:>5}  {:name_width$}  {:12} {:>14} {:>9}",
                layer.number,
                layer.name,
                layer.kind,
                dims(&layer.shape),
                layer.neurons
            )?;
        }
        let total = format!("{} hidden layers", self.layers.len());
        writeln!(
            out,
            "{:>5}  {total:name_width$}  {:12} {:>14} {:>9}\n",
            "", "", "", self.neurons
        )
    }
}

fn dims(shape: &[usize]) -> String {
    Shape::new(shape).map_or_else(|_| "?".into(), |s| s.to_string())
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
    if network.layers().is_empty() {
        limits.push(
            "no activation operator, so no hidden layer: neuron criteria have nothing to cover"
                .into(),
        );
    }
    limits
}

impl Inspect {
    /// Prints the report.
    pub fn run(&self) -> Outcome {
        let report = Report::new(model::load(&self.model)?);
        let mut out = exit::output();
        if self.json {
            serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            report.print(&mut out)?;
        }
        Ok(Status::Done)
    }
}
