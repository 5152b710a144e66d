//! The paper's own search in L0 (its Section 8.2, after the method it refers to): pixels at the ends of the domain
//! only, each executed at both; the most sensitive are added up until the goal is met, then taken back one by
//! one.

use super::support::descending;
use super::trial::{Sparse, State, Tried};
use crate::attempt::Attempt;
use crate::budget::Effort;
use crate::task::Task;

/// One such search from a test.
pub(crate) fn papers_step(task: &Task<'_>, start: &[f32], effort: &mut Effort) -> Attempt {
    let sparse = Sparse::new(task);
    let found = sparse.added_up(start, effort);
    match found.and_then(|(found, order)| sparse.refined(found, &order, effort).met) {
        Some(met) => Attempt::Met(met),
        None => Attempt::Nothing {
            cells: 1,
            infeasible: 0,
        },
    }
}

impl Sparse<'_> {
    /// The first prefix of the pixels, the most sensitive first, that meets the goal; and the pixels in that order.
    fn added_up(&self, start: &[f32], effort: &mut Effort) -> Option<(Tried, Vec<usize>)> {
        let (ends, order) = self.sensitivities(start, effort);
        let mut point = start.to_vec();
        let mut prefixes: Vec<State> = Vec::new();
        for &pixel in order.iter().take(self.allowed) {
            for &e in self.pixels.elements(pixel) {
                point[e] = ends[pixel][e];
            }
            prefixes.push(vec![point.clone()]);
        }
        let tried = self.run(prefixes, effort);
        let met = tried.into_iter().find(|tried| tried.met.is_some())?;
        Some((met, order))
    }

    /// For every pixel the input with it at its better end, and the pixels in the order of what that brings.
    fn sensitivities(&self, start: &[f32], effort: &mut Effort) -> (Vec<Vec<f32>>, Vec<usize>) {
        let region = &self.task.region;
        let at_end = |pixel: usize, ends: &[f32]| {
            let mut input = start.to_vec();
            for &e in self.pixels.elements(pixel) {
                input[e] = region.settle(e, f64::from(ends[e]));
            }
            vec![input]
        };
        let states = (0..self.pixels.count())
            .flat_map(|pixel| [&region.lower, &region.upper].map(|ends| at_end(pixel, ends)));
        let tried = self.run(states.collect(), effort);
        let (mut inputs, mut values) = (Vec::new(), Vec::new());
        for both in tried.chunks_exact(2) {
            let better = usize::from(both[1].value > both[0].value);
            inputs.push(both[better].state[0].clone());
            values.push(both[better].value);
        }
        (inputs, descending(&values))
    }

    /// The least sensitive pixels taken back first, each if the goal is still met without it.
    fn refined(&self, mut witness: Tried, order: &[usize], effort: &mut Effort) -> Tried {
        let changed = self.changed(&witness.state);
        let last_first = order.iter().rev().filter(|pixel| changed.contains(pixel));
        for &pixel in last_first {
            let without = self.without(&witness.state, &[pixel]);
            let tried = self.run(vec![without], effort).pop();
            if let Some(tried) = tried.filter(|tried| tried.met.is_some()) {
                witness = tried;
            }
        }
        witness
    }
}
