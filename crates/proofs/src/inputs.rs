//! Branch and bound on the input box, for networks of few inputs: the box is halved where that
//! matters most, and every open unit is bounded anew in each half. On the way points of the boxes are
//! tried, and gradient steps start from those that come nearest to meeting the conditions.

use std::sync::Arc;

use deepconcolic_check::{Leaf, Split};
use rayon::prelude::*;

use crate::ascent::CLEAR;
use crate::attack::Walker;
use crate::frontier::{Cell, Frontier};
use crate::lanes::{LANES, Lanes, all};
use crate::objective::Condition;
use crate::pass::{Follow, forward};
use crate::phases::{Confirm, Effort, End};
use crate::program::Program;
use crate::slim::{Readers, Slim};
use crate::tree::Growing;

/// Boxes taken up at once: a fixed number, so that nothing depends on the number of threads.
const TAKEN: usize = 8 * LANES;

/// The least share of the strongest input's effect that any input counts with.
const LEAST_STRENGTH: f64 = 0.1;

/// Gradient steps from the most promising points of each round.
const STEPS: usize = 12;

/// What was found of one box.
struct Judged {
    bound: f64,
    /// The sum of conditions that has this bound.
    mix: usize,
    /// The input variable to halve.
    halve: usize,
    bounds: Vec<[f64; 2]>,
    /// The point tried that came nearest to meeting all conditions, and by how much it misses.
    point: Vec<f64>,
    value: f64,
}

/// Refutes one alternative over a box.
pub(crate) fn refute(
    program: &Program,
    conditions: &[Condition],
    ends: Vec<[f64; 2]>,
    bounds: Vec<[f64; 2]>,
    effort: &Effort,
    confirm: &Confirm<'_>,
) -> End {
    let readers = Readers::of(program);
    let mixes = mixes(conditions.len());
    let region = ends.clone();
    let mut walker = Walker::new(program);
    let mut tree = Growing::new();
    let mut open = Frontier::default();
    open.push(Cell {
        ends,
        bounds: bounds.into(),
        at: 0,
        bound: f64::NEG_INFINITY,
    });
    let mut nodes = 0;
    while !open.is_empty() {
        if nodes >= effort.nodes || effort.is_over() {
            return End::Open(-open.worst().unwrap_or(f64::INFINITY));
        }
        let taken = open.take(TAKEN);
        nodes += taken.len();
        let judged: Vec<Vec<Judged>> = taken
            .par_chunks(LANES)
            .map(|cells| judge(&mut Slim::new(program, &readers), conditions, &mixes, cells))
            .collect();
        let judged: Vec<Judged> = judged.into_iter().flatten().collect();
        if let Some(input) = follow(&mut walker, conditions, &region, &taken, &judged, confirm) {
            return End::Witness(input);
        }
        for (cell, judged) in taken.into_iter().zip(judged) {
            if judged.bound > CLEAR {
                let factors = mixes[judged.mix].iter();
                let leaf = Leaf {
                    factors: factors.map(|&(at, factor)| (at as u32, factor)).collect(),
                    ..Leaf::default()
                };
                tree.close(cell.at, leaf);
                continue;
            }
            let place = judged.halve;
            let [low, high] = cell.ends[place];
            let middle = 0.5 * low + 0.5 * high;
            if !(low < middle && middle < high) {
                return End::Open(-judged.bound);
            }
            let split = Split::Input {
                element: program.inputs[place] as u32,
                at: middle,
            };
            let halves = tree.split(cell.at, split);
            let bounds: Arc<[[f64; 2]]> = judged.bounds.into();
            for (at, new) in halves.into_iter().zip([[low, middle], [middle, high]]) {
                let mut ends = cell.ends.clone();
                ends[place] = new;
                open.push(Cell {
                    ends,
                    bounds: Arc::clone(&bounds),
                    at,
                    bound: judged.bound,
                });
            }
        }
    }
    End::Refuted(tree.finish())
}

/// Sums of conditions that are bounded side by side: each alone, then, as far as there are lanes, two
/// at a time, three at a time and so on. What no condition rules out alone several may together.
fn mixes(conditions: usize) -> Vec<Vec<(usize, f32)>> {
    let mut mixes: Vec<Vec<(usize, f32)>> = (0..conditions).map(|c| vec![(c, 1.0)]).collect();
    let room = LANES.max(conditions);
    let mut from = 0;
    while mixes.len() < room && from < mixes.len() {
        let last = mixes[from].last().map_or(0, |&(last, _)| last);
        for next in last + 1..conditions {
            let mut mix = mixes[from].clone();
            mix.push((next, 1.0));
            mixes.push(mix);
        }
        from += 1;
    }
    mixes.truncate(room);
    mixes
}

