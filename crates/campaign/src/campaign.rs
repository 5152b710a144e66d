//! The concolic loop: as long as requirements are open, a stage makes inputs, the checker confirms
//! them, and those that meet something new enter the suite.
//!
//! A campaign is a sequence of rounds. What a round does depends on the state before it and the
//! seed of the random numbers, and all it does to the state is in its [`Round`], so a campaign that
//! was stopped anywhere goes on from its rounds as if nothing had happened.

mod admission;
mod joining;
mod restoring;

pub use admission::{Admitted, FoundPair};

use std::sync::Arc;
use std::time::{Duration, Instant};

use deepconcolic_check::{
    Claim, Confirmed, PairClaim, PairJudge, Slot, Standing, Until, Witnesses,
};
use deepconcolic_criteria::{Clearance, Decision, Family, Guide, Means, SampleView};
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::{BitSet, Network, Pass, Seed};

use crate::Inputs;
use crate::ascent::AscentContext;
use crate::filter::Filter;
use crate::identity::TestRef;
use crate::ledger::Ledger;
use crate::limits::{Limits, Passes};
use crate::portion;
use crate::provenance::{Provenance, Stage};
use crate::ranking::Ranking;
use crate::stages::{self, OpenCount, Strategy};
use crate::steepest::Steepest;
use crate::suite::{Seeds, Suite};

/// Inputs of the data that the means of layers are taken over, spread evenly: at most, and at least, however much
/// a pass costs.
const SAMPLED: usize = 64;
const LEAST_SAMPLED: usize = 4;
/// The share of the time left that ranking new tests may take. What there is no time for is ranked in a later round; a
/// search can start from the others.
const RANKING_SHARE: f64 = 0.25;

/// What a campaign works on. Shared, so that a campaign can move to another thread and outlive its maker.
#[derive(Clone)]
pub struct Subject {
    /// The network.
    pub network: Arc<Network>,
    /// What is required.
    pub family: Arc<dyn Family>,
    /// Where tests may lie.
    pub space: Arc<SearchSpace>,
    /// What it starts from.
    pub seeds: Arc<Seeds>,
    /// The scale of each layer.
    pub means: Arc<Means>,
    /// What the network's answer is.
    pub decision: Arc<Decision>,
}

impl Subject {
    /// What steers a search towards requirements on one input; none where all ask for two.
    fn guide(&self) -> Option<&dyn Guide> {
        self.family.guide().ok()
    }

    /// Of sets, group by group, what is asked of one input: pairs of neurons and ratios are left out.
    fn of_one_input(&self, sets: &[BitSet]) -> Vec<BitSet> {
        let of_group = |(group, set): (usize, &BitSet)| {
            if self.family.asks_for_two(group) {
                BitSet::new(set.len())
            } else {
                set.clone()
            }
        };
        sets.iter().enumerate().map(of_group).collect()
    }
}

/// The mean |u| of every layer over a sample of the data, and how many inputs were run for it.
pub fn means(network: &Network, data: &dyn Inputs) -> (Means, usize) {
    let affordable = portion::passes(network).clamp(LEAST_SAMPLED, SAMPLED);
    let count = data.len().min(affordable);
    let indices: Vec<usize> = (0..count).map(|i| i * data.len() / count.max(1)).collect();
    let mut inputs = vec![0.0; count * network.input_elements()];
    data.gather(&indices, &mut inputs);
    let trace = network.forward(&inputs, &Pass::keep(Means::points(network)));
    (Means::of(network, &trace), count)
}

/// A test that a round added.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// The input.
    pub input: Vec<f32>,
    /// Where it comes from.
    pub provenance: Provenance<TestRef>,
}

/// Two tests that a round found to meet a requirement together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedPair {
    /// The requirement.
    pub slot: Slot,
    /// `x1`
    pub first: TestRef,
    /// `x2`
    pub second: TestRef,
}

/// What a round did. Nothing in it depends on what else was done before: counts are of this round, and
/// tests have names that mean the same elsewhere, so that rounds of several workers can be joined.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Its stage.
    pub stage: Stage,
    /// Passes made in it.
    pub passes: Passes,
    /// The tests it added.
    pub tests: Vec<Added>,
    /// Requirements that pairs of tests meet.
    pub pairs: Vec<AddedPair>,
    /// Requirements that were aimed at one by one.
    pub tried: Vec<Slot>,
    /// The tests they were aimed at from, where a requirement is tried once from each.
    pub starts: Vec<TestRef>,
    /// Why some requirements cannot be handled by the engines, each once.
    pub reasons: Vec<String>,
    /// Requirements met by the margin for the first time.
    pub gain: usize,
}

