//! Optimised linear bounds: the free slopes of the lines, the multipliers of the phases that splits
//! fixed, and the factors of the conditions are moved uphill, sixteen bounds side by side.
//!
//! A bound is the least value, over the box, of the program with every curve replaced by the line
//! taken. So the derivative by a slope is the coefficient there times the value that the line is
//! applied to, at the corner of the box where the least value lies: one pass back, one forward.

#![expect(clippy::needless_range_loop, reason = "loops over lanes")]

use std::sync::Arc;

use deepconcolic_check::Until;

use crate::changes::Choice;
use crate::knowledge::Knowledge;
use crate::lanes::{LANES, Lanes, all};
use crate::lines::{UnitLines, default_share, lines, range, value};
use crate::objective::{Condition, seed};
use crate::pass::{Backward, Follow, forward};
use crate::program::Program;

/// A unit whose phase is open over the box.
#[derive(Debug, Clone)]
pub(crate) struct Free {
    pub unit: usize,
    /// Its variable and that of its input.
    variable: usize,
    pub input: usize,
    pub kink: f64,
    at_kink: f64,
    pub left: f64,
    pub right: f64,
    /// Cuts of the left and the right part.
    pub cuts: [f64; 2],
    pub chord: (f64, f64),
    /// Least and largest value of its curve.
    pub range: [f64; 2],
    default: f32,
}

/// One lane's question: part of the region, and where to start from.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Number of a free unit, and whether it lies above its kink.
    pub phases: Vec<(u32, bool)>,
    /// Multipliers of the phases.
    pub multipliers: Vec<f32>,
    /// For each free unit, where its slope lies between left and right.
    pub shares: Vec<f32>,
    /// For each condition, its factor.
    pub factors: Vec<f32>,
}

/// What a lane reached.
#[derive(Debug, Clone)]
pub(crate) struct Reached {
    /// The best bound; above 0 refutes.
    pub bound: f64,
    /// The numbers that give it.
    pub part: Part,
    /// The free unit to split on next: the one whose line is furthest off.
    pub branch: Option<u32>,
    /// How often the part was taken up with nothing left to split.
    pub tries: u8,
}

/// Steps of the ascent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    pub maximum: usize,
    /// Length of the first step in the shares.
    pub rate: f64,
}

/// A program over one box, ready for questions.
#[derive(Clone)]
pub(crate) struct Ascent<'a> {
    pub program: &'a Program,
    pub ends: Vec<[Lanes; 2]>,
    /// How inputs move, if few may.
    pub choice: Option<Arc<Choice>>,
    pub free: Vec<Free>,
    lines: Vec<UnitLines>,
    backward: Backward,
    values: Vec<Lanes>,
    /// When to end.
    pub until: Until<'a>,
}

/// Bounds above this count as refuted; the checker's margins are far smaller.
pub(crate) const CLEAR: f64 = 1e-7;

impl<'a> Ascent<'a> {
    /// Over the region of what is known, with bounds of the program's units there.
    pub fn new(
        program: &'a Program,
        knowledge: &Knowledge<'_>,
        bounds: &[[f64; 2]],
        until: Until<'a>,
    ) -> Self {
        let (mut free, mut base) = (Vec::new(), Vec::new());
        for curves in program.curves() {
            for (k, &input) in curves.inputs.iter().enumerate() {
                let unit = curves.first_unit + k;
                let [l, u] = bounds[unit];
                base.push(UnitLines::all(lines(&curves.parts, l, u, None)));
                let Some(kink) = curves.kink().filter(|&kink| l < kink && kink < u) else {
                    continue;
                };
                let (left, right) = (curves.parts[0], curves.parts[1]);
                let slope = (value(&curves.parts, u) - value(&curves.parts, l)) / (u - l);
                free.push(Free {
                    unit,
                    variable: curves.first + k,
                    input: input as usize,
                    kink,
                    at_kink: value(&curves.parts, kink),
                    left: left.slope,
                    right: right.slope,
                    cuts: [left.intercept, right.intercept],
                    chord: (slope, value(&curves.parts, l) - slope * l),
                    range: range(&curves.parts, l, u),
                    default: default_share(kink, l, u) as f32,
                });
            }
        }
        Self {
            backward: Backward::new(program),
            values: vec![all(0.0); program.variables],
            ends: knowledge.ends(program),
            choice: knowledge.choice(program),
            program,
            free,
            lines: base,
            until,
        }
    }

