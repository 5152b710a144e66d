//! Fewer pixels: what is changed without need is taken back, until nothing can be.

use super::trial::{Sparse, State, Tried};
use crate::budget::Effort;

/// Passes of a search for other values of all pixels but one.
const REFIT: usize = 96;

impl Sparse<'_> {
    /// A witness of which no pixel can be taken back alone, as far as the budget goes.
    pub fn reduced(&self, mut witness: Tried, effort: &mut Effort) -> Tried {
        loop {
            let changed = self.changed(&witness.state);
            let alone = changed
                .iter()
                .map(|&pixel| self.without(&witness.state, &[pixel]));
            let tried = self.run(alone.collect(), effort);
            let mut spare: Vec<(f64, usize)> = tried
                .iter()
                .zip(&changed)
                .filter(|(tried, _)| tried.met.is_some())
                .map(|(tried, &pixel)| (tried.value, pixel))
                .collect();
            if spare.is_empty() {
                return witness;
            }
            // Those that leave most, first; as many together as can go.
            spare.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let order: Vec<usize> = spare.into_iter().map(|(_, pixel)| pixel).collect();
            let together =
                (1..=order.len()).map(|count| self.without(&witness.state, &order[..count]));
            let tried = self.run(together.collect(), effort);
            match tried.into_iter().rev().find(|tried| tried.met.is_some()) {
                Some(smaller) => witness = smaller,
                None => return witness,
            }
        }
    }

    /// A witness with one pixel fewer, the values of all others searched anew.
    pub fn refitted(&self, witness: &Tried, effort: &mut Effort) -> Option<Tried> {
        let changed = self.changed(&witness.state);
        if changed.len() < 2 {
            return None;
        }
        let alone: Vec<State> = changed
            .iter()
            .map(|&pixel| self.without(&witness.state, &[pixel]))
            .collect();
        let tried = self.run(alone, effort);
        let mut order: Vec<(usize, &Tried)> = changed.iter().copied().zip(&tried).collect();
        order.sort_by(|a, b| b.1.value.total_cmp(&a.1.value).then(a.0.cmp(&b.0)));
        order.into_iter().find_map(|(dropped, start)| {
            if self.task.is_over(*effort) {
                return None;
            }
            let free = |pixel: usize| pixel != dropped && changed.binary_search(&pixel).is_ok();
            self.search_box(free, &start.state[0], REFIT, effort)
        })
    }
}
