//! Ascent on the steepness of the network: for a piecewise-linear output the largest ratio of a region is the
//! largest dual norm of its gradient there.
//!
//! A climber is a short line through a point, along the direction in which the output grows most. Both ends of
//! the line are run and differentiated. The sum of the two gradients says how to turn the line, their
//! difference how to move it: where the gradient at the upper end is larger, moving that way makes the line
//! steeper, although the network has no second derivative. Lines get shorter as the search goes on. In the
//! end the steepest places are tried with lines of many lengths.

use deepconcolic_geometry::Random;

use crate::budget::Budget;
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::report::Report;
use crate::slope::{SlopeSearch, from_origins, supports};

/// Passes when nobody says how many.
const PASSES: usize = 2000;
/// Passes of one step of a climber: two runs and two gradients.
const STEP: usize = 4;

/// Passes of a look at one place: a run and a gradient.
const LOOK: usize = 2;
/// Steps of a climber, and most climbers.
const STEPS: usize = 60;
const CLIMBERS: usize = 256;
/// Parts of the passes that looking round and climbing take; the rest is for the steepest places.
const LOOKING: f64 = 0.06;
const CLIMBING: f64 = 0.84;
/// Length of a line, as a part of what there is room for, in the beginning and in the end.
const LENGTH: [f64; 2] = [0.5, 0.01];
/// Size of a step, as a part of the region, in the beginning and in the end.
const SIZE: [f64; 2] = [0.5, 0.01];
/// How much of its movement a climber keeps.
const MOMENTUM: f32 = 0.9;

/// The engine.
pub struct Gradient;

impl Engine for Gradient {
    fn name(&self) -> &'static str {
        "gradient"
    }

    fn description(&self) -> &'static str {
        "two inputs across the place where the gradient is largest, found by climbing"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        supports(goal).map(|_| ())
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        from_origins(goal, budget, PASSES, climb)
    }
}

/// A short line through a point.
struct Climber {
    point: Vec<f32>,
    direction: Vec<f64>,
    /// Where it has been moving, so that one step does not undo the one before.
    momentum: Vec<f32>,
}

/// A place where the gradient was seen.
struct Place {
    point: Vec<f32>,
    gradient: Vec<f32>,
    steepness: f64,
}

fn climb(search: &mut SlopeSearch<'_>, starts: &[&[f32]]) {
    let passes = search.left() as f64;
    let looks = ((passes * LOOKING) as usize / LOOK).max(1);
    let climbing = (passes * CLIMBING) as usize;
    let count = (climbing / (STEPS * STEP)).clamp(1, CLIMBERS).min(looks);
    let steps = (climbing / (count * STEP)).max(1);
    let mut places: Vec<Place> = Vec::new();
    look(search, starts, looks, &mut places);
    let mut climbers: Vec<Climber> = places
        .iter()
        .take(count)
        .map(|place| begin(search, place))
        .collect();
    for step in 0..steps {
        if search.is_over() || climbers.is_empty() {
            return;
        }
        let part = step as f64 / (steps.max(2) - 1) as f64;
        advance(search, &mut climbers, part, &mut places);
    }
    finish(search, &places);
}

/// Sees how steep the network is at the starts, in corners and at random places.
fn look(search: &mut SlopeSearch<'_>, starts: &[&[f32]], count: usize, places: &mut Vec<Place>) {
    let mut random = Random::of(&[search.goal.rng_seed]);
    let points: Vec<Vec<f32>> = (0..count)
        .map(|number| match starts.get(number) {
            Some(start) => {
                let mut start = start.to_vec();
                search.region.hold(&mut start);
                start
            }
            None if number % 2 == 0 => search.region.corner(&mut random),
            None => search.region.draw(&mut random),
        })
        .collect();
    let trace = search.run(&points.concat(), true);
    let outputs = search.ratio.outputs.len();
    let weights: Vec<(usize, Vec<f64>)> = (0..count)
        .map(|sample| {
            let mut weights = vec![0.0; outputs];
            weights[sample % outputs] = 1.0;
            (sample, weights)
        })
        .collect();
    let gradients = search.gradients(&trace, &weights);
    let each = search.goal.network.input_elements();
    for (point, gradient) in points.into_iter().zip(gradients.chunks_exact(each)) {
        note(places, point, gradient, search.steepness(gradient));
    }
}

/// A climber at a place, along the gradient there.
fn begin(search: &SlopeSearch<'_>, place: &Place) -> Climber {
    let gradient: Vec<f64> = place.gradient.iter().map(|&g| f64::from(g)).collect();
    Climber {
        direction: search.direction(&gradient),
        momentum: vec![0.0; place.point.len()],
        point: place.point.clone(),
    }
}

/// The half length at which a line first touches two opposite ends of the region.
fn reach(search: &SlopeSearch<'_>, direction: &[f64]) -> f64 {
    let ends = &search.region.ends;
    let half = |(e, d): (usize, &f64)| {
        let room = f64::from(ends.high[e]) - f64::from(ends.low[e]);
        room / 2.0 / d.abs()
    };
    let moving = direction.iter().enumerate().filter(|(_, d)| **d != 0.0);
    moving.map(half).fold(f64::INFINITY, f64::min)
}

