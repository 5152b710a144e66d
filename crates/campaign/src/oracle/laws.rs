//! What holds of every oracle of the table: an oracle is tested by being listed.

use std::collections::BTreeSet;

use deepconcolic_criteria::{Decision, Prediction, Truth};
use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_network::ops::Dense;
use deepconcolic_network::{Network, NetworkBuilder, Shape};

use super::{ALL, Evidence, Judgement, Oracle, Tests, Verdict, find};
use crate::Inputs;

/// Four numbers as inputs of one element.
pub struct PointsOnLine(pub Option<[i64; 4]>);

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
pub fn sign() -> Network {
    linear(&[0.0, 1.0])
}

/// A number times each of these.
fn linear(factors: &[f64]) -> Network {
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
    let (outputs, bias) = (factors.len(), vec![0.0; factors.len()]);
    let dense = Dense::new(1, outputs, factors.to_vec(), bias).unwrap();
    let y = builder.add(dense, &[x], "y").unwrap();
    builder.finish(&[("y", y)], 0).unwrap()
}

const RADIUS: f64 = 0.5;
const TESTS: [f32; 5] = [-0.25, 1.5, 2.0, -1.25, 0.25];

/// What an oracle says of some of the tests.
fn judge(
    oracle: &dyn Oracle,
    network: &Network,
    labels: Option<[i64; 4]>,
    tests: &[usize],
    roots: &[Option<usize>],
) -> Vec<Judgement> {
    let decision = Decision::shown(network);
    let values: Vec<f32> = tests.iter().map(|&test| TESTS[test]).collect();
    let predictions: Vec<Prediction> = values
        .iter()
        .map(|&x| decision.predict(&network.logits(&[x])))
        .collect();
    let (references, units) = (PointsOnLine(labels), InputSpace::default());
    let judge = oracle.judge(Evidence {
        references: &references,
        norm: Norm::LINF,
        units: &units,
        radius: RADIUS,
        decision: &decision,
    });
    let tests = Tests {
        values: &values,
        predictions: &predictions,
        roots,
    };
    judge.judge(network, tests)
}

const ALL_TESTS: [usize; 5] = [0, 1, 2, 3, 4];

/// Roots that are references, and roots that are none.
const ROOTS: [[Option<usize>; 5]; 2] = [[Some(1), Some(2), Some(2), Some(0), Some(1)], [None; 5]];

/// With true labels, some that no network gives, and without.
const LABELS: [Option<[i64; 4]>; 3] = [Some([0, 0, 7, 1]), Some([-1; 4]), None];

#[test]
fn every_oracle_is_found_by_its_name_and_says_what_it_means() {
    let names: BTreeSet<&str> = ALL.iter().map(|oracle| oracle.name()).collect();
    assert_eq!(names.len(), ALL.len());
    for oracle in ALL {
        assert_eq!(find(oracle.name()).unwrap().name(), oracle.name());
        assert!(!oracle.definition().is_empty());
        assert!(!oracle.adversarial(RADIUS, Norm::LINF).is_empty());
    }
    assert!(find("none").is_none());
}

#[test]
fn a_verdict_follows_from_the_reference_that_is_named() {
    let network = sign();
    let decision = Decision::shown(&network);
    for oracle in ALL {
        for (labels, roots) in LABELS.iter().flat_map(|l| ROOTS.map(|r| (*l, r))) {
            let judged = judge(*oracle, &network, labels, &ALL_TESTS, &roots);
            assert_eq!(judged.len(), TESTS.len(), "{oracle:?}");
            for (judged, x) in judged.iter().zip(TESTS) {
                let Some(reference) = judged.reference else {
                    assert_eq!(*judged, Judgement::none(), "{oracle:?}");
                    continue;
                };
                let mut value = [0.0];
                PointsOnLine(labels).gather(&[reference], &mut value);
                let distance = Norm::LINF.distance(&value, &[x], &InputSpace::default());
                assert_eq!(judged.distance.to_bits(), distance.to_bits(), "{oracle:?}");
                let truth = PointsOnLine(labels).truth(reference);
                let own = decision.predict(&network.logits(&value)).as_truth();
                assert_eq!(judged.truth, truth.or(own), "{oracle:?}");
                let answer = decision.predict(&network.logits(&[x]));
                let agrees = judged.truth.as_ref().map(|t| decision.agrees(&answer, t));
                let verdict = oracle.verdict(distance, RADIUS, agrees);
                assert_eq!(judged.verdict, verdict, "{oracle:?}");
            }
        }
    }
}

#[test]
fn tests_are_judged_alike_alone_and_together() {
    let network = sign();
    for oracle in ALL {
        for (labels, roots) in LABELS.iter().flat_map(|l| ROOTS.map(|r| (*l, r))) {
            let together = judge(*oracle, &network, labels, &ALL_TESTS, &roots);
            let alone = |test: usize| judge(*oracle, &network, labels, &[test], &[roots[test]]);
            let alone: Vec<Judgement> = ALL_TESTS.into_iter().flat_map(alone).collect();
            assert_eq!(together, alone, "{oracle:?}");
        }
    }
}

#[test]
fn nothing_is_judged_without_a_rule_and_nobody_who_agrees_is_adversarial() {
    let nobody_knows = linear(&[1.0]);
    for oracle in ALL {
        for roots in ROOTS {
            for judged in judge(*oracle, &nobody_knows, None, &ALL_TESTS, &roots) {
                assert_eq!(judged.verdict, Verdict::NotJudged, "{oracle:?}");
            }
        }
        for distance in [0.0, RADIUS, 2.0 * RADIUS, f64::NAN, f64::INFINITY] {
            for agrees in [None, Some(true)] {
                let verdict = oracle.verdict(distance, RADIUS, agrees);
                assert_ne!(verdict, Verdict::Adversarial, "{oracle:?} {distance}");
            }
        }
    }
}
