//! The one computation that proofs rest on: a sum of variables is bounded from below by pulling its
//! coefficients back to the input, each curve replaced by a line, and taking the worst corner of the
//! box.
//!
//! Sixteen such sums are pulled back side by side. Rounding: every float operation errs by at most half
//! an ulp, so each coefficient errs by at most (number of terms) x epsilon x (sum of magnitudes), and
//! moves the result by that times the largest magnitude of its variable. [`Magnitudes`] holds those
//! magnitudes; the pass adds up how much could go wrong and takes it off the bound. Fused or
//! reordered arithmetic would be covered just as well.

#![expect(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "loops over lanes, inlined into the function compiled for wide vectors"
)]

use std::sync::Arc;

use crate::bounds::changes::{Choice, SHARES};
use crate::bounds::cone::{Cone, Step, Sums};
use crate::bounds::lines::{RelaxationLine, range};
use crate::certificate::Region;

/// Sums pulled back at once.
pub(crate) const LANES: usize = 16;
/// One number for each of them.
pub(crate) type Lanes = [f64; LANES];

/// Magnitudes beyond this are refused rather than reasoned about.
const LARGEST: f64 = 1e100;
/// More than all underflows of a pass together, given [`LARGEST`].
const UNDERFLOW: f64 = 1e-150;
/// Covers the rounding of the magnitudes themselves.
const INFLATION: f64 = 1.0 + 1e-6;

/// The lines of a unit, lane by lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitLines {
    pub low: [Lanes; 2],
    pub high: [Lanes; 2],
}

impl UnitLines {
    /// The same lines in every lane.
    pub fn all([low, high]: [RelaxationLine; 2]) -> Self {
        Self {
            low: [[low.slope; LANES], [low.cut; LANES]],
            high: [[high.slope; LANES], [high.cut; LANES]],
        }
    }

    pub fn set(&mut self, lane: usize, [low, high]: [RelaxationLine; 2]) {
        self.low[0][lane] = low.slope;
        self.low[1][lane] = low.cut;
        self.high[0][lane] = high.slope;
        self.high[1][lane] = high.cut;
    }
}

/// How large variables can get, and the sums of magnitudes behind them.
#[derive(Debug)]
pub(crate) struct Magnitudes {
    /// The largest magnitude of each variable.
    pub size: Vec<f64>,
    /// For variables that are sums: the largest sum of the magnitudes of their terms.
    pub mass: Vec<f64>,
    /// Steps done so far.
    steps: usize,
}

impl Magnitudes {
    /// At the inputs of a cone over a region.
    pub fn of(cone: &Cone, region: &Region) -> Self {
        let mut size = vec![0.0; cone.variables];
        for (size, &element) in size.iter_mut().zip(&cone.inputs) {
            *size = region.lower[element].abs().max(region.upper[element].abs());
        }
        Self {
            size,
            mass: vec![0.0; cone.variables],
            steps: 0,
        }
    }

    /// Carries the sizes over the steps before step `to`, given bounds of the units met.
    pub fn advance(&mut self, cone: &Cone, to: usize, bounds: impl Fn(usize) -> [f64; 2]) {
        for step in &cone.steps[self.steps..to] {
            match step {
                Step::Sums(sums) => {
                    for k in 0..sums.len() {
                        let terms = sums.terms(k).map(|(v, weight)| weight.abs() * self.size[v]);
                        let mass = terms.sum::<f64>() + sums.constants[k].abs();
                        self.mass[sums.first + k] = mass * INFLATION;
                        self.size[sums.first + k] = mass * INFLATION;
                    }
                }
                Step::Curves(curves) => {
                    for (k, &input) in curves.inputs.iter().enumerate() {
                        let [l, u] = bounds(curves.first_unit + k);
                        let size = &mut self.size[input as usize];
                        *size = size.min(l.abs().max(u.abs()));
                        let (l, u) = (l.max(-*size), u.min(*size));
                        let [low, high] = range(&curves.parts, l.min(u), u);
                        self.size[curves.first + k] = low.abs().max(high.abs()) * INFLATION;
                    }
                }
            }
        }
        self.steps = self.steps.max(to);
    }

