//! Pairs of inputs that a proof finds meet what is asked as it rounds here. From where they lie, the engines
//! search on until every sign that matters is clear of rounding.

use deepconcolic_campaign::FoundPair;
use deepconcolic_criteria::{Objective, Pairs};
use deepconcolic_engines::{Budget, Goal, Margin, Origin, supporting};

use super::work::Work;

/// Passes that one pair may cost.
const EACH: usize = 400;

impl Work<'_> {
    /// Pairs that are clearer than those found, each before the one it was made from: of two that meet
    /// the same, the suite takes the first that is clear.
    pub fn firmer(&self, found: Vec<FoundPair>) -> Vec<FoundPair> {
        let mut all = Vec::with_capacity(found.len());
        for pair in found {
            let pairs = self.stage.family.pairs(pair.slot.group as usize);
            if let Some(pairs) = pairs.filter(|_| !self.is_over()) {
                all.extend(self.both_ends_firmer(pairs, &pair));
            }
            all.push(pair);
        }
        all
    }

    fn both_ends_firmer(&self, pairs: &dyn Pairs, found: &FoundPair) -> Vec<FoundPair> {
        let (group, slot) = (found.slot.group as usize, found.slot.slot as usize);
        let pair = Objective::PairOfChanges(pairs.requirement(group, slot));
        let budget = Budget {
            attempt: Some(EACH),
            deadline: self.stage.deadline,
            cancel: self.limits.interrupt,
            ..Budget::default()
        };
        let seed = self.stage.seeds.input(found.root);
        let from = |start: &Vec<f32>| {
            // A box belongs to no seed; it is the one that the start lies in.
            let root = if self.stage.space.holds_seeds() {
                seed
            } else {
                start
            };
            let goal = Goal {
                network: self.stage.network,
                objectives: &[std::slice::from_ref(&pair)],
                origins: &[Origin {
                    root,
                    starts: &[start],
                }],
                space: self.stage.space,
                means: self.stage.means.layers(),
                margin: Margin::default(),
                rng_seed: 0,
            };
            let report = supporting(&goal).ok()?.search(&goal, &budget);
            let (made, witness) = report.witness()?;
            let [first, second] = made.inputs(witness)[..] else {
                return None;
            };
            Some(FoundPair {
                slot: found.slot,
                inputs: [first.to_vec(), second.to_vec()],
                root: found.root,
            })
        };
        found.inputs.iter().filter_map(from).collect()
    }
}
