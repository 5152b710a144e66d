//! The search for a witness with few pixels: found somehow, then made smaller.

use super::trial::{Sparse, Tried};
use crate::attempt::Attempt;
use crate::budget::Effort;
use crate::some_witness::VARIANTS;
use crate::task::{Moves, Task};

/// A witness with as few pixels as the budget finds.
pub(crate) fn fewest(task: &Task<'_>, starts: &[&[f32]], effort: &mut Effort) -> Attempt {
    let sparse = Sparse::new(task);
    let found = sparse.found(starts, effort);
    match found.map(|found| sparse.smaller(found, effort).met) {
        Some(Some(met)) => Attempt::Met(met),
        _ => Attempt::Nothing {
            cells: starts.len(),
            infeasible: 0,
        },
    }
}

impl Sparse<'_> {
    fn found(&self, starts: &[&[f32]], effort: &mut Effort) -> Option<Tried> {
        let variants = self.task.tree.variants(VARIANTS);
        for start in starts {
            for variant in 0..variants {
                if self.task.is_over(*effort) {
                    return None;
                }
                let found = if self.is_single() {
                    self.accumulate(start, variant, effort)
                } else {
                    [Moves::Last, Moves::Both].into_iter().find_map(|moves| {
                        let here = self.task.observe(start, moves, effort);
                        self.in_box(&here, variant, effort)
                    })
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        if !self.is_single() {
            return None;
        }
        // Where slopes lead nowhere, a single pixel may still do, or few of few.
        self.single(effort)
            .or_else(|| self.of_every_choice(self.allowed + 1, effort))
    }

    /// The same goal met with fewer pixels.
    fn smaller(&self, witness: Tried, effort: &mut Effort) -> Tried {
        let mut witness = self.reduced(witness, effort);
        if !self.is_single() {
            return witness;
        }
        let count = |witness: &Tried| self.changed(&witness.state).len();
        if count(&witness) > 1
            && let Some(single) = self.single(effort)
        {
            return self.reduced(single, effort);
        }
        if let Some(chosen) = self.of_every_choice(count(&witness), effort) {
            witness = self.reduced(chosen, effort);
        }
        if let Some(rebuilt) = self.rebuilt(count(&witness), effort) {
            witness = self.reduced(rebuilt, effort);
        }
        while count(&witness) > 1 && !self.task.is_over(*effort) {
            let next = self
                .refitted(&witness, effort)
                .or_else(|| self.swapped(&witness, effort));
            match next {
                Some(next) if count(&next) < count(&witness) => {
                    witness = self.reduced(next, effort);
                }
                _ => break,
            }
        }
        witness
    }
}
