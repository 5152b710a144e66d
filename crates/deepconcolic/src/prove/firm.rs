//! Pairs of inputs that a proof finds meet what is asked as it rounds here. From where they lie, the engines
//! search on until every sign that matters is clear of rounding.

use deepconcolic_campaign::FoundPair;
use deepconcolic_criteria::Pairs;
use deepconcolic_engines::{Margin, PairSearch};
use deepconcolic_geometry::Extent;

use super::work::Work;

/// Passes that one pair may cost.
const EACH: usize = 400;

impl Work<'_> {
    /// Pairs that are clearer than those found, each before the one it was made from: of two that meet
    /// the same, the suite takes the first that is clear.
    pub fn firmer(&self, found: Vec<FoundPair>) -> Vec<FoundPair> {
        let Some(pairs) = self.stage.family.pairs() else {
            return found;
        };
        let mut all = Vec::with_capacity(found.len());
        for pair in found {
            if !self.is_over() {
                all.extend(self.both_ends_firmer(pairs, &pair));
            }
            all.push(pair);
        }
        all
    }

    fn both_ends_firmer(&self, pairs: &dyn Pairs, found: &FoundPair) -> Vec<FoundPair> {
        let (group, slot) = (found.slot.group as usize, found.slot.slot as usize);
        let (before, layer) = pairs.layers(group);
        let (condition, decision) = pairs.changes();
        let search = PairSearch {
            network: self.stage.network,
            before,
            layer,
            condition,
            decision,
            scope: pairs.scope(),
            space: self.stage.space,
            means: self.stage.means.layers(),
            margin: Margin::default(),
            most: Some(EACH),
        };
        let (i, j) = pairs.neurons(group, slot);
        let seed = self.stage.seeds.input(found.root);
        let from = |start: &Vec<f32>| {
            // A box belongs to no seed; it is the one that the start lies in.
            let root = match self.stage.space.extent {
                Extent::Boxes(_) => start,
                Extent::Balls(_) | Extent::Domain => seed,
            };
            let harvest = search.meeting(root, start, i, j).ok()?;
            let made = harvest.pairs.first()?;
            Some(FoundPair {
                slot: found.slot,
                inputs: [made.first, made.second].map(|test| harvest.tests[test].clone()),
                root: found.root,
            })
        };
        found.inputs.iter().filter_map(from).collect()
    }
}
