//! Steep places: for each region the engines search two inputs whose outputs differ most for how far apart they
//! are.

use deepconcolic_check::Slot;
use deepconcolic_criteria::{Objective, Ratios};
use deepconcolic_engines::{Engine, Origin, Report, named};
use deepconcolic_geometry::Random;
use rayon::prelude::*;

use super::{PairProposal, Progress, Proposals, StageSetting, Strategy};
use crate::limits::{Limits, Passes};

/// Regions of a round, searched side by side: always as many, so that a run does not depend on the number of
/// threads.
const TOGETHER: usize = 4;
/// Passes that a pair takes to be confirmed.
const CONFIRM: usize = 4;

/// How a strategy searches: by which engine, and with how many passes a region where nobody limits them.
fn engine(strategy: Strategy) -> (&'static str, usize) {
    match strategy {
        Strategy::Cascade => ("gradient", 2_000),
        Strategy::Paper | Strategy::Published => ("compass", 20_000),
        Strategy::Random => ("random", 20_000),
    }
}

/// Two inputs for each of the next regions in line. No region tried means that all were.
pub(super) fn propose(
    setting: &StageSetting<'_>,
    progress: &Progress,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Proposals> {
    let family = setting.context.family;
    let Some((group, ratios)) = family.ratios() else {
        return Some(Proposals::default());
    };
    let (name, usual) = engine(setting.strategy);
    let engine = named(name)?;
    let waiting = setting.context.open[group].without(&progress.tried[group]);
    let slots: Vec<usize> = waiting.iter().take(TOGETHER).collect();
    if slots.is_empty() {
        return Some(Proposals::default());
    }
    // A limit on passes is shared by all regions that wait, whatever is usual.
    let share = match limits.executions {
        Some(_) => limits.left(*passes) / waiting.count(),
        None => usual + CONFIRM,
    };
    // Random pairs are drawn in several rounds; what other criteria ask for needs passes too.
    let is_limited = setting.strategy == Strategy::Random || family.groups().len() > 1;
    let share = if is_limited { share.min(usual) } else { share };
    let each = share.checked_sub(CONFIRM).filter(|&each| each > CONFIRM)?;
    // Only random pairs are drawn anew in each round: what else is found of a region does not depend on when it
    // was its turn, so that a part of the regions ends as the whole does.
    let draw = match setting.strategy {
        Strategy::Random => progress.rounds,
        _ => 0,
    };
    let search = |&slot: &usize| {
        let search = Search {
            setting,
            ratios,
            slot,
            each,
        };
        search.run(engine, draw, limits)
    };
    let reports: Vec<Report> = slots.par_iter().map(search).collect();
    let mut result = Proposals::default();
    for (&slot, report) in slots.iter().zip(reports) {
        passes.spend(report.effort);
        let number = Slot {
            group: group as u32,
            slot: slot as u32,
        };
        result.tried.push(number);
        let found = report.found.into_iter().next().or(report.steepest);
        result.pairs.extend(found.map(|found| PairProposal {
            root: root(setting, ratios, slot),
            pairs: vec![(number, 0, 1)],
            tests: found.tests,
        }));
    }
    Some(result)
}

/// The seed that tests of a region have for their root. Regions that lie round no seed take any.
fn root(setting: &StageSetting<'_>, ratios: &dyn Ratios, slot: usize) -> usize {
    ratios
        .seed(slot)
        .unwrap_or(slot % setting.seeds.len().max(1))
}

struct Search<'a> {
    setting: &'a StageSetting<'a>,
    ratios: &'a dyn Ratios,
    slot: usize,
    each: usize,
}

impl Search<'_> {
    fn run(&self, engine: &dyn Engine, draw: u64, limits: &Limits<'_>) -> Report {
        let objective = Objective::Ratio(self.ratios.ratio(self.slot));
        let seed = self
            .setting
            .seeds
            .input(root(self.setting, self.ratios, self.slot));
        let objectives = [std::slice::from_ref(&objective)];
        let origins = [Origin::seed(&seed)];
        let mut goal = self.setting.goal(&objectives, &origins);
        let mut random = Random::of(&[self.setting.rng_seed, draw, self.slot as u64]);
        goal.rng_seed = random.below(usize::MAX) as u64;
        engine.search(&goal, &limits.budget(Some(self.each), None))
    }
}
