//! Batches of neurons: the same answers as one at a time, on any number of threads.

use deepconcolic_check::{Expectation, check, sha256};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_language::{Formula, Input, Inputs, Quantifier, Requirement};
use deepconcolic_network::{Network, Pass, Point};
use deepconcolic_proofs::{BatchLimits, Finding, Findings, Prover, regions};
use deepconcolic_testing::{Family, Random, network};

fn all_neurons(network: &Network) -> Vec<(usize, usize, Requirement)> {
    let mut all = Vec::new();
    for (layer, content) in network.layers().iter().enumerate() {
        for neuron in 0..content.neurons() {
            let requirement = Requirement {
                name: None,
                quantifier: Quantifier::Exists,
                inputs: Inputs::One,
                formula: Formula::active(Input::First, layer + 2, neuron),
            };
            all.push((layer, neuron, requirement));
        }
    }
    all
}

fn find(network: &Network, radius: f64) -> Findings {
    let elements = network.input_elements();
    let domain = Domain::uniform(elements, -1.0, 1.0).unwrap();
    let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Balls(radius));
    let seed: Vec<f32> = Random::new(3)
        .list(elements, -0.8, 0.8)
        .iter()
        .map(|&x| x as f32)
        .collect();
    let boxes = regions(&space, &[seed]);
    let requirements: Vec<Requirement> = all_neurons(network)
        .into_iter()
        .map(|(_, _, r)| r)
        .collect();
    let limits = BatchLimits::default();
    let model = sha256(b"m");
    let mut prover = Prover::new(network, &model, &boxes[0]);
    prover.decide(&requirements, &limits).unwrap()
}

#[test]
fn findings_are_witnessed_or_certified() {
    for seed in 0..6 {
        let family = [Family::Relu, Family::Image][seed % 2];
        let network = network(family, seed as u64);
        let found = find(&network, 0.1);
        let all = all_neurons(&network);
        let mut counts = [0; 3];
        for ((layer, neuron, requirement), finding) in all.iter().zip(&found.findings) {
            match *finding {
                Finding::Witness(number) => {
                    counts[0] += 1;
                    let point = Point::Pre(*layer);
                    let input = &found.witnesses[number];
                    let trace = network.forward(input, &Pass::keep([point]));
                    assert!(trace.sample(point, 0)[*neuron] >= 0.0);
                }
                Finding::Infeasible(entry) => {
                    counts[1] += 1;
                    let text = &found.accepted.certificate().entries[entry].requirement;
                    assert_eq!(*text, requirement.to_string());
                }
                Finding::Open { .. } => counts[2] += 1,
            }
        }
        let model = sha256(b"m");
        let expectation = Expectation {
            model: &model,
            regions: Some(&found.accepted.certificate().regions),
            requirements: None,
        };
        assert!(check(&network, found.accepted.certificate(), &expectation).is_ok());
        assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
        assert!(counts[2] * 10 < all.len(), "{counts:?}");
    }
}

#[test]
fn threads_make_no_difference() {
    let network = network(Family::Image, 1);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| find(&network, 0.2))
    };
    assert_eq!(with(1), with(3));
}
