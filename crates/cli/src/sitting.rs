//! What goes along with a campaign: rounds are on disk before they are in sight, and verdicts keep up
//! with the suite.

use std::time::Instant;

use deepconcolic_campaign::oracle::{Judgement, Oracle, Verdict};
use deepconcolic_campaign::{Campaign, Limits, Passes, Round, Stage};
use deepconcolic_record::{Entry, Journal, Proof, Step};

use crate::exit::Failure;
use crate::outcome::Stopwatch;
use crate::progress::{Progress, Snapshot};
use crate::scene::Scene;

/// Tests judged at a time: each time all references are read.
const JUDGED: usize = 128;

/// What goes along with a campaign: the journal, the verdicts, the clock, the display.
pub struct Sitting<'a> {
    pub judge: Judge<'a>,
    pub progress: Progress,
    pub journal: Journal,
    pub watch: Stopwatch,
    pub limits: &'a Limits<'a>,
}

impl Sitting<'_> {
    /// A round: on disk first, then in sight.
    pub fn hear(&mut self, campaign: &Campaign, round: &Round) -> Result<(), Failure> {
        self.watch.lap(|times| match round.stage {
            Stage::Symbolic | Stage::Pairs | Stage::Paper => &mut times.symbolic,
            _ => &mut times.ascend,
        });
        self.write(Step::Round(round.clone()))?;
        self.show(campaign, round);
        Ok(())
    }

    /// A question to the provers: the same.
    pub fn hear_proof(&mut self, campaign: &Campaign, proof: &Proof) -> Result<(), Failure> {
        self.watch.lap(|times| &mut times.prove);
        self.write(Step::Proof(proof.clone()))?;
        if let Some(round) = &proof.round {
            self.show(campaign, round);
        }
        Ok(())
    }

    fn write(&mut self, step: Step) -> Result<(), Failure> {
        let seconds = self.watch.seconds();
        Ok(self.journal.append(&Entry { step, seconds })?)
    }

    fn show(&mut self, campaign: &Campaign, round: &Round) {
        if campaign.suite().len() >= self.judge.judgements.len() + JUDGED {
            self.judge.catch_up(campaign);
            self.watch.lap(|times| &mut times.oracle);
        }
        let snapshot = self.judge.snapshot(campaign, round, self.limits);
        self.progress.show(&snapshot);
    }
}

/// Keeps the verdicts up with the suite.
pub struct Judge<'a> {
    pub oracle: Oracle<'a>,
    pub scene: &'a Scene,
    pub judgements: Vec<Judgement>,
}

impl Judge<'_> {
    /// Judges the tests that are new.
    pub fn catch_up(&mut self, campaign: &Campaign) {
        let new = &campaign.suite().tests()[self.judgements.len()..];
        if new.is_empty() {
            return;
        }
        let inputs: Vec<f32> = new.iter().flat_map(|t| &t.input).copied().collect();
        let predictions: Vec<_> = new.iter().map(|t| t.prediction.clone()).collect();
        // The root is near, if the data are the references.
        let hints: Vec<Option<usize>> = new
            .iter()
            .map(|t| match self.scene.reference {
                Some(_) => None,
                None => Some(self.scene.seeds.index(t.root)),
            })
            .collect();
        let judged = self
            .oracle
            .judge(&self.scene.network, &inputs, &predictions, &hints);
        self.judgements.extend(judged);
    }

    fn snapshot(&self, campaign: &Campaign, round: &Round, limits: &Limits<'_>) -> Snapshot {
        let bad = |j: &&Judgement| j.verdict == Verdict::Adversarial;
        Snapshot {
            stage: round.stage.name(),
            covered: campaign.ledger().covered_count(),
            total: campaign.ledger().total(),
            tests: campaign.suite().len(),
            adversarial: (self.scene.decision.rule().is_some())
                .then(|| self.judgements.iter().filter(bad).count()),
            passes: Passes::total(round.passes),
            most: limits.executions,
            left: limits
                .deadline
                .map(|end| end.saturating_duration_since(Instant::now())),
        }
    }
}
