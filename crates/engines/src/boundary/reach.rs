//! From anywhere to the boundary: steps onto the linearised boundary of one way each, and then back on the
//! straight line to the root until the way is only just met.

use super::descend::Lane;
use super::runs::Runs;
use super::ways::Way;
use crate::budget::Effort;
use crate::observed::Affine;
use crate::solver::{self, Solution};
use crate::step::{Step, Target};
use crate::task::Task;

/// Most steps before a way is given up.
const STEPS: usize = 12;
/// How far beyond the linearised boundary a step goes: it is seldom as near as it looks.
const BEYOND: f64 = 1.05;
/// Places on the line to the root that are looked at together, and how often.
const PLACES: usize = 8;
const ROUNDS: usize = 3;

/// A point on its way to the boundary.
#[derive(Clone)]
pub(super) struct Runner {
    pub way: usize,
    pub x: Vec<f32>,
}

/// Points that meet a way, only just, on the lines from the root; runners that do not get there are lost.
pub(super) fn reach<'a>(
    task: &'a Task<'a>,
    ways: &[Way],
    mut runners: Vec<Runner>,
    effort: &mut Effort,
) -> Vec<Lane> {
    let mut arrived = Vec::new();
    for step in 0..=STEPS {
        if runners.is_empty() || task.is_over(*effort) {
            break;
        }
        let inputs = runners.iter().map(|runner| runner.x.clone()).collect();
        let runs = Runs::of(task, inputs, effort);
        let mut left = Vec::new();
        for (sample, runner) in runners.into_iter().enumerate() {
            match runs.way(sample, ways, runner.way) {
                Some(way) => arrived.push(Runner { way, ..runner }),
                None => left.push((sample, runner)),
            }
        }
        if step == STEPS {
            break;
        }
        runners = onward(task, ways, &runs, left, effort);
    }
    back(task, ways, arrived, effort)
}

/// One step onto the linearised boundary for each.
fn onward(
    task: &Task<'_>,
    ways: &[Way],
    runs: &Runs<'_>,
    runners: Vec<(usize, Runner)>,
    effort: &mut Effort,
) -> Vec<Runner> {
    let wanted: Vec<_> = runners
        .iter()
        .flat_map(|(sample, runner)| ways[runner.way].iter().map(|atom| (*sample, atom)))
        .collect();
    let rows = runs.affine(&wanted, effort);
    let mut rows = rows.as_slice();
    let mut moved = Vec::new();
    for (_, runner) in runners {
        let way = &ways[runner.way];
        let own;
        (own, rows) = rows.split_at(way.len());
        effort.lp += 1;
        if let Some(x) = stepped(task, &runner.x, way, own)
            && x != runner.x
        {
            moved.push(Runner { x, ..runner });
        }
    }
    moved
}

/// A little beyond the nearest point to a place where rows are met.
fn stepped(task: &Task<'_>, from: &[f32], way: &Way, rows: &[Affine]) -> Option<Vec<f32>> {
    let targets: Vec<Target<'_>> = way
        .iter()
        .zip(rows)
        .map(|(atom, row)| {
            let missing = atom.margin - row.at(std::iter::once(from));
            Target {
                row,
                least: atom.margin + (BEYOND - 1.0) * missing.max(0.0) + atom.margin,
            }
        })
        .collect();
    let centre = [from.to_vec()];
    let regions = [task.region.clone()];
    let step = Step::new(&centre, &regions, &targets);
    let solution = solver::nearest(&step.problem, task.region.norm, &[], &task.budget);
    if let Solution::Nearest { displacement, .. } = solution {
        return Some(step.off_grid(&displacement));
    }
    // The region does not reach that far, if this piece is to be believed: half of the way, and see.
    let row = rows.first()?;
    let end = |e: usize| match row.gradient[e] {
        a if a > 0.0 => task.region.upper[e],
        a if a < 0.0 => task.region.lower[e],
        _ => from[e],
    };
    let corner: Vec<f32> = (0..from.len()).map(end).collect();
    Some(between(from, &corner, 0.5))
}

/// Back towards the root as far as a way is met.
fn back(task: &Task<'_>, ways: &[Way], arrived: Vec<Runner>, effort: &mut Effort) -> Vec<Lane> {
    let root = task.region.root;
    // The part of the line where the way is not met, and where it is.
    let mut lines: Vec<(f32, f32, Runner)> = arrived
        .into_iter()
        .map(|runner| (0.0, 1.0, runner))
        .collect();
    for _ in 0..ROUNDS {
        if lines.is_empty() || task.is_over(*effort) {
            break;
        }
        let part = |low: f32, high: f32, place: usize| {
            low + (high - low) * (place + 1) as f32 / (PLACES + 1) as f32
        };
        let inputs = lines.iter().flat_map(|(low, high, runner)| {
            (0..PLACES).map(|place| between(root, &runner.x, part(*low, *high, place)))
        });
        let runs = Runs::of(task, inputs.collect(), effort);
        for (number, (low, high, runner)) in lines.iter_mut().enumerate() {
            let met = (0..PLACES).find_map(|place| {
                let way = runs.way(number * PLACES + place, ways, runner.way)?;
                Some((place, way))
            });
            let (before, after) = (*low, *high);
            match met {
                Some((place, way)) => {
                    runner.way = way;
                    *high = part(before, after, place);
                    if place > 0 {
                        *low = part(before, after, place - 1);
                    }
                }
                None => *low = part(before, after, PLACES - 1),
            }
        }
    }
    let lanes = lines.into_iter().map(|(_, high, runner)| {
        let x = between(root, &runner.x, high);
        Lane::new(task, runner.way, x)
    });
    lanes.collect()
}

/// The point on the line from one to another.
pub(super) fn between(from: &[f32], to: &[f32], part: f32) -> Vec<f32> {
    let each = from.iter().zip(to);
    // At the end it is the end, whatever rounding says.
    each.map(|(&a, &b)| if part >= 1.0 { b } else { a + (b - a) * part })
        .collect()
}
