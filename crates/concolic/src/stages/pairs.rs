//! Pairs of neurons: the engines search two tests for each, many pairs at a time.

use std::ops::ControlFlow;

use deepconcolic_check::Slot;
use deepconcolic_engines::{Harvest, Margin, PairLimits, PairSearch};
use deepconcolic_spec::criteria::Pairs;

use super::{PairProposal, Progress, Setting, Yield};
use crate::limits::{Limits, Passes};

/// Pairs of neurons in a round, at most: what a few seconds are enough for.
const BATCH: usize = 600;
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
    let Some(batch) = next(setting, progress, pairs) else {
        return Some(Yield::default());
    };
    // The nearness of all seeds is measured first; then each step may use a part of what is left.
    let left = limits.left(*passes).saturating_sub(setting.seeds.len());
    let most = (left / 4).min(MOST);
    if most < LEAST {
        return None;
    }
    let (before, layer) = pairs.layers(batch.group);
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
    let mut result = Yield::default();
    let mut hear = |root: usize, harvest: Harvest| {
        passes.spend(harvest.effort);
        if !harvest.pairs.is_empty() {
            let slots = harvest.pairs.iter().filter_map(|pair| {
                let slot = pairs.slot(batch.group, pair.condition, pair.decision)?;
                let slot = Slot {
                    group: batch.group as u32,
                    slot: slot as u32,
                };
                Some((slot, pair.first, pair.second))
            });
            result.pairs.push(PairProposal {
                root,
                pairs: slots.collect(),
                tests: harvest.tests,
            });
        }
        if limits.is_over() || limits.left(*passes) < most + STEP {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let ended = search.cover(&seeds, &batch.open, PairLimits::default(), &mut hear);
    if let Err(reason) = ended {
        result.reasons.push(reason.to_string());
    }
    result.tried = batch.slots;
    Some(result)
}

/// Pairs to search for.
struct Batch {
    group: usize,
    open: Vec<(usize, usize)>,
    slots: Vec<Slot>,
}

/// The next open pairs nobody aimed at: those of decisions that share their conditions, so that a
/// test made for one serves the others.
fn next(setting: &Setting<'_>, progress: &Progress, pairs: &dyn Pairs) -> Option<Batch> {
    let open = setting.ground.open;
    let (group, first) = open
        .iter()
        .zip(&progress.tried)
        .enumerate()
        .find_map(|(group, (open, tried))| Some((group, open.without(tried).iter().next()?)))?;
    let waits = |condition: usize, decision: usize| {
        let slot = pairs.slot(group, condition, decision)?;
        let wanted = open[group].contains(slot) && !progress.tried[group].contains(slot);
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
    let most = (BATCH / decisions.len().max(1)).max(1);
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
