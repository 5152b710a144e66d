//! The default search: some witness, by the cheapest way that leads to one.

use crate::attempt::{self, Wanted, from_origins};
use crate::budget::Budget;
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::report::Report;
use crate::some_witness::some_witness;

/// The engine.
pub struct Walk;

impl Engine for Walk {
    fn name(&self) -> &'static str {
        "walk"
    }

    fn description(&self) -> &'static str {
        "some witness: steps that linearise the network again wherever they lead, and at last the cell of \
         the start"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        attempt::supports(goal)
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        from_origins(goal, budget, Wanted::First, |task, origin, effort| {
            some_witness(task, origin.starts, effort)
        })
    }
}