/// Why a campaign ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Everything is covered, or every stage has done what it can.
    Complete,
    /// Time was up.
    Budget,
    /// No more passes were allowed.
    Executions,
    /// The user wanted an end.
    Interrupted,
}

impl Stop {
    /// What it is called in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Budget => "budget",
            Self::Executions => "executions",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A round, its tests, and the standing of its pairs.
type Played = (Round, Vec<Confirmed>, Vec<Standing>);

/// The names of a round as numbers in a suite.
struct Numbers {
    provenances: Vec<Provenance>,
    pairs: Vec<PairClaim>,
    starts: Vec<usize>,
}

/// Whether a stage starts from the best tests of what is open, so that new tests are ranked before it.
fn is_ranked(stage: Stage) -> bool {
    !matches!(
        stage,
        Stage::Random | Stage::Pairs | Stage::Slopes | Stage::Published
    )
}

/// Stands where a guide would, for requirements that nobody climbs to.
struct Nobody;

impl Guide for Nobody {
    fn met(&self, _: SampleView<'_>, _: &[BitSet], _: Clearance, _: &mut dyn FnMut(usize, usize)) {}

    fn values(&self, _: SampleView<'_>, _: usize, slots: &[u32], out: &mut Vec<f32>) {
        out.extend(slots.iter().map(|_| f32::NEG_INFINITY));
    }

    fn pull(&self, _: SampleView<'_>, _: usize, _: &[u32], _: f32, _: &mut Vec<Seed<f32>>) -> f64 {
        0.0
    }
}

/// A campaign under way.
pub struct Campaign {
    subject: Subject,
    strategy: Strategy,
    rng_seed: u64,
    suite: Suite,
    ledger: Ledger,
    /// The steepest pair of each region, where ratios are required.
    steepest: Steepest,
    passes: Passes,
    progress: stages::Progress,
    ranking: Ranking,
    /// Whether to stop before the symbolic stage.
    holding: bool,
    /// Requirements that pairs of tests meet.
    claims: Vec<PairClaim>,
    /// Why some requirements cannot be handled.
    reasons: Vec<String>,
    /// Tests added last, which the next round's ranking takes in.
    fresh: usize,
    /// What the caller allows as a test.
    filter: Option<Filter>,
    /// How long measuring the seeds took.
    measuring: Duration,
}

impl Campaign {
    /// Takes only tests that a filter allows, from now on.
    pub fn hold_to(&mut self, filter: Filter) {
        self.filter = Some(filter);
    }

    /// Runs the seeds, as far as the limits allow, and marks what they cover. `sampled` inputs were
    /// run before, for the means.
    pub fn new(
        subject: Subject,
        strategy: Strategy,
        rng_seed: u64,
        sampled: usize,
        limits: &Limits<'_>,
    ) -> Result<Self, String> {
        let family = subject.family.as_ref();
        strategy.can_search(family)?;
        match strategy {
            _ if family.asks_only_for_two() => {}
            Strategy::Published => stages::can_be_published(&subject)?,
            _ => {
                family.guide()?;
            }
        }
        let family = Arc::clone(&subject.family);
        let mut campaign = Self {
            subject,
            strategy,
            rng_seed,
            suite: Suite::default(),
            ledger: Ledger::new(family.as_ref()),
            steepest: Steepest::new(family.as_ref()),
            passes: Passes {
                forward: sampled,
                ..Passes::default()
            },
            progress: stages::Progress::new(family.as_ref()),
            ranking: Ranking::default(),
            holding: false,
            claims: Vec::new(),
            reasons: Vec::new(),
            fresh: 0,
            filter: None,
            measuring: Duration::ZERO,
        };
        let began = Instant::now();
        campaign.measure(limits);
        campaign.measuring = began.elapsed();
        campaign.progress.charge(campaign.passes.total());
        if let Some(guide) = campaign.subject.guide() {
            let open = campaign.subject.of_one_input(campaign.ledger.open());
            campaign.ranking = Ranking::new(guide, &open);
        }
        campaign.fresh = campaign.suite.len();
        Ok(campaign)
    }

