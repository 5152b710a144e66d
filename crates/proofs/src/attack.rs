//! A cheap search for witnesses before anything is proven: gradient steps from the centre of the box,
//! its corners and random points, sixteen at a time.

#![expect(clippy::needless_range_loop, reason = "loops over lanes")]

use deepconcolic_network::vectorised;

use crate::lanes::{LANES, Lanes, all};
use crate::lines::UnitLines;
use crate::objective::{Condition, seed};
use crate::pass::{Backward, Follow, forward};
use crate::program::Program;

/// As [`crate::phases::Confirm`], for one of several questions.
type ConfirmOne<'a> = dyn Fn(usize, &[f64]) -> Option<Vec<f32>> + 'a;

/// How hard to look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attack {
    /// Batches of sixteen starting points.
    pub batches: usize,
    /// Gradient steps from each.
    pub steps: usize,
}

/// Splitmix64: the same points everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Attack {
    /// For each of up to [`LANES`] questions an input that meets all its conditions, confirmed by
    /// execution: `confirm(question, point)`. Lanes without a question of their own help the others.
    pub fn run(
        &self,
        program: &Program,
        questions: &[&[Condition]],
        ends: &[[f64; 2]],
        seed_number: u64,
        confirm: &ConfirmOne<'_>,
    ) -> Vec<Option<Vec<f32>>> {
        let mut found: Vec<Option<Vec<f32>>> = vec![None; questions.len()];
        let mut values = vec![all(0.0); program.variables];
        let mut lines = vec![UnitLines::NONE; program.units.len()];
        let mut backward = Backward::new(program);
        let mut random = Random(seed_number);
        for batch in 0..self.batches {
            let open: Vec<usize> = (0..found.len()).filter(|&q| found[q].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let asked: Vec<usize> = (0..LANES).map(|lane| open[lane % open.len()]).collect();
            start(batch, ends, &mut random, &mut values);
            for step in 0..=self.steps {
                forward(program, &Follow::Curve, &mut values);
                let worst = worst(&asked, questions, &values);
                for (lane, &question) in asked.iter().enumerate() {
                    if worst[lane].1 >= 0.0 && found[question].is_none() {
                        let inputs = &values[..program.inputs.len()];
                        let point: Vec<f64> = inputs.iter().map(|value| value[lane]).collect();
                        found[question] = confirm(question, &point);
                    }
                }
                if step == self.steps || found.iter().all(Option::is_some) {
                    break;
                }
                tangents(program, &values, &mut lines);
                backward.clear(program.variables);
                for (lane, &question) in asked.iter().enumerate() {
                    let conditions = questions[question];
                    let mut factors = vec![0.0; conditions.len()];
                    if let Some(factor) = factors.get_mut(worst[lane].0) {
                        *factor = 1.0;
                    }
                    seed(&mut backward, lane, conditions, &factors);
                }
                backward.run(program, program.steps.len(), &lines, &[]);
                // Long steps first, to cross the box; short ones at the end, to settle.
                let length = 0.5 * 0.85f64.powi(step as i32);
                walk(ends, &backward, length, &mut values);
            }
        }
        found
    }
}

/// In each lane, the condition that is furthest from holding, and its value.
fn worst(asked: &[usize], questions: &[&[Condition]], values: &[Lanes]) -> [(usize, f64); LANES] {
    let mut worst = [(0, f64::INFINITY); LANES];
    for ((lane, worst), &question) in worst.iter_mut().enumerate().zip(asked) {
        for (number, condition) in questions[question].iter().enumerate() {
            let value = condition.value(values, lane);
            if value < worst.1 || value.is_nan() {
                *worst = (number, value);
            }
        }
    }
    worst
}

/// The centre once, then corners and inner points in turn.
fn start(batch: usize, ends: &[[f64; 2]], random: &mut Random, values: &mut [Lanes]) {
    for lane in 0..LANES {
        for (value, &[low, high]) in values.iter_mut().zip(ends) {
            let part = match (batch, lane) {
                (0, 0) => 0.5,
                _ if lane % 2 == 0 => random.part(),
                _ => random.part().round(),
            };
            value[lane] = low + part * (high - low);
        }
    }
}

/// Each curve's own slope at the point.
fn tangents(program: &Program, values: &[Lanes], lines: &mut [UnitLines]) {
    for curves in program.curves() {
        for (k, &input) in curves.inputs.iter().enumerate() {
            let x = &values[input as usize];
            let unit = &mut lines[curves.first_unit + k];
            for lane in 0..LANES {
                let at = curves.parts.iter().rposition(|part| part.from <= x[lane]);
                let slope = curves.parts[at.unwrap_or(0)].slope;
                unit.set(lane, ((slope, 0.0), (slope, 0.0)));
            }
        }
    }
}

/// Against the gradient of what must fall, within the box.
fn walk(ends: &[[f64; 2]], backward: &Backward, length: f64, values: &mut [Lanes]) {
    vectorised(|| {
        for ((value, a), &[low, high]) in values.iter_mut().zip(&backward.coefficients).zip(ends) {
            let step = length * (high - low);
            for lane in 0..LANES {
                let towards = if a[lane] == 0.0 {
                    0.0
                } else {
                    -step * a[lane].signum()
                };
                value[lane] = (value[lane] + towards).clamp(low, high);
            }
        }
    });
}