/// Bounds over up to [`LANES`] boxes, one after the other; points of all of them side by side.
fn judge(
    slim: &mut Slim<'_>,
    conditions: &[Condition],
    mixes: &[Vec<(usize, f32)>],
    cells: &[Cell],
) -> Vec<Judged> {
    let inputs = slim.program.inputs.len();
    let mut values = vec![all(0.0); slim.program.variables];
    let mut centres = values.clone();
    let mut judged = Vec::with_capacity(cells.len());
    for (lane, cell) in cells.iter().enumerate() {
        let found = bound(slim, conditions, mixes, cell);
        for (input, &[low, high]) in cell.ends.iter().enumerate() {
            values[input][lane] = found.point[input];
            centres[input][lane] = 0.5 * low + 0.5 * high;
        }
        judged.push(found);
    }
    for values in [&mut values, &mut centres] {
        forward(slim.program, &Follow::Curve, values);
        for (lane, judged) in judged.iter_mut().enumerate() {
            let met = conditions.iter().map(|c| c.value(values, lane));
            let value = met.fold(f64::INFINITY, f64::min);
            if value > judged.value {
                judged.value = value;
                judged.point = values[..inputs].iter().map(|v| v[lane]).collect();
            }
        }
    }
    judged
}

fn bound(
    slim: &mut Slim<'_>,
    conditions: &[Condition],
    mixes: &[Vec<(usize, f32)>],
    cell: &Cell,
) -> Judged {
    let mut bounds = cell.bounds.to_vec();
    slim.settle(&cell.ends, &mut bounds);
    let mut judged = Judged {
        bound: f64::NEG_INFINITY,
        mix: 0,
        halve: 0,
        bounds,
        point: cell.ends.iter().map(|ends| ends[0]).collect(),
        value: f64::NEG_INFINITY,
    };
    let steps = slim.program.steps.len();
    for (number, chunk) in mixes.chunks(LANES).enumerate() {
        slim.clear(steps);
        for (lane, mix) in chunk.iter().enumerate() {
            for &(condition, factor) in mix {
                let (condition, factor) = (&conditions[condition], f64::from(factor));
                for &(variable, weight) in &condition.terms {
                    slim.seed(variable, lane, -factor * weight);
                }
                slim.constant(lane, -factor * condition.constant);
            }
        }
        let bound = slim.run(steps, chunk.len(), &cell.ends);
        for lane in 0..chunk.len() {
            // Of sums of several conditions, what one of them would be worth.
            let bound = bound[lane] / chunk[lane].len() as f64;
            if bound > judged.bound {
                judged.bound = bound;
                judged.mix = number * LANES + lane;
                judged.halve = widest(&slim.coefficients, lane, &cell.ends);
                let ends = slim.coefficients.iter().zip(&cell.ends);
                let corner = ends.map(|(a, [l, h])| if a[lane] < 0.0 { *h } else { *l });
                judged.point = corner.collect();
            }
        }
    }
    judged
}

/// The input whose width moves the bound most. An input whose effect cancels in the lines still
/// loosens them, so none counts for less than a share of the strongest.
fn widest(coefficients: &[Lanes], lane: usize, ends: &[[f64; 2]]) -> usize {
    let strength = |i: usize| coefficients[i][lane].abs();
    let strongest = (0..ends.len()).map(strength).fold(0.0, f64::max);
    let effect = |i: usize| {
        let width = ends[i][1] - ends[i][0];
        (strength(i).max(LEAST_STRENGTH * strongest) + f64::MIN_POSITIVE) * width
    };
    let better = |best: usize, i: usize| if effect(i) > effect(best) { i } else { best };
    (0..ends.len()).reduce(better).unwrap_or(0)
}

/// Gradient steps from the points of a round that came nearest.
fn follow(
    walker: &mut Walker<'_>,
    conditions: &[Condition],
    region: &[[f64; 2]],
    cells: &[Cell],
    judged: &[Judged],
    confirm: &Confirm<'_>,
) -> Option<Vec<f32>> {
    let mut order: Vec<usize> = (0..judged.len())
        .filter(|&k| judged[k].bound <= CLEAR)
        .collect();
    order.sort_by(|&a, &b| judged[b].value.total_cmp(&judged[a].value));
    order.truncate(LANES);
    for (lane, &k) in order.iter().enumerate() {
        walker.place(lane, &judged[k].point, &cells[k].ends);
    }
    let questions = vec![conditions; order.len()];
    let mut found = None;
    walker.walk(&questions, region, STEPS, &mut |_, point| {
        found = confirm(point);
        found.is_some()
    });
    found
}
