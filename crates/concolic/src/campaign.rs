//! The concolic loop: as long as requirements are open, a stage makes inputs, the checker confirms
//! them, and those that meet something new enter the suite.
//!
//! A campaign is a sequence of rounds. What a round does depends on the state before it and the
//! seed of the random numbers, and all it does to the state is in its [`Round`], so a campaign that
//! was stopped anywhere goes on from its rounds as if nothing had happened.

use deepconcolic_check::{Claim, Confirmed, Slot, Witnesses};
use deepconcolic_network::{Network, Pass};
use deepconcolic_spec::SearchSpace;
use deepconcolic_spec::criteria::{Family, Guide, Means};

use crate::Inputs;
use crate::ascent::Ground;
use crate::ledger::Ledger;
use crate::limits::{Limits, Passes};
use crate::ranking::Ranking;
use crate::stages::{self, Proposal, Strategy};
use crate::suite::{Seeds, Stage, Suite};

/// Inputs of the data that the means of layers are taken over, spread evenly.
const SAMPLED: usize = 64;

/// What a campaign works on.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The network.
    pub network: &'a Network,
    /// What is required.
    pub family: &'a dyn Family,
    /// Where tests may lie.
    pub space: &'a SearchSpace,
    /// What it starts from.
    pub seeds: &'a Seeds,
    /// The scale of each layer.
    pub means: &'a Means,
}

/// The mean |u| of every layer over a sample of the data, and how many inputs were run for it.
pub fn means(network: &Network, data: &dyn Inputs) -> (Means, usize) {
    let count = data.len().min(SAMPLED);
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
    /// Number of its root seed.
    pub root: usize,
    /// The test it was made from.
    pub parent: usize,
}

/// What a round did.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Its stage.
    pub stage: Stage,
    /// All passes made up to its end.
    pub passes: Passes,
    /// The tests it added.
    pub tests: Vec<Added>,
    /// Requirements that were aimed at one by one.
    pub tried: Vec<Slot>,
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

/// A campaign under way.
pub struct Campaign<'a> {
    subject: Subject<'a>,
    guide: &'a dyn Guide,
    strategy: Strategy,
    rng_seed: u64,
    suite: Suite,
    ledger: Ledger,
    passes: Passes,
    progress: stages::Progress,
    ranking: Ranking,
    /// Tests added last, which the next round's ranking takes in.
    fresh: usize,
}

impl<'a> Campaign<'a> {
    /// Runs the seeds, as far as the limits allow, and marks what they cover. `sampled` inputs were
    /// run before, for the means.
    pub fn new(
        subject: Subject<'a>,
        strategy: Strategy,
        rng_seed: u64,
        sampled: usize,
        limits: &Limits<'_>,
    ) -> Result<Self, String> {
        let guide = subject.family.guide()?;
        let mut campaign = Self {
            subject,
            guide,
            strategy,
            rng_seed,
            suite: Suite::default(),
            ledger: Ledger::new(subject.family),
            passes: Passes {
                forward: sampled,
                vjp: 0,
            },
            progress: stages::Progress::new(subject.family),
            ranking: Ranking::default(),
            fresh: 0,
        };
        campaign.measure(limits);
        campaign.ranking = Ranking::new(campaign.ledger.open());
        campaign.fresh = campaign.suite.len();
        Ok(campaign)
    }

