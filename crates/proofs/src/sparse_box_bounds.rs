//! A program over one small box, where most curves are settled: what is zero all over the box is left
//! out of every pass. The lanes are sums pulled back over the same box.

#![expect(
    clippy::inline_always,
    reason = "inlined into the function compiled for wide vectors"
)]

use deepconcolic_check::Until;
use deepconcolic_network::vectorised;

use crate::lanes::{LANES, Lanes, all};
use crate::lines::{RelaxationLine, is_settled, lines};
use crate::program::{Curves, Program, Step, Sums};

/// Which sums are read by one curve of the next step and by nothing else, for each step.
pub(crate) struct Readers(Vec<Vec<Option<u32>>>);

impl Readers {
    pub fn of(program: &Program) -> Self {
        let mut reads = vec![0u32; program.variables];
        for step in &program.steps {
            let read = match step {
                Step::Sums(sums) => &sums.inputs,
                Step::Curves(curves) => &curves.inputs,
            };
            for &variable in read {
                reads[variable as usize] += 1;
            }
        }
        for &variable in &program.targets {
            reads[variable] += 1;
        }
        let readers = program.steps.iter().enumerate().map(|(at, step)| {
            let Step::Sums(sums) = step else {
                return Vec::new();
            };
            let mut readers = vec![None; sums.constants.len()];
            if let Some(Step::Curves(curves)) = program.steps.get(at + 1) {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let only = reads[input as usize] == 1;
                    if let Some(place) = (input as usize).checked_sub(sums.first)
                        && only
                    {
                        readers[place] = Some((curves.first + k) as u32);
                    }
                }
            }
            readers
        });
        Self(readers.collect())
    }

    /// The curve that alone reads a sum of a step.
    pub fn of_sum(&self, step: usize, k: usize) -> Option<usize> {
        self.0[step][k].map(|curve| curve as usize)
    }
}

/// A curve that is not zero over the box, with its lines.
struct Bent {
    variable: u32,
    input: u32,
    low: RelaxationLine,
    high: RelaxationLine,
}

/// A step without what is zero.
#[derive(Default)]
struct SparseStep {
    bent: Vec<Bent>,
    /// Sums that matter: variables and their constants.
    sums: Vec<(u32, f64)>,
    /// Variables in those sums, each with the end of its part of `terms`.
    columns: Vec<(u32, u32)>,
    /// Sums and weights.
    terms: Vec<(u32, f64)>,
}

/// A program over one box at a time.
pub(crate) struct SparseBoxBounds<'a> {
    pub program: &'a Program,
    readers: &'a Readers,
    steps: Vec<SparseStep>,
    /// Whether a variable is 0 all over the box.
    zero: Vec<bool>,
    pub coefficients: Vec<Lanes>,
    constant: Lanes,
    /// Units of the step at hand whose phase is open.
    open: Vec<usize>,
    until: Until<'a>,
}

impl<'a> SparseBoxBounds<'a> {
    pub fn new(program: &'a Program, readers: &'a Readers, until: Until<'a>) -> Self {
        Self {
            program,
            readers,
            steps: program
                .steps
                .iter()
                .map(|_| SparseStep::default())
                .collect(),
            zero: vec![false; program.variables],
            coefficients: vec![all(0.0); program.variables],
            constant: all(0.0),
            open: Vec::new(),
            until,
        }
    }

    /// Moves to another box: tightens bounds of units, which must hold there already.
    pub fn decide(&mut self, ends: &[[f64; 2]], bounds: &mut [[f64; 2]]) {
        let program = self.program;
        for (at, step) in program.steps.iter().enumerate() {
            if let Step::Curves(curves) = step {
                self.tighten(at, curves, ends, bounds);
                self.bend(at, curves, bounds);
            }
            // A step of sums can be thinned out once the curves that read it are known.
            let next = program.steps.get(at + 1);
            match (step, next) {
                (Step::Sums(_), Some(Step::Curves(_))) => {}
                (Step::Sums(sums), _) => self.thin(at, sums),
                (Step::Curves(_), _) => {
                    if let Some(Step::Sums(sums)) = at.checked_sub(1).map(|b| &program.steps[b]) {
                        self.thin(at - 1, sums);
                    }
                }
            }
        }
    }

    /// Bounds the open units of a step by pulling them back, eight at a time; once time is up, those
    /// left keep the bounds they have.
    fn tighten(&mut self, at: usize, curves: &Curves, ends: &[[f64; 2]], bounds: &mut [[f64; 2]]) {
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        open.extend((0..curves.inputs.len()).filter(|&k| {
            let [l, u] = bounds[curves.first_unit + k];
            !is_settled(&curves.parts, l, u)
        }));
        let before = at.checked_sub(1).map(|before| &self.program.steps[before]);
        for chunk in open.chunks(LANES / 2) {
            if self.until.is_over() {
                break;
            }
            self.clear(at);
            for (pair, &k) in chunk.iter().enumerate() {
                let input = curves.inputs[k] as usize;
                for (lane, sign) in [(2 * pair, 1.0), (2 * pair + 1, -1.0)] {
                    match before {
                        // The step before is not thinned out yet: its terms are the start.
                        Some(Step::Sums(sums)) if input >= sums.first => {
                            self.seed_row(sums, input - sums.first, lane, sign);
                        }
                        _ => self.coefficients[input][lane] += sign,
                    }
                }
            }
            let from = match before {
                Some(Step::Sums(_)) => at - 1,
                _ => at,
            };
            let lower = self.run(from, 2 * chunk.len(), ends);
            for (pair, &k) in chunk.iter().enumerate() {
                let [l, u] = &mut bounds[curves.first_unit + k];
                *l = l.max(lower[2 * pair]);
                *u = u.min(-lower[2 * pair + 1]).max(*l);
            }
        }
        self.open = open;
    }

