//! A single objective, searched for from one origin after the other.

use crate::budget::{Budget, Effort};
use crate::goal::{Goal, Origin, Reason};
use crate::region::{RegionOf, stated_region};
use crate::report::{Found, Report, Witness};
use crate::task::{Met, Task};

/// What came of one origin.
pub(crate) enum Attempt {
    Met(Met),
    /// No witness.
    Nothing {
        /// Cells that were tried.
        cells: usize,
        /// Those that certainly hold none.
        infeasible: usize,
    },
}

/// Which witness is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The first that an origin leads to.
    First,
    /// The nearest to its root, of all origins.
    Nearest,
}

/// Whether a goal is a single objective that can be searched for from its first origin.
pub(crate) fn supports(goal: &Goal<'_>) -> Result<(), Reason> {
    supports_in(goal, stated_region)
}

/// The same in regions of another making.
pub(crate) fn supports_in(goal: &Goal<'_>, region: RegionOf) -> Result<(), Reason> {
    task_in(goal, region).map(|_| ())
}

/// The search for the single objective of a goal from its first origin.
pub(crate) fn task<'a>(goal: &Goal<'a>) -> Result<Task<'a>, Reason> {
    task_in(goal, stated_region)
}

fn task_in<'a>(goal: &Goal<'a>, region: RegionOf) -> Result<Task<'a>, Reason> {
    let Some(origin) = goal.origins.first() else {
        return Err(Reason::Unsupported {
            part: "goal".into(),
            why: "it names no input to start from",
        });
    };
    Task::new(goal, goal.single()?, origin, region, Budget::default())
}

/// Tries the origins of a goal in turn, each with the budget of an attempt.
pub(crate) fn from_origins(
    goal: &Goal<'_>,
    budget: &Budget<'_>,
    wanted: Wanted,
    attempt: impl Fn(&Task<'_>, &Origin<'_>, &mut Effort) -> Attempt,
) -> Report {
    from_origins_in(goal, budget, wanted, stated_region, attempt)
}

/// The same in regions of another making.
pub(crate) fn from_origins_in(
    goal: &Goal<'_>,
    budget: &Budget<'_>,
    wanted: Wanted,
    region: RegionOf,
    attempt: impl Fn(&Task<'_>, &Origin<'_>, &mut Effort) -> Attempt,
) -> Report {
    let objective = match goal.single() {
        Ok(objective) => objective,
        Err(reason) => return Report::refused(reason),
    };
    let mut report = Report::default();
    let mut best: Option<(usize, Met)> = None;
    let (mut tried, mut empty) = (0, 0);
    for (number, origin) in goal.origins.iter().enumerate() {
        if let Some(stop) = budget.stop(report.effort) {
            report.stop = stop;
            break;
        }
        let left = budget.for_attempt(report.effort);
        let task = match Task::new(goal, objective, origin, region, left) {
            Ok(task) => task,
            Err(reason) => {
                report.reason = Some(reason);
                break;
            }
        };
        let mut effort = Effort::default();
        let came = attempt(&task, origin, &mut effort);
        report.effort += effort;
        match came {
            Attempt::Met(met) => {
                if best.as_ref().is_none_or(|(_, b)| met.distance < b.distance) {
                    best = Some((number, met));
                }
                if wanted == Wanted::First {
                    break;
                }
            }
            Attempt::Nothing { cells, infeasible } => {
                tried += cells;
                empty += infeasible;
                report.stop = task.budget.stop(effort).unwrap_or_default();
                report.reason = task.unsteered();
                if report.reason.is_some() {
                    break;
                }
            }
        }
    }
    match best {
        Some((origin, met)) => report.take(origin, met),
        None => {
            report.reason.get_or_insert(Reason::NotFound {
                cells: tried,
                infeasible: empty,
            });
        }
    }
    report
}

impl Report {
    /// The one thing that was found.
    fn take(&mut self, origin: usize, met: Met) {
        let witness = Witness {
            objective: 0,
            tests: (0..met.inputs.len()).collect(),
            distance: met.distance,
            bound: met.bound,
        };
        self.found.push(Found {
            origin,
            tests: met.inputs,
            witnesses: vec![witness],
        });
        self.reason = None;
        self.stop = crate::StopReason::Complete;
    }
}
