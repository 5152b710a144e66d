//! Covering many pairs of neurons from many seeds: crossings while one solve closes several pairs,
//! meetings for what is left.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use deepconcolic_criteria::Change;
use rayon::prelude::*;

use crate::goal::{Effort, Reason};
use crate::nearness::Nearness;
use crate::pairs::{Harvest, PairSearch};

/// How much is tried.
#[derive(Clone, Copy)]
pub struct PairLimits<'a> {
    /// Seeds that crossings are made round, for each group of decisions with the same conditions.
    pub crossings: usize,
    /// Seeds that a single pair is tried from.
    pub meetings: usize,
    /// Passes through the network after which a part ends, at its next crossing or meeting.
    pub passes: usize,
    /// Whether to end at once, whatever was asked.
    pub over: &'a (dyn Fn() -> bool + Sync),
}

impl Default for PairLimits<'_> {
    fn default() -> Self {
        Self {
            crossings: 8,
            meetings: 5,
            passes: usize::MAX,
            over: &|| false,
        }
    }
}

/// What was found, with the number of the seed that is the root of its tests.
pub type Rooted = (usize, Harvest);

/// What hears of a harvest, and may stop the search.
type Hear<'a> = dyn FnMut(usize, Harvest) -> ControlFlow<()> + 'a;

/// Crossings must close this many pairs per program solved to be worth more than meetings.
const WORTHWHILE: usize = 1;

/// Decisions that depend on the same conditions, with what is still open of them.
struct Block {
    conditions: Vec<usize>,
    decisions: Vec<usize>,
    open: Vec<(usize, usize)>,
}

impl PairSearch<'_> {
    /// Searches tests for pairs (condition, decision), in parts that are worked on side by side. A part
    /// knows nothing of the others, so what it finds does not depend on how many threads there are.
    /// Harvests come part by part; those in which nothing was found are among them, since their effort
    /// counts.
    pub fn cover(
        &self,
        seeds: &[&[f32]],
        parts: &[Vec<(usize, usize)>],
        limits: PairLimits<'_>,
    ) -> Result<Vec<Rooted>, Reason> {
        let all = |pick: fn(&(usize, usize)) -> usize| {
            let mut neurons: Vec<usize> = parts.iter().flatten().map(pick).collect();
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
        let preparation = Harvest {
            effort,
            ..Harvest::default()
        };
        let mut harvests = vec![(0, preparation)];
        let found: Vec<Result<Vec<Rooted>, Reason>> = parts
            .par_iter()
            .map(|part| self.cover_part(part, seeds, &nearness, limits))
            .collect();
        for part in found {
            harvests.append(&mut part?);
        }
        Ok(harvests)
    }

    fn cover_part(
        &self,
        open: &[(usize, usize)],
        seeds: &[&[f32]],
        nearness: &Nearness,
        limits: PairLimits<'_>,
    ) -> Result<Vec<Rooted>, Reason> {
        let mut harvests = Vec::new();
        let mut spent = Effort::default();
        let mut hear = |root: usize, harvest: Harvest| {
            spent += harvest.effort;
            harvests.push((root, harvest));
            if (limits.over)() || spent.reaches(Some(limits.passes)) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let mut worthwhile = (self.condition, self.decision) == (Change::Sign, Change::Sign);
        for mut block in blocks(open) {
            if worthwhile {
                match self.cross_block(&mut block, seeds, nearness, limits, &mut hear)? {
                    ControlFlow::Continue(()) => {}
                    ControlFlow::Break(Ended::NotWorthwhile) => worthwhile = false,
                    ControlFlow::Break(Ended::Stopped) => break,
                }
            }
            let met = self.meet_block(&mut block, seeds, nearness, limits, &mut hear)?;
            if met.is_break() {
                break;
            }
        }
        Ok(harvests)
    }

    fn cross_block(
        &self,
        block: &mut Block,
        seeds: &[&[f32]],
        nearness: &Nearness,
        limits: PairLimits<'_>,
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
        limits: PairLimits<'_>,
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
