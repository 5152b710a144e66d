//! What goes along with a campaign: rounds are in the journal before anybody is told, verdicts keep up with the
//! suite, and the clock runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use deepconcolic_campaign::oracle::{Judgement, Verdict};
use deepconcolic_campaign::{Campaign, Ledger, Limits, Passes, Round, Stage, Test};
use deepconcolic_network::BitSet;
use deepconcolic_record::{Journal, JournalEntry, JournalStep, ProofRecord};

use super::closing::{Closing, Suite};
use super::{Listener, Stopwatch, Timetable};
use crate::criterion::properties;
use crate::error::Error;
use crate::event::{Event, Progress};
use crate::gate::Counts;
use crate::job::Job;
use crate::oracle::Court;
use crate::prepare::Prepared;

/// Tests judged at a time: each time all references are read.
const JUDGED: usize = 128;
/// The share of the budget that is kept for nearest witnesses, if these are asked for.
const MINIMISE_SHARE: f64 = 0.4;

/// The journal, the verdicts, the clock.
pub struct Log {
    prepared: Arc<Prepared>,
    /// What wants no witness, group by group.
    properties: Vec<BitSet>,
    journal: Option<Journal>,
    judgements: Vec<Judgement>,
    pub watch: Stopwatch,
    /// The time of this sitting, what its end will take, and what is kept for nearest witnesses.
    pub time: Timetable,
    pub closing: Closing,
    minimising: f64,
    executions: Option<usize>,
    stage: Option<Stage>,
    /// Tests that were told of.
    told: usize,
}

impl Log {
    pub fn new(
        prepared: &Arc<Prepared>,
        journal: Option<Journal>,
        watch: Stopwatch,
        job: &Job,
    ) -> Self {
        let counts = job.max_executions.is_some();
        let time = Timetable::new(watch.started, job.budget, watch.before(), counts);
        let kept = if job.minimise { MINIMISE_SHARE } else { 0.0 };
        Self {
            properties: properties(&prepared.settings, prepared.family.as_ref()),
            prepared: Arc::clone(prepared),
            journal,
            judgements: Vec::new(),
            watch,
            minimising: kept * time.left().unwrap_or_default(),
            time,
            closing: Closing::of_run(prepared),
            executions: job.max_executions,
            stage: None,
            told: 0,
        }
    }