    /// A sum of variables by interval arithmetic: bounds of variable `first + k` of a step.
    pub fn interval(&self, sums: &Sums, k: usize, ends: impl Fn(usize) -> [f64; 2]) -> [f64; 2] {
        let (mut low, mut high) = (sums.constants[k], sums.constants[k]);
        for (variable, weight) in sums.terms(k) {
            let [l, u] = ends(variable);
            let (a, b) = if weight < 0.0 { (u, l) } else { (l, u) };
            low += weight * a;
            high += weight * b;
        }
        let error = self.interval_error(sums, k);
        let found = [low - error, high + error];
        // What is no number, as overflow leaves it, bounds nothing: compared, it would look like a contradiction.
        if found.iter().any(|end| end.is_nan()) {
            [f64::NEG_INFINITY, f64::INFINITY]
        } else {
            found
        }
    }

    fn interval_error(&self, sums: &Sums, k: usize) -> f64 {
        let count = (sums.starts[k + 1] - sums.starts[k] + 2) as f64;
        2.0 * f64::EPSILON * count * self.mass[sums.first + k] + UNDERFLOW
    }
}

/// More terms than any sum of a pass over a cone has.
pub(crate) fn max_terms(cone: &Cone) -> f64 {
    64.0 + 2.0 * cone.variables as f64
}

/// The result of a pass less all that rounding can have added to it, given the magnitudes that the
/// errors are in proportion to.
#[inline(always)]
pub(crate) fn lowered(result: f64, mass: f64, terms: f64) -> f64 {
    let mass = mass * INFLATION;
    let error = 2.0 * f64::EPSILON * terms * mass + UNDERFLOW;
    // Written so that anything that is no number becomes minus infinity.
    if mass <= LARGEST && result.abs() <= LARGEST {
        result - error
    } else {
        f64::NEG_INFINITY
    }
}

/// Coefficients on their way back, and what they leave behind.
#[derive(Debug)]
pub(crate) struct Pull {
    coefficients: Vec<Lanes>,
    /// Whether a variable has a coefficient that is not 0.
    live: Vec<bool>,
    constant: Lanes,
    /// Sum of magnitudes that rounding errors are in proportion to.
    mass: Lanes,
    terms: f64,
    /// How inputs move, if few may.
    choice: Option<Arc<Choice>>,
}

impl Pull {
    /// For passes over a cone whose inputs move as a choice says, or each for itself.
    pub fn new(cone: &Cone, choice: Option<Arc<Choice>>) -> Self {
        Self {
            choice,
            coefficients: vec![[0.0; LANES]; cone.variables],
            live: vec![false; cone.variables],
            constant: [0.0; LANES],
            mass: [0.0; LANES],
            terms: max_terms(cone),
        }
    }

    pub fn clear(&mut self) {
        self.coefficients.fill([0.0; LANES]);
        self.live.fill(false);
        self.constant = [0.0; LANES];
        self.mass = [0.0; LANES];
    }

    /// Adds a multiple of a variable to the sum of a lane.
    pub fn seed(&mut self, variable: usize, lane: usize, weight: f64, reach: &Magnitudes) {
        self.coefficients[variable][lane] += weight;
        self.live[variable] = true;
        self.mass[lane] += weight.abs() * reach.size[variable];
    }

    /// Adds a number to the sum of a lane.
    pub fn constant(&mut self, lane: usize, constant: f64) {
        self.constant[lane] += constant;
        self.mass[lane] += constant.abs();
    }

    /// Pulls back through the steps before step `from`; lower bounds of the sums over boxes.
    /// `conditions(unit)` are numbers to take off the coefficient of a unit's input, and to add to
    /// the constant: multipliers of conditions that hold of it.
    pub fn run(
        &mut self,
        cone: &Cone,
        from: usize,
        lines: &[UnitLines],
        reach: &Magnitudes,
        conditions: &dyn Fn(usize) -> Option<[Lanes; 2]>,
        ends: impl Fn(usize) -> [Lanes; 2],
    ) -> Lanes {
        deepconcolic_network::vectorised(|| {
            for step in cone.steps[..from].iter().rev() {
                match step {
                    Step::Sums(sums) => self.sums(sums, reach),
                    Step::Curves(curves) => {
                        for (k, &input) in curves.inputs.iter().enumerate() {
                            let unit = curves.first_unit + k;
                            let condition = conditions(unit);
                            let variable = curves.first + k;
                            if self.live[variable] || condition.is_some() {
                                let input = input as usize;
                                let places = (variable, input);
                                let condition = condition.unwrap_or_default();
                                self.curve(places, &lines[unit], &condition, reach);
                            }
                        }
                    }
                }
            }
            if let Some(choice) = self.choice.clone() {
                self.few_changes(&choice, reach);
            }
            self.corner(cone.inputs.len(), reach, ends)
        })
    }

