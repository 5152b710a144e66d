//! Branch and bound on the input box, for networks of few inputs: the box is halved where that
//! matters most, and every unit is bounded anew in each half. Sixteen boxes are bounded side by side.

#![expect(clippy::needless_range_loop, reason = "loops over lanes")]

use deepconcolic_check::{Leaf, Split};
use rayon::prelude::*;

use crate::ascent::CLEAR;
use crate::lanes::{LANES, Lanes, all};
use crate::lines::{UnitLines, is_flat, lines, range};
use crate::objective::{Condition, seed};
use crate::pass::{Backward, Follow, forward};
use crate::phases::{Confirm, Effort, End};
use crate::program::{Curves, Program, Step, Sums};
use crate::tree::Growing;

/// Boxes taken up at once: a fixed number, so that nothing depends on the number of threads.
const TAKEN: usize = 8 * LANES;

/// The least share of the strongest input's effect that any input counts with.
const LEAST_STRENGTH: f64 = 0.1;

/// A box and what is known of the units over it.
struct Cell {
    ends: Vec<[f64; 2]>,
    bounds: Vec<[f64; 2]>,
    at: usize,
    bound: f64,
}

/// What was found of one box.
struct Judged {
    bound: f64,
    condition: usize,
    /// The input variable to halve.
    halve: usize,
    witness: Option<Vec<f32>>,
    bounds: Vec<[f64; 2]>,
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
    let mut tree = Growing::new();
    let mut open = vec![Cell {
        ends,
        bounds,
        at: 0,
        bound: f64::NEG_INFINITY,
    }];
    let mut nodes = effort.nodes_from(0);
    while !open.is_empty() {
        if nodes >= effort.nodes || effort.is_over() {
            let worst = open.iter().map(|cell| cell.bound);
            return End::Open(-worst.fold(f64::INFINITY, f64::min));
        }
        // Last in, first out: neighbours come together, and few boxes are open at a time.
        let taken = open.split_off(open.len().saturating_sub(TAKEN));
        nodes += taken.len();
        let judged: Vec<Vec<Judged>> = taken
            .par_chunks(LANES)
            .map(|cells| Bounder::new(program, cells).judge(conditions, cells, confirm))
            .collect();
        for (cell, judged) in taken.into_iter().zip(judged.into_iter().flatten()) {
            if let Some(input) = judged.witness {
                return End::Witness(input);
            }
            if judged.bound > CLEAR {
                let leaf = Leaf {
                    factors: vec![(judged.condition as u32, 1.0)],
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
            let element = program.inputs[place] as u32;
            let halves = tree.split(
                cell.at,
                Split::Input {
                    element,
                    at: middle,
                },
            );
            for (at, new) in halves.into_iter().zip([[low, middle], [middle, high]]) {
                let mut ends = cell.ends.clone();
                ends[place] = new;
                open.push(Cell {
                    ends,
                    bounds: judged.bounds.clone(),
                    at,
                    bound: judged.bound,
                });
            }
        }
    }
    End::Refuted(tree.finish())
}

/// Bounds over sixteen boxes at once.
struct Bounder<'a> {
    program: &'a Program,
    ends: Vec<[Lanes; 2]>,
    intervals: Vec<[Lanes; 2]>,
    bounds: Vec<[Lanes; 2]>,
    lines: Vec<UnitLines>,
    backward: Backward,
}

impl<'a> Bounder<'a> {
    fn new(program: &'a Program, cells: &[Cell]) -> Self {
        // Lanes without a box of their own repeat the first.
        let cell = |lane: usize| cells.get(lane).unwrap_or(&cells[0]);
        let gather = |pick: &dyn Fn(&Cell) -> [f64; 2]| {
            let mut lanes = [all(0.0); 2];
            for lane in 0..LANES {
                [lanes[0][lane], lanes[1][lane]] = pick(cell(lane));
            }
            lanes
        };
        let inputs = program.inputs.len();
        let ends: Vec<[Lanes; 2]> = (0..inputs).map(|i| gather(&|c| c.ends[i])).collect();
        let units = program.units.len();
        let bounds = (0..units).map(|u| gather(&|c| c.bounds[u])).collect();
        let mut intervals = vec![[all(0.0); 2]; program.variables];
        intervals[..inputs].copy_from_slice(&ends);
        Self {
            program,
            ends,
            intervals,
            bounds,
            lines: vec![UnitLines::NONE; units],
            backward: Backward::new(program),
        }
    }

    fn judge(
        mut self,
        conditions: &[Condition],
        cells: &[Cell],
        confirm: &Confirm<'_>,
    ) -> Vec<Judged> {
        for (index, step) in self.program.steps.iter().enumerate() {
            match step {
                Step::Sums(sums) => self.sums(sums),
                Step::Curves(curves) => self.curves(index, curves),
            }
        }
        let mut judged: Vec<Judged> = (0..cells.len())
            .map(|lane| Judged {
                bound: f64::NEG_INFINITY,
                condition: 0,
                halve: 0,
                witness: None,
                bounds: self.bounds.iter().map(|b| b.map(|end| end[lane])).collect(),
            })
            .collect();
        let mut values = vec![all(0.0); self.program.variables];
        for number in 0..conditions.len() {
            let mut factors = vec![0.0; conditions.len()];
            factors[number] = 1.0;
            self.backward.clear(self.program.variables);
            for lane in 0..LANES {
                seed(&mut self.backward, lane, conditions, &factors);
            }
            let steps = self.program.steps.len();
            self.backward.run(self.program, steps, &self.lines, &[]);
            let bound = self.backward.lower(&self.ends);
            for (lane, judged) in judged.iter_mut().enumerate() {
                if bound[lane] > judged.bound {
                    judged.bound = bound[lane];
                    judged.condition = number;
                    judged.halve = self.widest(lane);
                }
            }
            self.backward.corners(&self.ends, &mut values);
            self.execute(conditions, &mut values, &mut judged, confirm);
        }
        judged
    }

