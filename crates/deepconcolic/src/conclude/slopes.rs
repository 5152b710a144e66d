//! What a run says of slopes, region by region: the steepest pair, the certified bound, and what random pairs
//! reach. `run` writes what this says; `check` computes it again from the tests that a folder names.

use deepconcolic_campaign::Seeds;
use deepconcolic_check::certain_ratio;
use deepconcolic_criteria::{Family, Objective, Ratio};
use deepconcolic_engines::{Budget, Goal, Margin, Origin, named};
use deepconcolic_geometry::{Random, SearchSpace};
use deepconcolic_network::Network;
use deepconcolic_record::SlopeSummary;
use rayon::prelude::*;

use crate::prove::SlopeBounds;

/// Most random pairs a region that are drawn for comparison.
pub const RANDOM_PAIRS: usize = 1000;

/// The regions of a run.
#[derive(Clone, Copy)]
pub struct Regions<'a> {
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub space: &'a SearchSpace,
    pub seeds: &'a Seeds,
    pub rng_seed: u64,
}

/// Two tests of a region, by number, and how steep the network is between them.
pub type FoundSlope = Option<(u32, u32, f64)>;

impl Regions<'_> {
    /// The slots of the regions that are required, if the family is one of ratios.
    pub fn slots(&self) -> Vec<usize> {
        let groups = self.family.groups();
        match (self.family.ratios(), groups.first()) {
            (Some(_), Some(group)) => group.not_required.complement().iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The largest ratio of so many random pairs, for each region.
    pub fn random(&self, pairs: usize) -> Vec<Option<f64>> {
        let slots = self.slots();
        slots
            .par_iter()
            .map(|&slot| self.random_of(slot, pairs))
            .collect()
    }

    /// The largest ratio of so many random pairs of one region.
    pub fn random_of(&self, slot: usize, pairs: usize) -> Option<f64> {
        let ratios = self.family.ratios()?;
        let ratio = Ratio {
            // Not only until one is steep enough.
            constant: None,
            ..ratios.ratio(slot)
        };
        let root = ratios.seed(slot).unwrap_or(slot % self.seeds.len().max(1));
        let root = self.seeds.input(root);
        let objective = Objective::Ratio(ratio.clone());
        let goal = Goal {
            network: self.network,
            objectives: &[std::slice::from_ref(&objective)],
            origins: &[Origin::seed(&root)],
            space: self.space,
            means: &[],
            margin: Margin::default(),
            rng_seed: Random::of(&[self.rng_seed, slot as u64]).below(usize::MAX) as u64,
        };
        let budget = Budget {
            passes: Some(2 * pairs),
            ..Budget::default()
        };
        let report = named("random")?.search(&goal, &budget);
        let (found, witness) = report.witness()?;
        let inputs = found.inputs(witness);
        certain_ratio(
            self.network,
            &ratio,
            [inputs[0], inputs[1]],
            &self.space.units,
        )
    }

    /// What is known of every region, given what was found, proven and drawn.
    pub fn summaries(
        &self,
        found: &dyn Fn(usize) -> FoundSlope,
        bounds: &SlopeBounds,
        random: &[Option<f64>],
    ) -> Vec<SlopeSummary> {
        let Some(ratios) = self.family.ratios() else {
            return Vec::new();
        };
        let slots = self.slots().into_iter().enumerate();
        let summary = |(number, slot): (usize, usize)| {
            let (found, bound) = (found(slot), bounds.get(&slot));
            let test = |pick: fn((u32, u32, f64)) -> u32| found.map_or(-1, |f| i64::from(pick(f)));
            SlopeSummary {
                region: self.family.label(0, slot),
                root: ratios.seed(slot).map(|seed| self.seeds.index(seed)),
                constant: ratios.ratio(slot).constant,
                found: found.map(|(_, _, ratio)| ratio),
                test: test(|f| f.0),
                test2: test(|f| f.1),
                upper: bound.map(|bound| bound.upper),
                certificate: bound.map_or(-1, |bound| i64::from(bound.certificate)),
                random: random.get(number).copied().flatten(),
            }
        };
        slots.map(summary).collect()
    }
}

/// The share of regions whose constant random pairs exceed; none where there is no constant.
pub fn random_share(regions: &[SlopeSummary]) -> Option<f64> {
    let refuted = |region: &SlopeSummary| Some(region.random? > region.constant?);
    let constant = regions.iter().all(|region| region.constant.is_some());
    let count = regions.iter().filter(|r| refuted(r) == Some(true)).count();
    (constant && !regions.is_empty()).then(|| count as f64 / regions.len() as f64)
}
