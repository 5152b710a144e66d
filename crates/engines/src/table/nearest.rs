//! The nearest witness in the cells of given tests, with the certified optimum.

use crate::attempt::{self, Wanted, from_origins};
use crate::budget::Budget;
use crate::cell::nearest_to_root;
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::report::Report;

/// The engine.
pub struct Nearest;

impl Engine for Nearest {
    fn name(&self) -> &'static str {
        "nearest"
    }

    fn description(&self) -> &'static str {
        "the witness nearest to the root among those in the cells of the starts, with a lower bound on the \
         distance of any other in its cell"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        // Programs minimise convex norms only.
        goal.space.norm.convex()?;
        attempt::supports(goal)
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        if let Err(reason) = self.supports(goal) {
            return Report::refused(reason);
        }
        from_origins(goal, budget, Wanted::Nearest, |task, origin, effort| {
            nearest_to_root(task, origin.starts, effort)
        })
    }
}
