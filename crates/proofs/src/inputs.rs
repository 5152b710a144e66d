//! Branch and bound on the input box, for networks of few inputs: the box is halved where that
//! matters most, and every open unit is bounded anew in each half. On the way points of the boxes are
//! tried, and gradient steps start from those that come nearest to meeting the conditions.

use deepconcolic_check::{Leaf, Split, Until};
use rayon::prelude::*;

use crate::ascent::CLEAR;
use crate::attack::Walker;
use crate::frontier::{Cell, Frontier};
use crate::lanes::{LANES, Lanes, all};
use crate::objective::Condition;
use crate::pass::{Follow, forward};
use crate::phases::{Confirm, Effort, End};
use crate::program::Program;
use crate::sparse_box_bounds::{Readers, SparseBoxBounds};
use crate::tree::Growing;

/// Boxes cut at once: a fixed number, so that nothing depends on the number of threads.
const TAKEN: usize = 4 * LANES;

/// The least share of the strongest input's effect that any input counts with, in two opinions on which
/// input to halve: its effect on the bound at hand, or rather its width.
const LEAST_STRENGTHS: [f64; 2] = [0.03, 0.4];

/// Gradient steps from the most promising points of each round.
const STEPS: usize = 12;

/// One alternative over a box.
struct Question<'a> {
    program: &'a Program,
    readers: Readers,
    conditions: &'a [Condition],
    /// Sums of conditions: numbers and factors.
    mixes: Vec<Vec<(usize, f32)>>,
    region: Vec<[f64; 2]>,
    until: Until<'a>,
}

/// A part of a box: all of it, or what is left when the ends of an input move.
#[derive(Clone, Copy)]
struct Half<'a> {
    cell: &'a Cell,
    cut: Option<(usize, [f64; 2])>,
}

