//! In words: what the two inputs of one requirement may be. One meaning holds in search, proofs, counts and
//! checks, and the search region says it.

use deepconcolic_criteria::Family;
use deepconcolic_geometry::SearchSpace;
use deepconcolic_language::Inputs;

/// Over data.
pub const OVER_DATA: &str = "any two samples count together; `run` with a radius or boxes asks for two inputs of one ball or \
     box";

/// Of a run, if it has requirements on two inputs.
pub fn of_run(family: &dyn Family, space: &SearchSpace) -> Option<String> {
    has_some(family).then(|| space.two_inputs())
}

/// Whether some requirement is about two inputs.
pub fn has_some(family: &dyn Family) -> bool {
    let is_two = |(group, slots): (usize, usize)| {
        (0..slots).any(|slot| family.inputs(group, slot) == Inputs::Two)
    };
    let groups = family.groups().iter().enumerate();
    // Of a layer's requirements one tells for all.
    let mut first = groups.map(|(number, group)| match group.layer {
        Some(_) => (number, group.slots().min(1)),
        None => (number, group.slots()),
    });
    first.any(is_two)
}
