//! The default search: some witness, by the cheapest way that leads to one.

use deepconcolic_network::Network;
use deepconcolic_spec::Inputs;

use crate::cell;
use crate::goal::{Effort, Goal, Outcome, Report};
use crate::meet::meeting_point;
use crate::task::{Moves, Task};
use crate::walk::walk;

/// Ways of meeting the formula that are tried from each start.
const VARIANTS: usize = 4;

/// Searches a witness from each start in turn: walking without holding a cell, for pairs with the first
/// input fixed and then with both free, and at last inside the start's cell.
pub fn search(network: &Network, goal: &Goal<'_>) -> Report {
    let mut effort = Effort::default();
    let outcome = match Task::new(network, goal) {
        Ok(task) => find(&task, goal.starts, &mut effort),
        Err(reason) => Outcome::GaveUp(reason),
    };
    Report { outcome, effort }
}

fn find(task: &Task<'_>, starts: &[&[f32]], effort: &mut Effort) -> Outcome {
    let moves: &[Moves] = match task.inputs {
        Inputs::One => &[Moves::Last],
        Inputs::Two => &[Moves::Last, Moves::Both],
    };
    let variants = task.tree.variants(VARIANTS);
    let mut infeasible = 0;
    for start in starts {
        if effort.reaches(task.most) {
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
                if let Some(witness) =
                    found.and_then(|found| task.witness(&found, task.region.root, None))
                {
                    return Outcome::Witness(witness);
                }
            }
        }
        match cell::in_cell_of(task, start, effort) {
            cell::Found::Witness(witness) => return Outcome::Witness(witness),
            cell::Found::Infeasible => infeasible += 1,
            cell::Found::Nothing => {}
        }
    }
    Outcome::GaveUp(task.failure(starts.len(), infeasible))
}
