//! Covering many pairs of neurons from many seeds: crossings while one solve closes several pairs,
//! meetings for what is left.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use deepconcolic_criteria::{Change, PairRequirement};
use rayon::prelude::*;

use crate::budget::{Budget, Effort, StopReason};
use crate::goal::Reason;
use crate::nearness::Nearness;
use crate::pairs::{PairSearch, PairsFound};

/// Origins that crossings are made round, for each group of decisions with the same conditions.
const CROSSINGS: usize = 8;
/// Origins that a single pair is tried from.
const MEETINGS: usize = 5;

/// What was found, with the number of the origin that its tests lie round.
pub(crate) type Rooted = (usize, PairsFound);

/// What came of the pairs of one part.
pub(crate) struct Covered {
    /// Harvests in which nothing was found are among them, since their effort counts.
    pub harvests: Vec<Rooted>,
    pub stop: StopReason,
}

/// Pairs that are searched for together, by condition and decision.
pub(crate) type Part<'a> = BTreeMap<(usize, usize), &'a PairRequirement>;

/// What hears of a harvest, and may stop the search.
type Hear<'a> = dyn FnMut(usize, PairsFound) -> ControlFlow<()> + 'a;

/// Crossings must close this many pairs per program solved to be worth more than meetings.
const WORTHWHILE: usize = 1;

/// Decisions that depend on the same conditions, with what is still open of them.
struct Block {
    conditions: Vec<usize>,
    decisions: Vec<usize>,
    open: Vec<(usize, usize)>,
}

impl PairSearch<'_> {
    /// How near the neurons of all pairs are to 0 at the origins.
    pub fn nearness(&self, parts: &[Part<'_>], effort: &mut Effort) -> Nearness {
        let all = |pick: fn(&(usize, usize)) -> usize| {
            let pairs = parts.iter().flat_map(BTreeMap::keys);
            let mut neurons: Vec<usize> = pairs.map(pick).collect();
            neurons.sort_unstable();
            neurons.dedup();
            neurons
        };
        let roots: Vec<&[f32]> = self.goal.origins.iter().map(|o| o.root).collect();
        Nearness::measure(
            self.goal.network,
            &roots,
            (self.before, all(|pair| pair.0)),
            (self.layer, all(|pair| pair.1)),
            effort,
        )
    }

    /// Searches tests for the pairs of all parts, side by side. A part knows nothing of the others and may
    /// take as much as `each` says, so what it finds does not depend on how many threads there are.
    pub fn cover(
        &self,
        parts: &[Part<'_>],
        nearness: &Nearness,
        each: &Budget<'_>,
    ) -> Result<Vec<Covered>, Reason> {
        // Handed out one by one, the largest first: what is left at the end, when threads run out of work, is small.
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|&part| Reverse(parts[part].len()));
        let cover = |part: usize| (part, self.cover_part(&parts[part], nearness, each));
        let mut covered: Vec<_> = order.into_iter().par_bridge().map(cover).collect();
        covered.sort_by_key(|(part, _)| *part);
        covered.into_iter().map(|(_, covered)| covered).collect()
    }

    fn cover_part(
        &self,
        part: &Part<'_>,
        nearness: &Nearness,
        budget: &Budget<'_>,
    ) -> Result<Covered, Reason> {
        let mut harvests = Vec::new();
        let mut spent = Effort::default();
        let mut stop = StopReason::Complete;
        let mut hear = |origin: usize, harvest: PairsFound| {
            spent += harvest.effort;
            harvests.push((origin, harvest));
            match budget.stop(spent) {
                Some(reason) => {
                    stop = reason;
                    ControlFlow::Break(())
                }
                None => ControlFlow::Continue(()),
            }
        };
        let flips = |pair: &&PairRequirement| {
            [pair.condition, pair.decision].map(|of| of.change) == [Change::Sign; 2]
        };
        let mut worthwhile = part.values().all(flips);
        for mut block in blocks(part) {
            if worthwhile {
                match self.cross_block(&mut block, nearness, &mut hear)? {
                    ControlFlow::Continue(()) => {}
                    ControlFlow::Break(Ended::NotWorthwhile) => worthwhile = false,
                    ControlFlow::Break(Ended::Stopped) => break,
                }
            }
            let met = self.meet_block(&mut block, part, nearness, &mut hear)?;
            if met.is_break() {
                break;
            }
        }
        Ok(Covered { harvests, stop })
    }

    fn cross_block(
        &self,
        block: &mut Block,
        nearness: &Nearness,
        hear: &mut Hear<'_>,
    ) -> Result<ControlFlow<Ended>, Reason> {
        let roots = nearness.central(&block.conditions, &block.decisions);
        for root in roots.into_iter().take(CROSSINGS) {
            let (conditions, decisions) = block.neurons_open();
            if block.open.len() < 2 * (conditions.len() + decisions.len()) {
                return Ok(ControlFlow::Continue(()));
            }
            let open = &block.open;
            let is_open = |i, j| open.binary_search(&(i, j)).is_ok();
            let harvest = self.crossing(
                self.goal.origins[root].root,
                &conditions,
                &decisions,
                &is_open,
            )?;
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
        part: &Part<'_>,
        nearness: &Nearness,
        hear: &mut Hear<'_>,
    ) -> Result<ControlFlow<()>, Reason> {
        for pair in block.open.clone() {
            let Some(requirement) = part.get(&pair) else {
                continue;
            };
            for (number, start) in self.starts(nearness, pair) {
                let root = self.goal.origins[number].root;
                let harvest = self.meeting(root, start, requirement)?;
                let found = !harvest.pairs.is_empty();
                block.close(&harvest);
                if hear(number, harvest).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                if found {
                    break;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The starts of the origins that are nearest for a pair.
    fn starts(&self, nearness: &Nearness, pair: (usize, usize)) -> Vec<(usize, &[f32])> {
        let origins = nearness.seeds_for(pair.0, pair.1, MEETINGS).into_iter();
        let starts = |number: usize| {
            let starts = self.goal.origins[number].starts.iter();
            starts.map(move |&start| (number, start))
        };
        origins.flat_map(starts).collect()
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

    fn close(&mut self, harvest: &PairsFound) {
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
fn blocks(part: &Part<'_>) -> Vec<Block> {
    let mut conditions: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &(condition, decision) in part.keys() {
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
