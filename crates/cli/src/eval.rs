//! `eval`: runs a model on data.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use deepconcolic_campaign::{Accuracy, Answers, Inputs, sanity};
use deepconcolic_criteria::{Decision, Rule, UNSTATED};
use deepconcolic_dataset::write;
use deepconcolic_network::{Network, Pass, Point, Shape};
use serde::Serialize;

use crate::arguments::{DataArguments, DecisionArguments, ModelArguments, ThreadArguments};
use crate::exit::{Failure, Status};
use crate::{Outcome, exit, model, paths, samples};

/// Run a model on data and write its answers, or the neurons of one layer, as a .npy file
#[derive(Args)]
pub struct Eval {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    decision: DecisionArguments,
    /// The .npy file to write: one row a sample
    #[arg(long, value_name = "Y.npy")]
    out: PathBuf,
    /// Write this output of the model (default: the first floating-point one)
    #[arg(long, value_name = "NAME", conflicts_with = "layer")]
    output: Option<String>,
    /// Write this hidden layer, by name or by number (the input is layer 1), after its activation
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// With --layer: write its pre-activations u
    #[arg(long, requires = "layer")]
    pre: bool,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    samples: usize,
    layout: String,
    /// Shape of what was written.
    shape: Vec<usize>,
    #[serde(serialize_with = "paths::serialize")]
    out: PathBuf,
    /// How outputs are read; none where nobody has said.
    decision: Option<Rule>,
    /// Share of samples that get the answer of their label, when there are labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    /// What the user should know about the data.
    notes: Vec<String>,
}

/// Samples run at once: enough to occupy every core, little enough to keep in memory.
const BATCH: usize = 512;

impl Eval {
    /// Runs, writes, and says what was done.
    pub fn run(&self) -> Outcome {
        self.threads.run(|| self.work())?
    }

    fn work(&self) -> Outcome {
        let folder = self.out.parent().filter(|f| !f.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Failure::Usage(format!(
                "cannot write {}: there is no folder {}; make it first",
                self.out.display(),
                folder.display()
            )));
        }
        let network = model::load(&self.model)?.network;
        let point = self.point(&network)?;
        let decision = self.decision.of(&network)?;
        let samples = self.data.open(&network)?;
        let inputs = samples::inputs(&samples, &decision)?;
        let (values, answers) = evaluate(&network, &inputs, &decision, point);
        // A layer is looked at to find out where a number that is none comes from.
        if let (None, Some(why)) = (&self.layer, sanity::refusal(&answers)) {
            return Err(Failure::Usage(why));
        }
        let (domain, words) = samples::domain(None, &samples)?;
        let mut notes = samples::notes(&samples, &answers, &domain, &words);
        if samples.quantity(0).is_none() {
            notes.retain(|note| !note.contains(UNSTATED));
        }
        let shape = shape(&network, point, samples.len());
        write::write_npy(&self.out, &shape, &values)?;
        let report = Report {
            samples: samples.len(),
            layout: samples.layout().to_owned(),
            shape,
            out: self.out.clone(),
            decision: decision.rule(),
            accuracy: answers.accuracy().map(Accuracy::share),
            notes,
        };
        let mut out = exit::output_beside([self.out.as_path()]);
        if self.json {
            serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            report.print(&mut out)?;
        }
        Ok(Status::Done)
    }

    fn point(&self, network: &Network) -> Result<Point, Failure> {
        if let Some(name) = &self.layer {
            return match network.layer_named(name) {
                Some(layer) if self.pre => Ok(Point::Pre(layer)),
                Some(layer) => Ok(Point::Post(layer)),
                None => Err(Failure::Usage(no_layer(network, name))),
            };
        }
        let Some(name) = &self.output else {
            return Ok(Point::Output(network.primary_output()));
        };
        let names: Vec<&str> = network.outputs().map(|(name, _)| name).collect();
        match names.iter().position(|n| n == name) {
            Some(output) => Ok(Point::Output(output)),
            None => Err(Failure::Usage(format!(
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

impl Report {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let shape: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        writeln!(out, "{} samples ({})", self.samples, self.layout)?;
        if let (Some(accuracy), Some(rule)) = (self.accuracy, self.decision) {
            writeln!(out, "decision: {}", rule.words())?;
            writeln!(out, "accuracy {:.2} %", accuracy * 100.0)?;
        }
        for note in &self.notes {
            writeln!(out, "warning: {note}")?;
        }
        writeln!(out, "wrote {} to {}", shape.join("x"), self.out.display())
    }
}
