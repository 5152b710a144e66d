//! What a run says of slopes, region by region: the steepest pair, the certified bound, and what random pairs
//! reach. `run` writes what this says; `check` computes it again from the tests that a folder names.

use std::time::Instant;

use deepconcolic_campaign::{Limits, Seeds};
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
/// Random pairs that are drawn to find out what one takes.
const TIMED_PAIRS: usize = 16;

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
    /// The slots of the regions that are required, if ratios are.
    pub fn slots(&self) -> Vec<usize> {
        let Some((group, _)) = self.family.ratios() else {
            return Vec::new();
        };
        let required = self.family.groups()[group].not_required.complement();
        required.iter().collect()
    }

    /// The largest ratio of so many random pairs, for each region; nothing if time was up before all were drawn, since
    /// regions without pairs would look flatter than they are.
    pub fn random(&self, pairs: usize, limits: &Limits<'_>) -> Option<Vec<Option<f64>>> {
        let drawn = self.slots().into_par_iter().map(|slot| {
            limits.check().ok()?;
            Some(self.random_of(slot, pairs))
        });
        drawn.collect()
    }

    /// How many random pairs a region there is time for, of as many as are wanted: the first region is timed.
    pub fn affordable_pairs(&self, wanted: usize, seconds: f64) -> usize {
        let slots = self.slots();
        let Some(&first) = slots.first() else {
            return 0;
        };
        if seconds.is_infinite() {
            return wanted;
        }
        let time_of = |pairs: usize| {
            let started = Instant::now();
            let _ = self.random_of(first, pairs);
            started.elapsed().as_secs_f64()
        };
        let few = time_of(1);
        if few * slots.len() as f64 > seconds * rayon::current_num_threads() as f64 {
            return 0;
        }
        let pair = (time_of(1 + TIMED_PAIRS) - few).max(0.0) / TIMED_PAIRS as f64;
        // Regions are worked on by all threads, as far as that helps: one by one is what is known.
        let region = seconds / slots.len() as f64;
        let fit = 1.0 + ((region - few) / pair).max(0.0);
        wanted.min(fit as usize)
    }

    /// The largest ratio of so many random pairs of one region.
    fn random_of(&self, slot: usize, pairs: usize) -> Option<f64> {
        let (_, ratios) = self.family.ratios()?;
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
        let Some((_, ratios)) = self.family.ratios() else {
            return Vec::new();
        };
        let slots = self.slots().into_iter().enumerate();
        let summary = |(number, slot): (usize, usize)| {
            let (found, bound) = (found(slot), bounds.get(&slot));
            let test = |pick: fn((u32, u32, f64)) -> u32| found.map_or(-1, |f| i64::from(pick(f)));
            SlopeSummary {
                region: ratios.region(slot),
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

/// Whether nothing but ratios is required.
pub fn is_all_ratios(family: &dyn Family) -> bool {
    family.ratios().is_some() && family.groups().len() == 1
}

/// The share of regions whose constant random pairs exceed; none where there is no constant.
pub fn random_share(regions: &[SlopeSummary]) -> Option<f64> {
    let refuted = |region: &SlopeSummary| Some(region.random? > region.constant?);
    let constant = regions.iter().all(|region| region.constant.is_some());
    let count = regions.iter().filter(|r| refuted(r) == Some(true)).count();
    (constant && !regions.is_empty()).then(|| count as f64 / regions.len() as f64)
}
