//! The stages of a campaign: each proposes inputs for what is open.

mod ascend;
mod drawing;
mod focus;
mod pairs;
mod paper;
mod published;
mod random;
mod slopes;
mod symbolic;

pub(crate) use published::can_be_published;
pub use random::Scatter;

use std::mem::take;

use deepconcolic_check::Slot;
use deepconcolic_criteria::{Family, Objective};
use deepconcolic_engines::{Goal, Margin, Origin};
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::{BitSet, Network};

use crate::ascent::{AscentContext, Climber};
use crate::campaign::Round;
use crate::limits::{Limits, Passes};
use crate::portion;
use crate::provenance::Stage;
use crate::ranking::Ranking;
use crate::suite::{Seeds, Suite};

/// Which stages work, in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Cheapest first; each stage sees only what those before it left open.
    Cascade,
    /// Inputs drawn from the search region: what the others are compared with.
    Random,
    /// The paper's Algorithm 1, as written.
    Paper,
    /// The rules of the tool that was published with the paper, whose curves differ from those of the text.
    Published,
}

impl Strategy {
    /// Whether it can search for all that a family asks; or why not.
    pub fn can_search(self, family: &dyn Family) -> Result<(), String> {
        if self != Self::Cascade && family.has_pairs() {
            return Err("pairs of neurons are searched by the cascade only".into());
        }
        if self != Self::Cascade && family.ratios().is_some() && !family.asks_only_for_two() {
            return Err("beside other criteria, ratios are searched by the cascade only".into());
        }
        Ok(())
    }
}

/// What stages look at.
pub(crate) struct StageSetting<'a> {
    pub context: AscentContext<'a>,
    pub space: &'a SearchSpace,
    pub seeds: &'a Seeds,
    pub suite: &'a Suite,
    pub rng_seed: u64,
    pub strategy: Strategy,
    pub ranking: &'a Ranking,
    /// What no test covers, whether or not by the margin.
    pub uncovered: &'a [BitSet],
}

impl StageSetting<'_> {
    /// The requirements not tried that are nearest to being met, nearest first.
    fn nearest(&self, tried: &[BitSet], count: usize) -> Vec<Slot> {
        self.ranking.nearest(&self.context, tried, count)
    }

    /// The test nearest to meeting a requirement, if some test has a value at all.
    fn best(&self, slot: Slot) -> Option<usize> {
        self.ranking.best(&self.context, slot)
    }

    /// What an engine is asked for.
    fn goal<'b>(
        &'b self,
        objectives: &'b [&'b [Objective]],
        origins: &'b [Origin<'b>],
    ) -> Goal<'b> {
        Goal {
            network: self.context.network,
            objectives,
            origins,
            space: self.space,
            means: self.context.means.layers(),
            margin: Margin::default(),
            rng_seed: self.rng_seed,
        }
    }
}

/// An input that a stage thinks well of.
pub(crate) struct Proposal {
    pub input: Vec<f32>,
    pub root: usize,
    pub parent: usize,
}

/// Tests round one root, and the requirements that two of them meet together.
pub(crate) struct PairProposal {
    pub root: usize,
    pub tests: Vec<Vec<f32>>,
    /// Requirement, and the numbers of both tests here.
    pub pairs: Vec<(Slot, usize, usize)>,
}

/// What a stage brings in a round.
#[derive(Default)]
pub(crate) struct Proposals {
    pub single: Vec<Proposal>,
    pub pairs: Vec<PairProposal>,
    /// Requirements that were aimed at one by one; none when all were before.
    pub tried: Vec<Slot>,
    /// The tests they were aimed at from, where a requirement is tried once from each.
    pub starts: Vec<usize>,
    /// Why some cannot be handled.
    pub reasons: Vec<String>,
}

/// How far the stages have come.
pub(crate) struct Progress {
    /// Rounds so far: names the random numbers of the next.
    rounds: u64,
    /// Rounds of `Ascend` in a row that brought little.
    stale: usize,
    /// Requirements aimed at one by one so far, and how often all of them were.
    tried: Vec<BitSet>,
    sweeps: usize,
    /// What the sweep that is under way has brought, and the one before it.
    sweep: Sweep,
    last_sweep: Sweep,
    /// Whether the last stage has aimed at all, and whether the search for pairs of neurons has.
    done: bool,
    pairs_done: bool,
    /// The ratios, if some are required.
    ratios: Option<RatioProgress>,
    /// Passes before the first round, which is charged with them.
    uncharged: usize,
    /// What drawn inputs and climbers bring, where requirements are sections of neurons' ranges.
    drawing: Option<drawing::Drawing>,
    /// What the published tool's rules remember.
    published: published::Memory,
}

