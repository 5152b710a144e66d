//! The robustness oracle: a test is judged by the reference nearest to it, whose answer it should share.

use std::collections::{BTreeMap, BTreeSet};

use deepconcolic_criteria::{Prediction, Truth};
use deepconcolic_network::{Network, Point};

use super::kind::{Evidence, Judge, OracleKind};
use super::{Judgement, Nearest, Verdict, nearest};
use crate::Inputs;
use crate::batches::each_batch;

/// The robustness oracle, as listed.
pub(super) struct Robustness;

impl OracleKind for Robustness {
    fn name(&self) -> &'static str {
        "robustness"
    }

    fn definition(&self) -> &'static str {
        "a test within the adversarial radius of its nearest reference has the reference's answer"
    }

    fn judge<'a>(&self, evidence: Evidence<'a>) -> Box<dyn Judge + 'a> {
        Box::new(NearestReference(evidence))
    }
}

/// Judges tests by references.
struct NearestReference<'a>(Evidence<'a>);

impl Judge for NearestReference<'_> {
    /// # Panics
    /// If there is no reference.
    fn judge(
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
        let Evidence {
            references,
            norm,
            units,
            radius,
            decision,
        } = self.0;
        if decision.rule().is_none() {
            return vec![Judgement::none(); predictions.len()];
        }
        let found = nearest(references, tests, norm, units, hints);
        let truths = self.truths(network, &found);
        let judge = |(near, prediction): (&Nearest, &Prediction)| {
            let truth = truths.get(&near.reference).cloned();
            // Not `>`: a distance that is no number is not close.
            let is_close = near.distance <= radius;
            let agrees = truth
                .as_ref()
                .map(|truth| decision.agrees(prediction, truth));
            Judgement {
                reference: Some(near.reference),
                distance: near.distance,
                truth,
                verdict: Verdict::of(is_close, agrees),
            }
        };
        found.iter().zip(predictions).map(judge).collect()
    }
}

impl NearestReference<'_> {
    /// The answers that the references found should have. The network runs on these alone, and only if
    /// their true labels are not known.
    fn truths(&self, network: &Network, found: &[Nearest]) -> BTreeMap<usize, Truth> {
        let mut truths = BTreeMap::new();
        let mut unknown: BTreeSet<usize> = found.iter().map(|near| near.reference).collect();
        unknown.retain(|&reference| match self.0.references.truth(reference) {
            Some(truth) => truths.insert(reference, truth).is_some(),
            None => true,
        });
        let chosen = Chosen {
            inputs: self.0.references,
            numbers: unknown.into_iter().collect(),
        };
        each_batch(network, &chosen, chosen.len(), &[], |numbers, trace| {
            for (sample, &number) in numbers.iter().enumerate() {
                let prediction = self.0.decision.predict(trace.sample(Point::Logits, sample));
                if let Some(truth) = prediction.as_truth() {
                    truths.insert(chosen.numbers[number], truth);
                }
            }
        });
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

#[cfg(test)]
mod tests {
    use deepconcolic_criteria::Decision;
    use deepconcolic_geometry::{InputSpace, Norm};
    use deepconcolic_network::ops::Dense;
    use deepconcolic_network::{NetworkBuilder, Shape};

    use super::*;

    /// Four numbers as inputs of one element.
    struct PointsOnLine(Option<[i64; 4]>);

    impl Inputs for PointsOnLine {
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

    fn judge(references: &PointsOnLine) -> Vec<(usize, i64, Verdict)> {
        let units = InputSpace::default();
        let network = sign();
        let decision = Decision::shown(&network);
        let oracle = Robustness.judge(Evidence {
            references,
            norm: Norm::LINF,
            units: &units,
            radius: 0.5,
            decision: &decision,
        });
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
        let judged = judge(&PointsOnLine(Some([0, 0, 7, 1])));
        let expected = [
            (1, 0, Passes),
            (2, 7, Adversarial),
            (2, 7, TooFar),
            (0, 0, Passes),
        ];
        assert_eq!(judged, expected);
        // A label that no network gives is nobody's.
        assert_eq!(judge(&PointsOnLine(Some([-1; 4])))[0], (1, -1, Adversarial));
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
        assert_eq!(judge(&PointsOnLine(None)), expected);
    }
}
