//! Nearest points under linear rows inside a box: what is left of a goal once the network is
//! replaced by its affine piece.
//!
//! Everything is in displacements from a centre, in units of the domain's width per element, so
//! that all norms are plain. Whatever a solver answers, a lower bound on the distance is taken from
//! its multipliers by [`Problem::bound`] alone; no solver is trusted with it.

mod backend;
mod closed;
mod problem;
mod quadratic;

pub(crate) use closed::nearest_on_one_row;
pub(crate) use problem::{Problem, Row};

use deepconcolic_spec::Norm;

/// What a solver found.
#[derive(Debug, Clone)]
pub(crate) enum Solution {
    /// A nearest point, and the multiplier of every row.
    Nearest {
        /// The displacement from the centre.
        displacement: Vec<f64>,
        /// One number per row, not negative.
        multipliers: Vec<f64>,
    },
    /// No point of the box meets all rows; the rows times these multipliers show it.
    Infeasible(Vec<f64>),
    /// The solver ran out of iterations or precision.
    Stalled,
}

/// The nearest point in a norm: a closed form for one row, our own method for L2, the LP library
/// for L-infinity and L1.
pub(crate) fn nearest(problem: &Problem, norm: Norm) -> Solution {
    if problem.rows.len() <= 1 {
        return one_row(problem, norm);
    }
    if norm == Norm::L2 {
        let found = quadratic::nearest(problem);
        if !matches!(found, Solution::Stalled) {
            return found;
        }
    }
    let found = backend::nearest(problem, norm);
    if matches!(found, Solution::Infeasible(_)) && !problem.excludes(&found) {
        return Solution::Stalled;
    }
    found
}

/// Some point near the centre: the nearest in L2, which moves the neurons that no row speaks of
/// the least.
pub(crate) fn near(problem: &Problem) -> Solution {
    quadratic::nearest(problem)
}

fn one_row(problem: &Problem, norm: Norm) -> Solution {
    let Some(row) = problem.rows.first() else {
        return Solution::Nearest {
            displacement: problem.clipped_origin(),
            multipliers: Vec::new(),
        };
    };
    match nearest_on_one_row(&row.coefficients, row.least, problem, norm) {
        Some((displacement, _)) => Solution::Nearest {
            displacement,
            multipliers: vec![1.0],
        },
        None => Solution::Infeasible(vec![1.0]),
    }
}