    /// Where every question starts.
    pub fn start(&self, conditions: usize) -> Part {
        Part {
            phases: Vec::new(),
            multipliers: Vec::new(),
            shares: self.free.iter().map(|free| free.default).collect(),
            factors: vec![1.0 / conditions as f32; conditions],
        }
    }

    /// Improves up to [`LANES`] bounds, until time is up; lane `k` asks about `conditions[k]`.
    pub fn climb(
        &mut self,
        conditions: &[&[Condition]],
        parts: &[Part],
        steps: Steps,
    ) -> Vec<Reached> {
        let lanes = parts.len();
        let mut state = State::new(self.free.len(), parts);
        let mut best: Vec<Reached> = parts
            .iter()
            .map(|part| Reached {
                bound: f64::NEG_INFINITY,
                part: part.clone(),
                branch: None,
                tries: 0,
            })
            .collect();
        for step in 0..steps.maximum.max(1) {
            if self.until.is_over() {
                break;
            }
            self.set_lines(&state);
            self.backward.clear(self.program.variables);
            for lane in 0..lanes {
                seed(
                    &mut self.backward,
                    lane,
                    conditions[lane],
                    &state.factors[lane],
                );
            }
            let multipliers = state.conditions(&self.free);
            let to = self.program.steps.len();
            self.backward
                .run(self.program, to, &self.lines, &multipliers);
            let bound = self.backward.lower(&self.ends, self.choice.as_deref());
            for lane in 0..lanes {
                if bound[lane] > best[lane].bound {
                    best[lane].bound = bound[lane];
                    state.save(lane, &mut best[lane].part);
                }
            }
            let choice = self.choice.as_deref();
            self.backward.corners(&self.ends, choice, &mut self.values);
            let done = best.iter().all(|reached| reached.bound > CLEAR);
            if done {
                break;
            }
            let follow = Follow::Lines(&self.lines, &self.backward);
            forward(self.program, &follow, &mut self.values);
            if step + 1 < steps.maximum {
                let rate = steps.rate * 0.96f64.powi(step as i32);
                self.ascend(&mut state, conditions, rate, step);
            }
        }
        for (lane, reached) in best.iter_mut().enumerate() {
            reached.branch = self.branch(&state, lane);
        }
        best
    }

    /// Up to [`LANES`] sums as coefficients of the inputs and of some open units, and a constant; other
    /// units go along the lines of a part.
    pub fn pulled(
        &mut self,
        sums: &[Condition],
        part: &Part,
        open: &[usize],
    ) -> Vec<(Vec<f64>, f64)> {
        let state = State::new(self.free.len(), &vec![part.clone(); sums.len()]);
        self.set_lines(&state);
        for &number in open {
            // Nothing goes on from here.
            self.lines[self.free[number].unit] = UnitLines::NONE;
        }
        self.backward.clear(self.program.variables);
        for (lane, sum) in sums.iter().enumerate() {
            // A pass is for what must stay above 0: minus a condition.
            seed(&mut self.backward, lane, std::slice::from_ref(sum), &[1.0]);
        }
        let to = self.program.steps.len();
        self.backward.run(self.program, to, &self.lines, &[]);
        let variables = 0..self.program.inputs.len();
        let variables = variables.chain(open.iter().map(|&number| self.free[number].variable));
        let variables: Vec<usize> = variables.collect();
        (0..sums.len())
            .map(|lane| {
                let own = variables
                    .iter()
                    .map(|&v| -self.backward.coefficients[v][lane]);
                (own.collect(), -self.backward.constant[lane])
            })
            .collect()
    }

