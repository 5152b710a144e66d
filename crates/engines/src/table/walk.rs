//! The default search: some witness, by the cheapest way that leads to one. From each start in turn: walking
//! without holding a cell, for pairs with the first input fixed and then with both free, and at last inside
//! the start's cell.

use deepconcolic_language::Inputs;

use crate::attempt::{self, Attempt, Wanted, from_origins};
use crate::budget::{Budget, Effort};
use crate::cell;
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::meet::meeting_point;
use crate::report::Report;
use crate::task::{Moves, Task};
use crate::walk::walk;

/// Ways of meeting the objective that are tried from each start.
const VARIANTS: usize = 4;

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
            find(task, origin.starts, effort)
        })
    }
}

fn find(task: &Task<'_>, starts: &[&[f32]], effort: &mut Effort) -> Attempt {
    let moves: &[Moves] = match task.inputs {
        Inputs::One => &[Moves::Last],
        Inputs::Two => &[Moves::Last, Moves::Both],
    };
    let variants = task.tree.variants(VARIANTS);
    let mut infeasible = 0;
    for start in starts {
        if task.is_over(*effort) {
            break;
        }
        for &moves in moves {
            let mut observed = task.observe(start, moves, effort);
            if moves == Moves::Both
                && let Some(point) = meeting_point(task, &observed, effort)
            {
                observed = task.observe(&point, moves, effort);
            }
            for variant in 0..variants {
                let found = walk(task, observed.clone(), variant, effort);
                if let Some(met) =
                    found.and_then(|found| task.witness(&found, task.region.root, None))
                {
                    return Attempt::Met(met);
                }
            }
        }
        match cell::in_cell_of(task, start, effort) {
            cell::Found::Witness(met) => return Attempt::Met(met),
            cell::Found::Infeasible => infeasible += 1,
            cell::Found::Nothing => {}
        }
    }
    Attempt::Nothing {
        cells: starts.len(),
        infeasible,
    }
}
