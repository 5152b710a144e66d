//! The nearest witness over all cells equals that of brute force: every cell of a small network taken by itself,
//! and a dense grid.

use std::collections::BTreeSet;

use deepconcolic_criteria::{Decision, Departure, Objective, Rule};
use deepconcolic_engines::{Budget, Goal, Margin, Origin, Report, named};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_language::{Input, Inputs};
use deepconcolic_network::Network;
use deepconcolic_testing::Random;

use crate::mlp::{Mlp, Piece};
use crate::reference::{Condition, distance};

const NORMS: [Norm; 3] = [Norm::LINF, Norm::L1, Norm::L2];
/// Points to a side of the grid that finds cells.
const SIDE: usize = 161;

struct Case {
    mlp: Mlp,
    network: Network,
    root: Vec<f32>,
    space: SearchSpace,
    departure: Departure,
}

/// Networks of two inputs, each with a place in its domain that not all others share the answer of.
fn cases(norm: Norm) -> impl Iterator<Item = Case> {
    let plane = (0..400).filter(|&seed| Mlp::random(seed).inputs() == 2);
    let all = plane.map(move |seed| {
        let mlp = Mlp::random(seed);
        let network = mlp.network();
        let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
        let root = Random::new(seed ^ 0x5eed).list(2, 0.0, 1.0);
        let root: Vec<f32> = root.iter().map(|x| *x as f32).collect();
        let decision = Decision::shown(&network);
        Case {
            departure: decision.departure(&network.logits(&root)).unwrap(),
            space: SearchSpace::of(domain, Pixels::Single, norm, Extent::Domain),
            mlp,
            network,
            root,
        }
    });
    let has_others = |case: &Case| {
        let places = Random::new(1).list(400, 0.0, 1.0);
        let places: Vec<f32> = places.iter().map(|x| *x as f32).collect();
        let logits = case.network.logits(&places);
        logits.chunks(3).any(|logits| case.departure.holds(logits))
    };
    all.filter(has_others).take(10)
}

fn ask(
    network: &Network,
    space: &SearchSpace,
    root: &[f32],
    departure: &Departure,
    margin: Margin,
) -> Report {
    let layer = network.layers().len() + 2;
    let objective = Objective::Formula {
        formula: departure.formula(Input::First, layer),
        inputs: Inputs::One,
    };
    let goal = Goal {
        network,
        objectives: &[&[objective]],
        origins: &[Origin::seed(&root)],
        space,
        means: &[],
        margin,
        rng_seed: 0,
    };
    named("boundary").unwrap().search(&goal, &Budget::default())
}

/// As near to the boundary as single precision allows.
const FINE: Margin = Margin {
    relative: 0.0,
    floor: 2e-7,
};

impl Case {
    fn point(&self) -> Vec<f64> {
        self.root.iter().map(|&x| f64::from(x)).collect()
    }

    /// The signs of all hidden neurons at a point, computed in double precision.
    fn pattern(&self, x: &[f64]) -> Vec<Vec<bool>> {
        let runs = self.mlp.run(x);
        let signs = |u: &Vec<f64>| u.iter().map(|u| *u >= 0.0).collect();
        runs.iter().map(signs).collect()
    }

    /// The distance of the nearest input where another logit is larger by so much: every cell that a dense grid meets,
    /// taken by itself with a row for each of its signs.
    fn by_cells(&self, least: f64) -> f64 {
        let at = |k: usize| k as f64 / (SIDE - 1) as f64;
        let grid = (0..SIDE * SIDE).map(|k| [at(k / SIDE), at(k % SIDE)]);
        let cells: BTreeSet<Vec<Vec<bool>>> = grid.map(|x| self.pattern(&x)).collect();
        let own = class(&self.network, &self.root);
        let mut best = f64::INFINITY;
        for cell in cells {
            // The signs of the logits are no part of the cell.
            let mut whole = cell.clone();
            whole.push(vec![true; 3]);
            let mut pieces = self.mlp.pieces(&whole);
            let logits = pieces.pop().unwrap();
            for other in (0..3).filter(|&other| other != own) {
                let signs = pieces.iter().flatten().zip(cell.iter().flatten());
                let mut conditions: Vec<Condition> = signs
                    .map(|(piece, &positive)| {
                        combined(&[(if positive { 1.0 } else { -1.0 }, piece)], 0.0)
                    })
                    .collect();
                let (up, down) = (&logits[other], &logits[own]);
                conditions.push(combined(&[(1.0, up), (-1.0, down)], least));
                let found = distance(&conditions, &self.point(), self.space.norm);
                best = best.min(found.ok().flatten().unwrap_or(f64::INFINITY));
            }
        }
        best
    }
}