    /// The corners of the box that the last bounds were taken at, where the conditions of a lane
    /// really hold: lane and input variables.
    pub fn witnesses(&mut self, conditions: &[&[Condition]]) -> Vec<(usize, Vec<f64>)> {
        forward(self.program, &Follow::Curve, &mut self.values);
        let holds = |lane: usize, conditions: &[Condition]| {
            let mut values = conditions.iter().map(|c| c.value(&self.values, lane));
            values.all(|value| value >= 0.0)
        };
        let lanes = conditions.iter().enumerate();
        let met = lanes.filter(|(lane, conditions)| holds(*lane, conditions));
        let inputs = self.program.inputs.len();
        met.map(|(lane, _)| {
            let corner = self.values[..inputs].iter().map(|value| value[lane]);
            (lane, corner.collect())
        })
        .collect()
    }

    fn set_lines(&mut self, state: &State) {
        for (number, free) in self.free.iter().enumerate() {
            let lines = &mut self.lines[free.unit];
            let shares = &state.shares[number];
            let signs = &state.signs[number];
            let convex = free.left < free.right;
            for lane in 0..LANES {
                // As a certificate stores it.
                let share = (shares[lane] * 255.0).round() / 255.0;
                let slope = free.left + share * (free.right - free.left);
                let touching = (slope, free.at_kink - slope * free.kink);
                let (low, high) = if convex {
                    (touching, free.chord)
                } else {
                    (free.chord, touching)
                };
                let (low, high) = match signs[lane] {
                    0 => (low, high),
                    sign => {
                        let above = sign > 0;
                        let slope = if above { free.right } else { free.left };
                        let line = (slope, free.cuts[usize::from(above)]);
                        (line, line)
                    }
                };
                lines.set(lane, (low, high));
            }
        }
    }

    fn ascend(&self, state: &mut State, conditions: &[&[Condition]], rate: f64, step: usize) {
        let mut scale = all(0.0);
        for free in &self.free {
            let a = &self.backward.coefficients[free.variable];
            for lane in 0..LANES {
                scale[lane] = f64::max(scale[lane], a[lane].abs());
            }
        }
        for (number, free) in self.free.iter().enumerate() {
            let a = &self.backward.coefficients[free.variable];
            let z = &self.values[free.input];
            let mut gradient = all(0.0);
            let convex = free.left < free.right;
            for lane in 0..LANES {
                let off = z[lane] - free.kink;
                gradient[lane] = match state.signs[number][lane] {
                    0 if (a[lane] >= 0.0) == convex => a[lane] * (free.right - free.left) * off,
                    0 => 0.0,
                    sign => -f64::from(sign) * off,
                };
            }
            state.step(number, &gradient, rate, &scale, step);
        }
        for (lane, conditions) in conditions.iter().enumerate() {
            if conditions.len() > 1 {
                let values: Vec<f64> = conditions
                    .iter()
                    .map(|condition| -condition.value(&self.values, lane))
                    .collect();
                state.weigh(lane, &values);
            }
        }
    }

    /// The open unit whose line differs most, in effect, from its curve at the corner reached. Where
    /// no line has an effect, the open unit nearest to its kink: fixing it still cuts the region.
    fn branch(&self, state: &State, lane: usize) -> Option<u32> {
        let score = |(number, free): (usize, &Free)| {
            if state.signs[number][lane] != 0 {
                return None;
            }
            let a = self.backward.coefficients[free.variable][lane];
            let z = self.values[free.input][lane];
            let slope = if z >= free.kink {
                free.right
            } else {
                free.left
            };
            let exact = free.at_kink + (z - free.kink) * slope;
            let gap = (a * (self.values[free.variable][lane] - exact)).abs();
            let depth = (free.chord.0 * free.kink + free.chord.1 - free.at_kink).abs();
            let effect = gap + 0.1 * a.abs() * depth;
            Some((effect, -(z - free.kink).abs(), number as u32))
        };
        let scores = self.free.iter().enumerate().filter_map(score);
        let better = |best: (f64, f64, u32), other: (f64, f64, u32)| {
            let order = other.0.total_cmp(&best.0);
            if order.then(other.1.total_cmp(&best.1)).is_gt() {
                other
            } else {
                best
            }
        };
        scores.reduce(better).map(|(_, _, number)| number)
    }
}

/// The numbers of all lanes, while they move.
struct State {
    /// For each free unit: -1 below its kink, 1 above, 0 open.
    signs: Vec<[i8; LANES]>,
    shares: Vec<Lanes>,
    multipliers: Vec<Lanes>,
    /// Free units with a sign in some lane, last first.
    split: Vec<usize>,
    mean: Vec<Lanes>,
    square: Vec<Lanes>,
    factors: Vec<Vec<f64>>,
}

