//! The nearest point in L-infinity: the smallest cube that meets the rows, then a calm point of it.
//!
//! Written out as a linear program this has two rows per input element. In units of the cube's own
//! half-width t every element lies between -1 and 1, a row `a . d >= b` becomes `a . s >= b / t`, and
//! with `1 / t` as one more unknown, to be made large, this is linear again and has the goal's rows
//! only. Elements whose room ends before the cube does get a row of their own when it matters.
//!
//! The linear program's own solution puts nearly every element on a face of the cube. Any point of the
//! cube that meets the rows is as near, and the one that moves least in L2 changes the fewest neurons
//! that no row speaks of.

use deepconcolic_geometry::ConvexNorm;
use deepconcolic_simplex::{Ending, Tableau};

use super::{Problem, Solution, quadratic};
use crate::budget::Budget;

/// Most rows; with more the library is faster.
const ROWS: usize = 96;
/// Most times that ends of elements' room are added as rows.
const ROUNDS: usize = 40;
/// The cube is taken a little larger than it need be, by this much and by this part of it: what the
/// distance found may exceed the certified one by.
const SLACK: (f64, f64) = (1e-8, 1e-6);

/// The unit of the program, as a part of a bound that is known. Were it the bound itself, and the bound
/// the optimum, no step would cost anything, and none would be better than another.
const SCALE: f64 = 0.5;

/// The nearest point; `known` are the multipliers of an earlier solution, with fewer rows.
pub(super) fn nearest(
    problem: &Problem,
    norm: &dyn ConvexNorm,
    known: &[f64],
    budget: &Budget<'_>,
) -> Solution {
    if problem.rows.len() > ROWS {
        return Solution::Stalled;
    }
    let (least, multipliers) = first_bound(problem, norm, known);
    if least.is_infinite() {
        return Solution::Infeasible(multipliers);
    }
    if least <= 0.0 {
        return Solution::Nearest {
            displacement: problem.clipped_origin(),
            multipliers,
        };
    }
    let Some(mut cube) = Cube::of(problem, SCALE * least) else {
        return Solution::Stalled;
    };
    if let Err(otherwise) = cube.shrink(budget) {
        return otherwise;
    }
    let (half_width, vertex) = cube.point();
    let mut boxed = problem.clone();
    boxed.keep_to(problem, half_width * (1.0 + SLACK.1) + SLACK.0);
    let displacement = match quadratic::nearest(&boxed, budget) {
        Solution::Nearest { displacement, .. } => displacement,
        // Ends of the room are kept up to rounding.
        _ => vertex
            .iter()
            .zip(problem.lower.iter().zip(&problem.upper))
            .map(|(d, (l, u))| d.max(*l).min(*u))
            .collect(),
    };
    Solution::Nearest {
        displacement,
        multipliers: cube.multipliers(norm, multipliers),
    }
}

/// The best of what is known and of the rows taken one at a time.
fn first_bound(problem: &Problem, norm: &dyn ConvexNorm, known: &[f64]) -> (f64, Vec<f64>) {
    let mut known = known.to_vec();
    known.resize(problem.rows.len(), 0.0);
    let mut best = (problem.bound(&known, norm), known);
    for row in 0..problem.rows.len() {
        let mut multipliers = vec![0.0; problem.rows.len()];
        multipliers[row] = 1.0;
        let bound = problem.bound(&multipliers, norm);
        if bound > best.0 {
            best = (bound, multipliers);
        }
    }
    best
}

/// The linear program: elements in units of the cube, and last the size of `least` in that unit, which
/// is 1 for the smallest cube that can be and is made as large as the rows allow.
struct Cube<'a> {
    problem: &'a Problem,
    tableau: Tableau,
    /// A half-width that no cube can be smaller than.
    least: f64,
}

impl<'a> Cube<'a> {
    /// None if the box ends before the smallest cube does.
    fn of(problem: &'a Problem, least: f64) -> Option<Self> {
        let ends = problem.lower.iter().zip(&problem.upper);
        let largest = ends.fold(0.0, |maximum: f64, (l, u)| maximum.max(-l).max(*u));
        if largest < least {
            return None;
        }
        let unit = |end: f64| (end / least).clamp(-1.0, 1.0);
        let mut lower: Vec<f64> = problem.lower.iter().map(|l| unit(l.min(0.0))).collect();
        let mut upper: Vec<f64> = problem.upper.iter().map(|u| unit(u.max(0.0))).collect();
        lower.push(least / largest);
        upper.push(1.0);
        let mut cost = vec![0.0; problem.variables()];
        cost.push(-1.0);
        let mut tableau = Tableau::new(lower, upper, cost);
        for row in &problem.rows {
            let mut line = row.coefficients.clone();
            line.push(-row.least / least);
            tableau.add(&line, 0.0);
        }
        Some(Self {
            problem,
            tableau,
            least,
        })
    }

    /// The smallest cube that meets all rows, or what there is instead.
    fn shrink(&mut self, budget: &Budget<'_>) -> Result<(), Solution> {
        for _ in 0..ROUNDS {
            let solved = self
                .tableau
                .solve_until(&|| budget.interruption().is_some());
            match solved {
                Ending::Optimal => {}
                Ending::Infeasible(mut proof) => {
                    proof.truncate(self.problem.rows.len());
                    let claim = Solution::Infeasible(proof);
                    let stands = self.problem.excludes(&claim);
                    return Err(if stands { claim } else { Solution::Stalled });
                }
                Ending::Stalled => return Err(Solution::Stalled),
            }
            if !self.add_ends() {
                return Ok(());
            }
        }
        Err(Solution::Stalled)
    }

    /// Rows for the elements that left their room; whether there were any.
    fn add_ends(&mut self) -> bool {
        let (half_width, point) = self.point();
        let elements = self.problem.variables();
        let mut any = false;
        for (e, d) in point.into_iter().enumerate() {
            let (lower, upper) = (
                self.problem.lower[e].min(0.0),
                self.problem.upper[e].max(0.0),
            );
            let missed = 1e-9 * half_width;
            let (side, end) = if d > upper + missed {
                (-1.0, upper)
            } else if d < lower - missed {
                (1.0, lower)
            } else {
                continue;
            };
            let mut line = vec![0.0; elements + 1];
            line[e] = side;
            line[elements] = -side * end / self.least;
            self.tableau.add(&line, 0.0);
            any = true;
        }
        any
    }

    /// The half-width and the displacement.
    fn point(&self) -> (f64, Vec<f64>) {
        let point = self.tableau.point();
        let elements = self.problem.variables();
        let half_width = self.least / point[elements];
        let displacement = point[..elements].iter().map(|s| s * half_width).collect();
        (half_width, displacement)
    }

    /// Those of the rows; the first ones, if rounding has made these weaker.
    fn multipliers(&self, norm: &dyn ConvexNorm, first: Vec<f64>) -> Vec<f64> {
        let mut found = self.tableau.multipliers();
        found.truncate(self.problem.rows.len());
        if self.problem.bound(&found, norm) >= self.least {
            found
        } else {
            first
        }
    }
}
