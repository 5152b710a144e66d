//! Against the exact answer: along one input a network of Relus is a chain of straight pieces, whose
//! largest value is found by walking from kink to kink.

use deepconcolic_check::{Region, sha256};
use deepconcolic_language::{RequirementFile, Signature};
use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Shape};
use deepconcolic_proofs::{ProofLimits, Verdict, prove};
use deepconcolic_testing::Random;

/// Weights and biases, layer by layer.
type Layers = Vec<(Vec<f64>, Vec<f64>)>;

/// Numbers that single precision holds.
fn numbers(random: &mut Random, count: usize, spread: f64) -> Vec<f64> {
    let list = random.list(count, -spread, spread);
    list.iter().map(|&x| f64::from(x as f32)).collect()
}

/// One input, two layers of Relus, one output.
fn layers(seed: u64) -> Layers {
    let mut random = Random::new(seed);
    let widths = [1, 4, 5, 1];
    widths
        .windows(2)
        .map(|w| {
            let weights = numbers(&mut random, w[0] * w[1], 1.5);
            (weights, numbers(&mut random, w[1], 0.7))
        })
        .collect()
}

fn build(layers: &Layers) -> Network {
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
    for (number, (weights, bias)) in layers.iter().enumerate() {
        let inputs = weights.len() / bias.len();
        let dense = Dense::new(inputs, bias.len(), weights.clone(), bias.clone()).unwrap();
        x = builder.add(dense, &[x], "").unwrap();
        if number + 1 < layers.len() {
            x = builder.add(Elementwise::new(Relu), &[x], "relu").unwrap();
        }
    }
    builder.finish(&[("y", x)], 0).unwrap()
}

/// The affine pieces of every neuron at a point: slope and value.
fn affine(layers: &Layers, x: f64) -> (Vec<(f64, f64)>, f64) {
    let mut now = vec![(1.0, x)];
    let mut units = Vec::new();
    for (number, (weights, bias)) in layers.iter().enumerate() {
        let outputs = bias.len();
        now = (0..outputs)
            .map(|o| {
                let sum = |pick: fn(&(f64, f64)) -> f64| -> f64 {
                    let terms = now.iter().enumerate();
                    terms.map(|(i, v)| weights[i * outputs + o] * pick(v)).sum()
                };
                (sum(|v| v.0), sum(|v| v.1) + bias[o])
            })
            .collect();
        if number + 1 < layers.len() {
            units.extend(now.iter().copied());
            for unit in &mut now {
                if unit.1 < 0.0 {
                    *unit = (0.0, 0.0);
                }
            }
        }
    }
    (units, now[0].1)
}

/// The largest output over `[low, high]`: at an end, or where some neuron changes its sign.
fn largest(layers: &Layers, low: f64, high: f64) -> f64 {
    let value = |x: f64| affine(layers, x).1;
    let mut best = value(low).max(value(high));
    let mut x = low;
    while x < high {
        // A hair beyond the kink, where signs are those of the next piece.
        let ahead = x + 1e-7;
        let units = affine(layers, ahead).0.into_iter();
        let crossings = units
            .filter(|unit| unit.0 != 0.0)
            .map(|unit| ahead - unit.1 / unit.0)
            .filter(|&crossing| crossing > ahead);
        x = crossings.fold(high, f64::min);
        best = best.max(value(x));
    }
    best
}

#[test]
fn verdicts_are_exact_on_one_input() {
    for seed in 0..25 {
        let layers = layers(seed);
        let network = build(&layers);
        let top = largest(&layers, -1.0, 1.0);
        let region = Region {
            lower: vec![-1.0],
            upper: vec![1.0],
            ..Region::default()
        };
        let margin = 1e-3;
        for few_inputs in [0, 5] {
            for (threshold, feasible) in [(top - margin, true), (top + margin, false)] {
                let text = format!("exists x: v[x][4,0] >= {threshold}");
                let set = RequirementFile::parse(&text).unwrap();
                let set = set.resolve(&Signature::of(&network)).unwrap();
                let limits = ProofLimits {
                    few_inputs,
                    ..ProofLimits::default()
                };
                let asked = set.get(0).unwrap();
                let verdict = prove(&network, &sha256(b""), &asked, &region, &limits).unwrap();
                let right = match verdict {
                    Verdict::Witness(_) => feasible,
                    Verdict::Infeasible(_) => !feasible,
                    Verdict::Open { .. } => false,
                };
                assert!(right, "seed {seed}, {threshold}: {verdict:?}");
            }
        }
    }
}
