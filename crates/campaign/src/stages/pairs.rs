//! Pairs of neurons: the engines search two tests for each, many pairs at a time.

use deepconcolic_check::Slot;
use deepconcolic_criteria::Pairs;
use deepconcolic_engines::{Harvest, Margin, PairLimits, PairSearch};
use deepconcolic_network::BitSet;

use super::{PairProposal, Progress, Setting, Yield};
use crate::limits::{Limits, Passes};

/// Parts of a round, worked on side by side: always as many, so that a run does not depend on the number
/// of threads.
const TOGETHER: usize = 4;
/// Pairs of neurons in a part, at most: what a second or two are enough for.
const BATCH: usize = 600;
/// The same of the first part.
const FIRST: usize = 20;
/// Decisions among them.
const DECISIONS: usize = 40;
/// Passes of a step, at most, and the least that is of any use.
const MOST: usize = 20_000;
const LEAST: usize = 100;
/// Passes that a step may make beyond the number it is given (rows of one solve, a run), and for its
/// tests to be confirmed.
const STEP: usize = 400;

/// Tests for the next pairs in line. No pair tried means that all were.
pub(super) fn propose(
    setting: &Setting<'_>,
    progress: &Progress,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Yield> {
    let Some(pairs) = setting.ground.family.pairs() else {
        return Some(Yield::default());
    };
    let mut tried = progress.tried.clone();
    let mut batches: Vec<Batch> = Vec::new();
    while batches.len() < TOGETHER {
        let Some(batch) = next(setting, &tried, pairs) else {
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
    let Some(group) = batches.first().map(|batch| batch.group) else {
        return Some(Yield::default());
    };
    // The nearness of all seeds is measured first; then each step may use a part of what is left.
    let left = limits.left(*passes).saturating_sub(setting.seeds.len());
    while batches.len() > 1 && left / batches.len() < 4 * (LEAST + STEP) {
        batches.pop();
    }
    let share = left / batches.len();
    let most = (share / 4).min(MOST);
    if most < LEAST {
        return None;
    }
    let (before, layer) = pairs.layers(group);
    let (condition, decision) = pairs.changes();
    let search = PairSearch {
        network: setting.ground.network,
        before,
        layer,
        condition,
        decision,
        scope: pairs.scope(),
        space: setting.space,
        means: setting.ground.means.layers(),
        margin: Margin::default(),
        most: Some(most),
    };
    let seeds: Vec<&[f32]> = setting.seeds.iter().collect();
    let parts: Vec<Vec<(usize, usize)>> = batches.iter().map(|b| b.open.clone()).collect();
    let over = || limits.is_over();
    let limits = PairLimits {
        passes: share.saturating_sub(most + STEP),
        over: &over,
        ..PairLimits::default()
    };
    let mut result = Yield {
        tried: batches.into_iter().flat_map(|batch| batch.slots).collect(),
        ..Yield::default()
    };
    match search.cover(&seeds, &parts, limits) {
        Ok(harvests) => {
            for (root, harvest) in harvests {
                passes.spend(harvest.effort);
                result.pairs.extend(proposal(pairs, group, root, harvest));
            }
        }
        Err(reason) => result.reasons.push(reason.to_string()),
    }
    Some(result)
}

/// A harvest with its pairs numbered as requirements, unless it is empty.
fn proposal(
    pairs: &dyn Pairs,
    group: usize,
    root: usize,
    harvest: Harvest,
) -> Option<PairProposal> {
    let slots = harvest.pairs.iter().filter_map(|pair| {
        let slot = pairs.slot(group, pair.condition, pair.decision)?;
        let slot = Slot {
            group: group as u32,
            slot: slot as u32,
        };
        Some((slot, pair.first, pair.second))
    });
    let slots: Vec<_> = slots.collect();
    (!slots.is_empty()).then_some(PairProposal {
        root,
        pairs: slots,
        tests: harvest.tests,
    })
}

/// Pairs to search for.
struct Batch {
    group: usize,
    open: Vec<(usize, usize)>,
    slots: Vec<Slot>,
}

/// The next open pairs nobody aimed at: those of decisions that share their conditions, so that a
/// test made for one serves the others.
fn next(setting: &Setting<'_>, tried: &[BitSet], pairs: &dyn Pairs) -> Option<Batch> {
    let open = setting.ground.open;
    let (group, first) = open
        .iter()
        .zip(tried)
        .enumerate()
        .find_map(|(group, (open, tried))| Some((group, open.without(tried).iter().next()?)))?;
    let waits = |condition: usize, decision: usize| {
        let slot = pairs.slot(group, condition, decision)?;
        let wanted = open[group].contains(slot) && !tried[group].contains(slot);
        wanted.then_some(slot)
    };
    let (start, decision) = pairs.neurons(group, first);
    let (before, layer) = pairs.layers(group);
    let conditions = setting.ground.network.conditions(before, layer, decision);
    let conditions = &conditions[conditions.partition_point(|&c| c < start)..];
    let decisions: Vec<usize> = pairs
        .alike(group, decision)
        .into_iter()
        .filter(|&j| waits(start, j).is_some())
        .take(DECISIONS)
        .collect();
    // A first round is short, so that a short run has something to show.
    let done: usize = tried.iter().map(BitSet::count).sum();
    let pairs_at_once = done.clamp(FIRST, BATCH);
    let most = (pairs_at_once / decisions.len().max(1)).max(1);
    let mut batch = Batch {
        group,
        open: Vec::new(),
        slots: Vec::new(),
    };
    for &condition in conditions.iter().take(most) {
        for &decision in &decisions {
            if let Some(slot) = waits(condition, decision) {
                batch.open.push((condition, decision));
                batch.slots.push(Slot {
                    group: group as u32,
                    slot: slot as u32,
                });
            }
        }
    }
    Some(batch)
}