impl State {
    fn new(free: usize, parts: &[Part]) -> Self {
        let mut state = Self {
            signs: vec![[0; LANES]; free],
            shares: vec![all(0.0); free],
            multipliers: vec![all(0.0); free],
            split: Vec::new(),
            mean: vec![all(0.0); free],
            square: vec![all(0.0); free],
            factors: Vec::new(),
        };
        for (lane, part) in parts.iter().enumerate() {
            for (number, &share) in part.shares.iter().enumerate() {
                state.shares[number][lane] = share.into();
            }
            for (&(number, above), &multiplier) in part.phases.iter().zip(&part.multipliers) {
                let number = number as usize;
                state.signs[number][lane] = if above { 1 } else { -1 };
                state.multipliers[number][lane] = multiplier.into();
                state.split.push(number);
            }
            let factors = part.factors.iter().map(|&factor| factor.into());
            state.factors.push(factors.collect());
        }
        state.split.sort_unstable_by(|a, b| b.cmp(a));
        state.split.dedup();
        state
    }

    fn conditions(&self, free: &[Free]) -> Vec<(usize, [Lanes; 2])> {
        self.split
            .iter()
            .map(|&number| {
                let (mut pull, mut push) = (all(0.0), all(0.0));
                for lane in 0..LANES {
                    let sign = f64::from(self.signs[number][lane]);
                    // As a certificate stores it.
                    let multiplier = f64::from(self.multipliers[number][lane] as f32);
                    pull[lane] = sign * multiplier;
                    push[lane] = sign * multiplier * free[number].kink;
                }
                (free[number].unit, [pull, push])
            })
            .collect()
    }

    /// One step of Adam.
    fn step(&mut self, number: usize, gradient: &Lanes, rate: f64, scale: &Lanes, step: usize) {
        const MEMORY: [f64; 2] = [0.9, 0.999];
        let correct = MEMORY.map(|m| 1.0 / (1.0 - m.powi(step as i32 + 1)));
        for lane in 0..LANES {
            let (g, mean) = (gradient[lane], &mut self.mean[number][lane]);
            *mean += (1.0 - MEMORY[0]) * (g - *mean);
            let square = &mut self.square[number][lane];
            *square += (1.0 - MEMORY[1]) * (g * g - *square);
            let size = (*square * correct[1]).sqrt();
            if size > 0.0 {
                let along = *mean * correct[0] / (size + 1e-12);
                if self.signs[number][lane] == 0 {
                    let share = &mut self.shares[number][lane];
                    *share = (*share + rate * along).clamp(0.0, 1.0);
                } else {
                    let multiplier = &mut self.multipliers[number][lane];
                    let room = 2.0 * rate * scale[lane];
                    *multiplier = (*multiplier + room * along).max(0.0);
                }
            }
        }
    }

    /// Shifts weight to the conditions that are violated most.
    fn weigh(&mut self, lane: usize, values: &[f64]) {
        let spread = values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            - values.iter().copied().fold(f64::INFINITY, f64::min);
        if !(spread > 0.0 && spread.is_finite()) {
            return;
        }
        let factors = &mut self.factors[lane];
        let maximum = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (factor, value) in factors.iter_mut().zip(values) {
            *factor *= (2.0 * (value - maximum) / spread).exp();
        }
        let total: f64 = factors.iter().sum();
        for factor in factors {
            *factor = f64::from((*factor / total) as f32);
            if *factor < 1e-3 {
                *factor = 1e-3;
            }
        }
    }

    fn save(&self, lane: usize, part: &mut Part) {
        for (share, shares) in part.shares.iter_mut().zip(&self.shares) {
            *share = shares[lane] as f32;
        }
        for (multiplier, &(number, _)) in part.multipliers.iter_mut().zip(&part.phases) {
            *multiplier = self.multipliers[number as usize][lane] as f32;
        }
        for (factor, &now) in part.factors.iter_mut().zip(&self.factors[lane]) {
            *factor = now as f32;
        }
    }
}
