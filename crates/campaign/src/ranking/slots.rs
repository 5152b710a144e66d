//! Requirements one by one: for each the best value and the test that has it.

use deepconcolic_criteria::SampleView;
use deepconcolic_network::{BitSet, Trace};
use rayon::prelude::*;

use super::Nearest;
use crate::ascent::AscentContext;

/// Requirements that a thread ranks at a time.
const PART: usize = 1 << 14;

/// Slots of a group, ascending, their best values, and the tests that have them.
#[derive(Clone, Debug, Default)]
pub(super) struct RankedSlots {
    slots: Vec<u32>,
    values: Vec<f32>,
    tests: Vec<u32>,
}

impl RankedSlots {
    pub fn new(open: &BitSet) -> Self {
        let slots: Vec<u32> = open.iter().map(|slot| slot as u32).collect();
        Self {
            values: vec![f32::NEG_INFINITY; slots.len()],
            tests: vec![0; slots.len()],
            slots,
        }
    }

    /// Forgets what is no longer open.
    pub fn retain(&mut self, open: &BitSet) {
        let mut kept = 0;
        for at in 0..self.slots.len() {
            if open.contains(self.slots[at] as usize) {
                self.slots[kept] = self.slots[at];
                self.values[kept] = self.values[at];
                self.tests[kept] = self.tests[at];
                kept += 1;
            }
        }
        self.slots.truncate(kept);
        self.values.truncate(kept);
        self.tests.truncate(kept);
    }

    /// Takes the tests of a trace in, which are numbered from `first`.
    pub fn observe(
        &mut self,
        context: &AscentContext<'_>,
        group: usize,
        trace: &Trace<f32>,
        first: usize,
    ) {
        let parts = self.slots.par_chunks(PART).zip(
            self.values
                .par_chunks_mut(PART)
                .zip(self.tests.par_chunks_mut(PART)),
        );
        parts.for_each(|(slots, (best, tests))| {
            let mut values = Vec::with_capacity(slots.len());
            for sample in 0..trace.samples() {
                let look = SampleView {
                    trace,
                    sample,
                    means: context.means,
                };
                values.clear();
                context.guide.values(look, group, slots, &mut values);
                for ((best, test), &value) in best.iter_mut().zip(&mut *tests).zip(&values) {
                    if value > *best {
                        *best = value;
                        *test = (first + sample) as u32;
                    }
                }
            }
        });
    }

    /// Offers the slots that were not tried.
    pub fn offer(&self, tried: &BitSet, nearest: &mut Nearest) {
        let entries = self.slots.iter().zip(&self.values);
        for (&slot, &value) in entries.filter(|(slot, _)| !tried.contains(**slot as usize)) {
            nearest.offer(value, slot);
        }
    }

    /// The best test of a slot, if some test has a value at all.
    pub fn best(&self, slot: u32) -> Option<usize> {
        let at = self.slots.binary_search(&slot).ok()?;
        (self.values[at] > f32::NEG_INFINITY).then(|| self.tests[at] as usize)
    }
}