    fn witnesses(&self) -> Witnesses<'_> {
        Witnesses {
            network: &self.subject.network,
            family: self.subject.family.as_ref(),
            guide: self.subject.guide(),
            space: &self.subject.space,
            seeds: self.subject.seeds.values(),
            means: &self.subject.means,
            decision: &self.subject.decision,
            until: Until::NEVER,
        }
    }

    fn measure(&mut self, limits: &Limits<'_>) {
        /// Seeds run at a time, and the part of a portion that they are at most: what they meet is looked up too, which can
        /// take longer than to run them.
        const BATCH: usize = 64;
        const PART: usize = 8;
        let seeds = Arc::clone(&self.subject.seeds);
        let seeds: Vec<&[f32]> = seeds.iter().collect();
        let batch = BATCH.min((portion::passes(&self.subject.network) / PART).max(1));
        while self.suite.len() < seeds.len() {
            let first = self.suite.len();
            let count = batch.min(limits.left(self.passes)).min(seeds.len() - first);
            if count == 0 || limits.is_over() {
                return;
            }
            let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
            let batch = &seeds[first..first + count];
            let confirmed = self.witnesses().confirm_seeds(batch, open, uncovered);
            self.passes.forward += count;
            for (i, seed) in confirmed.iter().enumerate() {
                self.ledger.enter(seed);
                self.suite.add(seed, Provenance::of_seed(first + i));
            }
        }
    }

    /// How long it took to run the seeds and to look up what they meet.
    pub fn measuring(&self) -> Duration {
        self.measuring
    }

    /// The tests so far.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// The scale of each layer.
    pub fn means(&self) -> Arc<Means> {
        Arc::clone(&self.subject.means)
    }

    /// What is open.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The requirements that pairs of tests were found to meet.
    pub fn claims(&self) -> &[PairClaim] {
        &self.claims
    }

    /// The steepest pair of each region, where ratios are required.
    pub fn steepest(&self) -> &Steepest {
        &self.steepest
    }

    /// Why some requirements cannot be handled by the engines, each once.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Whether this was said already, of whatever part of a requirement: one example is enough, and a family has
    /// thousands of parts.
    fn has_reason(&self, reason: &str) -> bool {
        let why = |reason: &str| reason.rsplit("`: ").next().map(str::to_owned);
        self.reasons.iter().any(|said| why(said) == why(reason))
    }

    /// Work done.
    pub fn passes(&self) -> Passes {
        self.passes
    }

    fn claim<'b>(&'b self, test: &'b Added) -> Claim<'b> {
        Claim {
            input: &test.input,
            root: self.subject.seeds.input(test.provenance.root),
        }
    }

    fn judge(&self) -> PairJudge<'_> {
        PairJudge {
            network: &self.subject.network,
            family: self.subject.family.as_ref(),
            space: &self.subject.space,
            seeds: self.subject.seeds.values(),
            means: &self.subject.means,
            until: Until::NEVER,
        }
    }

    /// A test by the number that it has once a round with these tests is taken.
    fn input<'b>(&'b self, new: &'b [Added], test: u32) -> &'b [f32] {
        let known = self.suite.tests();
        match (test as usize).checked_sub(known.len()) {
            Some(number) => &new[number].input,
            None => &known[test as usize].input,
        }
    }

    fn numbers(&self, pairs: &[AddedPair], new: &[Added]) -> Result<Vec<PairClaim>, String> {
        let claims = pairs.iter().map(|pair| self.numbered(pair, new.len()));
        claims.collect()
    }

    /// Judges pairs of tests, of which a round that has these tests is the first to speak.
    fn stand(&self, pairs: &[AddedPair], new: &[Added]) -> Result<Vec<Standing>, String> {
        let claims = self.numbers(pairs, new)?;
        self.judge().judge(&claims, &|test| self.input(new, test))
    }

    /// How steep the network is between the two tests of each pair that is about a ratio.
    fn slopes(&self, pairs: &[AddedPair], new: &[Added]) -> Vec<Option<f64>> {
        if self.subject.family.ratios().is_none() {
            return Vec::new();
        }
        let claims = self.numbers(pairs, new).unwrap_or_default();
        self.judge().slopes(&claims, &|test| self.input(new, test))
    }

