//! What goes along with a campaign: rounds are on disk before they are in sight, and verdicts keep up
//! with the suite.

use std::time::Instant;

use deepconcolic_archive::{Entry, Journal};
use deepconcolic_concolic::oracle::{Judgement, Oracle, Verdict};
use deepconcolic_concolic::{Campaign, Limits, Passes, Round, Stage};

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
    /// Rounds to come that the journal has already.
    pub known: usize,
}

impl Sitting<'_> {
    /// A round: on disk first, then in sight.
    pub fn hear(&mut self, campaign: &Campaign<'_>, round: &Round) -> Result<(), Failure> {
        self.watch.lap(|times| match round.stage {
            Stage::Symbolic | Stage::Pairs | Stage::Paper => &mut times.symbolic,
            Stage::Prove => &mut times.prove,
            _ => &mut times.ascend,
        });
        if self.known > 0 {
            self.known -= 1;
        } else {
            self.journal.append(&Entry {
                round: round.clone(),
                seconds: self.watch.seconds(),
            })?;
        }
        if campaign.suite().len() >= self.judge.judgements.len() + JUDGED {
            self.judge.catch_up(campaign);
            self.watch.lap(|times| &mut times.oracle);
        }
        let snapshot = self.judge.snapshot(campaign, round, self.limits);
        self.progress.show(&snapshot);
        Ok(())
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
    pub fn catch_up(&mut self, campaign: &Campaign<'_>) {
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

    fn snapshot(&self, campaign: &Campaign<'_>, round: &Round, limits: &Limits<'_>) -> Snapshot {
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
