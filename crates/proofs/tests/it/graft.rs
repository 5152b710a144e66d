//! Two networks in one property: proofs and witnesses about a grafted network.

use deepconcolic_check::{Expectation, Region, check, sha256};
use deepconcolic_language::{RequirementFile, Signature};
use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Shape, graft};
use deepconcolic_proofs::{ProofLimits, Verdict, prove};
use deepconcolic_testing::Random;

/// Two inputs, two layers of Relus, two outputs; every weight is moved by a random part of `change`.
fn network(change: f64) -> Result<Network, String> {
    let (mut random, mut moves) = (Random::new(1), Random::new(2));
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, 2])?);
    for (number, (inputs, outputs)) in [(2, 6), (6, 5), (5, 2)].into_iter().enumerate() {
        let weights = random.list(inputs * outputs, -1.0, 1.0).into_iter();
        let weights = weights.map(|w| f64::from((w + change * moves.between(-1.0, 1.0)) as f32));
        let dense = Dense::new(inputs, outputs, weights.collect(), vec![0.125; outputs])?;
        x = builder.add(dense, &[x], "")?;
        if number < 2 {
            x = builder.add(Elementwise::new(Relu), &[x], &format!("relu{number}"))?;
        }
    }
    builder.finish(&[("y", x)], 0)
}

#[test]
fn how_far_two_networks_differ_is_proven_and_refuted() {
    let (old, new) = (network(0.0).unwrap(), network(0.01).unwrap());
    let whole = graft(&[("old", &old), ("new", &new)]).unwrap().network;
    let signature = Signature::of(&whole);
    let region = Region {
        lower: vec![-1.0; 2],
        upper: vec![1.0; 2],
        ..Region::default()
    };
    let ask = |text: &str| {
        let requirement = RequirementFile::parse(text).unwrap().resolve(&signature);
        let requirement = requirement.unwrap().get(0).unwrap();
        let verdict = prove(
            &whole,
            &sha256(b""),
            &requirement,
            &region,
            &ProofLimits::default(),
        );
        (requirement, verdict.unwrap())
    };
    let difference = "v[x][output,0] - v[x][output,2]";

    let (requirement, verdict) = ask(&format!("exists x: {difference} >= 0.5"));
    let Verdict::Infeasible(accepted) = verdict else {
        panic!("the networks differ by little: {verdict:?}");
    };
    let expectation = Expectation {
        model: &sha256(b""),
        regions: Some(std::slice::from_ref(&region)),
        requirements: Some(&[requirement.to_string()]),
    };
    check(&whole, accepted.certificate(), &expectation).unwrap();

    let small = format!("exists x: {difference} >= 0.001 and u[x][\"new.relu1\",0] >= 0");
    let (_, verdict) = ask(&small);
    let Verdict::Witness(x) = verdict else {
        panic!("the networks differ: {verdict:?}");
    };
    let difference = f64::from(old.logits(&x)[0]) - f64::from(new.logits(&x)[0]);
    assert!(difference >= 0.001, "{difference}");
}
