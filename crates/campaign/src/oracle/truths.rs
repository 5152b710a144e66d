//! The answers that references have.

use std::collections::{BTreeMap, BTreeSet};

use deepconcolic_criteria::Truth;
use deepconcolic_network::{Network, Point};

use super::Evidence;
use crate::Inputs;
use crate::batches::each_batch;
use crate::limits::Limits;

impl Evidence<'_> {
    /// The answers that these references should have. The network runs on those alone whose true labels
    /// are not known.
    pub(super) fn truths(
        &self,
        network: &Network,
        references: impl IntoIterator<Item = usize>,
    ) -> BTreeMap<usize, Truth> {
        let mut truths = BTreeMap::new();
        let mut unknown: BTreeSet<usize> = references.into_iter().collect();
        unknown.retain(|&reference| match self.references.truth(reference) {
            Some(truth) => truths.insert(reference, truth).is_some(),
            None => true,
        });
        let chosen = Chosen {
            inputs: self.references,
            numbers: unknown.into_iter().collect(),
        };
        // Few, and without them there is no verdict.
        let limits = Limits::default();
        each_batch(
            network,
            &chosen,
            chosen.len(),
            &[],
            &limits,
            |numbers, trace| {
                for (sample, &number) in numbers.iter().enumerate() {
                    let prediction = self.decision.predict(trace.sample(Point::Logits, sample));
                    if let Some(truth) = prediction.as_truth() {
                        truths.insert(chosen.numbers[number], truth);
                    }
                }
            },
        );
        truths
    }
}

/// Some of the inputs.
struct Chosen<'a> {
    inputs: &'a dyn Inputs,
    numbers: Vec<usize>,
}

impl Inputs for Chosen<'_> {
    fn len(&self) -> usize {
        self.numbers.len()
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        let numbers: Vec<usize> = indices.iter().map(|&index| self.numbers[index]).collect();
        self.inputs.gather(&numbers, into);
    }
}
