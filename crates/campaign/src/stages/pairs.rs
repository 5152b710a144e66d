//! Pairs of neurons: the engines search two tests for each, many pairs at a time.

use deepconcolic_check::Slot;
use deepconcolic_criteria::{Objective, Pairs};
use deepconcolic_engines::{Found, Origin, supporting};
use deepconcolic_network::BitSet;

use super::{PairProposal, Progress, Proposals, StageSetting};
use crate::limits::{Limits, Passes};

/// Parts of a round, worked on side by side: always as many, so that a run does not depend on the number
/// of threads.
const TOGETHER: usize = 8;
/// The same where passes are few: only parts with so many passes each come to their end.
const TOGETHER_AT_LEAST: usize = 4;
const ENOUGH: usize = 10_000;
/// Pairs of neurons in a part, at most: what a second or two are enough for.
const BATCH: usize = 600;
/// The same of the first part.
const FIRST: usize = 20;
/// Decisions among them.
const DECISIONS: usize = 40;
/// Passes of a step, at most, and the least that is of any use.
const MAX: usize = 20_000;
const LEAST: usize = 100;
/// Passes that a step may make beyond the number it is given (rows of one solve, a run), and for its
/// tests to be confirmed.
const STEP: usize = 400;

/// Tests for the next pairs in line. No pair tried means that all were.
pub(super) fn propose(
    setting: &StageSetting<'_>,
    progress: &Progress,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Proposals> {
    let family = setting.context.family;
    let mut tried = progress.tried.clone();
    let mut batches: Vec<Batch> = Vec::new();
    while batches.len() < TOGETHER {
        let Some(batch) = next(setting, &tried) else {
            break;
        };
        for slot in &batch.slots {
            tried[slot.group as usize].insert(slot.slot as usize);
        }
        // Parts of one search are about the same two layers.
        if batches
            .first()
            .is_some_and(|first| first.group != batch.group)
        {
            break;
        }
        batches.push(batch);
    }
    let pairs = batches.first().and_then(|first| family.pairs(first.group));
    let Some(pairs) = pairs else {
        return Some(Proposals::default());
    };
    // The nearness of all seeds is measured first; then each step may use a part of what is left.
    let left = limits.left(*passes).saturating_sub(setting.seeds.len());
    let least = |parts: usize| match parts {
        0..=1 => 0,
        _ if parts <= TOGETHER_AT_LEAST => 4 * (LEAST + STEP),
        _ => ENOUGH,
    };
    while left / batches.len() < least(batches.len()) {
        batches.pop();
    }
    let share = left / batches.len();
    let maximum = (share / 4).min(MAX);
    if maximum < LEAST {
        return None;
    }
    let seeds: Vec<&[f32]> = setting.seeds.iter().collect();
    let origins: Vec<Origin<'_>> = seeds.iter().map(Origin::seed).collect();
    let objectives: Vec<Vec<Objective>> = batches.iter().map(|b| b.objectives(pairs)).collect();
    let objectives: Vec<&[Objective]> = objectives.iter().map(Vec::as_slice).collect();
    // What a step may take beyond its number is kept back, so that limits hold.
    let each = share.saturating_sub(maximum + STEP);
    let all = each
        .saturating_mul(batches.len())
        .saturating_add(seeds.len());
    let mut result = Proposals {
        tried: batches.into_iter().flat_map(|batch| batch.slots).collect(),
        ..Proposals::default()
    };
    let goal = setting.goal(&objectives, &origins);
    let report = match supporting(&goal) {
        Ok(engine) => engine.search(&goal, &limits.budget(Some(all), Some(maximum))),
        Err(reason) => {
            result.reasons.push(reason.to_string());
            return Some(result);
        }
    };
    passes.spend(report.effort);
    let proposals = report.found.into_iter();
    let proposals = proposals.map(|found| proposal(&result.tried, found));
    result.pairs = proposals.collect();
    Some(result)
}

/// What was found, with its pairs numbered as requirements.
fn proposal(slots: &[Slot], found: Found) -> PairProposal {
    let pairs = found.witnesses.iter().filter_map(|witness| {
        let [first, second] = witness.tests[..] else {
            return None;
        };
        Some((slots[witness.objective], first, second))
    });
    PairProposal {
        root: found.origin,
        pairs: pairs.collect(),
        tests: found.tests,
    }
}

/// Pairs to search for.
struct Batch {
    group: usize,
    slots: Vec<Slot>,
}

impl Batch {
    fn objectives(&self, pairs: &dyn Pairs) -> Vec<Objective> {
        let slots = self.slots.iter();
        let pair = |slot: &Slot| pairs.requirement(self.group, slot.slot as usize);
        slots.map(pair).map(Objective::PairOfChanges).collect()
    }
}

/// The groups of pairs, cheapest first: every sign of the conditions' layer that must stay is a row of the programs.
fn by_cost<'a>(setting: &StageSetting<'a>) -> Vec<(usize, &'a dyn Pairs)> {
    let (family, layers) = (setting.context.family, setting.context.network.layers());
    let groups = 0..family.groups().len();
    let mut groups: Vec<(usize, &dyn Pairs)> = groups
        .filter_map(|group| Some((group, family.pairs(group)?)))
        .collect();
    groups.sort_by_key(|(group, pairs)| layers[pairs.layers(*group).0].neurons());
    groups
}

