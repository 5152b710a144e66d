//! What a network says of many inputs, counted: by class, and beside their labels.

use std::collections::BTreeMap;

use deepconcolic_criteria::{Decision, Prediction, Truth};

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

/// The answers for many inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    decision: Decision,
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

impl Answers {
    /// No answers so far.
    pub fn new(decision: &Decision) -> Self {
        Self {
            decision: decision.clone(),
            samples: 0,
            classes: vec![0; decision.classes()],
            labels: BTreeMap::new(),
            values: Vec::new(),
            not_finite: Vec::new(),
            right: 0,
            shifted: [0; 2],
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
            self.not_finite.push(number);
            return;
        }
        self.samples += 1;
        if let Some(class) = prediction.class() {
            self.classes[class] += 1;
        }
        match truth {
            Some(Truth::Class(label)) => {
                *self.labels.entry(*label).or_default() += 1;
                let off = label.saturating_sub(prediction.label());
                self.shifted[0] += usize::from(off == 1);
                self.shifted[1] += usize::from(off == -1);
            }
            Some(Truth::Values(values)) => self.values.extend(values),
            None => {}
        }
        let right = |truth| self.decision.agrees(&prediction, truth);
        self.right += usize::from(truth.is_some_and(right));
    }

    /// How often the network is right, where labels are known.
    pub fn accuracy(&self) -> Option<Accuracy> {
        let labelled = !self.labels.is_empty() || !self.values.is_empty();
        labelled.then_some(Accuracy {
            right: self.right,
            total: self.samples,
        })
    }
}
