//! What a network says of many inputs, counted: by class, and beside their labels.

use std::collections::BTreeMap;

use deepconcolic_criteria::{Decision, Prediction, Truth};
use serde::{Deserialize, Serialize};

/// Right answers among labelled inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accuracy {
    /// Inputs that get the answer of their label, as the decision reads it.
    pub right: usize,
    /// All of them.
    pub total: usize,
}

impl Accuracy {
    /// The right ones among all, from 0 to 1.
    pub fn share(self) -> f64 {
        self.right as f64 / self.total.max(1) as f64
    }
}

/// Answers as numbers, without the rule that they were read by: those of several parts of data can be added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerCounts {
    /// Inputs that have an answer, or would have one if there was a rule.
    pub samples: usize,
    /// Inputs by the class the network gives them; empty where the answer is no class.
    pub classes: Vec<usize>,
    /// Inputs by their label, where labels are classes.
    pub labels: BTreeMap<i64, usize>,
    /// Labels that are quantities.
    pub values: Vec<f64>,
    /// Inputs without an answer, because an output is NaN or infinite.
    pub not_finite: Vec<usize>,
    right: usize,
    /// Inputs whose label is one higher, and one lower, than their class.
    pub(crate) shifted: [usize; 2],
}

impl AnswerCounts {
    /// Adds those of later inputs, which are numbered as if these were the first of all; refuses those of another network.
    pub fn add(&mut self, later: &Self) -> Result<(), String> {
        if self.classes.len() != later.classes.len() {
            return Err(format!(
                "answers of {} and of {} classes",
                self.classes.len(),
                later.classes.len()
            ));
        }
        self.samples += later.samples;
        self.right += later.right;
        for (sum, more) in self.classes.iter_mut().zip(&later.classes) {
            *sum += more;
        }
        for (&label, more) in &later.labels {
            *self.labels.entry(label).or_default() += more;
        }
        for (sum, more) in self.shifted.iter_mut().zip(later.shifted) {
            *sum += more;
        }
        self.values.extend(&later.values);
        self.not_finite.extend(&later.not_finite);
        Ok(())
    }
}

/// The answers for many inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    decision: Decision,
    /// How many there are of each kind.
    pub counts: AnswerCounts,
}

impl Answers {
    /// No answers so far.
    pub fn new(decision: &Decision) -> Self {
        Self {
            decision: decision.clone(),
            counts: AnswerCounts {
                classes: vec![0; decision.classes()],
                ..AnswerCounts::default()
            },
        }
    }

    /// How answers are read.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Takes in an input by its number, its logits, and its label where that is known.
    pub fn observe(&mut self, number: usize, logits: &[f32], truth: Option<&Truth>) {
        let prediction = self.decision.predict(logits);
        if prediction == Prediction::NotFinite {
            self.counts.not_finite.push(number);
            return;
        }
        self.counts.samples += 1;
        if let Some(class) = prediction.class() {
            self.counts.classes[class] += 1;
        }
        match truth {
            Some(Truth::Class(label)) => {
                *self.counts.labels.entry(*label).or_default() += 1;
                let off = label.saturating_sub(prediction.label());
                self.counts.shifted[0] += usize::from(off == 1);
                self.counts.shifted[1] += usize::from(off == -1);
            }
            Some(Truth::Values(values)) => self.counts.values.extend(values),
            None => {}
        }
        let right = |truth| self.decision.agrees(&prediction, truth);
        self.counts.right += usize::from(truth.is_some_and(right));
    }

    /// How often the network is right, where labels are known.
    pub fn accuracy(&self) -> Option<Accuracy> {
        let labelled = !self.counts.labels.is_empty() || !self.counts.values.is_empty();
        labelled.then_some(Accuracy {
            right: self.counts.right,
            total: self.counts.samples,
        })
    }
}
