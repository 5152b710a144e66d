//! One changed position of small networks, beside grids over every position.

use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use deepconcolic_check::{
    Certificate, Entry, Expectation, Rejection, Tree, cases, check, meets, sha256,
};
use deepconcolic_language::{Requirement, RequirementFile, Signature};
use deepconcolic_network::ops::{Dense, Elementwise, MaxPool, Relu, View, Window};
use deepconcolic_network::{NetworkBuilder, Shape};
use deepconcolic_testing::Random;

use super::*;
use crate::ascent::Steps;

const INPUTS: usize = 6;

/// Two layers of Relus with a maximum between them and two outputs.
fn network(seed: u64) -> Network {
    let mut random = Random::new(seed);
    let mut numbers = |count: usize| -> Vec<f64> {
        let list = random.list(count, -1.0, 1.0);
        list.iter().map(|&x| f64::from(x as f32)).collect()
    };
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, INPUTS]).unwrap());
    let dense = Dense::new(INPUTS, 16, numbers(16 * INPUTS), numbers(16)).unwrap();
    let x = builder.add(dense, &[x], "").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "r").unwrap();
    let image = View::new(Shape::new([1, 4, 4, 1]).unwrap());
    let x = builder.add(image, &[x], "").unwrap();
    let mut window = Window::new([2, 2]);
    window.strides = [2, 2];
    let pool = MaxPool::new(&window, [4, 4, 1]).unwrap();
    let x = builder.add(pool, &[x], "m").unwrap();
    let flat = View::new(Shape::new([1, 4]).unwrap());
    let x = builder.add(flat, &[x], "").unwrap();
    let dense = Dense::new(4, 5, numbers(20), numbers(5)).unwrap();
    let x = builder.add(dense, &[x], "").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "s").unwrap();
    let x = builder
        .add(Dense::new(5, 2, numbers(10), numbers(2)).unwrap(), &[x], "")
        .unwrap();
    builder.finish(&[("y", x)], 0).unwrap()
}

fn region(seed: u64, channels: usize) -> Region {
    let centre = Random::new(seed + 1000).list(INPUTS, -1.0, 1.0);
    Region {
        lower: vec![-1.0; INPUTS],
        upper: vec![1.0; INPUTS],
        changes: Some(Changes {
            centre: centre.iter().map(|&c| f64::from(c as f32)).collect(),
            positions: (0..INPUTS).map(|e| (e / channels) as u32).collect(),
            allowed: 1,
        }),
    }
}

fn difference(network: &Network, input: &[f32]) -> f64 {
    let y = network.logits(input);
    f64::from(y[0]) - f64::from(y[1])
}

/// The largest difference of the outputs on a grid over every position.
fn largest(network: &Network, region: &Region, channels: usize) -> f64 {
    let centre = &region.changes.as_ref().unwrap().centre;
    let centre: Vec<f32> = centre.iter().map(|&c| c as f32).collect();
    let steps: usize = if channels == 1 { 2000 } else { 60 };
    let mut best = f64::NEG_INFINITY;
    for position in 0..INPUTS / channels {
        for number in 0..(steps + 1).pow(channels as u32) {
            let (mut input, mut rest) = (centre.clone(), number);
            for x in &mut input[position * channels..(position + 1) * channels] {
                *x = -1.0 + 2.0 * (rest % (steps + 1)) as f32 / steps as f32;
                rest /= steps + 1;
            }
            best = best.max(difference(network, &input));
        }
    }
    best
}

fn requirement(network: &Network, threshold: f64) -> Requirement {
    // Two alternatives, of which the second is out of reach.
    let text = format!(
        "exists x: v[x][4,0] - v[x][4,1] >= {threshold} or v[x][4,0] - v[x][4,1] >= {}",
        threshold + 100.0
    );
    let set = RequirementFile::parse(&text).unwrap();
    let set = set.resolve(&Signature::of(network)).unwrap();
    set.get(0).unwrap()
}

fn answer(
    network: &Network,
    region: &Region,
    asked: &Requirement,
    deadline: Option<Instant>,
) -> Answer {
    let alternatives = cases(asked, network, region).unwrap();
    let all: Vec<&Case> = alternatives.iter().collect();
    let problem = problem(network, &all, Until::NEVER)
        .unwrap()
        .expect("one position");
    let spent = AtomicUsize::new(0);
    let effort = Effort {
        nodes: 1000,
        below: Steps {
            maximum: 1,
            rate: 0.1,
        },
        until: Until {
            deadline,
            interrupt: None,
        },
        spent: &spent,
    };
    let confirm = |_: usize, point: &[f64]| {
        let input: Vec<f32> = point.iter().map(|&x| x as f32).collect();
        meets(network, &asked.goal(), &input).then_some(input)
    };
    refute(&problem, &all, &effort, &confirm)
}

