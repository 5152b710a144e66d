//! Some witness, by the cheapest way that leads to one. From each start in turn: walking without holding a cell,
//! for pairs with the first input fixed and then with both free, and at last inside the start's cell.

use deepconcolic_language::Inputs;

use crate::attempt::Attempt;
use crate::budget::Effort;
use crate::cell;
use crate::meet::meeting_point;
use crate::task::{Moves, Task};
use crate::walk::walk;

/// Ways of meeting the objective that are tried from each start.
pub(crate) const VARIANTS: usize = 4;

/// The first witness that some start leads to.
pub(crate) fn some_witness(task: &Task<'_>, starts: &[&[f32]], effort: &mut Effort) -> Attempt {
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
