//! The paper's alternating compass search (Section 8.3). Stage one moves `t1` away from the representative point
//! `t0` so that their outputs differ most; stage two moves `t2` away from the `t1` that was found, then takes
//! that `t2` for `t1` and goes on, as long as the pairs it ends with get steeper.
//!
//! A poll asks one element after the other, up and down; the better of both is taken if the outputs differ more
//! there, and the step doubles. When a whole round of elements brought nothing, the step is halved, until it is
//! below half an 8-bit grey level. Elements are asked in batches; what a batch asked behind the element that
//! was taken is thrown away, so that points and steps are those of asking one by one.

use crate::budget::Budget;
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::report::Report;
use crate::slope::{SlopeSearch, from_origins, supports};

/// Passes when nobody says how many.
const PASSES: usize = 5000;
/// Factor of the step after a poll that was of use, and after one that was not.
const EXPANSION: f64 = 2.0;
const CONTRACTION: f64 = 0.5;
/// Steps below this part of the domain's width are not made.
const TOLERANCE: f64 = 0.0039 / 2.0;
/// Most elements that are asked at a time.
const BATCH: usize = 64;
/// Most times that stage two starts anew: pairs that get steeper by ever less end, too.
const TURNS: usize = 100;

/// The engine.
pub struct Compass;

impl Engine for Compass {
    fn name(&self) -> &'static str {
        "compass"
    }

    fn description(&self) -> &'static str {
        "the paper's alternating compass search: inputs whose outputs differ most, one element at a time"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        supports(goal).map(|_| ())
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        from_origins(goal, budget, PASSES, |search, _| alternate(search))
    }
}

/// An input and its outputs.
#[derive(Clone)]
struct Tried {
    input: Vec<f32>,
    outputs: Vec<f64>,
}

fn alternate(search: &mut SlopeSearch<'_>) {
    let mut start = search.region.middle();
    search.region.settle(&mut start);
    let Some(start) = execute(search, vec![start]).pop() else {
        return;
    };
    let mut fixed = away_from(search, &start, &start);
    let mut steepest = 0.0;
    for _ in 0..TURNS {
        if search.is_over() {
            return;
        }
        let found = away_from(search, &fixed, &start);
        let ratio = offer(search, &fixed, &found);
        if ratio <= steepest {
            return;
        }
        steepest = ratio;
        fixed = found;
    }
}

fn offer(search: &mut SlopeSearch<'_>, one: &Tried, other: &Tried) -> f64 {
    search.offer([&one.input, &other.input], [&one.outputs, &other.outputs])
}

fn apart(search: &SlopeSearch<'_>, one: &Tried, other: &Tried) -> f64 {
    let outputs = one.outputs.iter().zip(&other.outputs);
    let change: Vec<f64> = outputs.map(|(a, b)| a - b).collect();
    search.length(&change)
}

fn execute(search: &mut SlopeSearch<'_>, inputs: Vec<Vec<f32>>) -> Vec<Tried> {
    if inputs.is_empty() {
        return Vec::new();
    }
    let trace = search.run(&inputs.concat(), false);
    let tried = |(sample, input): (usize, Vec<f32>)| Tried {
        outputs: search.outputs(&trace, sample),
        input,
    };
    inputs.into_iter().enumerate().map(tried).collect()
}

/// The input that compass search ends at which starts here and moves the outputs away from those of a fixed
/// input. Every pair with the fixed input on the way counts.
fn away_from(search: &mut SlopeSearch<'_>, fixed: &Tried, start: &Tried) -> Tried {
    let elements: Vec<usize> = (0..start.input.len())
        .filter(|&e| search.region.moves(e))
        .collect();
    let widest = widest(search, &elements);
    let mut step = widest / 2.0;
    let mut here = start.clone();
    let mut reached = apart(search, &here, fixed);
    let (mut next, mut in_vain, mut batch) = (0, 0, 1);
    while step >= TOLERANCE && !elements.is_empty() && !search.is_over() {
        let count = batch
            .min(elements.len() - in_vain)
            .min(search.left().div_ceil(2));
        let asked: Vec<usize> = (0..count)
            .map(|k| elements[(next + k) % elements.len()])
            .collect();
        let Some((place, better, distance)) = poll(search, &here, fixed, &asked, step, reached)
        else {
            next = (next + count) % elements.len();
            in_vain += count;
            batch = (2 * batch).min(BATCH);
            if in_vain == elements.len() {
                step *= CONTRACTION;
                in_vain = 0;
            }
            continue;
        };
        here = better;
        reached = distance;
        offer(search, fixed, &here);
        next = (next + place + 1) % elements.len();
        in_vain = 0;
        batch = 1;
        step = (step * EXPANSION).min(widest);
    }
    here
}

/// The first element of those asked, by its place among them, along which the outputs differ more than so
/// much, and where they do.
fn poll(
    search: &mut SlopeSearch<'_>,
    here: &Tried,
    fixed: &Tried,
    asked: &[usize],
    step: f64,
    reached: f64,
) -> Option<(usize, Tried, f64)> {
    let mut points = Vec::new();
    for &element in asked {
        for side in [1.0, -1.0] {
            let mut input = here.input.clone();
            let change = side * step * search.goal.space.units.width(element);
            input[element] = (f64::from(input[element]) + change) as f32;
            search.region.settle(&mut input);
            points.push(input);
        }
    }
    let mut tried = execute(search, points).into_iter().enumerate();
    while let (Some((number, up)), Some((_, down))) = (tried.next(), tried.next()) {
        let (a, b) = (apart(search, &up, fixed), apart(search, &down, fixed));
        let (better, distance) = if b > a { (down, b) } else { (up, a) };
        if distance > reached {
            return Some((number / 2, better, distance));
        }
    }
    None
}

/// The most that an element can move, in widths of the domain.
fn widest(search: &SlopeSearch<'_>, elements: &[usize]) -> f64 {
    let ends = &search.region.ends;
    let width = |&e: &usize| {
        let room = f64::from(ends.high[e]) - f64::from(ends.low[e]);
        room / search.goal.space.units.width(e)
    };
    elements.iter().map(width).fold(0.0, f64::max)
}