    fn witnesses(&self) -> Witnesses<'a> {
        Witnesses {
            network: self.subject.network,
            family: self.subject.family,
            guide: self.guide,
            space: self.subject.space,
            means: self.subject.means,
        }
    }

    fn measure(&mut self, limits: &Limits<'_>) {
        /// Seeds run at a time.
        const BATCH: usize = 64;
        let seeds: Vec<&[f32]> = self.subject.seeds.iter().collect();
        while self.suite.len() < seeds.len() {
            let first = self.suite.len();
            let count = BATCH.min(limits.left(self.passes)).min(seeds.len() - first);
            if count == 0 || limits.is_over() {
                return;
            }
            let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
            let batch = &seeds[first..first + count];
            let confirmed = self.witnesses().confirm_seeds(batch, open, uncovered);
            self.passes.forward += count;
            for (i, seed) in confirmed.iter().enumerate() {
                self.ledger.enter(seed);
                self.suite.add(seed, first + i, None, Stage::Measure);
            }
        }
    }

    /// The tests so far.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// What is open.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Work done.
    pub fn passes(&self) -> Passes {
        self.passes
    }

    /// Takes over what rounds of an earlier, identical campaign did.
    pub fn restore(&mut self, round: &Round) -> Result<(), String> {
        let claims: Vec<Claim<'_>> = round.tests.iter().map(|test| self.claim(test)).collect();
        let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
        let confirmed = self.witnesses().confirm(&claims, open, uncovered);
        let tests: Vec<Confirmed> = confirmed.into_iter().collect::<Result<_, _>>()?;
        let gain = self.take(round, &tests);
        if gain == round.gain {
            Ok(())
        } else {
            Err(format!(
                "its tests meet {gain} requirements where {} were recorded",
                round.gain
            ))
        }
    }

    fn claim<'b>(&'b self, test: &'b Added) -> Claim<'b> {
        Claim {
            input: &test.input,
            root: self.subject.seeds.input(test.root),
        }
    }

    /// The one way the state changes.
    fn take(&mut self, round: &Round, tests: &[Confirmed]) -> usize {
        let mut gain = 0;
        for (added, test) in round.tests.iter().zip(tests) {
            gain += self.ledger.enter(test);
            self.suite
                .add(test, added.root, Some(added.parent), round.stage);
        }
        self.passes = round.passes;
        self.fresh = tests.len();
        self.progress.take(round);
        gain
    }

    /// The stage that works next, if any is left.
    pub fn stage(&self) -> Option<Stage> {
        let open = self.ledger.open_count();
        if open == 0 {
            return None;
        }
        self.progress.stage(self.strategy, open)
    }

    /// Runs rounds to the end. Each is handed to `record` before its tests count; an error there
    /// ends the campaign.
    pub fn run<E>(
        &mut self,
        limits: &Limits<'_>,
        mut record: impl FnMut(&Self, &Round) -> Result<(), E>,
    ) -> Result<Stop, E> {
        while let Some(stage) = self.stage() {
            if limits.is_interrupted() {
                return Ok(Stop::Interrupted);
            }
            if limits.is_late() {
                return Ok(Stop::Budget);
            }
            let Some((round, tests)) = self.round(stage, limits) else {
                return Ok(Stop::Executions);
            };
            // A round that was cut short is dropped whole, so that going on later repeats it in full.
            if limits.is_interrupted() {
                return Ok(Stop::Interrupted);
            }
            if limits.is_late() {
                return Ok(Stop::Budget);
            }
            self.take(&round, &tests);
            record(self, &round)?;
        }
        Ok(Stop::Complete)
    }

    /// One round; none when there are no passes left for it.
    fn round(&mut self, stage: Stage, limits: &Limits<'_>) -> Option<(Round, Vec<Confirmed>)> {
        let ground = Ground {
            network: self.subject.network,
            family: self.subject.family,
            guide: self.guide,
            means: self.subject.means,
            open: self.ledger.open(),
        };
        if self.suite.len() < self.subject.seeds.len() || limits.left(self.passes) <= self.fresh {
            return None;
        }
        let mut passes = self.passes;
        if stage != Stage::Random {
            self.ranking.update(&ground, &self.suite);
            // What it costs a campaign that was never stopped; one that was starts it anew.
            passes.forward += self.fresh;
        }
        let setting = stages::Setting {
            ground,
            space: self.subject.space,
            seeds: self.subject.seeds,
            suite: &self.suite,
            rng_seed: self.rng_seed,
            ranking: &self.ranking,
        };
        let (proposals, tried) = self
            .progress
            .propose(stage, &setting, &mut passes, limits)?;
        let (added, tests) = self.accept(proposals, &mut passes);
        let gain = {
            let mut after = self.ledger.clone();
            tests.iter().map(|test| after.enter(test)).sum()
        };
        let round = Round {
            stage,
            passes,
            tests: added,
            tried,
            gain,
        };
        Some((round, tests))
    }

    /// Confirms proposals and picks, best first, those that meet something none before them does.
    fn accept(
        &self,
        proposals: Vec<Proposal>,
        passes: &mut Passes,
    ) -> (Vec<Added>, Vec<Confirmed>) {
        let added: Vec<Added> = proposals
            .into_iter()
            .map(|proposal| Added {
                input: proposal.input,
                root: proposal.root,
                parent: proposal.parent,
            })
            .collect();
        let claims: Vec<Claim<'_>> = added.iter().map(|test| self.claim(test)).collect();
        let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
        let confirmed = self.witnesses().confirm(&claims, open, uncovered);
        passes.forward += claims.len();
        let mut candidates: Vec<(Added, Confirmed)> = added
            .into_iter()
            .zip(confirmed)
            .filter_map(|(added, confirmed)| Some((added, confirmed.ok()?)))
            .collect();
        let mut after = self.ledger.clone();
        let mut chosen = Vec::new();
        loop {
            let gains = candidates.iter().map(|(_, test)| after.gain(test));
            // The first of equals.
            let best = gains
                .enumerate()
                .reduce(|best, next| if next.1 > best.1 { next } else { best });
            match best {
                Some((at, gain)) if gain > 0 => {
                    let candidate = candidates.remove(at);
                    after.enter(&candidate.1);
                    chosen.push(candidate);
                }
                _ => return chosen.into_iter().unzip(),
            }
        }
    }
}
