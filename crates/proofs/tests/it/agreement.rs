//! What the search claims, the checker confirms and executions do not contradict.

use std::sync::atomic::AtomicBool;

use deepconcolic_check::{Region, sha256};
use deepconcolic_language::{RequirementFile, Signature};
use deepconcolic_network::ops::{Binary, Dense, Max, Min, PRelu};
use deepconcolic_network::{Network, NetworkBuilder, Shape};
use deepconcolic_proofs::{ProofLimits, Verdict, prove};
use deepconcolic_testing::{Family, Random, network};

/// Slopes of their own for every neuron, and the smaller and the larger of two branches and of a
/// constant.
fn leaky(seed: u64) -> Result<Network, String> {
    let mut random = Random::new(seed);
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, 4])?);
    let mut inputs = 4;
    for (outputs, name) in [(6, "a"), (5, "b"), (3, "c")] {
        let (weights, bias) = (random.list(inputs * outputs, -1.0, 1.0), vec![0.1; outputs]);
        let dense = Dense::new(inputs, outputs, weights, bias)?;
        let u = builder.add(dense, &[x], name)?;
        let slopes = builder.constant(Shape::new([outputs])?, random.list(outputs, -0.5, 1.5))?;
        let v = builder.add(PRelu, &[u, slopes], &format!("{name}/prelu"))?;
        let maximum = builder.constant(Shape::new([1, 1])?, random.list(1, 0.2, 1.0))?;
        let w = builder.add(Binary::new(Min), &[v, maximum], "")?;
        x = builder.add(Binary::new(Max), &[w, u], "")?;
        inputs = outputs;
    }
    builder.finish(&[("y", x)], 0)
}

#[test]
fn verdicts_agree_with_dense_sampling() {
    let mut decided = [0; 3];
    for seed in 0..16 {
        let families = [Family::Relu, Family::Image, Family::PiecewiseLinear];
        let network = match families.get(seed % 4) {
            Some(&family) => network(family, seed as u64),
            None => leaky(seed as u64).unwrap(),
        };
        let elements = network.input_elements();
        let region = Region {
            lower: vec![-0.5; elements],
            upper: vec![0.5; elements],
            ..Region::default()
        };
        let signature = Signature::of(&network);
        let output = signature.depth();
        let mut random = Random::new(seed as u64);
        for few_inputs in [0, 100] {
            for threshold in [0.0, 0.5, 1.0, 2.0] {
                let text = format!("exists x: v[x][{output},0] - v[x][{output},1] >= {threshold}");
                let file = RequirementFile::parse(&text).unwrap();
                let requirement = file.resolve(&signature).unwrap().get(0).unwrap();
                let limits = ProofLimits {
                    few_inputs,
                    nodes: 500,
                    ..ProofLimits::default()
                };
                let verdict = prove(&network, &sha256(b""), &requirement, &region, &limits);
                let verdict = verdict.unwrap();
                let difference = |x: &[f32]| {
                    let y = network.logits(x);
                    f64::from(y[0]) - f64::from(y[1])
                };
                match verdict {
                    Verdict::Witness(x) => {
                        decided[0] += 1;
                        assert!(difference(&x) >= threshold);
                    }
                    Verdict::Infeasible(_) => {
                        decided[1] += 1;
                        for _ in 0..1000 {
                            let x = random.list(elements, -0.5, 0.5);
                            let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                            assert!(difference(&x) < threshold);
                        }
                    }
                    Verdict::Open { .. } => decided[2] += 1,
                }
            }
        }
    }
    println!("{decided:?}");
    assert!(decided[0] > 10 && decided[1] > 10, "{decided:?}");
    assert!(decided[2] * 4 < decided.iter().sum::<i32>(), "{decided:?}");
}

#[test]
fn a_condition_that_depends_on_no_input_is_settled_or_left_open() {
    let network = network(Family::Relu, 1);
    let elements = network.input_elements();
    let signature = Signature::of(&network);
    // No single-precision input lies in this box, so that nothing can be run.
    let region = Region {
        lower: vec![0.1; elements],
        upper: vec![0.1; elements],
        ..Region::default()
    };
    for (condition, possible) in [("0 >= 0", true), ("0 >= 1", false)] {
        for few_inputs in [0, 100] {
            let file = RequirementFile::parse(&format!("exists x: {condition}")).unwrap();
            let requirement = file.resolve(&signature).unwrap().get(0).unwrap();
            let limits = ProofLimits {
                few_inputs,
                nodes: 50,
                ..ProofLimits::default()
            };
            let verdict = prove(&network, &sha256(b""), &requirement, &region, &limits);
            let refuted = matches!(verdict.unwrap(), Verdict::Infeasible(_));
            assert_eq!(refuted, !possible, "{condition}");
        }
    }
}

#[test]
fn a_proof_that_must_end_is_open_and_claims_nothing() {
    let flag = AtomicBool::new(true);
    for seed in 0..4 {
        let network = network([Family::Relu, Family::Image][seed % 2], seed as u64);
        let elements = network.input_elements();
        let region = Region {
            lower: vec![-0.5; elements],
            upper: vec![0.5; elements],
            ..Region::default()
        };
        let signature = Signature::of(&network);
        let text = format!("exists x: v[x][{},0] >= 1000", signature.depth());
        let file = RequirementFile::parse(&text).unwrap();
        let requirement = file.resolve(&signature).unwrap().get(0).unwrap();
        for few_inputs in [0, 100] {
            let limits = ProofLimits {
                few_inputs,
                interrupt: Some(&flag),
                ..ProofLimits::default()
            };
            let verdict = prove(&network, &sha256(b""), &requirement, &region, &limits);
            assert!(matches!(verdict, Ok(Verdict::Open { .. })), "{verdict:?}");
        }
        let limits = ProofLimits::default();
        let verdict = prove(&network, &sha256(b""), &requirement, &region, &limits);
        assert!(matches!(verdict, Ok(Verdict::Infeasible(_))), "{verdict:?}");
    }
}
