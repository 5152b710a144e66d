//! The robustness oracle: a test is judged by the reference nearest to it, whose answer it should share.

mod nearest;

use std::collections::{BTreeMap, BTreeSet};

use deepconcolic_criteria::{Decision, Prediction, Truth};
use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_network::{Network, Point};

pub use nearest::{Nearest, nearest};

use crate::Inputs;
use crate::batches::each_batch;

/// What the oracle says of a test; the numbers are those of saved suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// It has the answer of its nearest reference.
    Passes = 0,
    /// It is close to its nearest reference and has another answer.
    Adversarial = 1,
    /// It is too far from any reference to be judged.
    TooFar = 2,
    /// Nobody has said what the network's answer is, or the reference has none.
    NotJudged = 3,
}

/// A test judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The nearest reference, if it was looked for.
    pub reference: Option<usize>,
    /// How far it is.
    pub distance: f64,
    /// The answer the test should have: the reference's true label, or what the network says of the
    /// reference where true labels are not known.
    pub truth: Option<Truth>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Judges tests by references.
#[derive(Clone, Copy)]
pub struct Oracle<'a> {
    references: &'a dyn Inputs,
    norm: Norm,
    units: &'a InputSpace,
    radius: f64,
    decision: &'a Decision,
}

impl<'a> Oracle<'a> {
    /// Tests within `radius` of a reference, measured by the norm in these units, can be adversarial.
    pub fn new(
        references: &'a dyn Inputs,
        norm: Norm,
        units: &'a InputSpace,
        radius: f64,
        decision: &'a Decision,
    ) -> Self {
        Self {
            references,
            norm,
            units,
            radius,
            decision,
        }
    }

    /// Judges tests, given one after another with what the network says and a reference that is
    /// probably near each (see [`nearest`]).
    ///
    /// # Panics
    /// If there is no reference, or tests, predictions and hints are not equally many.
    pub fn judge(
        &self,
        network: &Network,
        tests: &[f32],
        predictions: &[Prediction],
        hints: &[Option<usize>],
    ) -> Vec<Judgement> {
        assert_eq!(
            predictions.len(),
            hints.len(),
            "a prediction and a hint for each test"
        );
        if self.decision.rule().is_none() {
            return vec![Judgement::none(); predictions.len()];
        }
        let found = nearest(self.references, tests, self.norm, self.units, hints);
        let truths = self.truths(network, &found);
        found
            .iter()
            .zip(predictions)
            .map(|(near, prediction)| {
                let truth = truths.get(&near.reference).cloned();
                // Not `>`: a distance that is no number is not close.
                let close = near.distance <= self.radius;
                let agrees = |truth| self.decision.agrees(prediction, truth);
                let same = truth.as_ref().map(agrees);
                Judgement {
                    reference: Some(near.reference),
                    distance: near.distance,
                    truth,
                    verdict: match (close, same) {
                        (false, _) => Verdict::TooFar,
                        (true, None) => Verdict::NotJudged,
                        (true, Some(false)) => Verdict::Adversarial,
                        (true, Some(true)) => Verdict::Passes,
                    },
                }
            })
            .collect()
    }

    /// The answers that the references found should have. The network runs on these alone, and only if
    /// their true labels are not known.
    fn truths(&self, network: &Network, found: &[Nearest]) -> BTreeMap<usize, Truth> {
        let mut truths = BTreeMap::new();
        let mut unknown: BTreeSet<usize> = found.iter().map(|near| near.reference).collect();
        unknown.retain(|&reference| match self.references.truth(reference) {
            Some(truth) => truths.insert(reference, truth).is_some(),
            None => true,
        });
        let chosen = Chosen {
            inputs: self.references,
            numbers: unknown.into_iter().collect(),
        };
        each_batch(network, &chosen, chosen.len(), &[], |numbers, trace| {
            for (sample, &number) in numbers.iter().enumerate() {
                let prediction = self.decision.predict(trace.sample(Point::Logits, sample));
                if let Some(truth) = prediction.as_truth() {
                    truths.insert(chosen.numbers[number], truth);
                }
            }
        });
        truths
    }
}

impl Judgement {
    /// None.
    fn none() -> Self {
        Self {
            reference: None,
            distance: f64::INFINITY,
            truth: None,
            verdict: Verdict::NotJudged,
        }
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

#[cfg(test)]
mod tests {
    use deepconcolic_network::ops::Dense;
    use deepconcolic_network::{NetworkBuilder, Shape};

    use super::*;

    /// Four numbers as inputs of one element.
    struct Line(Option<[i64; 4]>);

    impl Inputs for Line {
        fn len(&self) -> usize {
            4
        }

        fn gather(&self, indices: &[usize], into: &mut [f32]) {
            for (&index, x) in indices.iter().zip(into) {
                *x = [-1.0, 0.25, 1.0, 4.0][index];
            }
        }

        fn truth(&self, index: usize) -> Option<Truth> {
            self.0.map(|labels| Truth::Class(labels[index]))
        }
    }

    /// Label 1 for numbers above zero.
    fn sign() -> Network {
        let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
        let dense = Dense::new(1, 2, vec![0.0, 1.0], vec![0.0, 0.0]).unwrap();
        let y = builder.add(dense, &[x], "y").unwrap();
        builder.finish(&[("y", y)], 0).unwrap()
    }

    fn judge(references: &Line) -> Vec<(usize, i64, Verdict)> {
        let units = InputSpace::default();
        let network = sign();
        let decision = Decision::shown(&network);
        let oracle = Oracle::new(references, Norm::LINF, &units, 0.5, &decision);
        let (tests, labels) = (
            [-0.25, 1.5, 2.0, -1.25],
            [0, 1, 1, 0].map(Prediction::Class),
        );
        let judged = oracle.judge(&network, &tests, &labels, &[None; 4]);
        let word = |judged: Judgement| match judged.truth {
            Some(Truth::Class(truth)) => (judged.reference.unwrap(), truth, judged.verdict),
            other => panic!("{other:?}"),
        };
        judged.into_iter().map(word).collect()
    }

    #[test]
    fn close_tests_are_judged_by_the_true_label_of_their_reference() {
        use Verdict::{Adversarial, Passes, TooFar};
        let judged = judge(&Line(Some([0, 0, 7, 1])));
        let expected = [
            (1, 0, Passes),
            (2, 7, Adversarial),
            (2, 7, TooFar),
            (0, 0, Passes),
        ];
        assert_eq!(judged, expected);
        // A label that no network gives is nobody's.
        assert_eq!(judge(&Line(Some([-1; 4])))[0], (1, -1, Adversarial));
    }

    #[test]
    fn without_true_labels_the_network_s_own_count() {
        use Verdict::{Adversarial, Passes, TooFar};
        let expected = [
            (1, 1, Adversarial),
            (2, 1, Passes),
            (2, 1, TooFar),
            (0, 0, Passes),
        ];
        assert_eq!(judge(&Line(None)), expected);
    }
}
