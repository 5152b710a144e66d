//! Thresholds that data attain at the very corner of the box: in real numbers they are missed or cleared
//! by a rounding error, by executions never.

use deepconcolic_check::{Certificate, Expectation, Tree, check, sha256};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_language::{
    Formula, Input, Inputs, Linear, Quantifier, Relation, Requirement, Var,
};
use deepconcolic_network::{Network, Pass, Point};
use deepconcolic_proofs::{BatchLimits, Finding, Prover, regions};
use deepconcolic_testing::{Family, network};

/// `exists x: u > h`, or `u >= h`, of a neuron of some hidden layer.
fn above(layer: usize, neuron: usize, h: f32, relation: Relation) -> Requirement {
    let mut linear = Linear::variable(Var::u(Input::First, layer + 2, neuron));
    linear.constant = -f64::from(h);
    Requirement {
        name: None,
        quantifier: Quantifier::Exists,
        inputs: Inputs::One,
        formula: Formula::compare(linear, relation),
    }
}

/// The largest executed u of every neuron of the first layer over the corners of the unit box. An affine
/// function is largest at a corner, and so are its executions.
fn attained(network: &Network) -> Vec<f32> {
    let elements = network.input_elements();
    let corners: Vec<f32> = (0..1usize << elements)
        .flat_map(|corner| (0..elements).map(move |e| f32::from(u8::from(corner >> e & 1 == 1))))
        .collect();
    let trace = network.forward(&corners, &Pass::keep([Point::Pre(0)]));
    let mut largest = vec![f32::NEG_INFINITY; network.layers()[0].neurons()];
    for sample in 0..trace.samples() {
        for (maximum, &u) in largest.iter_mut().zip(trace.sample(Point::Pre(0), sample)) {
            *maximum = maximum.max(u);
        }
    }
    largest
}

fn decide(network: &Network, asked: &[Requirement]) -> (Vec<Finding>, Certificate) {
    let elements = network.input_elements();
    let domain = Domain::uniform(elements, 0.0, 1.0).unwrap();
    let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Domain);
    let boxes = regions(&space, &[vec![0.5; elements]]);
    let model = sha256(b"m");
    let mut prover = Prover::new(network, &model, &boxes[0]);
    let found = prover.decide(asked, &BatchLimits::default()).unwrap();
    (found.findings, found.accepted.certificate().clone())
}

fn is_accepted(network: &Network, certificate: &Certificate) -> bool {
    let expectation = Expectation {
        model: &sha256(b"m"),
        regions: None,
        requirements: None,
    };
    check(network, certificate, &expectation).is_ok()
}

#[test]
fn what_a_corner_attains_is_met_and_never_exceeded() {
    let mut about_executions = 0;
    for seed in 0..8 {
        let network = network(Family::Relu, seed);
        if network.input_elements() > 12 {
            continue;
        }
        let largest = attained(&network);
        let ask = |relation: Relation, h: fn(f32) -> f32| -> Vec<Requirement> {
            let each = largest.iter().enumerate();
            each.map(|(n, &u)| above(0, n, h(u), relation)).collect()
        };
        let (beyond, certificate) = decide(&network, &ask(Relation::Gt, |u| u));
        assert!(
            beyond.iter().all(|f| matches!(f, Finding::Infeasible(_))),
            "{beyond:?}"
        );
        assert!(is_accepted(&network, &certificate));
        let entries = certificate.entries.iter();
        about_executions += entries.filter(|e| e.is_about_executions()).count();
        // The same numbers are attained, and a little less is exceeded.
        for (relation, h) in [
            (Relation::Ge, (|u| u) as fn(f32) -> f32),
            (Relation::Gt, f32::next_down),
        ] {
            let (met, _) = decide(&network, &ask(relation, h));
            assert!(
                met.iter().all(|f| matches!(f, Finding::Witness(_))),
                "{relation:?} {met:?}"
            );
        }
    }
    assert!(about_executions > 0);
}

#[test]
fn a_corner_proves_nothing_else() {
    let network = network(Family::Relu, 0);
    let largest = attained(&network);
    let (_, certificate) = decide(&network, &[above(0, 0, largest[0], Relation::Gt)]);
    let mut wrong = certificate.clone();
    wrong.entries[0].proofs = vec![vec![vec![Tree::Corner]]];
    assert!(is_accepted(&network, &wrong), "the claim itself holds");
    // What executions attain, a neuron behind a Relu, a corner among splits.
    let others = [
        above(0, 0, largest[0].next_down(), Relation::Gt),
        above(0, 0, largest[0], Relation::Ge),
        above(1, 0, 1e6, Relation::Gt),
    ];
    for other in others {
        wrong.entries[0].requirement = other.to_string();
        assert!(!is_accepted(&network, &wrong), "{other}");
    }
    let mut wrong = certificate;
    wrong.entries[0].proofs = vec![vec![vec![Tree::Corner, Tree::Corner]]];
    assert!(!is_accepted(&network, &wrong));
}