/// One step of all climbers; `part` is how much of the climb is behind them.
fn advance(
    search: &mut SlopeSearch<'_>,
    climbers: &mut [Climber],
    part: f64,
    places: &mut Vec<Place>,
) {
    let between = |[first, last]: [f64; 2]| first * (last / first).powf(part);
    let (length, size) = (between(LENGTH), between(SIZE));
    let lines: Vec<[Vec<f32>; 2]> = climbers
        .iter()
        .map(|climber| {
            let half = length * reach(search, &climber.direction);
            let half = if half.is_finite() { half } else { 0.0 };
            search
                .region
                .across(&climber.point, &climber.direction, half)
        })
        .collect();
    let inputs: Vec<f32> = lines.iter().flatten().flatten().copied().collect();
    let trace = search.run(&inputs, true);
    let mut weights = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let outputs = [0, 1].map(|side| search.outputs(&trace, 2 * number + side));
        search.offer([&line[0], &line[1]], [&outputs[0], &outputs[1]]);
        let change: Vec<f64> = (outputs[0].iter().zip(&outputs[1]))
            .map(|(a, b)| a - b)
            .collect();
        let both = search.weights(&change);
        weights.extend([0, 1].map(|side| (2 * number + side, both.clone())));
    }
    let gradients = search.gradients(&trace, &weights);
    let each = search.goal.network.input_elements();
    let gradients: Vec<&[f32]> = gradients.chunks_exact(each).collect();
    for (number, (climber, line)) in climbers.iter_mut().zip(lines).enumerate() {
        let (upper, lower) = (gradients[2 * number], gradients[2 * number + 1]);
        for (point, gradient) in line.into_iter().zip([upper, lower]) {
            note(places, point, gradient, search.steepness(gradient));
        }
        let sum: Vec<f64> = (upper.iter().zip(lower))
            .map(|(a, b)| f64::from(a + b))
            .collect();
        climber.direction = search.direction(&sum);
        let size_of = |g: &f32| f64::from(g.abs());
        let change: Vec<f32> = upper.iter().zip(lower).map(|(a, b)| a - b).collect();
        let total: f64 = change
            .iter()
            .map(size_of)
            .sum::<f64>()
            .max(f64::MIN_POSITIVE);
        for (m, c) in climber.momentum.iter_mut().zip(&change) {
            *m = MOMENTUM * *m + (f64::from(*c) / total) as f32;
        }
        let momentum = std::mem::take(&mut climber.momentum);
        search
            .region
            .step(&mut climber.point, &momentum, size as f32);
        climber.momentum = momentum;
    }
}

/// Turns of power iteration at a place, where there are several outputs.
const TURNS: usize = 3;
/// Places kept for the end.
const PLACES: usize = 64;

fn note(places: &mut Vec<Place>, point: Vec<f32>, gradient: &[f32], steepness: f64) {
    let at = places.partition_point(|place| place.steepness >= steepness);
    if at < PLACES && steepness.is_finite() {
        places.insert(
            at,
            Place {
                point,
                gradient: gradient.to_vec(),
                steepness,
            },
        );
        places.truncate(PLACES);
    }
}

/// Lines of many lengths through the steepest places.
fn finish(search: &mut SlopeSearch<'_>, places: &[Place]) {
    const LENGTHS: [f64; 7] = [0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003];
    // Of a single output the gradient says it all.
    let turns = if search.ratio.outputs.len() > 1 {
        TURNS
    } else {
        1
    };
    for place in places {
        let spent = search.left() < 2 * LENGTHS.len();
        // Of a single output no line through a place is much steeper than the place itself.
        let known = search.best.as_ref().map_or(0.0, |best| best.ratio);
        if search.is_over() || spent || (turns == 1 && place.steepness <= known) {
            return;
        }
        let mut gradient = place.gradient.clone();
        for _ in 0..turns {
            let change = try_lengths(search, &place.point, &gradient, &LENGTHS);
            if turns > 1 && !search.is_over() {
                // With several outputs the steepest sum of them is not known before: one turn of power iteration.
                let weights = search.weights(&change);
                let trace = search.run(&place.point, true);
                gradient = search.gradients(&trace, &[(0, weights)]);
            }
        }
    }
}

/// Runs lines of these lengths through a point, along the direction in which a function with this gradient grows
/// most. Returns how much the outputs change along the shortest.
fn try_lengths(
    search: &mut SlopeSearch<'_>,
    point: &[f32],
    gradient: &[f32],
    lengths: &[f64],
) -> Vec<f64> {
    let gradient: Vec<f64> = gradient.iter().map(|&g| f64::from(g)).collect();
    let direction = search.direction(&gradient);
    let reach = reach(search, &direction);
    let reach = if reach.is_finite() { reach } else { 0.0 };
    let across = |length: &f64| search.region.across(point, &direction, length * reach);
    let lines: Vec<[Vec<f32>; 2]> = lengths.iter().map(across).collect();
    let inputs: Vec<f32> = lines.iter().flatten().flatten().copied().collect();
    let trace = search.run(&inputs, false);
    let mut change = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let outputs = [0, 1].map(|side| search.outputs(&trace, 2 * number + side));
        search.offer([&line[0], &line[1]], [&outputs[0], &outputs[1]]);
        change = (outputs[0].iter().zip(&outputs[1]))
            .map(|(a, b)| a - b)
            .collect();
    }
    change
}