    fn seed_row(&mut self, sums: &Sums, k: usize, lane: usize, sign: f64) {
        let (variables, weights) = sums.rows.row(k);
        for (&variable, &weight) in variables.iter().zip(weights) {
            self.coefficients[variable as usize][lane] += sign * weight;
        }
        self.constant[lane] += sign * sums.constants[k];
    }

    /// Lines for the curves of a step; those at zero are dropped.
    fn bend(&mut self, at: usize, curves: &Curves, bounds: &[[f64; 2]]) {
        let bent = &mut self.steps[at].bent;
        bent.clear();
        for (k, &input) in curves.inputs.iter().enumerate() {
            let [l, u] = bounds[curves.first_unit + k];
            let (low, high) = lines(&curves.parts, l, u, None);
            let zero = low == (0.0, 0.0) && high == low;
            let variable = curves.first + k;
            self.zero[variable] = zero;
            if !zero {
                let variable = variable as u32;
                bent.push(Bent {
                    variable,
                    input,
                    low,
                    high,
                });
            }
        }
    }

    /// Leaves out the terms that are zero, and the sums that only a curve at zero reads.
    fn thin(&mut self, at: usize, sums: &Sums) {
        let readers = &self.readers.0[at];
        for (k, reader) in readers.iter().enumerate() {
            self.zero[sums.first + k] = reader.is_some_and(|curve| self.zero[curve as usize]);
        }
        let (zero, slim) = (&self.zero, &mut self.steps[at]);
        slim.sums.clear();
        slim.columns.clear();
        slim.terms.clear();
        let kept = (0..readers.len()).filter(|&k| !zero[sums.first + k]);
        slim.sums
            .extend(kept.map(|k| ((sums.first + k) as u32, sums.constants[k])));
        for (place, &variable) in sums.inputs.iter().enumerate() {
            if zero[variable as usize] {
                continue;
            }
            let (indices, weights) = sums.columns.row(place);
            for (&k, &weight) in indices.iter().zip(weights) {
                let sum = sums.first + k as usize;
                if !zero[sum] {
                    slim.terms.push((sum as u32, weight));
                }
            }
            slim.columns.push((variable, slim.terms.len() as u32));
        }
    }

    /// Ready for sums of variables before step `at`: whatever a pass from there can read is 0. A
    /// variable may be read by later steps only, so that no pass from here would overwrite it.
    pub fn clear(&mut self, at: usize) {
        self.constant = all(0.0);
        self.coefficients[..self.program.inputs.len()].fill(all(0.0));
        for step in &self.steps[..at] {
            for bent in &step.bent {
                self.coefficients[bent.variable as usize] = all(0.0);
            }
            for &(variable, _) in &step.sums {
                self.coefficients[variable as usize] = all(0.0);
            }
        }
    }

    /// Adds to the sum of a lane.
    pub fn seed(&mut self, variable: usize, lane: usize, weight: f64) {
        self.coefficients[variable][lane] += weight;
    }

    /// Adds a number to the sum of a lane.
    pub fn constant(&mut self, lane: usize, constant: f64) {
        self.constant[lane] += constant;
    }

    /// Lower bounds of the sums in the first so many lanes, pulled back through the steps before
    /// `from`.
    pub fn run(&mut self, from: usize, lanes: usize, ends: &[[f64; 2]]) -> Lanes {
        vectorised(|| match lanes {
            0..=4 => self.pull::<4>(from, ends),
            5..=8 => self.pull::<8>(from, ends),
            _ => self.pull::<LANES>(from, ends),
        })
    }

    #[inline(always)]
    fn pull<const N: usize>(&mut self, from: usize, ends: &[[f64; 2]]) -> Lanes {
        let mut constant = [0.0; N];
        constant.copy_from_slice(&self.constant[..N]);
        for step in self.steps[..from].iter().rev() {
            for bent in &step.bent {
                let a = &self.coefficients[bent.variable as usize];
                let mut moved = [0.0; N];
                for lane in 0..N {
                    let (up, down) = (a[lane].max(0.0), a[lane].min(0.0));
                    moved[lane] = up * bent.low.0 + down * bent.high.0;
                    constant[lane] += up * bent.low.1 + down * bent.high.1;
                }
                let into = &mut self.coefficients[bent.input as usize];
                for lane in 0..N {
                    into[lane] += moved[lane];
                }
            }
            for &(variable, number) in &step.sums {
                let a = &self.coefficients[variable as usize];
                for lane in 0..N {
                    constant[lane] += a[lane] * number;
                }
            }
            let mut start = 0;
            for &(variable, end) in &step.columns {
                let mut sum = [0.0; N];
                sum.copy_from_slice(&self.coefficients[variable as usize][..N]);
                for &(k, weight) in &step.terms[start..end as usize] {
                    let a = &self.coefficients[k as usize];
                    for lane in 0..N {
                        sum[lane] += a[lane] * weight;
                    }
                }
                start = end as usize;
                self.coefficients[variable as usize][..N].copy_from_slice(&sum);
            }
        }
        for (a, &[low, high]) in self.coefficients.iter().zip(ends) {
            for lane in 0..N {
                constant[lane] += a[lane].max(0.0) * low + a[lane].min(0.0) * high;
            }
        }
        let mut bound = all(f64::NEG_INFINITY);
        bound[..N].copy_from_slice(&constant);
        bound
    }
}