/// The number of the largest logit.
fn class(network: &Network, input: &[f32]) -> usize {
    let logits = network.logits(input);
    (0..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best })
}

/// A sum of pieces that is at least so much.
fn combined(parts: &[(f64, &Piece)], least: f64) -> Condition {
    let n = parts[0].1.a.len();
    let mut piece = Piece {
        a: vec![0.0; n],
        c: 0.0,
    };
    for (factor, part) in parts {
        for (sum, a) in piece.a.iter_mut().zip(&part.a) {
            *sum += factor * a;
        }
        piece.c += factor * part.c;
    }
    Condition { piece, least }
}

/// What the distance found and the one computed may differ by, beside what the margin makes of it.
const CLOSE: f64 = 1e-6;

#[test]
fn on_a_plane_no_cell_holds_a_nearer_witness() {
    let mut compared = 0;
    for norm in NORMS {
        for (number, case) in cases(norm).enumerate() {
            let (optimum, with_margin) = (case.by_cells(0.0), case.by_cells(1e-6));
            let report = ask(
                &case.network,
                &case.space,
                &case.root,
                &case.departure,
                FINE,
            );
            match report.witness() {
                Some((found, witness)) => {
                    assert!(case.departure.holds(&case.network.logits(&found.tests[0])));
                    let distance = witness.distance;
                    assert!(
                        optimum - CLOSE <= distance && distance <= with_margin + CLOSE,
                        "{norm}, {number}: {distance}, and by cells {optimum} to {with_margin}"
                    );
                    compared += 1;
                }
                None => assert!(with_margin.is_infinite(), "{norm}, {number}: {optimum}"),
            }
        }
    }
    assert_eq!(compared, 30);
}

#[test]
fn no_grid_point_with_another_answer_is_nearer() {
    for norm in NORMS {
        for (number, case) in cases(norm).enumerate() {
            let at = |k: usize| k as f32 / (SIDE - 1) as f32;
            let grid: Vec<f32> = (0..SIDE * SIDE)
                .flat_map(|k| [at(k / SIDE), at(k % SIDE)])
                .collect();
            let logits = case.network.logits(&grid);
            let others = grid.chunks(2).zip(logits.chunks(3));
            let others = others.filter(|(_, logits)| case.departure.holds(logits));
            let distances = others.map(|(x, _)| case.space.distance(x, &case.root));
            let nearest = distances.fold(f64::INFINITY, f64::min);
            let report = ask(
                &case.network,
                &case.space,
                &case.root,
                &case.departure,
                FINE,
            );
            let found = report.witness().map_or(f64::INFINITY, |(_, w)| w.distance);
            // Two clear steps of the grid, since the margin can hide a corner.
            assert!(
                found <= nearest + 2e-4,
                "{norm}, {number}: {found}, grid {nearest}"
            );
        }
    }
}

