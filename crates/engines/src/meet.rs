//! Where a pair should be looked for: a point at which the neurons that must change between the two
//! inputs are all near zero.
//!
//! There a tiny step to either side changes their signs, or their values by any factor, and hardly ever
//! those of other neurons. It is a goal on one input with a few rows, whatever the layer's size.

use deepconcolic_language::Inputs;
use deepconcolic_network::Point;

use crate::atom::{Atom, Term};
use crate::budget::Effort;
use crate::observed::Observed;
use crate::task::{Moves, Task};
use crate::tree::Tree;
use crate::walk::walk;

/// How near to zero, in margins.
const NEAR: f64 = 6.0;

/// A point from which both inputs of a pair should start; `None` when none was found, or when the goal
/// is not about neurons that change.
pub(crate) fn meeting_point(
    task: &Task<'_>,
    start: &Observed,
    effort: &mut Effort,
) -> Option<Vec<f32>> {
    let demands = task.demands(start, start, 0)?;
    let mut neurons: Vec<(Point, usize)> = Vec::new();
    for atom in demands.unmet.iter().chain(&demands.met) {
        for term in &atom.terms {
            let neuron = (term.point, term.element);
            if atom.constant == 0.0 && !neurons.contains(&neuron) {
                neurons.push(neuron);
            }
        }
    }
    if neurons.is_empty() {
        return None;
    }
    let near = |&(point, element): &(Point, usize)| {
        [1.0, -1.0].map(|coefficient| {
            let term = Term {
                coefficient,
                input: 0,
                point,
                element,
            };
            let plain = task.scales.atom(vec![term], 0.0, false);
            Tree::Atom(Atom {
                constant: NEAR * plain.margin,
                ..plain
            })
        })
    };
    let tree = Tree::All(neurons.iter().flat_map(near).collect());
    let mut single = Task::of_tree(task.scales, Inputs::One, tree, task.region.clone());
    single.budget = task.budget;
    let observed = single.observe(&start.inputs[0], Moves::Last, effort);
    let mut met = walk(&single, observed, 0, effort)?;
    Some(met.inputs.swap_remove(0))
}
