//! Covering many pairs of neurons from many seeds: crossings while one solve closes several pairs,
//! meetings for what is left.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use deepconcolic_spec::criteria::Change;

use crate::goal::{Effort, Reason};
use crate::nearness::Nearness;
use crate::pairs::{Harvest, PairSearch};

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairLimits {
    /// Seeds that crossings are made round, for each group of decisions with the same conditions.
    pub crossings: usize,
    /// Seeds that a single pair is tried from.
    pub meetings: usize,
}

impl Default for PairLimits {
    fn default() -> Self {
        Self {
            crossings: 8,
            meetings: 5,
        }
    }
}

/// What a caller hears of: the number of the seed that is the root of these tests, and the harvest.
pub type Hear<'a> = dyn FnMut(usize, Harvest) -> ControlFlow<()> + 'a;

/// Crossings must close this many pairs per program solved to be worth more than meetings.
const WORTHWHILE: usize = 1;

/// Decisions that depend on the same conditions, with what is still open of them.
struct Block {
    conditions: Vec<usize>,
    decisions: Vec<usize>,
    open: Vec<(usize, usize)>,
}

impl PairSearch<'_> {
    /// Searches tests for these pairs (condition, decision). Every harvest is handed to `hear`, which
    /// may stop the search; harvests in which nothing was found are handed over too, since their effort
    /// counts. Returns the pairs that are still open.
    pub fn cover(
        &self,
        seeds: &[&[f32]],
        open: &[(usize, usize)],
        limits: PairLimits,
        hear: &mut Hear<'_>,
    ) -> Result<Vec<(usize, usize)>, Reason> {
        let mut blocks = blocks(open);
        let all = |pick: fn(&(usize, usize)) -> usize| {
            let mut neurons: Vec<usize> = open.iter().map(pick).collect();
            neurons.sort_unstable();
            neurons.dedup();
            neurons
        };
        let mut effort = Effort::default();
        let nearness = Nearness::measure(
            self.network,
            seeds,
            (self.before, all(|pair| pair.0)),
            (self.layer, all(|pair| pair.1)),
            &mut effort,
        );
        let empty = Harvest {
            effort,
            ..Harvest::default()
        };
        let mut stopped = hear(0, empty).is_break();
        let mut worthwhile = (self.condition, self.decision) == (Change::Sign, Change::Sign);
        for block in &mut blocks {
            if worthwhile && !stopped {
                let flow = self.cross_block(block, seeds, &nearness, limits, hear)?;
                worthwhile = flow.is_continue();
                stopped = flow == ControlFlow::Break(Ended::Stopped);
            }
            if !stopped {
                stopped = self
                    .meet_block(block, seeds, &nearness, limits, hear)?
                    .is_break();
            }
        }
        Ok(blocks.into_iter().flat_map(|block| block.open).collect())
    }

    fn cross_block(
        &self,
        block: &mut Block,
        seeds: &[&[f32]],
        nearness: &Nearness,
        limits: PairLimits,
        hear: &mut Hear<'_>,
    ) -> Result<ControlFlow<Ended>, Reason> {
        let roots = nearness.central(&block.conditions, &block.decisions);
        for root in roots.into_iter().take(limits.crossings) {
            let (conditions, decisions) = block.neurons_open();
            if block.open.len() < 2 * (conditions.len() + decisions.len()) {
                return Ok(ControlFlow::Continue(()));
            }
            let open = &block.open;
            let is_open = |i, j| open.binary_search(&(i, j)).is_ok();
            let harvest = self.crossing(seeds[root], &conditions, &decisions, &is_open)?;
            let worthwhile = harvest.pairs.len() >= WORTHWHILE * harvest.effort.lp;
            block.close(&harvest);
            if hear(root, harvest).is_break() {
                return Ok(ControlFlow::Break(Ended::Stopped));
            }
            if !worthwhile {
                return Ok(ControlFlow::Break(Ended::NotWorthwhile));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn meet_block(
        &self,
        block: &mut Block,
        seeds: &[&[f32]],
        nearness: &Nearness,
        limits: PairLimits,
        hear: &mut Hear<'_>,
    ) -> Result<ControlFlow<()>, Reason> {
        for (condition, decision) in block.open.clone() {
            for root in nearness.seeds_for(condition, decision, limits.meetings) {
                let harvest = self.meeting(seeds[root], seeds[root], condition, decision)?;
                let found = !harvest.pairs.is_empty();
                block.close(&harvest);
                if hear(root, harvest).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                if found {
                    break;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Why crossings ended early.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    /// The caller said so.
    Stopped,
    /// They close too few pairs.
    NotWorthwhile,
}

impl Block {
    /// The conditions and decisions with open pairs.
    fn neurons_open(&self) -> (Vec<usize>, Vec<usize>) {
        let still = |neurons: &[usize], pick: fn(&(usize, usize)) -> usize| {
            let mut open: Vec<usize> = self.open.iter().map(pick).collect();
            open.sort_unstable();
            open.dedup();
            neurons
                .iter()
                .copied()
                .filter(|n| open.binary_search(n).is_ok())
                .collect()
        };
        (
            still(&self.conditions, |pair| pair.0),
            still(&self.decisions, |pair| pair.1),
        )
    }

    fn close(&mut self, harvest: &Harvest) {
        let mut found: Vec<(usize, usize)> = harvest
            .pairs
            .iter()
            .map(|pair| (pair.condition, pair.decision))
            .collect();
        found.sort_unstable();
        self.open.retain(|pair| found.binary_search(pair).is_err());
    }
}

/// Decisions by their open conditions, in the order of the first decision of each.
fn blocks(open: &[(usize, usize)]) -> Vec<Block> {
    let mut conditions: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &(condition, decision) in open {
        conditions.entry(decision).or_default().push(condition);
    }
    let mut place: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut blocks: Vec<Block> = Vec::new();
    for (decision, mut conditions) in conditions {
        conditions.sort_unstable();
        conditions.dedup();
        let at = *place.entry(conditions.clone()).or_insert_with(|| {
            blocks.push(Block {
                conditions,
                decisions: Vec::new(),
                open: Vec::new(),
            });
            blocks.len() - 1
        });
        blocks[at].decisions.push(decision);
    }
    for block in &mut blocks {
        let decisions = &block.decisions;
        let pairs = block
            .conditions
            .iter()
            .flat_map(|&i| decisions.iter().map(move |&j| (i, j)));
        block.open = pairs.collect();
    }
    blocks
}