#[test]
fn on_a_grid_of_values_distances_are_whole_steps() {
    const STEPS: u32 = 50;
    let mut found = 0;
    for case in cases(Norm::LINF) {
        let mut space = case.space.clone();
        space.grid = Some(STEPS);
        let root: Vec<f32> = case
            .root
            .iter()
            .map(|x| (x * 50.0).round() / 50.0)
            .collect();
        let decision = Decision::shown(&case.network);
        let departure = decision.departure(&case.network.logits(&root)).unwrap();
        let report = ask(&case.network, &space, &root, &departure, Margin::default());
        // Brute force over the whole grid.
        let at = |k: u32| space.grid_point(0, k).unwrap();
        let side = STEPS + 1;
        let all = (0..side * side).map(|k| [at(k / side), at(k % side)]);
        let others = all.filter(|x| departure.holds(&case.network.logits(x)));
        let nearest = others
            .map(|x| space.distance(&x, &root))
            .fold(f64::INFINITY, f64::min);
        if let Some((tests, witness)) = report.witness() {
            assert_eq!(space.violation(&tests.tests[0], &root), None);
            let steps = witness.distance * f64::from(STEPS);
            assert!((steps - steps.round()).abs() < 1e-4, "{steps}");
            // Two inputs leave rounding little choice: a step beyond the nearest is as far as it may err.
            let beyond = witness.distance - nearest;
            assert!(
                (-1e-6..=1.0 / f64::from(STEPS) + 1e-6).contains(&beyond),
                "{beyond}"
            );
            found += 1;
        }
    }
    assert_eq!(found, 10);
}

#[test]
fn a_start_that_is_a_witness_is_never_made_farther() {
    for case in cases(Norm::L2) {
        let mut random = Random::new(3);
        let start = (0..200).find_map(|_| {
            let x: Vec<f32> = random.list(2, 0.0, 1.0).iter().map(|x| *x as f32).collect();
            case.departure.holds(&case.network.logits(&x)).then_some(x)
        });
        let Some(start) = start else {
            continue;
        };
        let layer = case.network.layers().len() + 2;
        let objective = Objective::Formula {
            formula: case.departure.formula(Input::First, layer),
            inputs: Inputs::One,
        };
        let goal = Goal {
            network: &case.network,
            objectives: &[&[objective]],
            origins: &[Origin {
                root: &case.root,
                starts: &[&start],
            }],
            space: &case.space,
            means: &[],
            margin: Margin::default(),
            rng_seed: 0,
        };
        let report = named("boundary").unwrap().search(&goal, &Budget::default());
        let found = report.witness().unwrap().1.distance;
        assert!(found <= case.space.distance(&start, &case.root));
    }
}

#[test]
fn quantities_and_thresholds_have_boundaries_too() {
    for case in cases(Norm::LINF).take(8) {
        let rule = Some(Rule::Within(0.05));
        let decision = Decision::of(&case.network, rule).unwrap();
        let own = case.network.logits(&case.root);
        let departure = decision.departure(&own).unwrap();
        let report = ask(&case.network, &case.space, &case.root, &departure, FINE);
        if let Some((found, _)) = report.witness() {
            let now = case.network.logits(&found.tests[0]);
            let moved = own.iter().zip(&now).map(|(a, b)| (a - b).abs());
            let moved = moved.fold(0.0, f32::max);
            assert!((0.05..0.0501).contains(&moved), "{moved}");
        }
    }
}

/// What values on a grid may add to the distance, in steps: many small changes cannot all be rounded well.
const ROUNDED: f64 = 1.5;

#[test]
fn many_inputs_on_a_grid_are_little_farther_than_off_it() {
    const STEPS: u32 = 255;
    for seed in 0..6 {
        let mlp = Mlp::with_sizes(&[60, 12, 8, 3], seed);
        let network = mlp.network();
        let domain = Domain::uniform(60, 0.0, 1.0).unwrap();
        let mut space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Domain);
        let root: Vec<f32> = Random::new(seed)
            .list(60, 0.0, 255.0)
            .iter()
            .map(|x| x.round() as f32 / 255.0)
            .collect();
        let decision = Decision::shown(&network);
        let departure = decision.departure(&network.logits(&root)).unwrap();
        let distance = |space: &SearchSpace| {
            let report = ask(&network, space, &root, &departure, Margin::default());
            report.witness().map(|(_, witness)| witness.distance)
        };
        let off = distance(&space);
        space.grid = Some(STEPS);
        let on = distance(&space);
        let added = on.zip(off).map(|(on, off)| (on - off) * f64::from(STEPS));
        let expected = added.is_none_or(|added| (-0.01..ROUNDED).contains(&added));
        assert!(
            expected && on.is_some() == off.is_some(),
            "{seed}: {on:?}, {off:?}"
        );
    }
}
