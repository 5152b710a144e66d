//! Passes over a program, many lanes side by side: coefficients pulled back to the input with every
//! curve replaced by a line, and values carried forward along the lines that were taken.

#![expect(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "loops over lanes, inlined into the function compiled for wide vectors"
)]

use deepconcolic_network::vectorised;

use crate::changes::Choice;
use crate::lanes::{LANES, Lanes, all};
use crate::lines::UnitLines;
use crate::program::{Curves, Program, Step, Sums};

/// Coefficients of every variable on the way back.
#[derive(Debug, Clone)]
pub(crate) struct Backward {
    pub coefficients: Vec<Lanes>,
    /// Whether a variable can have a coefficient other than 0.
    live: Vec<bool>,
    pub constant: Lanes,
}

impl Backward {
    pub fn new(program: &Program) -> Self {
        Self {
            coefficients: vec![all(0.0); program.variables],
            live: vec![false; program.variables],
            constant: all(0.0),
        }
    }

    /// Forgets everything about the variables before `end`; a pass from there down sees no others.
    pub fn clear(&mut self, end: usize) {
        self.coefficients[..end].fill(all(0.0));
        self.live[..end].fill(false);
        self.constant = all(0.0);
    }

    pub fn seed(&mut self, variable: usize, lane: usize, weight: f64) {
        self.coefficients[variable][lane] += weight;
        self.live[variable] = true;
    }

    /// Pulls the sums back through the steps before step `to`. `conditions` holds, for units in
    /// descending order, what to take off the coefficient of the unit's input and what to add to the
    /// constant.
    pub fn run(
        &mut self,
        program: &Program,
        to: usize,
        lines: &[UnitLines],
        conditions: &[(usize, [Lanes; 2])],
    ) {
        vectorised(|| {
            let mut conditions = conditions.iter().peekable();
            for step in program.steps[..to].iter().rev() {
                match step {
                    Step::Sums(sums) => self.sums(sums),
                    Step::Curves(curves) => {
                        self.curves(curves, lines);
                        while let Some((unit, [pull, push])) =
                            conditions.next_if(|(unit, _)| *unit >= curves.first_unit)
                        {
                            let input = curves.inputs[unit - curves.first_unit] as usize;
                            self.live[input] = true;
                            for lane in 0..LANES {
                                self.coefficients[input][lane] -= pull[lane];
                                self.constant[lane] += push[lane];
                            }
                        }
                    }
                }
            }
        });
    }

    #[inline(always)]
    fn sums(&mut self, sums: &Sums) {
        let count = sums.constants.len();
        let live = self.live[sums.first..sums.first + count]
            .iter()
            .filter(|live| **live)
            .count();
        if live == 0 {
            return;
        }
        for (k, &constant) in sums.constants.iter().enumerate() {
            let a = &self.coefficients[sums.first + k];
            for lane in 0..LANES {
                self.constant[lane] += a[lane] * constant;
            }
        }
        if live * 3 < count {
            self.spread(sums);
        } else {
            self.collect(sums);
        }
    }

    /// Each sum that matters adds to its terms: best when few matter.
    #[inline(always)]
    fn spread(&mut self, sums: &Sums) {
        for k in 0..sums.constants.len() {
            if !self.live[sums.first + k] {
                continue;
            }
            let a = self.coefficients[sums.first + k];
            let (variables, weights) = sums.rows.row(k);
            for (&variable, &weight) in variables.iter().zip(weights) {
                self.live[variable as usize] = true;
                let into = &mut self.coefficients[variable as usize];
                for lane in 0..LANES {
                    into[lane] += a[lane] * weight;
                }
            }
        }
    }

    /// Each variable collects from the sums it occurs in: best when most matter.
    #[inline(always)]
    fn collect(&mut self, sums: &Sums) {
        let (before, outputs) = self.coefficients.split_at_mut(sums.first);
        for (place, &variable) in sums.inputs.iter().enumerate() {
            let (indices, weights) = sums.columns.row(place);
            let mut sum = before[variable as usize];
            for (&k, &weight) in indices.iter().zip(weights) {
                let a = &outputs[k as usize];
                for lane in 0..LANES {
                    sum[lane] += a[lane] * weight;
                }
            }
            before[variable as usize] = sum;
            self.live[variable as usize] = true;
        }
    }

