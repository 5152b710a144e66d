//! The nearest point in L-infinity, as a search for the smallest box that meets the rows.
//!
//! Written out as a linear program this has two rows per input element. Here the elements stay in a box
//! of half-width t, and only t is searched: if no point of the box meets the rows, the multipliers that
//! prove it combine the rows to one that no smaller box reaches, and its closed form is the next t. So
//! t only grows, is always a certified bound, and is the optimum once the box meets the rows.

use deepconcolic_spec::Norm;

use super::{Problem, Solution, quadratic};

/// Most boxes tried; past that the library is no slower.
const BOXES: usize = 12;
/// Most rows; with more the library is faster.
const ROWS: usize = 32;
/// A box is tried a little larger than its bound, by this much and by this part of it: what the distance
/// found may exceed the certified one by.
const SLACK: (f64, f64) = (1e-8, 1e-6);

/// The nearest point; `known` are the multipliers of an earlier solution, with fewer rows.
pub(super) fn nearest(problem: &Problem, known: &[f64]) -> Solution {
    if problem.rows.len() > ROWS {
        return Solution::Stalled;
    }
    let (mut bound, mut multipliers) = first_bound(problem, known);
    if bound.is_infinite() {
        return Solution::Infeasible(multipliers);
    }
    let mut boxed = problem.clone();
    for _ in 0..BOXES {
        let half_width = bound * (1.0 + SLACK.1) + SLACK.0;
        boxed.keep_to(problem, half_width);
        match quadratic::nearest(&boxed) {
            Solution::Nearest { displacement, .. } => {
                return Solution::Nearest {
                    displacement,
                    multipliers,
                };
            }
            Solution::Infeasible(proof) => {
                let next = problem.bound(&proof, Norm::Linf);
                if next.is_infinite() {
                    return Solution::Infeasible(proof);
                }
                if next <= bound {
                    return Solution::Stalled;
                }
                (bound, multipliers) = (next, proof);
            }
            Solution::Stalled => return Solution::Stalled,
        }
    }
    Solution::Stalled
}

/// The best of what is known and of the rows taken one at a time.
fn first_bound(problem: &Problem, known: &[f64]) -> (f64, Vec<f64>) {
    let mut known = known.to_vec();
    known.resize(problem.rows.len(), 0.0);
    let mut best = (problem.bound(&known, Norm::Linf), known);
    for row in 0..problem.rows.len() {
        let mut multipliers = vec![0.0; problem.rows.len()];
        multipliers[row] = 1.0;
        let bound = problem.bound(&multipliers, Norm::Linf);
        if bound > best.0 {
            best = (bound, multipliers);
        }
    }
    best
}
