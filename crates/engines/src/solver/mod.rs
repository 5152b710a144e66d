//! Nearest points under linear rows inside a box: what is left of a goal once the network is
//! replaced by its affine piece.
//!
//! Everything is in displacements from a centre, in units of the domain's width per element, so
//! that all norms are plain. Whatever a solver answers, a lower bound on the distance is taken from
//! its multipliers by [`Problem::bound`] alone; no solver is trusted with it.

mod backend;
mod largest;
mod problem;
mod quadratic;

pub(crate) use problem::{Problem, Row};

use deepconcolic_geometry::{ConvexNorm, LinearForm};

use crate::budget::Budget;

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

/// The nearest point in a norm: a closed form for one row, our own methods for the sum of squares and for one
/// size of all elements, the LP library for the sum of sizes and where those stall. `known` are the multipliers of an earlier solution with the
/// first of these rows, if there was one. A solve that `budget` interrupts has stalled.
pub(crate) fn nearest(
    problem: &Problem,
    norm: &dyn ConvexNorm,
    known: &[f64],
    budget: &Budget<'_>,
) -> Solution {
    if problem.rows.len() <= 1 {
        return one_row(problem, norm);
    }
    let own = match norm.form() {
        LinearForm::Squares => quadratic::nearest(problem, budget),
        LinearForm::Largest => largest::nearest(problem, norm, known, budget),
        LinearForm::Sum => Solution::Stalled,
    };
    if !matches!(own, Solution::Stalled) || budget.interruption().is_some() {
        return own;
    }
    let found = backend::nearest(problem, norm, budget);
    if matches!(found, Solution::Infeasible(_)) && !problem.excludes(&found) {
        return Solution::Stalled;
    }
    found
}

/// Some point near the centre: the nearest in L2, which moves the neurons that no row speaks of
/// the least.
pub(crate) fn near(problem: &Problem, budget: &Budget<'_>) -> Solution {
    quadratic::nearest(problem, budget)
}

fn one_row(problem: &Problem, norm: &dyn ConvexNorm) -> Solution {
    let Some(row) = problem.rows.first() else {
        return Solution::Nearest {
            displacement: problem.clipped_origin(),
            multipliers: Vec::new(),
        };
    };
    match problem.nearest_on(&row.coefficients, row.least, norm) {
        Some((displacement, _)) => Solution::Nearest {
            displacement,
            multipliers: vec![1.0],
        },
        None => Solution::Infeasible(vec![1.0]),
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_geometry::Norm;
    use deepconcolic_testing::Random;
    use proptest::prelude::*;

    use super::*;

    fn norms() -> impl Iterator<Item = &'static dyn ConvexNorm> {
        Norm::ALL.into_iter().filter_map(|norm| norm.convex().ok())
    }

    const UNLIMITED: Budget<'_> = Budget {
        passes: None,
        attempt: None,
        deadline: None,
        cancel: None,
    };

    /// How exact the library is; of a length near zero it knows the square.
    const LIBRARY: f64 = 1e-4;

    fn random(seed: u64, rows: usize) -> Problem {
        let mut random = Random::new(seed);
        let n = 1 + random.below(8 + 4 * rows);
        let mut problem = Problem::new(random.list(n, -1.0, 0.0), random.list(n, 0.0, 1.0));
        for _ in 0..rows {
            let row = random.list(n, -1.0, 1.0);
            problem.push(row, random.between(-0.2, 0.6));
        }
        problem
    }

    /// The distance, if there is one. A problem of which no precision tells whether it has a solution stalls the
    /// library about once in a hundred thousand; the case is thrown away then, and proptest fails a test that throws
    /// away too many.
    fn distance(
        problem: &Problem,
        solution: &Solution,
        norm: &dyn ConvexNorm,
    ) -> Result<Option<f64>, TestCaseError> {
        match solution {
            Solution::Nearest { displacement, .. } => Ok(Some(norm.length(displacement))),
            Solution::Infeasible(_) => {
                prop_assert!(problem.excludes(solution) || problem.rows.len() == 1);
                Ok(None)
            }
            Solution::Stalled => Err(TestCaseError::reject("stalled")),
        }
    }

    #[test]
    fn no_method_goes_on_when_time_is_up() {
        let problem = random(7, 12);
        let late = Budget {
            deadline: Some(std::time::Instant::now()),
            ..UNLIMITED
        };
        for norm in norms() {
            assert!(!matches!(
                nearest(&problem, norm, &[], &UNLIMITED),
                Solution::Stalled
            ));
            assert!(matches!(
                nearest(&problem, norm, &[], &late),
                Solution::Stalled
            ));
            assert!(matches!(
                backend::nearest(&problem, norm, &late),
                Solution::Stalled
            ));
        }
    }

    proptest! {
        #[test]
        fn closed_forms_are_what_the_library_finds(seed: u64) {
            let problem = random(seed, 1);
            for norm in norms() {
                let ours = distance(&problem, &nearest(&problem, norm, &[], &UNLIMITED), norm)?;
                let library = backend::nearest(&problem, norm, &UNLIMITED);
                let theirs = distance(&problem, &library, norm)?;
                prop_assert_eq!(ours.is_some(), theirs.is_some());
                let apart = ours.unwrap_or(0.0) - theirs.unwrap_or(0.0);
                prop_assert!(apart.abs() < LIBRARY, "{norm:?} {ours:?} {theirs:?}");
            }
        }

        #[test]
        fn our_methods_find_what_the_library_finds(seed: u64, rows in 2usize..20) {
            let problem = random(seed, rows);
            for norm in norms() {
                let found = nearest(&problem, norm, &[], &UNLIMITED);
                if let Solution::Nearest { multipliers, .. } = &found {
                    let again = nearest(&problem, norm, multipliers, &UNLIMITED);
                    let apart = distance(&problem, &again, norm)?.unwrap_or(f64::NAN)
                        - distance(&problem, &found, norm)?.unwrap_or(f64::NAN);
                    prop_assert!(apart.abs() < 1e-5, "with multipliers known: {apart}");
                }
                let ours = distance(&problem, &found, norm)?;
                let theirs = distance(&problem, &backend::nearest(&problem, norm, &UNLIMITED), norm)?;
                prop_assert_eq!(ours.is_some(), theirs.is_some(), "{:?} {:?} {:?}", norm, ours, theirs);
                let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
                prop_assert!((ours - theirs).abs() < LIBRARY, "{norm:?} {ours} {theirs}");
                let Solution::Nearest { displacement, multipliers } = found else { continue };
                let bound = problem.bound(&multipliers, norm);
                let exact = if norm.form() == LinearForm::Sum { LIBRARY } else { 1e-6 };
                prop_assert!(bound <= ours + exact && ours - bound < 10.0 * exact, "{norm:?} {bound} {ours}");
                for row in &problem.rows {
                    let value: f64 =
                        row.coefficients.iter().zip(&displacement).map(|(a, d)| a * d).sum();
                    prop_assert!(value >= row.least - exact / 10.0);
                }
            }
        }
    }
}
