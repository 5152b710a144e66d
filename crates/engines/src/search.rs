//! The default search: some witness, by the cheapest way that leads to one.

use deepconcolic_language::Inputs;
use deepconcolic_network::Network;

use crate::cell;
use crate::goal::{Effort, Goal, Outcome, Report};
use crate::meet::meeting_point;
use crate::task::{Moves, Task};
use crate::walk::walk;

/// Ways of meeting the formula that are tried from each start.
const VARIANTS: usize = 4;

/// Searches a witness from each start in turn: walking without holding a cell, for pairs with the first
/// input fixed and then with both free, and at last inside the start's cell.
///
/// ```
/// use deepconcolic_engines::{Goal, Margin, search};
/// use deepconcolic_network::ops::{Dense, Elementwise, Relu};
/// use deepconcolic_network::{NetworkBuilder, Shape};
/// use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
/// use deepconcolic_language::{Formula, Input, Inputs};
///
/// # fn main() -> Result<(), String> {
/// let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2])?);
/// let u = builder.add(Dense::new(2, 1, vec![1.0, 1.0], vec![-1.5])?, &[x], "dense")?;
/// let v = builder.add(Elementwise::new(Relu), &[u], "relu")?;
/// let network = builder.finish(&[("y", v)], 0)?;
/// let domain = Domain::uniform(2, 0.0, 1.0)?;
/// let space = SearchSpace::of(domain, Pixels::Single, Norm::Linf, Extent::Balls(0.3));
///
/// let seed: &[f32] = &[0.5, 0.6];
/// let active = Formula::active(Input::First, 2, 0);
/// let report = search(&network, &Goal {
///     formula: &active,
///     inputs: Inputs::One,
///     root: seed,
///     starts: &[seed],
///     space: &space,
///     means: &[],
///     margin: Margin::default(),
///     most: None,
/// });
/// let witness = report.witness().ok_or("nothing found")?;
/// assert!(witness.inputs[0].iter().sum::<f32>() >= 1.5);
/// assert!(witness.distance <= 0.3);
/// # Ok(())
/// # }
/// ```
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
