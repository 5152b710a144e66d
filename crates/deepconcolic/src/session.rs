//! A run under way: concrete search, proofs, symbolic search, one step at a time.
//!
//! A session owns what it works on and can move to another thread. It prints nothing: what happens is told to
//! whoever asked for the step, and is in the journal before it is told. What comes of it is a [`Conclusion`].

mod cancel;
mod closing;
mod log;
mod resumption;
mod stopwatch;
mod timetable;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use deepconcolic_campaign::oracle::Judgement;
use deepconcolic_campaign::{
    Campaign, Limits, Passes, Round, Stage, Stop, Strategy, Subject, Suite,
};
use deepconcolic_criteria::Means;
use deepconcolic_record::{
    ArchiveError, Journal, JournalEntry, OnDamage, RunFolder, Summary, Times,
};
use serde_json::Value;

use crate::conclude::{Conclusion, Ended};
use crate::error::Error;
use crate::event::Event;
use crate::folder::certificates::{CertificateFolder, CertificateStore, CertificatesInMemory};
use crate::folder::{CERTIFICATES, NEAREST, PROFILE, kept, profile_file, region_file};
use crate::gate::Counts;
use crate::job::Job;
use crate::plan;
use crate::prepare::{Prepared, Preparing};
use crate::prove::{self, Proven, Recall};
use crate::settings::Settings;
pub use cancel::Cancel;
pub(crate) use closing::Closing;
use log::Log;
pub use resumption::Resumption;
pub use stopwatch::Stopwatch;
pub(crate) use timetable::Timetable;

/// Multiplications that running a suite again takes at most for a session that was cancelled to do so: a few seconds.
const SOON: usize = 1 << 36;
/// The share of the time left that measuring seeds may take: each is ranked and run again in the end, too.
const MEASURE_SHARE: f64 = 0.2;
/// The shares of the time left that proofs before a search for pairs, and proofs between two searches, may take.
const PAIR_SHARE: f64 = 0.25;
const PROOF_SHARE: f64 = 0.5;
/// The share of the time left in the end that finding out which certificates complete proofs may take.
const NAMING_SHARE: f64 = 0.2;
/// The share of the time that is kept for proofs when the search does not end by itself.
const RESERVE: f64 = 0.2;

/// Told of everything that happens.
pub type Listener<'l> = dyn FnMut(Event) + 'l;

/// What a session does next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Proofs about single neurons, before pairs of them are searched for.
    Neurons,
    /// Concrete search, with so many seconds kept for proofs.
    Search(f64),
    /// Proofs of what concrete search left.
    Proofs,
    /// Symbolic search for what neither decided.
    Symbolic,
    /// Nothing: it ended for this reason.
    Ended(Stop),
}

/// A run under way.
pub struct Session {
    job: Job,
    prepared: Arc<Prepared>,
    /// What decides the run, as it is written.
    settings: Value,
    campaign: Campaign,
    proven: Proven,
    certificates: Box<dyn CertificateStore>,
    folder: Option<RunFolder>,
    log: Log,
    phase: Phase,
    /// Rounds of earlier sittings that are to be repeated: before proofs, and after them.
    early: Vec<Round>,
    late: Vec<Round>,
    cancel: Cancel,
}

