//! Pairs drawn at random: what searches for large ratios are compared with (the paper's baseline).

use deepconcolic_geometry::Random as Draws;

use crate::budget::Budget;
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::report::Report;
use crate::slope::{SlopeSearch, from_origins, supports};

/// Passes when nobody says how many.
const PASSES: usize = 2000;
/// Inputs run at a time. Every two of them are a pair: beside a pass through the network a distance costs nothing, and
/// 16,000 inputs make the 1,000,000 pairs of the paper.
const BATCH: usize = 128;

/// How many pairs so many inputs make, drawn one batch after the other.
pub fn random_pairs(inputs: usize) -> usize {
    let of = |count: usize| count * count.saturating_sub(1) / 2;
    inputs / BATCH * of(BATCH) + of(inputs % BATCH)
}

/// The engine.
pub struct Random;

impl Engine for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn description(&self) -> &'static str {
        "inputs drawn from the region, of whose pairs the steepest is kept"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        supports(goal).map(|_| ())
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        from_origins(goal, budget, PASSES, |search, _| draw(search))
    }
}

fn draw(search: &mut SlopeSearch<'_>) {
    let mut random = Draws::of(&[search.goal.rng_seed]);
    while search.left() > 1 && !search.is_over() {
        let count = BATCH.min(search.left());
        let points: Vec<Vec<f32>> = (0..count)
            .map(|_| {
                let mut point = search.region.draw(&mut random);
                search.region.settle(&mut point);
                point
            })
            .collect();
        let trace = search.run(&points.concat(), false);
        let outputs: Vec<Vec<f64>> = (0..count).map(|at| search.outputs(&trace, at)).collect();
        for second in 1..count {
            for first in 0..second {
                let both = [first, second];
                let inputs = both.map(|at| points[at].as_slice());
                let outputs = both.map(|at| outputs[at].as_slice());
                if search.may_be_steepest(inputs, outputs) {
                    search.offer(inputs, outputs);
                }
            }
        }
    }
}
