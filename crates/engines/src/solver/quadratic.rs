//! The nearest point in L2 under few rows, by Newton's method on the multipliers.
//!
//! For multipliers y the best point of the box is `clip(A'y)`, coordinate by coordinate, so the dual
//! has one unknown per row and none per input element: a concave, piecewise quadratic function whose
//! Hessian is `A_F A_F'` over the elements F that are not at an end of the box. Adding a row adds one
//! unknown. If no point of the box meets the rows the multipliers run off to infinity, and their
//! direction proves it.

use super::{Problem, Solution};
use crate::budget::Budget;

/// Most Newton steps.
const STEPS: usize = 80;
/// Most halvings of one step; the first step from a corner of the box can be far too long.
const HALVINGS: usize = 60;
/// How far a row may be missed, in units of the domain.
const TOLERANCE: f64 = 1e-10;
/// Keeps the Hessian invertible where every element is at an end of the box.
const RIDGE: f64 = 1e-11;

pub(super) fn nearest(problem: &Problem, budget: &Budget<'_>) -> Solution {
    let mut dual = Dual::at(problem, vec![0.0; problem.rows.len()]);
    for _ in 0..STEPS {
        if budget.interruption().is_some() {
            return Solution::Stalled;
        }
        if dual.error() < TOLERANCE {
            return Solution::Nearest {
                displacement: dual.point,
                multipliers: dual.multipliers,
            };
        }
        let claim = Solution::Infeasible(dual.multipliers.clone());
        if problem.excludes(&claim) {
            return claim;
        }
        let direction = dual.newton(problem);
        let Some(next) = dual
            .ascend(problem, &direction)
            .or_else(|| dual.ascend(problem, &dual.gradient.clone()))
        else {
            break;
        };
        dual = next;
    }
    Solution::Stalled
}

/// The dual at some multipliers.
struct Dual {
    multipliers: Vec<f64>,
    /// The best point of the box.
    point: Vec<f64>,
    free: Vec<bool>,
    /// How much each row is missed.
    gradient: Vec<f64>,
    value: f64,
}

impl Dual {
    fn at(problem: &Problem, multipliers: Vec<f64>) -> Self {
        let (pull, least) = problem.combined(&multipliers);
        let mut point = pull.clone();
        let mut free = vec![true; pull.len()];
        for (e, d) in point.iter_mut().enumerate() {
            let (lower, upper) = (problem.lower[e], problem.upper[e]);
            free[e] = lower < *d && *d < upper;
            *d = d.max(lower).min(upper);
        }
        let missed = |row: &super::Row| row.least - dot(&row.coefficients, &point);
        Self {
            gradient: problem.rows.iter().map(missed).collect(),
            value: 0.5 * dot(&point, &point) - dot(&pull, &point) + least,
            multipliers,
            point,
            free,
        }
    }

    /// The largest breach of the optimality conditions.
    fn error(&self) -> f64 {
        let rows = self.multipliers.iter().zip(&self.gradient);
        rows.map(|(&y, &g)| if y > 0.0 { g.abs() } else { g.max(0.0) })
            .fold(0.0, f64::max)
    }

    fn newton(&self, problem: &Problem) -> Vec<f64> {
        let active: Vec<usize> = (0..self.multipliers.len())
            .filter(|&r| self.multipliers[r] > 0.0 || self.gradient[r] > 0.0)
            .collect();
        let free: Vec<usize> = (0..self.free.len()).filter(|&e| self.free[e]).collect();
        let rows: Vec<Vec<f64>> = active
            .iter()
            .map(|&r| {
                let row = &problem.rows[r].coefficients;
                free.iter().map(|&e| row[e]).collect()
            })
            .collect();
        let n = active.len();
        let mut hessian = vec![0.0; n * n];
        for a in 0..n {
            for b in 0..=a {
                hessian[a * n + b] = dot(&rows[a], &rows[b]);
            }
            hessian[a * n + a] += RIDGE;
        }
        let mut solution: Vec<f64> = active.iter().map(|&r| self.gradient[r]).collect();
        solve_in_place(&mut hessian, &mut solution);
        let mut direction = vec![0.0; self.multipliers.len()];
        for (r, step) in active.into_iter().zip(solution) {
            direction[r] = step;
        }
        direction
    }

    /// The first of ever shorter steps that gains a fair part of what the slope promises.
    fn ascend(&self, problem: &Problem, direction: &[f64]) -> Option<Self> {
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            let next: Vec<f64> = self
                .multipliers
                .iter()
                .zip(direction)
                .map(|(y, step)| (y + length * step).max(0.0))
                .collect();
            let moved: Vec<f64> = next
                .iter()
                .zip(&self.multipliers)
                .map(|(a, b)| a - b)
                .collect();
            let promised = dot(&self.gradient, &moved);
            let next = Self::at(problem, next);
            let rounding = 1e-15 * (self.value.abs() + next.value.abs());
            if promised > 0.0 && next.value >= self.value + 1e-4 * promised - rounding {
                return Some(next);
            }
            length *= 0.5;
        }
        None
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums side by side, which the compiler turns into vector instructions.
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (a, b) in a4.iter().zip(b4) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// Solves a positive definite system, of which the lower half is given, by Cholesky's method. A
/// pivot lost to rounding is replaced by a large one, which leaves that unknown near zero.
fn solve_in_place(matrix: &mut [f64], right: &mut [f64]) {
    let n = right.len();
    for k in 0..n {
        for j in 0..k {
            let factor = matrix[k * n + j];
            for i in k..n {
                matrix[i * n + k] -= matrix[i * n + j] * factor;
            }
        }
        let pivot = matrix[k * n + k];
        let root = if pivot > 1e-14 { pivot.sqrt() } else { 1e12 };
        for i in k..n {
            matrix[i * n + k] /= root;
        }
        matrix[k * n + k] = root;
    }
    for k in 0..n {
        let known: f64 = (0..k).map(|j| matrix[k * n + j] * right[j]).sum();
        right[k] = (right[k] - known) / matrix[k * n + k];
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|i| matrix[i * n + k] * right[i]).sum();
        right[k] = (right[k] - known) / matrix[k * n + k];
    }
}
