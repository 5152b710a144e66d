//! The robustness oracle: a test is judged by the reference nearest to it, whose label it should share.

mod nearest;
mod screen;

use std::collections::BTreeMap;

use deepconcolic_network::{Network, Pass, Point, label};
use deepconcolic_spec::{InputSpace, Norm};

pub use nearest::{Nearest, nearest};

use crate::Inputs;
use crate::coverage::each_batch;

/// What the oracle says of a test; the numbers are those of saved suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// It has the label of its nearest reference.
    Passes = 0,
    /// It is close to its nearest reference and has another label.
    Adversarial = 1,
    /// It is too far from any reference to be judged.
    TooFar = 2,
}

/// A test judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The nearest reference.
    pub reference: usize,
    /// How far it is.
    pub distance: f64,
    /// The label the test should have: the reference's true label, or the network's label of it where
    /// true labels are not known.
    pub truth: i64,
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
}

impl<'a> Oracle<'a> {
    /// Tests within `radius` of a reference, measured by the norm in these units, can be adversarial.
    pub fn new(references: &'a dyn Inputs, norm: Norm, units: &'a InputSpace, radius: f64) -> Self {
        Self {
            references,
            norm,
            units,
            radius,
        }
    }

    /// Judges tests, given one after another with the network's label and a reference that is
    /// probably near each (see [`nearest`]).
    ///
    /// # Panics
    /// If there is no reference, or tests, labels and hints are not equally many.
    pub fn judge(
        &self,
        network: &Network,
        tests: &[f32],
        labels: &[usize],
        hints: &[Option<usize>],
    ) -> Vec<Judgement> {
        assert_eq!(
            labels.len(),
            hints.len(),
            "a label and a hint for each test"
        );
        let found = nearest(self.references, tests, self.norm, self.units, hints);
        let truths = self.truths(network, &found);
        found
            .iter()
            .zip(labels)
            .map(|(near, &label)| {
                let truth = truths[&near.reference];
                // Not `>`: a distance that is no number is not close.
                let close = near.distance <= self.radius;
                let same = usize::try_from(truth) == Ok(label);
                Judgement {
                    reference: near.reference,
                    distance: near.distance,
                    truth,
                    verdict: match (close, same) {
                        (false, _) => Verdict::TooFar,
                        (true, false) => Verdict::Adversarial,
                        (true, true) => Verdict::Passes,
                    },
                }
            })
            .collect()
    }

    /// The labels of the references found. The network runs on these alone, and only if their true
    /// labels are not known.
    fn truths(&self, network: &Network, found: &[Nearest]) -> BTreeMap<usize, i64> {
        let mut truths: BTreeMap<usize, i64> =
            found.iter().map(|near| (near.reference, 0)).collect();
        if let Some(labels) = self.references.labels() {
            for (&reference, truth) in &mut truths {
                *truth = labels[reference];
            }
            return truths;
        }
        let chosen = Chosen {
            inputs: self.references,
            numbers: truths.keys().copied().collect(),
        };
        let pass = Pass::keep([Point::Logits]);
        each_batch(network, &chosen, chosen.len(), &pass, |first, trace| {
            for sample in 0..trace.samples() {
                let truth = label(trace.sample(Point::Logits, sample)) as i64;
                truths.insert(chosen.numbers[first + sample], truth);
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
    use deepconcolic_network::{NetworkBuilder, Shape, ops::Dense};

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

        fn labels(&self) -> Option<&[i64]> {
            self.0.as_ref().map(<[i64; 4]>::as_slice)
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
        let oracle = Oracle::new(references, Norm::Linf, &units, 0.5);
        let (tests, labels) = ([-0.25, 1.5, 2.0, -1.25], [0, 1, 1, 0]);
        oracle
            .judge(&sign(), &tests, &labels, &[None; 4])
            .iter()
            .map(|judged| (judged.reference, judged.truth, judged.verdict))
            .collect()
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
