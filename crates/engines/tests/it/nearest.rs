//! Distances in the seed's cell equal those of a dense program with every row.

use deepconcolic_criteria::Objective;
use deepconcolic_engines::{Budget, Goal, Margin, Origin, Reason, Report, named};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_language::{Formula, Input, Inputs, Linear, Relation, Var};
use deepconcolic_network::{Network, Pass, Point};
use deepconcolic_testing::Random;
use proptest::prelude::*;

use crate::mlp::{Mlp, Piece};
use crate::reference::{Answer, Condition, distance};

const NORMS: [Norm; 3] = [Norm::LINF, Norm::L1, Norm::L2];
/// What distances may differ by: margins, floats, and the reference's own tolerance.
const CLOSE: f64 = 1e-4;

struct Case {
    mlp: Mlp,
    network: Network,
    seed: Vec<f32>,
    space: SearchSpace,
}

impl Case {
    fn new(seed: u64, norm: Norm) -> Self {
        let mlp = Mlp::random(seed);
        let mut random = Random::new(seed ^ 0xabcd);
        let point = random.list(mlp.inputs(), 0.0, 1.0);
        let domain = Domain::uniform(mlp.inputs(), 0.0, 1.0).unwrap();
        Self {
            network: mlp.network(),
            seed: point.iter().map(|x| *x as f32).collect(),
            space: SearchSpace::of(domain, Pixels::Single, norm, Extent::Domain),
            mlp,
        }
    }

    fn point(&self) -> Vec<f64> {
        self.seed.iter().map(|&x| f64::from(x)).collect()
    }

    fn pattern(&self) -> Vec<Vec<bool>> {
        let runs = self.mlp.run(&self.point());
        let signs = |u: &Vec<f64>| u.iter().map(|u| *u >= 0.0).collect();
        runs.iter().map(signs).collect()
    }

    fn ask(&self, formula: &Formula, inputs: Inputs, paper: bool) -> Report {
        let objective = Objective::Formula {
            formula: formula.clone(),
            inputs,
        };
        let seed = self.seed.as_slice();
        let goal = Goal {
            network: &self.network,
            objectives: &[&[objective]],
            origins: &[Origin::seed(&seed)],
            space: &self.space,
            means: &[],
            margin: Margin::default(),
            rng_seed: 0,
        };
        let engine = named(if paper { "paper" } else { "nearest" }).unwrap();
        engine.search(&goal, &Budget::default())
    }
}

/// The sign conditions of the first layers under a pattern, but for some neurons.
fn cell(
    mlp: &Mlp,
    pattern: &[Vec<bool>],
    layers: usize,
    conditions: &mut Vec<Condition>,
) -> Vec<Vec<Piece>> {
    for (layer, pieces) in mlp.pieces(pattern).into_iter().enumerate().take(layers) {
        for (neuron, piece) in pieces.into_iter().enumerate() {
            conditions.push(signed(&piece, pattern[layer][neuron], 0.0));
        }
    }
    mlp.pieces(pattern)
}

fn signed(piece: &Piece, positive: bool, least: f64) -> Condition {
    let sign = if positive { 1.0 } else { -1.0 };
    Condition {
        piece: Piece {
            a: piece.a.iter().map(|a| sign * a).collect(),
            c: sign * piece.c,
        },
        least,
    }
}

/// How a report compares with the reference's answer to the same question, and to ones that ask for
/// slightly less or more.
fn agree(report: &Report, expect: impl Fn(f64) -> Answer) -> Result<(), String> {
    // Where two constraints are nearly parallel the library may give up; then there is nothing to
    // compare with.
    let (Ok(expected), Ok(slightly_more), Ok(slightly_less)) =
        (expect(0.0), expect(1e-5), expect(-5e-7))
    else {
        return Ok(());
    };
    let witness = report.witness().map(|(_, witness)| witness);
    match (witness, expected) {
        (Some(witness), Some(expected)) => {
            let bound = witness.bound.ok_or("no bound")?;
            // Where a row is nearly level, ten margins are a distance of their own.
            let steep = slightly_more.map_or(1.0, |more| (more - expected).max(0.0));
            let close = (witness.distance - expected).abs() < CLOSE + steep;
            let tight =
                bound <= witness.distance + 1e-6 && witness.distance - bound < CLOSE + steep;
            if close && tight {
                Ok(())
            } else {
                Err(format!("{witness:?} but the reference says {expected}"))
            }
        }
        (None, None) if matches!(report.reason, Some(Reason::NotFound { infeasible: 1, .. })) => {
            Ok(())
        }
        // At the edge of feasibility margins decide, and the last bits of an execution.
        (Some(_), None) if slightly_less.is_some() => Ok(()),
        (None, _) if slightly_more.is_none() => Ok(()),
        (_, expected) => Err(format!("{report:?} but the reference says {expected:?}")),
    }
}

/// `u > h` or `u < l` of one neuron.
fn beyond(layer: usize, neuron: usize, bound: f64, above: bool) -> Formula {
    let mut linear = Linear::variable(Var::u(Input::First, layer + 2, neuron));
    linear.constant = -bound;
    Formula::compare(linear, if above { Relation::Gt } else { Relation::Lt })
}