    /// A pair by the numbers that its tests have once a round with so many tests is taken.
    fn numbered(&self, pair: &AddedPair, here: usize) -> Result<PairClaim, String> {
        let number = |name: TestRef| match self.suite.number(name, here) {
            Some(number) => Ok(number as u32),
            None => Err(format!("{name} is part of a pair, and is not there")),
        };
        Ok(PairClaim {
            slot: pair.slot,
            first: number(pair.first)?,
            second: number(pair.second)?,
        })
    }

    /// The names of a round as numbers, if they name what is there.
    fn resolve(&self, round: &Round) -> Result<Numbers, String> {
        let provenance = |(new, test): (usize, &Added)| {
            test.provenance.rename(|&parent| {
                let number = self.suite.number(parent, new);
                number.ok_or_else(|| format!("{parent} is a parent, and is not there before"))
            })
        };
        let start = |&name: &TestRef| {
            let number = self.suite.number(name, 0);
            number.ok_or_else(|| format!("{name} was started from, and is not there"))
        };
        let pairs = round.pairs.iter();
        Ok(Numbers {
            starts: (round.starts.iter().map(start)).collect::<Result<_, _>>()?,
            provenances: (round.tests.iter().enumerate().map(provenance))
                .collect::<Result<_, _>>()?,
            pairs: pairs
                .map(|pair| self.numbered(pair, round.tests.len()))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Takes in a round that was made here, which names tests of this suite and of itself alone: rounds of a file or of
    /// another worker come in by `restore` and `join`, which refuse names of what is not there.
    fn take_own(&mut self, (round, tests, standings): &Played) {
        let numbers = self.resolve(round).expect("names that were given here");
        self.take(round, numbers, tests, standings);
    }

    /// The one way the state changes.
    fn take(
        &mut self,
        round: &Round,
        numbers: Numbers,
        tests: &[Confirmed],
        standings: &[Standing],
    ) -> usize {
        let mut gain = 0;
        for (provenance, test) in numbers.provenances.into_iter().zip(tests) {
            gain += self.ledger.enter(test);
            self.suite.add(test, provenance);
        }
        self.measure_slopes(&numbers.pairs);
        for (claim, &standing) in numbers.pairs.into_iter().zip(standings) {
            let gained = self.ledger.enter_pair(claim.slot, standing);
            gain += usize::from(gained == Standing::Firm);
            self.claims.push(claim);
        }
        for reason in &round.reasons {
            if !self.has_reason(reason) {
                self.reasons.push(reason.clone());
            }
        }
        self.passes += round.passes;
        if is_ranked(round.stage) {
            self.fresh = 0;
        }
        self.fresh += tests.len();
        self.progress.take(round, &numbers.starts);
        gain
    }

    /// Takes note of how steep pairs are, which are in the suite by now.
    fn measure_slopes(&mut self, claims: &[PairClaim]) {
        if self.subject.family.ratios().is_none() {
            return;
        }
        let slopes = self.judge().slopes(claims, &|test| self.input(&[], test));
        for (claim, slope) in claims.iter().zip(slopes) {
            self.steepest.enter(claim, slope);
        }
    }

    /// The stage that works next, if any is left.
    pub fn stage(&self) -> Option<Stage> {
        let open = self.open_count();
        if open == OpenCount::default() {
            return None;
        }
        let stage = self.progress.stage(self.strategy, open)?;
        (stage != Stage::Symbolic || !self.holding).then_some(stage)
    }

    /// What is open of one input, of pairs of neurons and of ratios.
    fn open_count(&self) -> OpenCount {
        let mut open = OpenCount::default();
        for (group, set) in self.ledger.open().iter().enumerate() {
            let family = &self.subject.family;
            *match family.pairs(group) {
                Some(_) => &mut open.pairs,
                None if family.is_about_ratios(group) => &mut open.ratios,
                None => &mut open.single,
            } += set.count();
        }
        open
    }

    /// Whether [`run`](Self::run) ends before the symbolic stage, so that proofs can take off its hands
    /// what cannot be met.
    pub fn hold_symbolic(&mut self, holding: bool) {
        self.holding = holding;
    }

    /// Takes requirements off the search that were proven to be infeasible.
    pub fn set_aside(&mut self, slots: impl Iterator<Item = Slot>) {
        for slot in slots {
            self.ledger.set_aside(slot);
        }
    }

    /// Runs rounds to the end. Each is handed to `record` before its tests count; an error there
    /// ends the campaign.
    pub fn run<E>(
        &mut self,
        limits: &Limits<'_>,
        mut record: impl FnMut(&Self, &Round) -> Result<(), E>,
    ) -> Result<Stop, E> {
        loop {
            match self.step(limits) {
                Ok(round) => record(self, &round)?,
                Err(stop) => return Ok(stop),
            }
        }
    }

    /// Runs one round and takes it in, or says why there is none.
    pub fn step(&mut self, limits: &Limits<'_>) -> Result<Round, Stop> {
        let Some(stage) = self.stage() else {
            return Err(Stop::Complete);
        };
        limits.check()?;
        let Some(mut played) = self.round(stage, limits) else {
            let unmeasured = self.suite.len() < self.subject.seeds.len();
            return Err(match limits.executions {
                None if unmeasured => Stop::Budget,
                _ => Stop::Executions,
            });
        };
        let round = &mut played.0;
        if let Err(stop) = limits.check() {
            let found_nothing = round.tests.is_empty() && round.pairs.is_empty();
            // Where passes are counted, a run that goes on later must end as one that never stopped: what was cut
            // short is dropped whole and repeated.
            if found_nothing || limits.executions.is_some() {
                return Err(stop);
            }
            // What it found counts; what it aimed at was not aimed at to the end.
            round.tried.clear();
        }
        self.take_own(&played);
        Ok(played.0)
    }

    /// One round of a stage. The last passes of the cascade, too few for it, are spent on inputs drawn from the search
    /// region.
    fn round(&mut self, stage: Stage, limits: &Limits<'_>) -> Option<Played> {
        if self.suite.len() < self.subject.seeds.len() {
            return None;
        }
        let played = self.round_of(stage, limits);
        let draws = self.strategy == Strategy::Cascade && self.subject.guide().is_some();
        if played.is_some() || limits.executions.is_none() || !draws {
            return played;
        }
        self.round_of(Stage::Random, limits)
    }

    /// One round; none when there are no passes left for it.
    fn round_of(&mut self, stage: Stage, limits: &Limits<'_>) -> Option<Played> {
        if is_ranked(stage) && limits.left(self.passes) <= self.fresh {
            return None;
        }
        // Climbers and engines are sent for pairs, and for ratios, by stages of their own.
        let family = &self.subject.family;
        let is_mixed = (family.has_pairs() || family.ratios().is_some()) && family.guide().is_ok();
        let single = (is_mixed && !matches!(stage, Stage::Pairs | Stage::Slopes))
            .then(|| self.subject.of_one_input(self.ledger.open()));
        let context = AscentContext {
            network: &self.subject.network,
            family: self.subject.family.as_ref(),
            guide: self.subject.guide().unwrap_or(&Nobody),
            means: &self.subject.means,
            open: single.as_deref().unwrap_or(self.ledger.open()),
        };
        let mut passes = self.passes;
        if is_ranked(stage) {
            let limits = limits.part(RANKING_SHARE);
            self.ranking.update(&context, &self.suite, &limits);
            // What it costs a campaign that was never stopped; one that was starts it anew.
            passes.forward += self.fresh;
        }
        let setting = stages::StageSetting {
            context,
            space: &self.subject.space,
            seeds: &self.subject.seeds,
            suite: &self.suite,
            rng_seed: self.rng_seed,
            strategy: self.strategy,
            ranking: &self.ranking,
            uncovered: self.ledger.uncovered(),
        };
        let found = self
            .progress
            .propose(stage, &setting, &mut passes, limits)?;
        // Stages keep back what confirming their finds takes.
        let (draft, _) = self.draft(
            stage,
            (found.single, found.pairs),
            passes,
            &Limits::default(),
        );
        let (mut round, tests, standings) = draft.played(stage, found.tried, self.passes);
        round.starts = (found.starts.into_iter().map(|test| self.suite.name(test))).collect();
        round.reasons = found.reasons;
        round
            .reasons
            .retain(|reason| !self.reasons.contains(reason));
        Some((round, tests, standings))
    }
}
