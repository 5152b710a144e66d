//! The best test of every open requirement: where a search for it starts.
//!
//! Kept per requirement are one value and the number of one test, whatever the size of the suite; where
//! requirements are sections of a neuron's range, even less (`sections`).

mod sections;
mod slots;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use deepconcolic_check::Slot;
use deepconcolic_criteria::Guide;
use deepconcolic_network::{BitSet, Pass, Trace};

use self::sections::RankedSections;
use self::slots::RankedSlots;
use crate::ascent::AscentContext;
use crate::limits::Limits;
use crate::suite::Suite;

/// Tests run at a time.
const BATCH: usize = 32;

/// For each open requirement, the test nearest to meeting it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranking {
    groups: Vec<Ranked>,
    /// Tests taken into account.
    tests: usize,
}

/// The requirements of a group.
#[derive(Clone, Debug)]
enum Ranked {
    Slots(RankedSlots),
    Sections(RankedSections),
}

impl Ranking {
    /// The ranking of these requirements over no test.
    pub fn new(guide: &dyn Guide, open: &[BitSet]) -> Self {
        let groups = open.iter().enumerate();
        let groups = groups.map(|(group, open)| match guide.sections(group) {
            Some((_, sections)) => Ranked::Sections(RankedSections::new(sections.low.len())),
            None => Ranked::Slots(RankedSlots::new(open)),
        });
        Self {
            groups: groups.collect(),
            tests: 0,
        }
    }

    /// Takes the tests in that are new to the suite, as far as the limits allow, and forgets requirements that
    /// are no longer open.
    pub fn update(&mut self, context: &AscentContext<'_>, suite: &Suite, limits: &Limits<'_>) {
        for (ranked, open) in self.groups.iter_mut().zip(context.open) {
            if let Ranked::Slots(slots) = ranked {
                slots.retain(open);
            }
        }
        let pass = Pass::keep(context.family.points());
        let mut trace = Trace::default();
        for batch in suite.tests()[self.tests..].chunks(BATCH) {
            if limits.is_over() {
                return;
            }
            let inputs: Vec<f32> = batch.iter().flat_map(|test| &test.input).copied().collect();
            context.network.forward_into(&inputs, &pass, &mut trace);
            for (group, ranked) in self.groups.iter_mut().enumerate() {
                match (ranked, context.guide.sections(group)) {
                    (Ranked::Sections(ranked), Some((point, sections))) => {
                        let open = &context.open[group];
                        ranked.observe(sections, open, trace.get(point), self.tests);
                    }
                    (Ranked::Slots(ranked), _) => {
                        ranked.observe(context, group, &trace, self.tests);
                    }
                    (Ranked::Sections(_), None) => {}
                }
            }
            self.tests += batch.len();
        }
    }

    /// The requirements not in `tried` that are nearest to being met, nearest first.
    pub fn nearest(
        &self,
        context: &AscentContext<'_>,
        tried: &[BitSet],
        count: usize,
    ) -> Vec<Slot> {
        let mut nearest = Nearest::new(count);
        for (group, (ranked, tried)) in self.groups.iter().zip(tried).enumerate() {
            nearest.group = group as u32;
            match (ranked, context.guide.sections(group)) {
                (Ranked::Sections(ranked), Some((_, sections))) => {
                    let layer = context.family.groups()[group].layer;
                    let scale = layer.map_or(1.0, |layer| context.means.scale(layer + 2));
                    let open = &context.open[group];
                    ranked.offer((sections, scale as f32), open, tried, &mut nearest);
                }
                (Ranked::Slots(ranked), _) => ranked.offer(tried, &mut nearest),
                (Ranked::Sections(_), None) => {}
            }
        }
        nearest.sorted()
    }

    /// The best test of a requirement, if it is ranked and some test has a value at all.
    pub fn best(&self, context: &AscentContext<'_>, slot: Slot) -> Option<usize> {
        let group = slot.group as usize;
        match (&self.groups[group], context.guide.sections(group)) {
            (Ranked::Sections(ranked), Some((_, sections))) => {
                ranked.best(sections, &context.open[group], slot.slot)
            }
            (Ranked::Slots(ranked), _) => ranked.best(slot.slot),
            (Ranked::Sections(_), None) => None,
        }
    }
}

/// So many requirements at most, those nearest to being met of all that were offered.
struct Nearest {
    count: usize,
    /// Of what is offered next.
    group: u32,
    /// The furthest of those kept is on top; a later equal does not replace an earlier one.
    kept: BinaryHeap<Reverse<Near>>,
    /// What is not nearer than this is kept elsewhere.
    floor: Option<Near>,
}

impl Nearest {
    fn new(count: usize) -> Self {
        Self {
            count,
            group: 0,
            kept: BinaryHeap::with_capacity(count + 1),
            floor: None,
        }
    }

    /// Another one for a part of what is offered; it takes nothing that would not be kept here.
    fn for_part(&self) -> Self {
        let last = self.kept.peek().map(|Reverse(last)| *last);
        Self {
            group: self.group,
            floor: last.filter(|_| self.kept.len() >= self.count),
            ..Self::new(self.count)
        }
    }

    /// Takes over what a part kept.
    fn join(&mut self, part: Self) {
        for Reverse(Near(value, slot)) in part.kept {
            self.offer(value, slot.slot);
        }
    }

    fn near(&self, value: f32, slot: u32) -> Near {
        let group = self.group;
        Near(value, Slot { group, slot })
    }

    /// Whether a requirement with this value would be kept.
    fn would_take(&self, value: f32, slot: u32) -> bool {
        let near = self.near(value, slot);
        let room = self.kept.len() < self.count;
        self.floor.is_none_or(|floor| near > floor)
            && (room || self.kept.peek().is_some_and(|Reverse(last)| near > *last))
    }

    fn offer(&mut self, value: f32, slot: u32) {
        if self.would_take(value, slot) {
            self.kept.push(Reverse(self.near(value, slot)));
            if self.kept.len() > self.count {
                self.kept.pop();
            }
        }
    }

    /// Nearest first.
    fn sorted(self) -> Vec<Slot> {
        let sorted = self.kept.into_sorted_vec();
        sorted.into_iter().map(|Reverse(near)| near.1).collect()
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