fn judged(
    network: &Network,
    region: &Region,
    asked: &Requirement,
    proofs: Vec<Proof>,
) -> Result<(), Rejection> {
    let certificate = Certificate {
        model: sha256(b"model"),
        regions: vec![region.clone()],
        entries: vec![Entry {
            requirement: asked.to_string(),
            proofs: vec![proofs],
        }],
    };
    let bytes = certificate.to_bytes(network);
    let again = Certificate::from_bytes(&bytes, network)?;
    assert_eq!(again, certificate);
    let expectation = Expectation {
        model: &sha256(b"model"),
        regions: None,
        requirements: None,
    };
    check(network, &again, &expectation).map(|_| ())
}

#[test]
fn one_changed_position_is_refuted_above_what_a_grid_reaches_and_found_below() {
    for (seed, channels) in (0..12).map(|s| (s, 1)).chain((12..16).map(|s| (s, 2))) {
        let (network, region) = (network(seed), region(seed, channels));
        let top = largest(&network, &region, channels);
        let above = requirement(&network, top + if channels == 1 { 1e-3 } else { 0.05 });
        let Answer::Refuted(proofs) = answer(&network, &region, &above, None) else {
            panic!("case {seed}: not refuted above {top}");
        };
        let verdict = judged(&network, &region, &above, proofs.clone());
        assert_eq!(verdict, Ok(()), "case {seed}");
        // The same trees show nothing of a difference that is reached.
        let below = requirement(&network, top - 1e-3);
        assert!(
            judged(&network, &region, &below, proofs).is_err(),
            "case {seed}"
        );
        match answer(&network, &region, &below, None) {
            Answer::Witness(input) => {
                assert!(region.has(&input), "case {seed}");
                assert!(difference(&network, &input) >= top - 1.1e-3, "case {seed}");
            }
            Answer::Open(_) => {}
            Answer::Refuted(_) => panic!("case {seed}: refuted below {top}"),
        }
    }
}

#[test]
fn trees_that_leave_a_position_out_are_rejected() {
    let (network, region) = (network(3), region(3, 1));
    let top = largest(&network, &region, 1);
    let asked = requirement(&network, top + 1e-3);
    let Answer::Refuted(proofs) = answer(&network, &region, &asked, None) else {
        panic!("not refuted above {top}");
    };
    let leaf = |tree: &Tree| matches!(tree, Tree::Forward(_));
    let edit = |edit: &dyn Fn(&mut Proof)| {
        let mut proofs = proofs.clone();
        edit(&mut proofs[0]);
        judged(&network, &region, &asked, proofs)
    };
    assert!(edit(&|proof| drop(proof.pop())).is_err());
    // All positions at once move more inputs than lines go forward from.
    assert!(edit(&|proof| proof.retain(leaf)).is_err());
    assert!(edit(&|proof| *proof = vec![Tree::Forward(vec![(0, 1.0)])]).is_err());
    let first = |factors: Vec<(u32, f32)>| {
        edit(&|proof| {
            let at = proof.iter().position(leaf).unwrap();
            proof[at] = Tree::Forward(factors.clone());
        })
    };
    assert!(first(vec![(7, 1.0)]).is_err());
    assert!(first(vec![(0, -1.0)]).is_err());
    assert!(first(vec![]).is_err());
    assert_eq!(first(vec![(0, 1.0)]), Ok(()));
    assert!(
        edit(&|proof| {
            let at = proof.iter().position(leaf).unwrap();
            proof[at] = Tree::Leaf(deepconcolic_check::Leaf::default());
        })
        .is_err()
    );
}

#[test]
fn small_networks_and_more_changes_are_left_to_others() {
    let (network, mut region) = (network(3), region(3, 1));
    let asked = requirement(&network, 50.0);
    let is_taken = |region: &Region| {
        let alternatives = cases(&asked, &network, region).unwrap();
        let all: Vec<&Case> = alternatives.iter().collect();
        applies(&network, &all, Until::NEVER)
    };
    assert_eq!(is_taken(&region), Ok(false));
    region.changes.as_mut().unwrap().allowed = 2;
    let alternatives = cases(&asked, &network, &region).unwrap();
    let all: Vec<&Case> = alternatives.iter().collect();
    assert!(problem(&network, &all, Until::NEVER).unwrap().is_none());
    assert_eq!(
        ForwardProblem::exceeds(&network, &all, 10, Until::NEVER),
        Ok(true)
    );
}

#[test]
fn a_deadline_that_is_over_leaves_the_question_open() {
    let (network, region) = (network(3), region(3, 1));
    let asked = requirement(&network, 50.0);
    let over = Some(Instant::now());
    let answer = answer(&network, &region, &asked, over);
    assert!(matches!(answer, Answer::Open(_)));
}
