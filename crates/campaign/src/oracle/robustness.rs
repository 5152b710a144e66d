//! The robustness oracle: a test is judged by the reference nearest to it, whose answer it should share.

use deepconcolic_criteria::Prediction;
use deepconcolic_geometry::Norm;
use deepconcolic_network::Network;

use super::kind::{Evidence, Judge, Oracle, Tests};
use super::{Judgement, Nearest, Verdict, nearest};

/// The robustness oracle, as listed.
pub(super) struct Robustness;

impl Oracle for Robustness {
    fn name(&self) -> &'static str {
        "robustness"
    }

    fn definition(&self) -> &'static str {
        "a test within the adversarial radius of its nearest reference has the reference's answer"
    }

    fn adversarial(&self, radius: f64, norm: Norm) -> String {
        format!("within {radius} ({norm} norm) of a real input, and answered otherwise than that")
    }

    fn verdict(&self, distance: f64, radius: f64, agrees: Option<bool>) -> Verdict {
        // Not `>`: a distance that is no number is not close.
        Verdict::of(distance <= radius, agrees)
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
    fn judge(&self, network: &Network, tests: Tests<'_>) -> Vec<Judgement> {
        let Evidence {
            references,
            norm,
            units,
            radius,
            decision,
        } = self.0;
        let predictions = tests.predictions;
        assert_eq!(
            predictions.len(),
            tests.roots.len(),
            "a prediction and a root for each test"
        );
        if decision.rule().is_none() {
            return vec![Judgement::none(); predictions.len()];
        }
        // A root is probably near.
        let found = nearest(references, tests.values, norm, units, tests.roots);
        let truths = self
            .0
            .truths(network, found.iter().map(|near| near.reference));
        let judge = |(near, prediction): (&Nearest, &Prediction)| {
            let truth = truths.get(&near.reference).cloned();
            let agrees = truth
                .as_ref()
                .map(|truth| decision.agrees(prediction, truth));
            Judgement {
                reference: Some(near.reference),
                distance: near.distance,
                truth,
                verdict: Robustness.verdict(near.distance, radius, agrees),
            }
        };
        found.iter().zip(predictions).map(judge).collect()
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_criteria::{Decision, Truth};
    use deepconcolic_geometry::InputSpace;

    use super::super::laws::{PointsOnLine, sign};
    use super::*;

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
        let tests = Tests {
            values: &tests,
            predictions: &labels,
            roots: &[None; 4],
        };
        let judged = oracle.judge(&network, tests);
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
