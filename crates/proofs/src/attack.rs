//! A cheap search for witnesses before anything is proven: gradient steps from the centre of the box,
//! its corners and random points, sixteen at a time.

#![expect(clippy::needless_range_loop, reason = "loops over lanes")]

use deepconcolic_check::Until;
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
pub(crate) struct Attack<'a> {
    /// Batches of sixteen starting points.
    pub batches: usize,
    /// Gradient steps from each.
    pub steps: usize,
    /// When to end.
    pub until: Until<'a>,
}

/// Splitmix64: the same points everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

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

impl Attack<'_> {
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
        let mut walker = Walker::new(program, self.until);
        let mut random = Random(seed_number);
        for batch in 0..self.batches {
            let open: Vec<usize> = (0..found.len()).filter(|&q| found[q].is_none()).collect();
            if open.is_empty() || self.until.is_over() {
                break;
            }
            let asked: Vec<usize> = (0..LANES).map(|lane| open[lane % open.len()]).collect();
            let conditions: Vec<&[Condition]> = asked.iter().map(|&q| questions[q]).collect();
            for lane in 0..LANES {
                walker.place(lane, &start(batch, lane, ends, &mut random), ends);
            }
            walker.walk(&conditions, ends, self.steps, &mut |lane, point| {
                let question = asked[lane];
                if found[question].is_none() {
                    found[question] = confirm(question, point);
                }
                found.iter().all(Option::is_some)
            });
        }
        found
    }
}

/// Gradient steps from sixteen points side by side.
pub(crate) struct Walker<'a> {
    program: &'a Program,
    values: Vec<Lanes>,
    /// How far the first step may go, for each input.
    widths: Vec<Lanes>,
    lines: Vec<UnitLines>,
    backward: Backward,
    until: Until<'a>,
}

impl<'a> Walker<'a> {
    pub fn new(program: &'a Program, until: Until<'a>) -> Self {
        Self {
            program,
            values: vec![all(0.0); program.variables],
            widths: vec![all(0.0); program.inputs.len()],
            lines: vec![UnitLines::NONE; program.units.len()],
            backward: Backward::new(program),
            until,
        }
    }

    /// Where a lane starts, and the box whose widths are the measure of its steps.
    pub fn place(&mut self, lane: usize, point: &[f64], ends: &[[f64; 2]]) {
        for (input, (&x, &[low, high])) in point.iter().zip(ends).enumerate() {
            self.values[input][lane] = x;
            self.widths[input][lane] = high - low;
        }
    }

    /// Walks uphill until time is up; lane `k` asks about `questions[k]`. A point that meets all conditions of its
    /// lane goes to `met`, which says whether that is enough.
    pub fn walk(
        &mut self,
        questions: &[&[Condition]],
        region: &[[f64; 2]],
        steps: usize,
        met: &mut dyn FnMut(usize, &[f64]) -> bool,
    ) {
        let program = self.program;
        for step in 0..=steps {
            if self.until.is_over() {
                return;
            }
            forward(program, &Follow::Curve, &mut self.values);
            let factors: Vec<(f64, Vec<f64>)> = questions
                .iter()
                .enumerate()
                .map(|(lane, conditions)| self.weigh(lane, conditions))
                .collect();
            for (lane, (worst, _)) in factors.iter().enumerate() {
                if *worst >= 0.0 {
                    let inputs = &self.values[..program.inputs.len()];
                    let point: Vec<f64> = inputs.iter().map(|value| value[lane]).collect();
                    if met(lane, &point) {
                        return;
                    }
                }
            }
            if step == steps {
                break;
            }
            tangents(program, &self.values, &mut self.lines);
            self.backward.clear(program.variables);
            for (lane, (_, factors)) in factors.iter().enumerate() {
                seed(&mut self.backward, lane, questions[lane], factors);
            }
            self.backward
                .run(program, program.steps.len(), &self.lines, &[]);
            // Long steps first, to cross the box; short ones at the end, to decide.
            self.step(region, 0.5 * 0.85f64.powi(step as i32));
        }
    }

    /// The least of the conditions' values, and how much each counts: the further it is from
    /// holding, the more. Near a ridge where two are as bad, following the worst alone would only
    /// cross it again and again.
    fn weigh(&self, lane: usize, conditions: &[Condition]) -> (f64, Vec<f64>) {
        const SHARPNESS: f64 = 20.0;
        let values = conditions.iter().map(|c| c.value(&self.values, lane));
        let mut values: Vec<f64> = values.collect();
        let worst = values.iter().copied().fold(f64::INFINITY, f64::min);
        let scale = SHARPNESS / (worst.abs() + f64::MIN_POSITIVE);
        for value in &mut values {
            *value = (scale * (worst - *value)).exp();
        }
        (worst, values)
    }

    /// Against the gradient of what must fall, within the box.
    fn step(&mut self, region: &[[f64; 2]], length: f64) {
        let (values, widths, backward) = (&mut self.values, &self.widths, &self.backward);
        vectorised(|| {
            let inputs = values.iter_mut().zip(widths).zip(&backward.coefficients);
            for (((value, width), a), &[low, high]) in inputs.zip(region) {
                for lane in 0..LANES {
                    let towards = if a[lane] == 0.0 {
                        0.0
                    } else {
                        -length * width[lane] * a[lane].signum()
                    };
                    value[lane] = (value[lane] + towards).clamp(low, high);
                }
            }
        });
    }
}

/// The centre once, then corners and inner points in turn.
pub(crate) fn start(batch: usize, lane: usize, ends: &[[f64; 2]], random: &mut Random) -> Vec<f64> {
    let part = |random: &mut Random| match (batch, lane) {
        (0, 0) => 0.5,
        _ if lane.is_multiple_of(2) => random.part(),
        _ => random.part().round(),
    };
    let ends = ends.iter();
    ends.map(|&[low, high]| low + part(random) * (high - low))
        .collect()
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