/// How far the search for steep places has come.
struct RatioProgress {
    /// The group of ratios, and how many there are.
    group: usize,
    total: usize,
    /// Whether nothing else is required.
    is_alone: bool,
    /// Whether all were aimed at.
    done: bool,
}

impl RatioProgress {
    fn new(family: &dyn Family) -> Option<Self> {
        let (group, _) = family.ratios()?;
        Some(Self {
            group,
            total: family.groups()[group].total(),
            is_alone: family.groups().len() == 1,
            done: false,
        })
    }
}

/// Requirements not yet met by the margin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenCount {
    /// Those on one input, or of a file.
    pub single: usize,
    /// Pairs of neurons.
    pub pairs: usize,
    /// Ratios.
    pub ratios: usize,
}

/// What a sweep over all open requirements brought.
#[derive(Clone, Copy, Default)]
struct Sweep {
    /// Requirements aimed at.
    aimed: usize,
    /// Requirements met.
    met: usize,
}

impl Progress {
    pub fn new(family: &dyn Family) -> Self {
        let groups = family.groups().iter();
        Self {
            rounds: 0,
            stale: 0,
            tried: groups.map(|group| BitSet::new(group.slots())).collect(),
            sweeps: 0,
            sweep: Sweep::default(),
            last_sweep: Sweep::default(),
            done: false,
            pairs_done: false,
            ratios: RatioProgress::new(family),
            uncharged: 0,
            drawing: asks_for_sections(family).then(drawing::Drawing::default),
            published: published::Memory::default(),
        }
    }

    /// Charges the first round with passes that were made before it.
    pub fn charge(&mut self, passes: usize) {
        self.uncharged = passes;
    }

    /// The stage that is next, while so much is open. What is asked of one input comes first: it is cheaper, and what
    /// is found for it may be part of pairs.
    pub fn stage(&self, strategy: Strategy, open: OpenCount) -> Option<Stage> {
        let ratios_left = self.ratios.as_ref().is_some_and(|ratios| !ratios.done);
        match strategy {
            // Random pairs are drawn until the limits.
            _ if self.ratios.as_ref().is_some_and(|ratios| ratios.is_alone) => {
                (ratios_left || strategy == Strategy::Random).then_some(Stage::Slopes)
            }
            Strategy::Random => Some(Stage::Random),
            Strategy::Paper => (!self.done).then_some(Stage::Paper),
            Strategy::Published => (!self.done).then_some(Stage::Published),
            Strategy::Cascade => {
                let is_single_open = open.single > 0;
                let climbs = is_single_open && self.stale < ascend::PATIENCE;
                let ratios = open.ratios > 0 && ratios_left;
                let focus =
                    is_single_open && focus::goes_on(self.sweeps, self.last_sweep, open.single);
                let pairs = open.pairs > 0 && !self.pairs_done;
                let symbolic = is_single_open && !self.done;
                (climbs.then(|| self.climbing_stage()))
                    // Before climbers aim at one requirement after the other, which may take all of the time.
                    .or(ratios.then_some(Stage::Slopes))
                    .or(focus.then_some(Stage::Focus))
                    .or(pairs.then_some(Stage::Pairs))
                    .or(symbolic.then_some(Stage::Symbolic))
            }
        }
    }

    /// The stage that climbs towards all that is asked of one input, or draws inputs where that brings more.
    fn climbing_stage(&self) -> Stage {
        let draws = self.drawing.is_some_and(|drawing| drawing.is_next());
        if draws { Stage::Random } else { Stage::Ascend }
    }

    /// Takes a round into account, with the numbers of the tests that it started from.
    pub fn take(&mut self, round: &Round, starts: &[usize]) {
        self.rounds += 1;
        if let Some(drawing) = &mut self.drawing {
            drawing.take(round);
        }
        let spent = round
            .passes
            .total()
            .saturating_add(take(&mut self.uncharged));
        match round.stage {
            Stage::Ascend if round.gain * ascend::WORTH <= spent => self.stale += 1,
            Stage::Ascend => self.stale = 0,
            Stage::Focus | Stage::Symbolic | Stage::Pairs | Stage::Paper | Stage::Slopes => {
                self.sweep.aimed += round.tried.len();
                self.sweep.met += round.gain;
                for slot in &round.tried {
                    self.tried[slot.group as usize].insert(slot.slot as usize);
                }
                // All regions share the passes, so that none may be left to find out that there is no other.
                let is_done =
                    |ratios: &RatioProgress| self.tried[ratios.group].count() >= ratios.total;
                let all_regions =
                    round.stage == Stage::Slopes && self.ratios.as_ref().is_some_and(is_done);
                // A round that a limit cut short brings something, and has aimed at nothing to the end.
                let found_nothing = round.tests.is_empty() && round.pairs.is_empty();
                let all_tried = round.tried.is_empty() && found_nothing;
                if all_tried || all_regions {
                    self.end_sweep(round.stage);
                }
            }
            // A round that was cut short has a test and names nothing that it aimed at.
            Stage::Published if round.tried.is_empty() => self.done = round.tests.is_empty(),
            Stage::Published => self.published.strike(&round.tried, starts),
            Stage::Measure | Stage::Random | Stage::Prove | Stage::Merge => {}
        }
    }