/// The next open pairs nobody aimed at: those of decisions that share their conditions, so that a
/// test made for one serves the others. Decisions take turns: a short run then has something to say of every decision,
/// and not everything of the first ones.
fn next(setting: &StageSetting<'_>, tried: &[BitSet]) -> Option<Batch> {
    let (network, open) = (setting.context.network, setting.context.open);
    let (group, pairs, waiting) = by_cost(setting).into_iter().find_map(|(group, pairs)| {
        let waiting = open[group].without(&tried[group]);
        (waiting.count() > 0).then_some((group, pairs, waiting))
    })?;
    let (before, layer) = pairs.layers(group);
    let turn = Turn {
        pairs,
        group,
        waiting: &waiting,
        tried: &tried[group],
    };
    let (decision, start) = turn.next(network.layers()[layer].neurons())?;
    let conditions = network.conditions(before, layer, decision);
    let conditions = &conditions[conditions.partition_point(|&c| c < start)..];
    let decisions = turn.with_it(decision, start);
    // A first round is short, so that a short run has something to show.
    let done: usize = tried.iter().map(BitSet::count).sum();
    let pairs_at_once = done.clamp(FIRST, BATCH);
    let maximum = (pairs_at_once / decisions.len().max(1)).max(1);
    let mut batch = Batch {
        group,
        slots: Vec::new(),
    };
    for &condition in conditions.iter().take(maximum) {
        for &decision in &decisions {
            if let Some(slot) = turn.waits(condition, decision) {
                batch.slots.push(Slot {
                    group: group as u32,
                    slot: slot as u32,
                });
            }
        }
    }
    Some(batch)
}

/// Whose turn it is among the decisions of a group.
struct Turn<'a> {
    pairs: &'a dyn Pairs,
    group: usize,
    /// Open pairs nobody aimed at.
    waiting: &'a BitSet,
    tried: &'a BitSet,
}

impl Turn<'_> {
    /// The first of the decisions that were aimed at least, and its first condition that waits.
    fn next(&self, decisions: usize) -> Option<(usize, usize)> {
        let waits = |&decision: &usize| {
            let slots = self.pairs.slots(self.group, decision);
            self.waiting.has_any(slots.start, slots.end)
        };
        let decision = (0..decisions)
            .filter(waits)
            .min_by_key(|&decision| self.times(decision))?;
        let mut slots = self.pairs.slots(self.group, decision);
        let first = slots.find(|&slot| self.waiting.contains(slot))?;
        Some((decision, self.pairs.neurons(self.group, first).0))
    }

    /// Decisions with the same conditions that wait for this one too, those that were aimed at least.
    fn with_it(&self, decision: usize, condition: usize) -> Vec<usize> {
        let mut decisions = self.pairs.alike(self.group, decision);
        decisions.retain(|&other| self.waits(condition, other).is_some());
        decisions.sort_by_key(|&other| self.times(other));
        decisions.truncate(DECISIONS);
        decisions
    }

    /// The slot of a pair that waits.
    fn waits(&self, condition: usize, decision: usize) -> Option<usize> {
        let slot = self.pairs.slot(self.group, condition, decision)?;
        self.waiting.contains(slot).then_some(slot)
    }

    /// How many pairs of a decision were aimed at.
    fn times(&self, decision: usize) -> usize {
        let slots = self.pairs.slots(self.group, decision);
        self.tried.count_between(slots.start, slots.end)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use deepconcolic_criteria::{Change, Changing, Kept, PairRequirement};

    use super::*;

    const CONDITIONS: usize = 3;
    const MANY: usize = 2 * DECISIONS;

    /// Every decision depends on every condition.
    struct Full;

    impl Pairs for Full {
        fn changes(&self) -> (Change, Change) {
            (Change::Sign, Change::Sign)
        }
        fn layers(&self, _: usize) -> (usize, usize) {
            (0, 1)
        }
        fn neurons(&self, _: usize, slot: usize) -> (usize, usize) {
            (slot % CONDITIONS, slot / CONDITIONS)
        }
        fn requirement(&self, group: usize, slot: usize) -> PairRequirement {
            let (condition, decision) = self.neurons(group, slot);
            let changing = |layer: usize, neuron: usize| Changing {
                layer,
                neuron,
                change: Change::Sign,
            };
            PairRequirement {
                condition: changing(0, condition),
                decision: changing(1, decision),
                kept: Kept::Layer(CONDITIONS),
            }
        }
        fn alike(&self, _: usize, _: usize) -> Vec<usize> {
            (0..MANY).collect()
        }
        fn slots(&self, _: usize, decision: usize) -> Range<usize> {
            decision * CONDITIONS..(decision + 1) * CONDITIONS
        }
        fn slot(&self, _: usize, condition: usize, decision: usize) -> Option<usize> {
            Some(decision * CONDITIONS + condition)
        }
    }

    #[test]
    fn every_decision_is_aimed_at_before_any_is_aimed_at_again() {
        let mut tried = BitSet::new(MANY * CONDITIONS);
        let mut turns = Vec::new();
        loop {
            let waiting = tried.complement();
            let turn = Turn {
                pairs: &Full,
                group: 0,
                waiting: &waiting,
                tried: &tried,
            };
            let Some((decision, condition)) = turn.next(MANY) else {
                break;
            };
            let decisions = turn.with_it(decision, condition);
            assert!(decisions.contains(&decision));
            let slots = decisions.iter().map(|&j| turn.waits(condition, j).unwrap());
            let slots: Vec<usize> = slots.collect();
            for slot in slots {
                tried.insert(slot);
            }
            turns.push((condition, decisions));
        }
        assert_eq!(tried.count(), MANY * CONDITIONS);
        let expected: Vec<(usize, Vec<usize>)> = (0..CONDITIONS)
            .flat_map(|c| {
                [
                    (c, (0..DECISIONS).collect()),
                    (c, (DECISIONS..MANY).collect()),
                ]
            })
            .collect();
        assert_eq!(turns, expected);
    }
}
