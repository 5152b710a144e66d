//! The best test of every open requirement: where a search for it starts.
//!
//! Kept per requirement are one value and the number of one test, whatever the size of the suite.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use deepconcolic_check::Slot;
use deepconcolic_criteria::SampleView;
use deepconcolic_network::{BitSet, Pass, Trace};
use rayon::prelude::*;

use crate::ascent::AscentContext;
use crate::suite::Suite;

/// Tests run at a time.
const BATCH: usize = 32;
/// Requirements that a thread ranks at a time.
const PART: usize = 1 << 14;

/// For each open requirement, the test nearest to meeting it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranking {
    /// Group by group: slots ascending, their best values, and the tests that have them.
    groups: Vec<Ranked>,
    /// Tests taken into account.
    tests: usize,
}

#[derive(Clone, Debug, Default)]
struct Ranked {
    slots: Vec<u32>,
    values: Vec<f32>,
    tests: Vec<u32>,
}

impl Ranking {
    /// The ranking of these requirements over no test.
    pub fn new(open: &[BitSet]) -> Self {
        let groups = open.iter().map(|open| {
            let slots: Vec<u32> = open.iter().map(|slot| slot as u32).collect();
            Ranked {
                values: vec![f32::NEG_INFINITY; slots.len()],
                tests: vec![0; slots.len()],
                slots,
            }
        });
        Self {
            groups: groups.collect(),
            tests: 0,
        }
    }

    /// Takes the tests in that are new to the suite, and forgets requirements that are no longer
    /// open.
    pub fn update(&mut self, context: &AscentContext<'_>, suite: &Suite) {
        for (ranked, open) in self.groups.iter_mut().zip(context.open) {
            ranked.retain(open);
        }
        let pass = Pass::keep(context.family.points());
        let mut trace = Trace::default();
        for batch in suite.tests()[self.tests..].chunks(BATCH) {
            let inputs: Vec<f32> = batch.iter().flat_map(|test| &test.input).copied().collect();
            context.network.forward_into(&inputs, &pass, &mut trace);
            for (group, ranked) in self.groups.iter_mut().enumerate() {
                ranked.observe(context, group, &trace, self.tests);
            }
            self.tests += batch.len();
        }
    }

    /// The requirements not in `tried` that are nearest to being met, nearest first.
    pub fn nearest(&self, tried: &[BitSet], count: usize) -> Vec<Slot> {
        // The furthest of those kept is on top; a later equal does not replace an earlier one.
        let mut kept: BinaryHeap<Reverse<Near>> = BinaryHeap::with_capacity(count + 1);
        for (group, (ranked, tried)) in self.groups.iter().zip(tried).enumerate() {
            let entries = ranked.slots.iter().zip(&ranked.values);
            for (&slot, &value) in entries.filter(|(slot, _)| !tried.contains(**slot as usize)) {
                let group = group as u32;
                let near = Near(value, Slot { group, slot });
                if kept.len() < count || kept.peek().is_some_and(|Reverse(last)| near > *last) {
                    kept.push(Reverse(near));
                    if kept.len() > count {
                        kept.pop();
                    }
                }
            }
        }
        let sorted = kept.into_sorted_vec();
        sorted.into_iter().map(|Reverse(near)| near.1).collect()
    }

    /// The best test of a requirement, if it is ranked and some test has a value at all.
    pub fn best(&self, slot: Slot) -> Option<usize> {
        let ranked = &self.groups[slot.group as usize];
        let at = ranked.slots.binary_search(&slot.slot).ok()?;
        (ranked.values[at] > f32::NEG_INFINITY).then(|| ranked.tests[at] as usize)
    }
}

/// A requirement by how near it is to being met; of equals, the one with the smaller number is
/// nearer.
#[derive(Clone, Copy, Debug)]
struct Near(f32, Slot);

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Near {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Near {}

impl Ranked {
    fn retain(&mut self, open: &BitSet) {
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

    fn observe(
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
}