    /// Every open requirement was aimed at.
    fn end_sweep(&mut self, stage: Stage) {
        match stage {
            Stage::Focus => self.sweeps += 1,
            Stage::Pairs => self.pairs_done = true,
            Stage::Slopes => {
                if let Some(ratios) = &mut self.ratios {
                    ratios.done = true;
                }
            }
            _ => self.done = true,
        }
        let sweep = take(&mut self.sweep);
        // What pairs brought says nothing of what climbers would.
        if !matches!(stage, Stage::Pairs | Stage::Slopes) {
            self.last_sweep = sweep;
        }
        for tried in &mut self.tried {
            *tried = BitSet::new(tried.len());
        }
    }

    /// What a stage brings; none when no passes are left for it.
    pub fn propose(
        &mut self,
        stage: Stage,
        setting: &StageSetting<'_>,
        passes: &mut Passes,
        limits: &Limits<'_>,
    ) -> Option<Proposals> {
        let plain = |single: Vec<Proposal>| Proposals {
            single,
            ..Proposals::default()
        };
        match stage {
            Stage::Ascend => ascend::propose(setting, self.rounds, passes, limits).map(plain),
            Stage::Focus => focus::propose(setting, self, passes, limits),
            Stage::Symbolic => symbolic::propose(setting, self, passes, limits),
            Stage::Pairs => pairs::propose(setting, self, passes, limits),
            Stage::Slopes => slopes::propose(setting, self, passes, limits),
            Stage::Paper => paper::propose(setting, self, passes, limits),
            Stage::Published => self.published.propose(setting, passes, limits),
            Stage::Random | Stage::Measure | Stage::Prove | Stage::Merge => {
                random::propose(setting, self.rounds, *passes, limits).map(plain)
            }
        }
    }
}

/// Whether every requirement on one input asks for a section of a neuron's range.
fn asks_for_sections(family: &dyn Family) -> bool {
    let Ok(guide) = family.guide() else {
        return false;
    };
    let groups = 0..family.groups().len();
    let mut single = groups
        .filter(|&group| !family.asks_for_two(group))
        .peekable();
    single.peek().is_some() && single.all(|group| guide.sections(group).is_some())
}

/// Steps of a climber, and the fewest in a round that is short because passes cost much.
const STEPS: usize = 12;
const FEWEST: usize = 4;

/// Passes of a climber: a run and a derivative a step, a last run, and one to confirm it.
const fn passes_of_climb(steps: usize) -> usize {
    2 * steps + 2
}

/// How many climbers go in a round, at most so many, and how many steps each takes, at most so many; none when there
/// are not enough passes left.
fn climbers(
    maximum: usize,
    steps: usize,
    network: &Network,
    passes: Passes,
    limits: &Limits<'_>,
) -> Option<(usize, usize)> {
    let portion = portion::passes(network).max(passes_of_climb(FEWEST));
    let passes = limits.left(passes).min(portion);
    let count = maximum.min(passes / passes_of_climb(steps)).max(1);
    let steps = steps.min((passes / count).saturating_sub(2) / 2);
    (steps > 0).then_some((count, steps))
}

/// Steps from coarse to fine, as parts of the reach. In units of the domain's width the first is
/// this, or all of a smaller radius; the last is a twentieth of the first.
fn schedule(space: &SearchSpace, steps: usize) -> Vec<f32> {
    const FIRST: f32 = 0.4;
    const LAST: f32 = 0.05;
    // Where elements share a radius it is no width; the first step is the whole radius.
    let first = space
        .reach_in_widths()
        .map_or(1.0, |reach| (FIRST / reach as f32).min(1.0));
    let last = steps.saturating_sub(1).max(1) as f32;
    (0..steps)
        .map(|step| first * LAST.powf(step as f32 / last))
        .collect()
}

/// The best points that climbers passed, of those that met something.
fn proposals(climbers: Vec<Climber<'_>>) -> Vec<Proposal> {
    let found = climbers.into_iter().filter_map(|climber| {
        let best = climber.best.filter(|best| best.gain > 0)?;
        Some(Proposal {
            input: best.input,
            root: climber.root,
            parent: climber.parent,
        })
    });
    found.collect()
}