    #[inline(always)]
    fn curves(&mut self, curves: &Curves, lines: &[UnitLines]) {
        for (k, &input) in curves.inputs.iter().enumerate() {
            let variable = curves.first + k;
            if !self.live[variable] {
                continue;
            }
            let a = self.coefficients[variable];
            let line = &lines[curves.first_unit + k];
            self.live[input as usize] = true;
            let into = &mut self.coefficients[input as usize];
            for lane in 0..LANES {
                let (up, down) = (a[lane].max(0.0), a[lane].min(0.0));
                into[lane] += up * line.low_slope[lane] + down * line.high_slope[lane];
                self.constant[lane] += up * line.low_cut[lane] + down * line.high_cut[lane];
            }
        }
    }

    /// Lower bounds over boxes, of inputs that move as a choice says if there is one, after
    /// [`Backward::run`].
    pub fn lower(&self, ends: &[[Lanes; 2]], choice: Option<&Choice>) -> Lanes {
        if let Some(choice) = choice {
            return self.lower_of_few(ends, choice);
        }
        vectorised(|| {
            let mut bound = self.constant;
            for (a, [low, high]) in self.coefficients.iter().zip(ends) {
                for lane in 0..LANES {
                    bound[lane] += a[lane].max(0.0) * low[lane] + a[lane].min(0.0) * high[lane];
                }
            }
            bound
        })
    }

    /// Where few inputs may move at a time. What moves not at all is at both ends.
    fn lower_of_few(&self, ends: &[[Lanes; 2]], choice: &Choice) -> Lanes {
        let mut bound = choice.least(&self.coefficients, LANES);
        let mut movers = choice.movers.iter().peekable();
        for (input, (a, [low, _])) in self.coefficients.iter().zip(ends).enumerate() {
            if movers.next_if(|m| m.input as usize == input).is_some() {
                continue;
            }
            for lane in 0..LANES {
                bound[lane] += a[lane] * low[lane];
            }
        }
        for lane in 0..LANES {
            bound[lane] += self.constant[lane];
        }
        bound
    }

    /// The corners where [`Backward::lower`] is taken.
    pub fn corners(&self, ends: &[[Lanes; 2]], choice: Option<&Choice>, values: &mut [Lanes]) {
        for ((value, a), [low, high]) in values.iter_mut().zip(&self.coefficients).zip(ends) {
            for lane in 0..LANES {
                value[lane] = if a[lane] < 0.0 { high[lane] } else { low[lane] };
            }
        }
        if let Some(choice) = choice {
            choice.corners(&self.coefficients, values);
        }
    }
}

/// What a curve becomes on the way forward.
pub(crate) enum Follow<'a> {
    /// The curve itself.
    Curve,
    /// The line that the coefficients of a backward pass took.
    Lines(&'a [UnitLines], &'a Backward),
}

/// Carries values of the inputs, already in `values`, to all variables.
pub(crate) fn forward(program: &Program, follow: &Follow<'_>, values: &mut [Lanes]) {
    vectorised(|| {
        for step in &program.steps {
            match step {
                Step::Sums(sums) => {
                    let (before, outputs) = values.split_at_mut(sums.first);
                    for (k, &constant) in sums.constants.iter().enumerate() {
                        let (variables, weights) = sums.rows.row(k);
                        let mut sum = all(constant);
                        for (&variable, &weight) in variables.iter().zip(weights) {
                            let x = &before[variable as usize];
                            for lane in 0..LANES {
                                sum[lane] += x[lane] * weight;
                            }
                        }
                        outputs[k] = sum;
                    }
                }
                Step::Curves(curves) => follow_curves(curves, follow, values),
            }
        }
    });
}

#[inline(always)]
fn follow_curves(curves: &Curves, follow: &Follow<'_>, values: &mut [Lanes]) {
    for (k, &input) in curves.inputs.iter().enumerate() {
        let x = values[input as usize];
        let mut y = all(0.0);
        match follow {
            Follow::Curve => {
                for lane in 0..LANES {
                    y[lane] = crate::lines::value(&curves.parts, x[lane]);
                }
            }
            Follow::Lines(lines, backward) => {
                let line = &lines[curves.first_unit + k];
                let a = &backward.coefficients[curves.first + k];
                for lane in 0..LANES {
                    let low = line.low_slope[lane] * x[lane] + line.low_cut[lane];
                    let high = line.high_slope[lane] * x[lane] + line.high_cut[lane];
                    y[lane] = if a[lane] < 0.0 { high } else { low };
                }
            }
        }
        values[curves.first + k] = y;
    }
}
