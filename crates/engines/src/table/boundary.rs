//! The nearest witness over all cells, from the root and from tests that meet the objective already.

use crate::attempt::{self, Wanted, from_origins};
use crate::boundary::{nearest_of_all_cells, ways};
use crate::budget::Budget;
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::report::Report;

/// The engine.
pub struct Boundary;

impl Engine for Boundary {
    fn name(&self) -> &'static str {
        "boundary"
    }

    fn description(&self) -> &'static str {
        "the witness nearest to the root over all cells, as far as a search along the boundary of what is asked \
         finds it"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        // Programs minimise convex norms only.
        goal.space.norm.convex()?;
        ways(&attempt::task(goal)?).map(|_| ())
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        if let Err(reason) = self.supports(goal) {
            return Report::refused(reason);
        }
        from_origins(goal, budget, Wanted::Nearest, |task, origin, effort| {
            let ways = ways(task).unwrap_or_default();
            nearest_of_all_cells(task, &ways, origin.starts, effort)
        })
    }
}