    /// What ends everything.
    pub fn limits<'f>(&self, flag: &'f AtomicBool) -> Limits<'f> {
        Limits {
            executions: self.executions,
            deadline: self.time.end(),
            interrupt: Some(flag),
        }
    }

    /// When a search must be over, so that there is time for the end as it stands, for nearest witnesses, and for so
    /// many seconds of other work.
    pub fn search_end(&self, campaign: &Campaign, kept: f64) -> Option<Instant> {
        let kept = self.kept(self.suite(campaign)) + kept;
        self.time.before_last(kept)
    }

    /// The same before there is a test.
    pub fn end_of_search(&self) -> Option<Instant> {
        self.time.before_last(self.kept(Suite::default()))
    }

    /// When everything but saving must be over.
    pub fn end_before_saving(&self, campaign: &Campaign) -> Option<Instant> {
        let saving = self.closing.saving(self.suite(campaign));
        self.time.before_last(saving)
    }

    /// Seconds kept for the end and for nearest witnesses.
    fn kept(&self, suite: Suite) -> f64 {
        self.closing.seconds(suite) + self.minimising
    }

    fn suite(&self, campaign: &Campaign) -> Suite {
        let tests = campaign.suite().len();
        Suite {
            tests,
            unjudged: tests.saturating_sub(self.judgements.len()),
            adversarial: self.adversarial(),
            pairs: campaign.claims().len(),
        }
    }

    /// Tests judged so far that are adversarial.
    fn adversarial(&self) -> usize {
        let bad = |j: &&Judgement| j.verdict == Verdict::Adversarial;
        self.judgements.iter().filter(bad).count()
    }

    /// The seeds were measured.
    pub fn seeds(&mut self, campaign: &Campaign, tell: &mut Listener<'_>) {
        self.enter(Stage::Measure, tell);
        self.tell_tests(campaign, tell);
    }

    /// A round: in the journal first, then told.
    pub fn hear(
        &mut self,
        campaign: &Campaign,
        round: &Round,
        tell: &mut Listener<'_>,
    ) -> Result<(), Error> {
        self.watch.lap(|times| match round.stage {
            Stage::Symbolic | Stage::Pairs | Stage::Paper => &mut times.symbolic,
            _ => &mut times.ascend,
        });
        self.write(JournalStep::Round(round.clone()))?;
        self.tell_round(campaign, round, tell)
    }

    /// A question to the provers: the same.
    pub fn hear_proof(
        &mut self,
        campaign: &Campaign,
        proof: &ProofRecord,
        tell: &mut Listener<'_>,
    ) -> Result<(), Error> {
        self.watch.lap(|times| &mut times.prove);
        self.write(JournalStep::Proof(proof.clone()))?;
        tell(Event::Proof {
            nodes: proof.nodes,
            certificate: proof.wrote,
            cut: proof.cut,
        });
        match &proof.round {
            Some(round) => self.tell_round(campaign, round, tell),
            None => Ok(()),
        }
    }

    /// A stage begins, unless it is under way.
    pub fn enter(&mut self, stage: Stage, tell: &mut Listener<'_>) {
        if self.stage.replace(stage) != Some(stage) {
            tell(Event::Stage(stage));
        }
    }

    fn write(&mut self, step: JournalStep) -> Result<(), Error> {
        let seconds = self.watch.since_told();
        match &mut self.journal {
            Some(journal) => Ok(journal.append(&JournalEntry { step, seconds })?),
            None => Ok(()),
        }
    }

    fn tell_round(
        &mut self,
        campaign: &Campaign,
        round: &Round,
        tell: &mut Listener<'_>,
    ) -> Result<(), Error> {
        self.enter(round.stage, tell);
        self.tell_tests(campaign, tell);
        tell(Event::Round {
            stage: round.stage,
            tests: round.tests.len(),
            gain: round.gain,
        });
        if campaign.suite().len() >= self.judgements.len() + JUDGED {
            self.judge(campaign)?;
        }
        self.tell_progress(campaign, round.stage, tell);
        Ok(())
    }

    /// Where the session is.
    pub fn tell_progress(&self, campaign: &Campaign, stage: Stage, tell: &mut Listener<'_>) {
        tell(Event::Progress(self.progress(campaign, stage)));
    }

    fn tell_tests(&mut self, campaign: &Campaign, tell: &mut Listener<'_>) {
        let tests = campaign.suite().tests();
        for (number, test) in tests.iter().enumerate().skip(self.told) {
            tell(Event::Test {
                number,
                stage: test.provenance.stage,
                seed: self.prepared.seeds.index(test.provenance.root),
                distance: test.distance,
                label: test.prediction.label(),
            });
        }
        self.told = tests.len();
    }

    /// Verdicts on all tests.
    pub fn judged(&mut self, campaign: &Campaign) -> Result<Vec<Judgement>, Error> {
        self.judge(campaign)?;
        Ok(self.judgements.clone())
    }

    /// Judges the tests that are new.
    fn judge(&mut self, campaign: &Campaign) -> Result<(), Error> {
        let new = &campaign.suite().tests()[self.judgements.len()..];
        let began = Instant::now();
        self.judgements.extend(self.prepared.judge(new)?);
        self.closing.judged(began.elapsed(), new.len());
        self.watch.lap(|times| &mut times.oracle);
        Ok(())
    }

    /// How goals and properties stand.
    pub fn counts(&self, campaign: &Campaign) -> (Counts, Counts) {
        counts(campaign.ledger(), &self.properties)
    }

    fn progress(&self, campaign: &Campaign, stage: Stage) -> Progress {
        let (goals, properties) = self.counts(campaign);
        Progress {
            stage,
            goals,
            properties,
            tests: campaign.suite().len(),
            adversarial: (self.prepared.decision.rule().is_some()).then(|| self.adversarial()),
            passes: Passes::total(campaign.passes()),
            max_passes: self.executions,
            left: self
                .search_end(campaign, 0.0)
                .map(|end| end.saturating_duration_since(Instant::now())),
        }
    }
}

/// What a ledger says of goals, and of properties.
fn counts(ledger: &Ledger, properties: &[BitSet]) -> (Counts, Counts) {
    let (mut goals, mut of_properties) = (Counts::default(), Counts::default());
    let groups = ledger.uncovered().iter().zip(ledger.open());
    for ((uncovered, open), properties) in groups.zip(properties) {
        // What no test meets and no search works on was proven impossible to meet.
        let proven = uncovered.without(open);
        let proven_goals = proven.count_without(properties);
        goals.impossible += proven_goals;
        of_properties += Counts {
            total: properties.count(),
            met: properties.count_without(uncovered),
            impossible: proven.count() - proven_goals,
        };
    }
    goals.total = ledger.total().saturating_sub(of_properties.total);
    goals.met = ledger.covered_count().saturating_sub(of_properties.met);
    (goals, of_properties)
}

impl Prepared {
    /// What the oracle says of tests.
    pub(crate) fn judge(&self, tests: &[Test]) -> Result<Vec<Judgement>, Error> {
        if tests.is_empty() {
            return Ok(Vec::new());
        }
        let references = self.reference.as_ref().unwrap_or(&self.data);
        let inputs: Vec<f32> = tests.iter().flat_map(|t| &t.input).copied().collect();
        let predictions: Vec<_> = tests.iter().map(|t| t.prediction.clone()).collect();
        let roots = tests
            .iter()
            .map(|test| Some(self.seeds.index(test.provenance.root)));
        let court = Court {
            settings: &self.settings,
            network: &self.network,
            space: &self.space,
            decision: &self.decision,
        };
        court.judge(references, &inputs, &predictions, roots)
    }
}