    #[inline(always)]
    fn sums(&mut self, sums: &Sums, reach: &Magnitudes) {
        for k in 0..sums.len() {
            let variable = sums.first + k;
            if !self.live[variable] {
                continue;
            }
            let a = self.coefficients[variable];
            let (mass, constant) = (reach.mass[variable], sums.constants[k]);
            for lane in 0..LANES {
                self.constant[lane] += a[lane] * constant;
                self.mass[lane] += a[lane].abs() * mass;
            }
            let range = sums.starts[k]..sums.starts[k + 1];
            let weights = &sums.weights[range.clone()];
            for &from in &sums.from[range.clone()] {
                self.live[from as usize] = true;
            }
            for (&from, &weight) in sums.from[range].iter().zip(weights) {
                let into = &mut self.coefficients[from as usize];
                for lane in 0..LANES {
                    into[lane] += a[lane] * weight;
                }
            }
        }
    }

    #[inline(always)]
    fn curve(
        &mut self,
        (variable, input): (usize, usize),
        lines: &UnitLines,
        condition: &[Lanes; 2],
        reach: &Magnitudes,
    ) {
        let a = self.coefficients[variable];
        let size = reach.size[input];
        self.live[input] = true;
        let into = &mut self.coefficients[input];
        let [pull, push] = condition;
        for lane in 0..LANES {
            let below = a[lane] >= 0.0;
            let slope = if below {
                lines.low[0][lane]
            } else {
                lines.high[0][lane]
            };
            let cut = if below {
                lines.low[1][lane]
            } else {
                lines.high[1][lane]
            };
            let (share, part) = (a[lane] * slope, a[lane] * cut);
            self.mass[lane] += (into[lane].abs() + share.abs() + pull[lane].abs()) * size
                + part.abs()
                + push[lane].abs();
            into[lane] += share - pull[lane];
            self.constant[lane] += part + push[lane];
        }
    }

    /// What inputs that move as a choice says add to the sums. Their coefficients are then spent.
    fn few_changes(&mut self, choice: &Choice, reach: &Magnitudes) {
        let mut amounts = vec![[0.0; LANES]; choice.places()];
        for mover in &choice.movers {
            let input = mover.input as usize;
            if !std::mem::replace(&mut self.live[input], false) {
                continue;
            }
            let a = self.coefficients[input];
            for lane in 0..LANES {
                let (base, amount) = Choice::share(mover, a[lane]);
                self.constant[lane] += base;
                self.mass[lane] += SHARES * a[lane].abs() * reach.size[input];
                if let Some((place, amount)) = amount {
                    amounts[place as usize][lane] += amount;
                }
            }
        }
        let mut own = vec![0.0; amounts.len()];
        for lane in 0..LANES {
            for (own, amounts) in own.iter_mut().zip(&amounts) {
                *own = amounts[lane];
            }
            self.constant[lane] -= choice.most(&mut own);
        }
    }

    #[inline(always)]
    fn corner(
        &mut self,
        inputs: usize,
        reach: &Magnitudes,
        ends: impl Fn(usize) -> [Lanes; 2],
    ) -> Lanes {
        for input in 0..inputs {
            if !self.live[input] {
                continue;
            }
            let a = self.coefficients[input];
            let [low, high] = ends(input);
            for lane in 0..LANES {
                let end = if a[lane] < 0.0 { high[lane] } else { low[lane] };
                self.constant[lane] += a[lane] * end;
                self.mass[lane] += a[lane].abs() * reach.size[input];
            }
        }
        let mut bound = [f64::NEG_INFINITY; LANES];
        for lane in 0..LANES {
            bound[lane] = lowered(self.constant[lane], self.mass[lane], self.terms);
        }
        bound
    }
}
