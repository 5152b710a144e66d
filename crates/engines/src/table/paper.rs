//! One step of the paper's algorithm, as written (Section 8.1): one linear program in the cell of a test. The
//! ball round the root is whatever the goal's space says; the paper's own program has none. Where the space's norm
//! counts pixels, one global optimisation of the paper instead (Section 8.2).

use deepconcolic_language::Inputs;

use crate::attempt::{self, Attempt, Wanted, from_origins_in};
use crate::budget::Budget;
use crate::cell::{self, nearest_to_start};
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::region::{RegionOf, stated_region};
use crate::report::Report;
use crate::sparse::{papers_step, region_of_pixels};

/// The engine.
pub struct Paper;

impl Engine for Paper {
    fn name(&self) -> &'static str {
        "paper"
    }

    fn description(&self) -> &'static str {
        "one step of the paper: a linear program for the input nearest to the start, with the signs of all \
         earlier layers kept, that meets the goal; where pixels are counted, the most sensitive ones at the ends of \
         the domain"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        attempt::supports_in(goal, region_of(goal))?;
        let counts = goal.space.norm.convex().is_err();
        let objective = goal.single()?;
        if counts && objective.inputs() == Inputs::Two {
            return Err(Reason::Unsupported {
                part: objective.to_string(),
                why: "the paper's search for few pixels is for requirements on one input",
            });
        }
        Ok(())
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        if let Err(reason) = self.supports(goal) {
            return Report::refused(reason);
        }
        let region = region_of(goal);
        from_origins_in(
            goal,
            budget,
            Wanted::First,
            region,
            |task, origin, effort| {
                let nothing = |cells, infeasible| Attempt::Nothing { cells, infeasible };
                let Some(start) = origin.starts.first() else {
                    return nothing(0, 0);
                };
                if task.region.space.norm.convex().is_err() {
                    return papers_step(task, start, effort);
                }
                match nearest_to_start(task, start, effort) {
                    cell::Found::Witness(met) => Attempt::Met(met),
                    cell::Found::Infeasible => nothing(1, 1),
                    cell::Found::Nothing => nothing(1, 0),
                }
            },
        )
    }
}

/// Programs need a norm that they can state; counting pixels does without.
fn region_of(goal: &Goal<'_>) -> RegionOf {
    if goal.space.norm.convex().is_ok() {
        stated_region
    } else {
        region_of_pixels
    }
}