/// What was found of a box.
struct Judged {
    ends: Vec<[f64; 2]>,
    bounds: Vec<[f64; 2]>,
    bound: f64,
    /// The sum of conditions that has this bound.
    mix: usize,
    halve: [usize; 2],
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
    effort: &Effort<'_>,
    confirm: &Confirm<'_>,
) -> End {
    let question = Question {
        program,
        readers: Readers::of(program),
        conditions,
        mixes: mixes(conditions.len()),
        region: ends.clone(),
        until: effort.until,
    };
    let mut walker = Walker::new(program, effort.until);
    let mut tree = Growing::new();
    let mut open = Frontier::default();
    let root = Cell {
        ends,
        bounds,
        at: 0,
        bound: f64::NEG_INFINITY,
        halve: [0; 2],
    };
    let whole = Half {
        cell: &root,
        cut: None,
    };
    let judged = question.judge(&[whole]);
    let mut nodes = effort.nodes_from(judged.len());
    if let Some(input) = question.follow(&mut walker, &judged, confirm) {
        return End::Witness(input);
    }
    for judged in judged {
        question.file(judged, 0, &mut tree, &mut open);
    }
    while !open.is_empty() {
        if nodes >= effort.nodes || effort.is_over() {
            return End::Open(-open.worst().unwrap_or(f64::INFINITY));
        }
        // Each may be halved in two ways.
        let room = nodes.left_of(effort.nodes).div_ceil(4);
        let taken = open.take(TAKEN.min(room));
        let Some(halves) = taken.iter().map(halves).collect::<Option<Vec<_>>>() else {
            // A box as thin as numbers can be.
            return End::Open(-open.worst().unwrap_or(f64::INFINITY));
        };
        let halves: Vec<Half<'_>> = halves.into_iter().flatten().collect();
        nodes += halves.len();
        let judged = question.judge(&halves);
        if let Some(input) = question.follow(&mut walker, &judged, confirm) {
            return End::Witness(input);
        }
        let mut judged = halves.iter().zip(judged).peekable();
        for cell in &taken {
            let mine = |(half, _): &(&Half<'_>, Judged)| std::ptr::eq(half.cell, cell);
            let own: Vec<(&Half<'_>, Judged)> =
                std::iter::from_fn(|| judged.next_if(mine)).collect();
            let Some((input, pair)) = better(own) else {
                continue;
            };
            let split = Split::Input {
                element: program.inputs[input] as u32,
                at: pair[0].ends[input][1],
            };
            let places = tree.split(cell.at, split);
            for (at, judged) in places.into_iter().zip(pair) {
                question.file(judged, at, &mut tree, &mut open);
            }
        }
    }
    End::Refuted(tree.finish())
}

/// The halves of a box, for each input that may be worth halving; none if it cannot be halved.
fn halves(cell: &Cell) -> Option<Vec<Half<'_>>> {
    let [first, second] = cell.halve;
    let mut halves = Vec::with_capacity(4);
    for input in std::iter::once(first).chain((second != first).then_some(second)) {
        // A condition that depends on no input leaves nothing to halve.
        let Some(&[low, high]) = cell.ends.get(input) else {
            continue;
        };
        let middle = 0.5 * low + 0.5 * high;
        if low < middle && middle < high {
            let half = |ends| Half {
                cell,
                cut: Some((input, ends)),
            };
            halves.extend([[low, middle], [middle, high]].map(half));
        }
    }
    (!halves.is_empty()).then_some(halves)
}

/// Of one or two ways to halve a box, the one with less left to refute: the input, and the halves.
fn better(own: Vec<(&Half<'_>, Judged)>) -> Option<(usize, Vec<Judged>)> {
    let mut best: Option<(f64, usize, Vec<Judged>)> = None;
    let mut own = own.into_iter();
    while let (Some((half, low)), Some((_, high))) = (own.next(), own.next()) {
        let (input, _) = half.cut?;
        let left = low.bound.min(CLEAR) + high.bound.min(CLEAR);
        if best.as_ref().is_none_or(|(least, _, _)| left > *least) {
            best = Some((left, input, vec![low, high]));
        }
    }
    best.map(|(_, input, pair)| (input, pair))
}

/// Sums of conditions that are bounded side by side: each alone, then, as far as there are lanes, two
/// at a time, three at a time and so on. What no condition rules out alone several may together.
pub(crate) fn mixes(conditions: usize) -> Vec<Vec<(usize, f32)>> {
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

impl Question<'_> {
    /// Bounds boxes, on all threads.
    fn judge(&self, halves: &[Half<'_>]) -> Vec<Judged> {
        let judged: Vec<Vec<Judged>> = halves
            .par_chunks(LANES)
            .map(|halves| self.judge_few(halves))
            .collect();
        judged.into_iter().flatten().collect()
    }

    /// Bounds up to [`LANES`] boxes one after the other; their points are tried side by side.
    fn judge_few(&self, halves: &[Half<'_>]) -> Vec<Judged> {
        let mut slim = SparseBoxBounds::new(self.program, &self.readers, self.until);
        let mut values = vec![all(0.0); self.program.variables];
        let mut centres = values.clone();
        let mut judged = Vec::with_capacity(halves.len());
        for (lane, half) in halves.iter().enumerate() {
            let found = self.bound(&mut slim, half);
            for (input, &[low, high]) in found.ends.iter().enumerate() {
                values[input][lane] = found.point[input];
                centres[input][lane] = 0.5 * low + 0.5 * high;
            }
            judged.push(found);
        }
        let inputs = self.program.inputs.len();
        for values in [&mut values, &mut centres] {
            forward(self.program, &Follow::Curve, values);
            for (lane, judged) in judged.iter_mut().enumerate() {
                let met = self.conditions.iter().map(|c| c.value(values, lane));
                let value = met.fold(f64::INFINITY, f64::min);
                if value > judged.value {
                    judged.value = value;
                    judged.point = values[..inputs].iter().map(|v| v[lane]).collect();
                }
            }
        }
        judged
    }

    fn bound(&self, slim: &mut SparseBoxBounds<'_>, half: &Half<'_>) -> Judged {
        let mut ends = half.cell.ends.clone();
        if let Some((input, new)) = half.cut {
            ends[input] = new;
        }
        let mut bounds = half.cell.bounds.clone();
        slim.decide(&ends, &mut bounds);
        let mut judged = Judged {
            point: ends.iter().map(|ends| ends[0]).collect(),
            ends,
            bounds,
            bound: f64::NEG_INFINITY,
            mix: 0,
            halve: [0; 2],
            value: f64::NEG_INFINITY,
        };
        let steps = self.program.steps.len();
        for (number, chunk) in self.mixes.chunks(LANES).enumerate() {
            slim.clear(steps);
            for (lane, mix) in chunk.iter().enumerate() {
                for &(condition, factor) in mix {
                    let (condition, factor) = (&self.conditions[condition], f64::from(factor));
                    for &(variable, weight) in &condition.terms {
                        slim.seed(variable, lane, -factor * weight);
                    }
                    slim.constant(lane, -factor * condition.constant);
                }
            }
            let bound = slim.run(steps, chunk.len(), &judged.ends);
            for lane in 0..chunk.len() {
                // Of sums of several conditions, what one of them would be worth.
                let bound = bound[lane] / chunk[lane].len() as f64;
                if bound > judged.bound {
                    judged.bound = bound;
                    judged.mix = number * LANES + lane;
                    let widest = |least| widest(&slim.coefficients, lane, &judged.ends, least);
                    judged.halve = LEAST_STRENGTHS.map(widest);
                    let ends = slim.coefficients.iter().zip(&judged.ends);
                    let corner = ends.map(|(a, [l, h])| if a[lane] < 0.0 { *h } else { *l });
                    judged.point = corner.collect();
                }
            }
        }
        judged
    }

    /// Closes a part of the tree that is refuted, and keeps the others.
    fn file(&self, judged: Judged, at: usize, tree: &mut Growing, open: &mut Frontier) {
        if judged.bound > CLEAR {
            let factors = self.mixes[judged.mix].iter();
            let leaf = Leaf {
                factors: factors.map(|&(at, factor)| (at as u32, factor)).collect(),
                ..Leaf::default()
            };
            tree.close(at, leaf);
        } else {
            open.push(Cell {
                ends: judged.ends,
                bounds: judged.bounds,
                at,
                bound: judged.bound,
                halve: judged.halve,
            });
        }
    }

    /// Gradient steps from the points of a round that came nearest.
    fn follow(
        &self,
        walker: &mut Walker<'_>,
        judged: &[Judged],
        confirm: &Confirm<'_>,
    ) -> Option<Vec<f32>> {
        let mut order: Vec<&Judged> = judged.iter().filter(|j| j.bound <= CLEAR).collect();
        order.sort_by(|a, b| b.value.total_cmp(&a.value));
        order.truncate(LANES);
        for (lane, judged) in order.iter().enumerate() {
            walker.place(lane, &judged.point, &judged.ends);
        }
        let questions = vec![self.conditions; order.len()];
        let mut found = None;
        walker.walk(&questions, &self.region, STEPS, &mut |_, point| {
            found = confirm(point);
            found.is_some()
        });
        found
    }
}

/// The input whose width moves the bound most. An input whose effect cancels in the lines still
/// loosens them, so none counts for less than a share of the strongest.
fn widest(coefficients: &[Lanes], lane: usize, ends: &[[f64; 2]], least: f64) -> usize {
    let strength = |i: usize| coefficients[i][lane].abs();
    let strongest = (0..ends.len()).map(strength).fold(0.0, f64::max);
    let effect = |i: usize| {
        let width = ends[i][1] - ends[i][0];
        (strength(i).max(least * strongest) + f64::MIN_POSITIVE) * width
    };
    let better = |best: usize, i: usize| if effect(i) > effect(best) { i } else { best };
    (0..ends.len()).reduce(better).unwrap_or(0)
}