/// Where a session leaves what it does, so that it can be resumed.
enum Location<'a> {
    Memory,
    New(&'a Path),
    Old(&'a Path, OnDamage),
}

impl Session {
    /// A run that leaves nothing on disk.
    pub fn new(job: Job, cancel: &Cancel, tell: &mut Listener<'_>) -> Result<Self, Error> {
        Self::start(job, &Location::Memory, cancel, tell)
    }

    /// A run that leaves nothing on disk, on what [`Prepared::of`] made of its job: any number of runs can share it.
    pub fn of(
        job: Job,
        prepared: Arc<Prepared>,
        cancel: &Cancel,
        tell: &mut Listener<'_>,
    ) -> Result<Self, Error> {
        let watch = Stopwatch::start();
        Self::begin(job, prepared, watch, &Location::Memory, cancel, tell)
    }

    /// A run in a new or empty folder.
    pub fn create(
        job: Job,
        folder: &Path,
        cancel: &Cancel,
        tell: &mut Listener<'_>,
    ) -> Result<Self, Error> {
        Self::start(job, &Location::New(folder), cancel, tell)
    }

    /// Goes on with the run in a folder, which must be of the same job.
    pub fn resume(
        job: Job,
        folder: &Path,
        on_damage: OnDamage,
        cancel: &Cancel,
        tell: &mut Listener<'_>,
    ) -> Result<Self, Error> {
        Self::start(job, &Location::Old(folder, on_damage), cancel, tell)
    }

    /// Goes on with the run in a folder for so many more seconds, with what the folder says of model, data and all
    /// else that decides it; the model may lie elsewhere by now.
    pub fn reopen(
        folder: &Path,
        more: &Resumption,
        cancel: &Cancel,
        tell: &mut Listener<'_>,
    ) -> Result<Self, Error> {
        let watch = Stopwatch::start();
        let (settings, before) = RunFolder::settings(folder)?;
        let settings = Settings::read(&settings).map_err(|detail| {
            let path = folder.join("journal");
            Error::from(ArchiveError::Damaged { path, detail })
        })?;
        more.fit_filter(&settings, folder)?;
        let settings = kept::fetched(settings, folder);
        let job = Job {
            model: settings.model.clone(),
            data: settings.data.clone(),
            criterion: settings.criterion.clone(),
            budget: more.budget.map(|seconds| before + seconds),
            max_executions: more.max_executions,
            minimise: more.minimise || folder.join(NEAREST).exists(),
            filter: more.filter.clone(),
            gates: more.gates.clone(),
            command: more.command.clone(),
            ..Job::default()
        };
        let file = more.model.as_deref();
        let preparing = Preparing {
            time: Timetable::new(watch.started, more.budget, 0.0, false),
            interrupt: Some(&cancel.flag()),
            earlier: None,
        };
        let until = preparing.loading();
        let prepared = Arc::new(Prepared::of_saved(settings, folder, file, until, tell)?);
        let names = prepared.settings.criterion.as_deref();
        let names: Vec<&str> = names.into_iter().flat_map(|all| all.split(',')).collect();
        let has_file = prepared.settings.requirements.is_some();
        job.gates.fit(&names, has_file)?;
        let place = Location::Old(folder, more.on_damage);
        Self::begin(job, prepared, watch, &place, cancel, tell)
    }

    fn start(
        job: Job,
        place: &Location<'_>,
        cancel: &Cancel,
        tell: &mut Listener<'_>,
    ) -> Result<Self, Error> {
        let watch = Stopwatch::start();
        let earlier = match *place {
            Location::Old(path, _) => RunFolder::settings(path).ok(),
            Location::New(_) | Location::Memory => None,
        };
        let (earlier, before) = earlier.unzip();
        let before = before.unwrap_or_default();
        // Parts of one job start from the same, however fast the machines are that work on them.
        let counts = job.max_executions.is_some() || job.partition.is_some();
        let flag = cancel.flag();
        let preparing = Preparing {
            time: Timetable::new(watch.started, job.budget, before, counts),
            interrupt: Some(&flag),
            // What cannot be read is told of when the folder is opened.
            earlier: earlier.and_then(|value| Settings::read(&value).ok()),
        };
        let prepared = Arc::new(Prepared::within(&job, &preparing, tell)?);
        Self::begin(job, prepared, watch, place, cancel, tell)
    }

    fn begin(
        job: Job,
        prepared: Arc<Prepared>,
        mut watch: Stopwatch,
        place: &Location<'_>,
        cancel: &Cancel,
        tell: &mut Listener<'_>,
    ) -> Result<Self, Error> {
        let settings = serde_json::to_value(&prepared.settings).map_err(Error::json)?;
        cancel.begin();
        let opened = Opened::at(place, &settings, &prepared, &job)?;
        let before = opened.entries.iter().map(|entry| entry.seconds).sum();
        watch.carry(before);
        let mut log = Log::new(&prepared, opened.journal, watch, &job);
        let flag = cancel.flag();
        // What is in the journal was done from all seeds, so they are run again whatever the limits.
        let measuring = if opened.entries.is_empty() {
            Limits {
                deadline: log.time.share(MEASURE_SHARE, log.end_of_search()),
                ..log.limits(&flag)
            }
        } else {
            Limits::default()
        };
        let subject = prepared.subject()?;
        let strategy = plan::strategy(&prepared.settings.strategy)?;
        let rng_seed = prepared.settings.rng_seed;
        let mut campaign = Campaign::new(subject, strategy, rng_seed, prepared.runs, &measuring)
            .map_err(Error::Request)?;
        log.closing
            .looked(campaign.measuring(), campaign.suite().len());
        if let Some(filter) = &job.filter {
            campaign.hold_to(filter.clone());
        }
        let rounds = opened
            .entries
            .iter()
            .filter_map(JournalEntry::round)
            .cloned();
        let (late, early) = rounds.partition(|round| round.stage == Stage::Symbolic);
        let recorded = opened
            .entries
            .iter()
            .filter_map(JournalEntry::proof)
            .cloned();
        let mut session = Self {
            prepared,
            settings,
            campaign,
            proven: Proven::recalling(Recall::new(recorded)),
            certificates: opened.certificates,
            folder: opened.folder,
            log,
            phase: Phase::Neurons,
            early,
            late,
            cancel: cancel.clone(),
            job,
        };
        session.log.watch.lap(|times| &mut times.measure);
        session.log.seeds(&session.campaign, tell);
        Ok(session)
    }

    /// What the run works on.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The tests so far.
    pub fn suite(&self) -> &Suite {
        self.campaign.suite()
    }

    /// How the goals stand, and how the properties do.
    pub fn counts(&self) -> (Counts, Counts) {
        self.log.counts(&self.campaign)
    }

    /// Requirements with a witness so far, goals and properties alike, and all of them; [`Self::counts`] tells them apart.
    pub fn coverage(&self) -> (usize, usize) {
        let ledger = self.campaign.ledger();
        (ledger.covered_count(), ledger.total())
    }

    /// Passes through the network so far, and linear programs.
    pub fn passes(&self) -> Passes {
        self.campaign.passes()
    }

    /// Where the time went so far, in seconds.
    pub fn times(&self) -> Times {
        self.log.watch.times
    }

    /// Works to the end.
    pub fn run(&mut self, tell: &mut Listener<'_>) -> Result<Stop, Error> {
        loop {
            if let Some(stop) = self.step(tell)? {
                return Ok(stop);
            }
        }
    }

    /// Does one round of search, or one stage of proofs. Says why there is nothing left to do, once that is so.
    pub fn step(&mut self, tell: &mut Listener<'_>) -> Result<Option<Stop>, Error> {
        match self.phase {
            Phase::Neurons => self.prove_neurons(tell)?,
            Phase::Search(kept) => self.search(kept, tell)?,
            Phase::Proofs => self.prove_rest(tell)?,
            Phase::Symbolic => self.search_symbolically(tell)?,
            Phase::Ended(stop) => return Ok(Some(stop)),
        }
        if let Phase::Ended(stop) = self.phase {
            if matches!(stop, Stop::Complete | Stop::Executions) {
                prove::remove_needless(self.certificates.as_ref(), &self.proven)?;
            }
            tell(Event::Stopped(stop));
        }
        Ok(None)
    }

    fn has_pairs(&self) -> bool {
        self.prepared.family.has_pairs()
    }

    /// Whether no symbolic search comes after proofs.
    fn ends_with_proofs(&self) -> bool {
        self.prepared.family.asks_only_for_two()
    }

    /// Random tests are what the others are compared with: they get all of the time.
    fn proves(&self) -> Result<bool, Error> {
        let settings = &self.prepared.settings;
        let strategy = plan::strategy(&settings.strategy)?;
        Ok(settings.proofs && !matches!(strategy, Strategy::Random | Strategy::Published))
    }

    /// What single neurons tell of pairs, before the search, which then passes over what is impossible.
    fn prove_neurons(&mut self, tell: &mut Listener<'_>) -> Result<(), Error> {
        if self.has_pairs() && self.prepared.settings.proofs {
            let when = When {
                deadline: self.share(PAIR_SHARE),
                admits: false,
                recorded: true,
                closed: !(self.early.is_empty() && self.late.is_empty()),
                neurons_only: true,
            };
            self.prove(&when, tell)?;
        }
        let early = std::mem::take(&mut self.early);
        self.restore(&early)?;
        self.campaign.hold_symbolic(true);
        let reserve = if self.proves()? { RESERVE } else { 0.0 };
        let left = self.log.time.left().unwrap_or_default();
        self.phase = Phase::Search(reserve * left);
        Ok(())
    }

    /// When the search must be over, so that there is time for the end as it stands now.
    fn search_end(&self) -> Option<Instant> {
        self.log.search_end(&self.campaign, 0.0)
    }

    /// When a part is over that may take this share of the time left for the search.
    fn share(&self, share: f64) -> Option<Instant> {
        self.log.time.share(share, self.search_end())
    }

    fn search(&mut self, kept: f64, tell: &mut Listener<'_>) -> Result<(), Error> {
        let flag = self.cancel.flag();
        let limits = Limits {
            deadline: self.log.search_end(&self.campaign, kept),
            ..self.log.limits(&flag)
        };
        match self.round(&limits, tell)? {
            None => {}
            Some(Stop::Complete) => self.phase = Phase::Proofs,
            Some(stop) => {
                if stop == Stop::Budget && self.proves()? {
                    // The search may go on in another sitting, so that its journal must not know of this.
                    let when = When {
                        deadline: self.search_end(),
                        admits: false,
                        recorded: false,
                        closed: false,
                        neurons_only: false,
                    };
                    self.prove(&when, tell)?;
                }
                self.phase = Phase::Ended(stop);
            }
        }
        Ok(())
    }

    fn prove_rest(&mut self, tell: &mut Listener<'_>) -> Result<(), Error> {
        if self.proves()? {
            let share = if self.ends_with_proofs() {
                1.0
            } else {
                PROOF_SHARE
            };
            let when = When {
                deadline: self.share(share),
                admits: true,
                recorded: true,
                closed: !self.late.is_empty(),
                neurons_only: false,
            };
            self.prove(&when, tell)?;
        }
        let late = std::mem::take(&mut self.late);
        self.restore(&late)?;
        self.campaign.hold_symbolic(false);
        self.phase = Phase::Symbolic;
        Ok(())
    }

    fn search_symbolically(&mut self, tell: &mut Listener<'_>) -> Result<(), Error> {
        let flag = self.cancel.flag();
        let limits = Limits {
            deadline: self.search_end(),
            ..self.log.limits(&flag)
        };
        if let Some(stop) = self.round(&limits, tell)? {
            self.phase = Phase::Ended(stop);
        }
        Ok(())
    }

    /// One round; says why there is none.
    fn round(
        &mut self,
        limits: &Limits<'_>,
        tell: &mut Listener<'_>,
    ) -> Result<Option<Stop>, Error> {
        match self.campaign.step(limits) {
            Ok(round) => {
                self.log.hear(&self.campaign, &round, tell)?;
                Ok(None)
            }
            Err(stop) => Ok(Some(stop)),
        }
    }

    /// Tries what is open for infeasibility, after what is proven already.
    fn prove(&mut self, when: &When, tell: &mut Listener<'_>) -> Result<(), Error> {
        let prepared = Arc::clone(&self.prepared);
        let means: Arc<Means> = self.campaign.means();
        let stage = prove::ProofStage {
            network: &prepared.network,
            family: prepared.family.as_ref(),
            space: &prepared.space,
            seeds: &prepared.seeds,
            means: &means,
            model: prepared.digest,
            certificates: self.certificates.as_ref(),
            deadline: when.deadline,
            admits: when.admits,
            recorded: when.recorded,
            closed: when.closed,
            neurons_only: when.neurons_only,
        };
        let flag = self.cancel.flag();
        let limits = self.log.limits(&flag);
        let proven = std::mem::take(&mut self.proven);
        let log = &mut self.log;
        log.enter(Stage::Prove, tell);
        self.proven = stage.run(
            proven,
            &mut self.campaign,
            &limits,
            &mut |campaign, proof| log.hear_proof(campaign, proof, tell),
        )?;
        self.campaign.set_aside(self.proven.infeasible());
        self.log.tell_progress(&self.campaign, Stage::Prove, tell);
        self.log.watch.lap(|times| &mut times.prove);
        Ok(())
    }

    /// Repeats what the journal says.
    fn restore(&mut self, rounds: &[Round]) -> Result<(), Error> {
        for (number, round) in rounds.iter().enumerate() {
            self.campaign.restore(round).map_err(|why| {
                let folder = self.folder.as_ref().map(RunFolder::path);
                Error::Request(format!(
                    "{}: round {number} of the journal cannot be repeated: {why}; the model or this \
                     program may have changed since",
                    folder.unwrap_or(Path::new("")).display()
                ))
            })?;
        }
        Ok(())
    }

    /// Concludes and writes what came of it to the session's folder. A session that was cancelled does not run a suite
    /// again that takes long: its work is in the journal, from where another one can go on.
    pub fn save(self) -> Result<Summary, Error> {
        self.is_soon_saved()?;
        let (mut conclusion, folder) = self.conclude()?;
        match folder {
            Some(folder) => conclusion.write(&folder),
            None => Ok(conclusion.summary()),
        }
    }

    fn is_soon_saved(&self) -> Result<(), Error> {
        let tests = self.campaign.suite().len();
        let work = self.prepared.network.pass_cost().saturating_mul(tests);
        match &self.folder {
            Some(folder) if self.cancel.is_cancelled() && work > SOON => {
                Err(Error::Interrupted(format!(
                    "interrupted: the journal in {} has the work, {tests} tests with their seeds; running them all \
                     again to save the results takes longer than a moment, --resume does it",
                    folder.path().display()
                )))
            }
            _ => Ok(()),
        }
    }

    /// What came of it, from running the whole suite again; and the folder that it can be written to.
    pub fn conclude(mut self) -> Result<(Conclusion, Option<RunFolder>), Error> {
        let stop = match self.phase {
            Phase::Ended(stop) => stop,
            _ => Stop::Interrupted,
        };
        let (network, family) = (&self.prepared.network, self.prepared.family.as_ref());
        let flag = self.cancel.flag();
        let naming = Limits {
            deadline: self.log.time.share(NAMING_SHARE, self.log.time.end()),
            ..self.log.limits(&flag)
        };
        let digest = self.prepared.digest;
        self.proven
            .name_certificates(network, family, digest, &naming)?;
        let judgements: Vec<Judgement> = self.log.judged(&self.campaign)?;
        let ended = Ended {
            prepared: &self.prepared,
            campaign: &self.campaign,
            judgements: &judgements,
            proven: &self.proven,
            settings: self.settings,
            passes: self.campaign.passes(),
            minimise: self.job.minimise,
            command: self.job.command,
            gates: self.job.gates,
            limits: Limits {
                deadline: self.log.end_before_saving(&self.campaign),
                ..self.log.limits(&flag)
            },
            stop,
        };
        let conclusion = ended.conclude(&mut self.log.watch)?;
        Ok((conclusion, self.folder))
    }
}

/// When proofs are tried.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about when proofs are tried"
)]
struct When {
    /// Until then.
    deadline: Option<Instant>,
    /// Whether witnesses enter the suite.
    admits: bool,
    /// Whether the journal hears of it.
    recorded: bool,
    /// Whether the journal goes on behind it.
    closed: bool,
    /// Whether pairs of neurons are still to be searched for.
    neurons_only: bool,
}

