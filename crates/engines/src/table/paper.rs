//! One step of the paper's algorithm, as written (Section 8.1): one linear program in the cell of a test. The
//! ball round the root is whatever the goal's space says; the paper's own program has none.

use crate::attempt::{self, Attempt, Wanted, from_origins};
use crate::budget::Budget;
use crate::cell::{self, nearest_to_start};
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::report::Report;

/// The engine.
pub struct Paper;

impl Engine for Paper {
    fn name(&self) -> &'static str {
        "paper"
    }

    fn description(&self) -> &'static str {
        "one linear program of the paper: the input nearest to the start, with the signs of all earlier \
         layers kept, that meets the goal"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        attempt::supports(goal)
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        from_origins(goal, budget, Wanted::First, |task, origin, effort| {
            let nothing = |cells, infeasible| Attempt::Nothing { cells, infeasible };
            let Some(start) = origin.starts.first() else {
                return nothing(0, 0);
            };
            match nearest_to_start(task, start, effort) {
                cell::Found::Witness(met) => Attempt::Met(met),
                cell::Found::Infeasible => nothing(1, 1),
                cell::Found::Nothing => nothing(1, 0),
            }
        })
    }
}