fn check_neuron(case: &Case, layer: usize, neuron: usize, paper: bool) -> Result<(), String> {
    let pattern = case.pattern();
    let u = case.mlp.run(&case.point())[layer][neuron];
    // NC where the neuron is silent, NBC where it is not.
    let (formula, above, bound) = if u < 0.0 {
        (Formula::active(Input::First, layer + 2, neuron), true, 0.0)
    } else {
        let above = neuron.is_multiple_of(2);
        let bound = if above { u + 0.2 } else { u - 0.2 };
        (beyond(layer, neuron, bound, above), above, bound)
    };
    let expect = |extra: f64| {
        let mut conditions = Vec::new();
        let mut pieces = cell(&case.mlp, &pattern, layer, &mut conditions);
        let mut piece = pieces.swap_remove(layer).swap_remove(neuron);
        piece.c -= bound;
        conditions.push(signed(&piece, above, 1e-6 + extra));
        distance(&conditions, &case.point(), case.space.norm)
    };
    let report = case.ask(&formula, Inputs::One, paper);
    not_above_nearer(case, &formula, &report)?;
    agree(&report, expect).map_err(|e| format!("{formula}: {e}"))
}

/// The bound is below the distance of every witness between the seed and the one that was found: they lie
/// in the same cell, since cells are convex, and meet the formula by less than the margin.
fn not_above_nearer(case: &Case, formula: &Formula, report: &Report) -> Result<(), String> {
    let Some((found, witness)) = report.witness() else {
        return Ok(());
    };
    let (input, Some(bound)) = (&found.tests[0], witness.bound) else {
        return Ok(());
    };
    let Formula::Compare(comparison) = formula else {
        return Err("a comparison was expected".into());
    };
    let (_, var) = comparison.linear.terms[0];
    let meets = |input: &[f32]| {
        let point = Point::Pre(var.layer - 2);
        let trace = case.network.forward(input, &Pass::keep([point]));
        let left = f64::from(trace.get(point)[var.neuron]) + comparison.linear.constant;
        comparison.relation.holds(&left, &0.0)
    };
    let between = |part: f64| -> Vec<f32> {
        let ends = case.seed.iter().zip(input);
        ends.map(|(&a, &b)| (f64::from(a) + part * f64::from(b - a)) as f32)
            .collect()
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if meets(&between(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let nearer = case.space.distance(&between(high), &case.seed);
    if bound <= nearer || !meets(&between(high)) {
        Ok(())
    } else {
        Err(format!(
            "a witness at {nearer} is nearer than the bound {bound} says"
        ))
    }
}

/// A sign-sign pair with `x1` the seed: whether there is one, if the engine is right about it.
fn check_pair(case: &Case, layer: usize, i: usize, j: usize, paper: bool) -> Result<bool, String> {
    let mut pattern = case.pattern();
    let sign_of = |k: usize, n: usize, same: bool| {
        let active = |input| Box::new(Formula::active(input, k + 2, n));
        if same {
            Formula::Iff(active(Input::First), active(Input::Second))
        } else {
            Formula::Xor(active(Input::First), active(Input::Second))
        }
    };
    let mut parts: Vec<Formula> = (0..case.mlp.hidden()[layer])
        .map(|n| sign_of(layer, n, n != i))
        .collect();
    parts.push(sign_of(layer + 1, j, false));
    let formula = Formula::And(parts);
    pattern[layer][i] = !pattern[layer][i];
    let wanted = !pattern[layer + 1][j];
    let expect = |extra: f64| {
        let mut conditions = Vec::new();
        let mut pieces = cell(&case.mlp, &pattern, layer + 1, &mut conditions);
        for condition in &mut conditions {
            condition.least += extra;
        }
        let piece = pieces.swap_remove(layer + 1).swap_remove(j);
        conditions.push(signed(&piece, wanted, 1e-6 + extra));
        distance(&conditions, &case.point(), case.space.norm)
    };
    let report = case.ask(&formula, Inputs::Two, paper);
    agree(&report, expect).map_err(|e| format!("pair {i} {j}: {e}"))?;
    Ok(report.witness().is_some())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn neurons_are_as_near_as_the_dense_program_says(seed: u64) {
        for norm in NORMS {
            let case = Case::new(seed, norm);
            for layer in 0..case.mlp.hidden().len() {
                for neuron in 0..case.mlp.hidden()[layer] {
                    for paper in [false, true] {
                        let result = check_neuron(&case, layer, neuron, paper);
                        prop_assert!(result.is_ok(), "{norm}: {result:?}");
                    }
                }
            }
        }
    }
}

/// Every pair of some networks: both kinds of cells, with and without a witness, must occur.
#[test]
fn pairs_are_as_near_as_the_dense_program_says() {
    let (mut found, mut asked) = (0, 0);
    for seed in 0..12 {
        for norm in NORMS {
            let case = Case::new(seed, norm);
            for layer in 0..case.mlp.hidden().len() - 1 {
                let sizes = case.mlp.hidden();
                let all =
                    (0..sizes[layer]).flat_map(|i| (0..sizes[layer + 1]).map(move |j| (i, j)));
                for (number, (i, j)) in all.enumerate() {
                    let paper = number.is_multiple_of(2);
                    let result = check_pair(&case, layer, i, j, paper);
                    assert!(
                        result.is_ok(),
                        "{norm}, seed {seed}, layer {layer}: {result:?}"
                    );
                    asked += 1;
                    found += usize::from(result == Ok(true));
                }
            }
        }
    }
    assert!(found > asked / 50 && found < asked, "{found} of {asked}");
}
