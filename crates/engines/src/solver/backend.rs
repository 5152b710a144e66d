//! The LP library. It is named in this file only.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT,
};
use deepconcolic_geometry::{ConvexNorm, LinearForm};

use super::{Problem, Solution};
use crate::budget::Budget;

/// The nearest point in a norm.
///
/// Unknowns are the displacements d, then one size t of all of them where that is made small; for the sum of
/// sizes the positive and negative parts apart. All conditions are written as `M z <= h`, goal rows first.
///
/// The library takes no flag from outside, only the seconds that are left: a cancelled solve runs to its end.
pub(super) fn nearest(problem: &Problem, norm: &dyn ConvexNorm, budget: &Budget<'_>) -> Solution {
    let left = budget.left();
    if left.is_some_and(|left| left.is_zero()) {
        return Solution::Stalled;
    }
    let form = Form::of(problem, norm.form());
    let columns = form.cost.len();
    let (p, a) = (form.quadratic(), form.matrix());
    let cones: [SupportedConeT<f64>; 1] = [NonnegativeConeT(form.right.len())];
    let settings = DefaultSettings {
        verbose: false,
        time_limit: left.map_or(f64::INFINITY, |left| left.as_secs_f64()),
        ..DefaultSettings::default()
    };
    let Ok(mut solver) = DefaultSolver::new(&p, &form.cost, &a, &form.right, &cones, settings)
    else {
        return Solution::Stalled;
    };
    solver.solve();
    let rows = problem.rows.len();
    let multipliers: Vec<f64> = solver.solution.z[..rows]
        .iter()
        .map(|y| y.max(0.0))
        .collect();
    match solver.solution.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved => {
            debug_assert_eq!(solver.solution.x.len(), columns);
            Solution::Nearest {
                displacement: form.displacement(&solver.solution.x, problem),
                multipliers,
            }
        }
        SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => {
            Solution::Infeasible(multipliers)
        }
        _ => Solution::Stalled,
    }
}

/// The problem as the library takes it.
struct Form {
    objective: LinearForm,
    cost: Vec<f64>,
    /// Entries (row, column, number).
    entries: Vec<(usize, usize, f64)>,
    right: Vec<f64>,
}

impl Form {
    fn of(problem: &Problem, objective: LinearForm) -> Self {
        let n = problem.variables();
        let cost = match objective {
            LinearForm::Sum => vec![1.0; 2 * n],
            LinearForm::Squares => vec![0.0; n],
            LinearForm::Largest => [vec![0.0; n], vec![1.0]].concat(),
        };
        let mut form = Self {
            objective,
            cost,
            entries: Vec::new(),
            right: Vec::new(),
        };
        for row in &problem.rows {
            let line = row.coefficients.iter().enumerate();
            let line = line.filter(|(_, a)| **a != 0.0).map(|(e, a)| (e, -a));
            let mut line: Vec<(usize, f64)> = line.collect();
            if objective == LinearForm::Sum {
                let negative: Vec<(usize, f64)> = line.iter().map(|&(e, a)| (n + e, -a)).collect();
                line.extend(negative);
            }
            form.push(&line, -row.least);
        }
        for e in 0..n {
            form.bound(e, n, problem.lower[e], problem.upper[e]);
        }
        form
    }

    /// Ends of one element, and what makes the cost its distance.
    fn bound(&mut self, e: usize, n: usize, lower: f64, upper: f64) {
        if self.objective == LinearForm::Sum {
            for (column, room) in [(e, upper), (n + e, -lower)] {
                self.push(&[(column, -1.0)], 0.0);
                self.push(&[(column, 1.0)], room.max(0.0));
            }
            return;
        }
        self.push(&[(e, 1.0)], upper);
        self.push(&[(e, -1.0)], -lower);
        if self.objective == LinearForm::Largest {
            self.push(&[(e, 1.0), (n, -1.0)], 0.0);
            self.push(&[(e, -1.0), (n, -1.0)], 0.0);
        }
    }

    fn push(&mut self, line: &[(usize, f64)], right: f64) {
        let row = self.right.len();
        self.entries
            .extend(line.iter().map(|&(column, number)| (row, column, number)));
        self.right.push(right);
    }

    fn matrix(&self) -> CscMatrix<f64> {
        let (rows, columns): (Vec<usize>, Vec<usize>) = self
            .entries
            .iter()
            .map(|&(row, column, _)| (row, column))
            .unzip();
        let numbers = self.entries.iter().map(|entry| entry.2).collect();
        CscMatrix::new_from_triplets(self.right.len(), self.cost.len(), rows, columns, numbers)
    }

    fn quadratic(&self) -> CscMatrix<f64> {
        let n = self.cost.len();
        if self.objective == LinearForm::Squares {
            CscMatrix::identity(n)
        } else {
            CscMatrix::zeros((n, n))
        }
    }

    /// The displacements, put back where the interior method left the box by its tolerance.
    fn displacement(&self, found: &[f64], problem: &Problem) -> Vec<f64> {
        let n = problem.variables();
        (0..n)
            .map(|e| {
                let minus = if self.objective == LinearForm::Sum {
                    found[n + e]
                } else {
                    0.0
                };
                let d = found[e] - minus;
                d.max(problem.lower[e]).min(problem.upper[e])
            })
            .collect()
    }
}