    fn execute(
        &self,
        conditions: &[Condition],
        values: &mut [Lanes],
        judged: &mut [Judged],
        confirm: &Confirm<'_>,
    ) {
        forward(self.program, &Follow::Curve, values);
        for (lane, judged) in judged.iter_mut().enumerate() {
            let mut all = conditions.iter().map(|c| c.value(values, lane));
            if judged.witness.is_none() && all.all(|value| value >= 0.0) {
                let inputs = &values[..self.program.inputs.len()];
                let corner: Vec<f64> = inputs.iter().map(|value| value[lane]).collect();
                judged.witness = confirm(&corner);
            }
        }
    }

    /// The input whose width moves the bound most. An input whose effect cancels in the lines still
    /// loosens them, so none counts for less than a share of the strongest.
    fn widest(&self, lane: usize) -> usize {
        let strength = |i: usize| self.backward.coefficients[i][lane].abs();
        let strongest = (0..self.ends.len()).map(strength).fold(0.0, f64::max);
        let effect = |i: usize| {
            let [low, high] = &self.ends[i];
            let width = high[lane] - low[lane];
            (strength(i).max(LEAST_STRENGTH * strongest) + f64::MIN_POSITIVE) * width
        };
        let better = |best: usize, i: usize| if effect(i) > effect(best) { i } else { best };
        (0..self.ends.len()).reduce(better).unwrap_or(0)
    }

    fn sums(&mut self, sums: &Sums) {
        deepconcolic_network::vectorised(|| {
            let (before, outputs) = self.intervals.split_at_mut(sums.first);
            for (k, &constant) in sums.constants.iter().enumerate() {
                let (variables, weights) = sums.rows.row(k);
                let (mut low, mut high) = (all(constant), all(constant));
                for (&variable, &weight) in variables.iter().zip(weights) {
                    let [l, u] = &before[variable as usize];
                    let (a, b) = if weight < 0.0 { (u, l) } else { (l, u) };
                    for lane in 0..LANES {
                        low[lane] += weight * a[lane];
                        high[lane] += weight * b[lane];
                    }
                }
                outputs[k] = [low, high];
            }
        });
    }

    fn curves(&mut self, step: usize, curves: &Curves) {
        for (k, &input) in curves.inputs.iter().enumerate() {
            let unit = curves.first_unit + k;
            let interval = self.intervals[input as usize];
            meet(&mut self.bounds[unit], &interval);
            let flat = self.flat_lanes(curves, unit);
            if curves.first_unit > 0 && flat != [true; LANES] {
                let mut low = self.pull(curves, step, input as usize, 1.0);
                let mut high = self.pull(curves, step, input as usize, -1.0).map(|b| -b);
                // No box's bounds may depend on which others it is worked on with.
                for lane in (0..LANES).filter(|&lane| flat[lane]) {
                    [low[lane], high[lane]] = self.bounds[unit].map(|end| end[lane]);
                }
                meet(&mut self.bounds[unit], &[low, high]);
            }
        }
        for k in 0..curves.inputs.len() {
            let unit = curves.first_unit + k;
            for lane in 0..LANES {
                let [l, u] = self.bounds[unit].map(|end| end[lane]);
                let u = u.max(l);
                self.lines[unit].set(lane, lines(&curves.parts, l, u, None));
                let [low, high] = range(&curves.parts, l, u);
                self.intervals[curves.first + k][0][lane] = low;
                self.intervals[curves.first + k][1][lane] = high;
            }
        }
    }

    /// In which lanes a unit's curve is constant.
    fn flat_lanes(&self, curves: &Curves, unit: usize) -> [bool; LANES] {
        let [low, high] = &self.bounds[unit];
        std::array::from_fn(|lane| is_flat(&curves.parts, low[lane], high[lane]))
    }

    fn pull(&mut self, curves: &Curves, step: usize, variable: usize, weight: f64) -> Lanes {
        self.backward.clear(curves.first);
        for lane in 0..LANES {
            self.backward.seed(variable, lane, weight);
        }
        self.backward.run(self.program, step, &self.lines, &[]);
        self.backward.lower(&self.ends)
    }
}

/// The tighter of two bounds, lane by lane.
fn meet(bounds: &mut [Lanes; 2], other: &[Lanes; 2]) {
    for lane in 0..LANES {
        bounds[0][lane] = bounds[0][lane].max(other[0][lane]);
        bounds[1][lane] = bounds[1][lane].min(other[1][lane]);
    }
}
