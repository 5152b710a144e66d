//! How much an output can change with each variable of its cone: intervals, pulled back from the output.
//!
//! Rounding: each number carries a bound of its error, to which every operation adds what it can err by.

use crate::bounds::cone::{Cone, Step};
use crate::steepness::ranges::{TINY, inflated};

/// The largest magnitudes that the derivatives of a variable by all variables can have, given the slopes that
/// units can have.
pub(super) fn magnitudes(cone: &Cone, slopes: &[[f64; 2]], target: usize) -> Vec<f64> {
    let mut adjoints = Intervals::new(cone.variables);
    adjoints.add(target, [1.0, 1.0], 1.0);
    for step in cone.steps.iter().rev() {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let of = adjoints.of(sums.first + k);
                    if moves(of) {
                        for (from, weight) in sums.terms(k) {
                            adjoints.add(from, of, weight);
                        }
                    }
                }
            }
            Step::Curves(curves) => {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let of = adjoints.of(curves.first + k);
                    if moves(of) {
                        let [a, b] = slopes[curves.first_unit + k];
                        let ([l, u], [p, q]) = (product(of, a), product(of, b));
                        adjoints.add(input as usize, [l.min(p), u.max(q)], 1.0);
                    }
                }
            }
        }
    }
    let magnitude = |variable| {
        let [low, high]: [f64; 2] = adjoints.of(variable);
        low.abs().max(high.abs())
    };
    (0..cone.variables).map(magnitude).collect()
}

/// Whether an interval has more than 0 in it.
fn moves([low, high]: [f64; 2]) -> bool {
    low != 0.0 || high != 0.0
}

/// An interval times a number, rounded outward.
fn product([low, high]: [f64; 2], factor: f64) -> [f64; 2] {
    if factor == 0.0 {
        return [0.0; 2];
    }
    let (a, b) = (low * factor, high * factor);
    if matches!(factor, -1.0 | 1.0) {
        return [a.min(b), a.max(b)];
    }
    [a.min(b).next_down(), a.max(b).next_up()]
}

struct Intervals {
    low: Vec<f64>,
    high: Vec<f64>,
    error: Vec<f64>,
}

impl Intervals {
    fn new(variables: usize) -> Self {
        Self {
            low: vec![0.0; variables],
            high: vec![0.0; variables],
            error: vec![0.0; variables],
        }
    }

    fn of(&self, variable: usize) -> [f64; 2] {
        let error = inflated(self.error[variable]);
        let (low, high) = (self.low[variable] - error, self.high[variable] + error);
        // Written so that what is no number, as overflow leaves it, can be anything.
        if low <= high {
            [low, high]
        } else {
            [f64::NEG_INFINITY, f64::INFINITY]
        }
    }

    fn add(&mut self, variable: usize, [low, high]: [f64; 2], weight: f64) {
        let (a, b) = if weight < 0.0 {
            (high * weight, low * weight)
        } else {
            (low * weight, high * weight)
        };
        let (l, h) = (&mut self.low[variable], &mut self.high[variable]);
        *l += a;
        *h += b;
        let mass = a.abs() + b.abs() + l.abs() + h.abs();
        self.error[variable] += f64::EPSILON * mass + TINY;
    }
}
