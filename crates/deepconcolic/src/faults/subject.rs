//! The model that is audited: its weights, its answers, and whether two answers are the same.

use deepconcolic_criteria::{Decision, Prediction, Rule, UNSTATED};
use deepconcolic_dataset::Samples;
use deepconcolic_formats::onnx::Weights;
use deepconcolic_formats::{LoadError, load_bytes};
use deepconcolic_network::{Network, Pass, Point};

use super::fault::Changes;
use crate::error::Error;
use crate::model;
use crate::settings::{DataSettings, ModelSettings};

/// Samples that faults are tried on.
const SAMPLES: usize = 1000;
/// Inputs run at once.
const BATCH: usize = 256;

/// The model that is audited, with its answers for some of the data.
pub struct Subject {
    /// How the model is read.
    pub settings: ModelSettings,
    /// Its file.
    pub weights: Weights,
    /// The network.
    pub network: Network,
    /// What its answer is.
    pub decision: Decision,
    /// The data.
    pub data: Samples,
    /// The first samples, one after the other.
    pub inputs: Vec<f32>,
    /// What the network says of them.
    pub answers: Vec<Prediction>,
    /// What the user should know about how the model was read.
    pub notes: Vec<String>,
}

impl Subject {
    /// Reads model and data.
    pub fn open(
        settings: &ModelSettings,
        data: &DataSettings,
        rule: Option<Rule>,
    ) -> Result<Self, Error> {
        let loaded = model::load(settings)?;
        let weights = match &settings.content {
            Some(bytes) => Weights::of_bytes(bytes.to_vec()),
            None => Weights::open(&settings.model),
        }
        .map_err(|error| {
            if loaded.format.starts_with("ONNX") {
                Error::Model(LoadError::Onnx(error))
            } else {
                Error::Request(format!(
                    "{}: faults are written as ONNX files; export the model to ONNX",
                    settings.model.display()
                ))
            }
        })?;
        if weights.layers().is_empty() {
            return Err(Error::Request(format!(
                "{}: no Conv, Gemm or MatMul has weights of type float in the file itself, so that there is nothing to \
                 put a fault into; export the model with its weights as initializers",
                settings.model.display()
            )));
        }
        let network = loaded.network;
        let decision = model::decision(rule, &network)?;
        if decision.rule().is_none() {
            return Err(Error::Request(UNSTATED.into()));
        }
        let data = data.open(&network)?;
        let count = data.len().min(SAMPLES);
        let mut inputs = vec![0.0; count * network.input_elements()];
        data.fill(0..count, &mut inputs);
        let answers = answers(&network, &decision, &inputs);
        Ok(Self {
            settings: settings.clone(),
            weights,
            network,
            decision,
            data,
            inputs,
            answers,
            notes: loaded.notes.into_iter().chain(loaded.scope).collect(),
        })
    }

    /// How many samples faults are tried on.
    pub fn samples(&self) -> usize {
        self.answers.len()
    }

    /// A sample by number.
    pub fn input(&self, number: usize) -> &[f32] {
        let each = self.network.input_elements();
        &self.inputs[number * each..][..each]
    }

    /// The class that a sample should get: its label, or the model's answer where there is none.
    pub fn class(&self, number: usize) -> Option<usize> {
        match self.data.labels() {
            Some(labels) => usize::try_from(labels[number]).ok(),
            None => self.answers[number].class(),
        }
    }

    /// The network with a fault.
    pub fn with(&self, changes: &Changes) -> Result<Network, Error> {
        let bytes = self.weights.with(changes).map_err(LoadError::Onnx)?;
        Ok(load_bytes(bytes, &self.settings.options())?.network)
    }

    /// What a network says of inputs.
    pub fn answers(&self, network: &Network, inputs: &[f32]) -> Vec<Prediction> {
        answers(network, &self.decision, inputs)
    }

    /// Whether two answers are different: another class, quantities further apart than the rule allows, or an answer
    /// where the other is none.
    pub fn differ(&self, a: &Prediction, b: &Prediction) -> bool {
        match a.as_truth() {
            Some(truth) => !self.decision.agrees(b, &truth),
            None => a != b,
        }
    }

    /// How many samples get another answer from another network.
    pub fn shown_by(&self, network: &Network) -> usize {
        let now = self.answers(network, &self.inputs);
        let both = self.answers.iter().zip(&now);
        both.filter(|(a, b)| self.differ(a, b)).count()
    }
}

fn answers(network: &Network, decision: &Decision, inputs: &[f32]) -> Vec<Prediction> {
    let each = network.input_elements().max(1);
    let mut predictions = Vec::with_capacity(inputs.len() / each);
    for batch in inputs.chunks(BATCH * each) {
        let trace = network.forward(batch, &Pass::keep([Point::Logits]));
        for row in 0..batch.len() / each {
            predictions.push(decision.predict(trace.sample(Point::Logits, row)));
        }
    }
    predictions
}