/// What a session writes to, and what is there already.
struct Opened {
    folder: Option<RunFolder>,
    journal: Option<Journal>,
    entries: Vec<JournalEntry>,
    certificates: Box<dyn CertificateStore>,
}

impl Opened {
    fn at(
        place: &Location<'_>,
        settings: &Value,
        prepared: &Prepared,
        job: &Job,
    ) -> Result<Self, Error> {
        let (folder, journal, entries) = match *place {
            Location::Memory => {
                return Ok(Self {
                    folder: None,
                    journal: None,
                    entries: Vec::new(),
                    certificates: Box::new(CertificatesInMemory::default()),
                });
            }
            Location::New(path) => {
                let (folder, journal) = RunFolder::create(path, settings)?;
                (folder, journal, Vec::new())
            }
            Location::Old(path, on_damage) => RunFolder::resume(path, settings, on_damage)?,
        };
        // Also when resuming: the run may have been killed before these were there.
        kept::keep(&job.model, &job.data, &folder)?;
        let saved = folder.file(PROFILE);
        if let Some(profile) = prepared.profile.as_ref().filter(|_| !saved.exists()) {
            profile_file::save(&saved, &prepared.network, profile)?;
        }
        if let Some(region) = &job.region {
            region_file::keep(region, &folder)?;
        }
        Ok(Self {
            certificates: Box::new(CertificateFolder(folder.file(CERTIFICATES))),
            folder: Some(folder),
            journal: Some(journal),
            entries,
        })
    }
}

impl Prepared {
    /// What a campaign works on.
    pub(crate) fn subject(&self) -> Result<Subject, Error> {
        Ok(Subject {
            network: Arc::clone(&self.network),
            family: Arc::clone(&self.family),
            space: Arc::clone(&self.space),
            seeds: Arc::clone(&self.seeds),
            means: Arc::new(plan::means(&self.settings, &self.network)?),
            decision: Arc::clone(&self.decision),
        })
    }
}
