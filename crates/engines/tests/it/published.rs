//! Steps of the published tool against the program written down from the weights.

use deepconcolic_engines::{Budget, Effort, PublishedProgram};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_testing::Random;
use proptest::prelude::*;

use crate::mlp::{Mlp, Piece};
use crate::reference::{Condition, distance};

/// What the published tool asks of a target, and its least change.
const STEP: f64 = 1.0 / 255.0;
/// Floats, and the reference's own tolerance.
const CLOSE: f64 = 1e-4;

fn value(piece: &Piece, x: &[f64]) -> f64 {
    let terms = piece.a.iter().zip(x);
    terms.fold(piece.c, |sum, (a, x)| sum + a * x)
}

fn doubles(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

proptest! {
    #[test]
    fn a_step_is_the_lowest_input_among_the_least_changes(seed: u64) {
        let mlp = Mlp::random(seed);
        let network = mlp.network();
        let mut random = Random::new(seed ^ 0x51);
        let test: Vec<f32> = random.list(mlp.inputs(), 0.0, 1.0).iter().map(|x| *x as f32).collect();
        let at = doubles(&test);
        let domain = Domain::uniform(mlp.inputs(), 0.0, 1.0).unwrap();
        let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Domain);
        let program = PublishedProgram::of(&network).unwrap();
        let u = mlp.run(&at);
        let pattern: Vec<Vec<bool>> = u.iter().map(|u| u.iter().map(|u| *u >= 0.0).collect()).collect();
        let pieces = mlp.pieces(&pattern);
        for layer in 0..u.len() {
            for neuron in (0..u[layer].len()).filter(|&n| !pattern[layer][n]) {
                let target = Condition {
                    piece: Piece { a: pieces[layer][neuron].a.clone(), c: pieces[layer][neuron].c },
                    least: STEP,
                };
                let kept = (0..layer).flat_map(|k| pieces[k].iter().zip(&pattern[k])).filter(|(_, on)| **on);
                let mut conditions: Vec<Condition> = kept
                    .map(|(piece, _)| Condition { piece: Piece { a: piece.a.clone(), c: piece.c }, least: 0.0 })
                    .collect();
                conditions.push(target);
                let Ok(least) = distance(&conditions, &at, Norm::LINF) else { continue };
                let made = program.step((&network, &space), &test, (layer, neuron), &Budget::default(), &mut Effort::default());
                let Some(least) = least else {
                    prop_assert!(made.is_none());
                    continue;
                };
                let Some(made) = made else {
                    // Nothing is left of a program whose last point is lost in rounding.
                    prop_assert!(least > 1.0 - CLOSE, "{layer} {neuron} {least}");
                    continue;
                };
                let size = least.max(STEP);
                let made = doubles(&made);
                let changed = made.iter().zip(&at).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                prop_assert!(changed <= size + CLOSE, "{changed} of {size}");
                for condition in &conditions {
                    prop_assert!(value(&condition.piece, &made) >= condition.least - CLOSE);
                }
                if layer == 0 {
                    continue;
                }
                // No input of the same size that meets all conditions has a smaller sum.
                let sum: f64 = made.iter().sum();
                for _ in 0..100 {
                    let other: Vec<f64> = at
                        .iter()
                        .map(|x| random.between((x - size).max(0.0), (x + size).min(1.0)))
                        .collect();
                    let meets = conditions.iter().all(|c| value(&c.piece, &other) >= c.least);
                    prop_assert!(!meets || other.iter().sum::<f64>() >= sum - CLOSE);
                }
            }
        }
    }
}
