//! Execution decides: a point that bounds suggest counts only when the network, run on it, meets the
//! goal.

use deepconcolic_check::{Case, Region, meets};
use deepconcolic_language::{Formula, with_single};
use deepconcolic_network::Network;

/// Checks points of one alternative.
pub(crate) struct Executor<'a> {
    pub network: &'a Network,
    goal: Formula,
    region: &'a Region,
    /// Where the input elements that do not matter stand.
    base: Vec<f64>,
    tolerance: f64,
}

impl<'a> Executor<'a> {
    /// Elements that a point leaves open stand at the centre of the region: of its changes, or of its box. Where no number of single
    /// precision lies between the ends of an element, the nearest within the tolerance will do.
    pub fn new(network: &'a Network, goal: &Formula, case: &'a Case, tolerance: f64) -> Self {
        let ends = case.region.lower.iter().zip(&case.region.upper);
        let middle = || ends.map(|(l, u)| 0.5 * l + 0.5 * u).collect();
        let changes = case.region.changes.as_ref();
        let base = changes.map_or_else(middle, |changes| changes.centre.clone());
        Self {
            network,
            goal: goal.with_single(network.input_elements(), tolerance),
            tolerance,
            region: &case.region,
            base,
        }
    }

    /// The input with these values at some elements, if it meets the goal when executed.
    pub fn confirm(&self, elements: &[usize], values: &[f64]) -> Option<Vec<f32>> {
        let mut input = self.base.clone();
        for (&element, &value) in elements.iter().zip(values) {
            input[element] = value;
        }
        let ends = self.region.lower.iter().zip(&self.region.upper);
        let input: Option<Vec<f32>> = input
            .iter()
            .zip(ends)
            .map(|(&x, (&l, &u))| {
                let (l, u) = with_single(l, u, self.tolerance);
                inside(x, l, u)
            })
            .collect();
        let input = input.filter(|input| self.region.allows_changes(input))?;
        meets(self.network, &self.goal, &input).then_some(input)
    }
}

/// The single-precision number nearest to `x` within `[l, u]`, if there is one.
pub(crate) fn inside(x: f64, l: f64, u: f64) -> Option<f32> {
    let near = x.clamp(l, u) as f32;
    let near = if f64::from(near) > u {
        near.next_down()
    } else if f64::from(near) < l {
        near.next_up()
    } else {
        near
    };
    (l <= f64::from(near) && f64::from(near) <= u).then_some(near)
}
