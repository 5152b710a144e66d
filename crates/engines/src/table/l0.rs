//! Few changed pixels: the search in L0.
//!
//! To ask for the fewest pixels that change a network's answer, name the engine and ask for another class's logit
//! above the own:
//!
//! ```text
//! let objective = Objective::Formula { formula: "logit_c - logit_own > 0, or of another c", inputs: Inputs::One };
//! let space = SearchSpace::of(domain, pixels, Norm::L0, Extent::Balls(100.0));
//! let goal = Goal { objectives: &[&[objective]], origins: &[Origin::seed(&input)], space: &space, .. };
//! let report = named("l0")?.search(&goal, &budget);
//! ```
//!
//! The witness's `distance` is the number of pixels. Starts that are witnesses already are made smaller. With several
//! origins, each is tried and the witness with the fewest pixels is reported.

use crate::attempt::{self, Wanted, from_origins_in};
use crate::budget::Budget;
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::report::Report;
use crate::sparse::{fewest, region_of_pixels};

/// The engine.
pub struct L0;

impl Engine for L0 {
    fn name(&self) -> &'static str {
        "l0"
    }

    fn description(&self) -> &'static str {
        "few changed pixels: the most useful ones added up until the goal is met, then taken back and swapped \
         until no fewer are found"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        attempt::supports_in(goal, region_of_pixels)
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        from_origins_in(
            goal,
            budget,
            Wanted::First,
            region_of_pixels,
            |task, origin, effort| fewest(task, origin.starts, effort),
        )
    }
}
