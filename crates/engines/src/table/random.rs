//! Pairs drawn at random: what searches for large ratios are compared with (the paper's baseline).

use deepconcolic_geometry::Random as Draws;

use crate::budget::Budget;
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::report::Report;
use crate::slope::{SlopeSearch, from_origins, supports};

/// Passes when nobody says how many.
const PASSES: usize = 2000;
/// Pairs run at a time.
const BATCH: usize = 64;

/// The engine.
pub struct Random;

impl Engine for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn description(&self) -> &'static str {
        "pairs of inputs drawn from the region, of which the steepest is kept"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        supports(goal).map(|_| ())
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        from_origins(goal, budget, PASSES, |search, _| draw(search))
    }
}

fn draw(search: &mut SlopeSearch<'_>) {
    let pairs = search.left() / 2;
    let mut random = Draws::of(&[search.goal.rng_seed]);
    let mut drawn = 0;
    while drawn < pairs && !search.is_over() {
        let count = BATCH.min(pairs - drawn);
        let points: Vec<Vec<f32>> = (0..2 * count)
            .map(|_| {
                let mut point = search.region.draw(&mut random);
                search.region.settle(&mut point);
                point
            })
            .collect();
        let trace = search.run(&points.concat(), false);
        for (number, pair) in points.chunks_exact(2).enumerate() {
            let outputs = [0, 1].map(|side| search.outputs(&trace, 2 * number + side));
            search.offer([&pair[0], &pair[1]], [&outputs[0], &outputs[1]]);
        }
        drawn += count;
    }
}
