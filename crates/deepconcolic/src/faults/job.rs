//! An audit: faults, suites, and which find which.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use deepconcolic_criteria::{Prediction, Rule};
use deepconcolic_dataset::write::{AtomicFile, NpzWriter};
use deepconcolic_formats::LoadError;
use deepconcolic_geometry::Random;

use super::clock::Clock;
use super::fault::{ALL, Fault, FaultKind};
use super::intervals::{bootstrap, wilson};
use super::last_layer::LastLayer;
use super::planted::Planting;
use super::report::{AuditReport, Comparison, Difference, FaultReport, SuiteReport, Verdict};
use super::subject::Subject;
use super::suites::{self, Controls, Suite};
use super::weight_mutants;
use crate::criterion;
use crate::error::Error;
use crate::event::Event;
use crate::job::{Job, Radius, SeedRequest};
use crate::samples;
use crate::settings::{CriterionSettings, DataSettings, ModelSettings};

/// The share of the time that making faults may take.
const FAULTS_SHARE: f64 = 0.35;
/// The share of the time left that the last part, running suites on faults, is thought to take at most.
const RUNS_SHARE: f64 = 0.25;

/// Which suites find which faults of a model.
///
/// ```
/// use deepconcolic::AuditJob;
///
/// # let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/");
/// let mut job = AuditJob::new(format!("{root}mlp.onnx"), format!("{root}data_mlp.npz"));
/// job.criteria = vec!["nc".into()];
/// (job.tests, job.faults) = (10, 4);
/// let report = job.run(&mut |_| {})?;
/// assert_eq!(report.suites.len(), 4);
/// assert_eq!(report.suites[0].differing.len(), report.faults.len());
/// # Ok::<(), deepconcolic::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AuditJob {
    /// The model and how it is read.
    pub model: ModelSettings,
    /// The data and how they are read.
    pub data: DataSettings,
    /// What the model's answer is; without it, what the model shows.
    pub decision: Option<Rule>,
    /// The criteria whose suites are made.
    pub criteria: Vec<String>,
    /// Parameters of the criteria, and the norm.
    pub parameters: CriterionSettings,
    /// How far from its seed a test may lie.
    pub radius: Radius,
    /// The domain of every input element, `LO..HI`.
    pub domain: Option<String>,
    /// How many inputs suites start from.
    pub seeds: usize,
    /// How many tests each suite should have.
    pub tests: usize,
    /// How many faults there should be.
    pub faults: usize,
    /// Seconds that all of it may take.
    pub budget: f64,
    /// Seed of the random numbers.
    pub rng_seed: u64,
    /// A new or empty folder for the faults and the suites.
    pub out: Option<PathBuf>,
    /// How it was asked for, in words, for the runs of criteria.
    pub command: Vec<String>,
}

impl AuditJob {
    /// Criteria when nobody says which.
    pub const CRITERIA: [&str; 5] = ["nc", "nbc", "kmnc", "tknc", "ssc"];
    /// Tests of each suite, faults, inputs to start from and seconds when nobody says how many.
    pub const TESTS: usize = 100;
    /// See [`AuditJob::TESTS`].
    pub const FAULTS: usize = 30;
    /// See [`AuditJob::TESTS`].
    pub const SEEDS: usize = 20;
    /// See [`AuditJob::TESTS`].
    pub const BUDGET: f64 = 300.0;

    /// Suites of fewer tests are not judged beside others.
    pub const COMPARABLE: usize = 10;

    /// A model with data, everything else by default.
    pub fn new(model: impl AsRef<Path>, data: impl AsRef<Path>) -> Self {
        Self {
            model: ModelSettings::new(model.as_ref()),
            data: DataSettings::new(data.as_ref()),
            decision: None,
            criteria: Self::CRITERIA.map(str::to_owned).to_vec(),
            parameters: CriterionSettings::default(),
            radius: Radius::default(),
            domain: None,
            seeds: Self::SEEDS,
            tests: Self::TESTS,
            faults: Self::FAULTS,
            budget: Self::BUDGET,
            rng_seed: 0,
            out: None,
            command: Vec::new(),
        }
    }

    /// Makes faults and suites, and counts which find which.
    ///
    /// # Errors
    /// When model, data or what is asked do not fit, with the reason and the way out.
    pub fn run(&self, tell: &mut dyn FnMut(Event)) -> Result<AuditReport, Error> {
        let clock = Clock::start(self.budget);
        self.check()?;
        let subject = Subject::open(&self.model, &self.data, self.decision)?;
        subject
            .notes
            .iter()
            .cloned()
            .map(Event::Note)
            .for_each(&mut *tell);
        if let Some(folder) = &self.out {
            make_folder(folder)?;
        }
        let mut account = Account::default();
        let faults = self.make_faults(&subject, &clock.share(FAULTS_SHARE), &mut account)?;
        let mut made = self.make_suites(&subject, &clock, &mut account)?;
        shorten(&subject, &mut made.suites, &clock, &mut account);
        self.write(&subject, &faults, &made.suites)?;
        let counted = count(&subject, &faults, &made.suites, &clock, &mut account)?;
        Ok(self.report(&subject, faults, made, &counted, account, &clock))
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |what: &str| Err(Error::Request(what.into()));
        if self.criteria.is_empty() {
            return refuse("name at least one criterion with --criteria");
        }
        if self.tests == 0 || self.faults == 0 || self.seeds == 0 {
            return refuse("--tests, --faults and --seeds must be at least 1");
        }
        if !self.budget.is_finite() || self.budget <= 0.0 {
            return refuse("--budget must be a time above 0");
        }
        for (number, name) in self.criteria.iter().enumerate() {
            criterion::find(name)?;
            if self.criteria[..number].contains(name) {
                return Err(Error::Request(format!("--criteria names {name} twice")));
            }
        }
        Ok(())
    }

    /// The faults, kind after kind in turn. Each depends on its number and the seed alone.
    fn make_faults(
        &self,
        subject: &Subject,
        clock: &Clock,
        account: &mut Account,
    ) -> Result<Vec<Fault>, Error> {
        let (domain, _) = samples::domain(self.domain.as_deref(), &subject.data, &subject.network)?;
        let last = LastLayer::of(subject);
        if let Err(why) = &last {
            account.note(format!("no fault was planted in the last layer: {why}"));
        } else if !subject.data.is_image() {
            account.note("no backdoor was planted: the data are not images".into());
        }
        let possible = |kind: &FaultKind| match kind {
            FaultKind::LabelFlip => last.is_ok(),
            FaultKind::Backdoor => last.is_ok() && subject.data.is_image(),
            _ => true,
        };
        let kinds: Vec<FaultKind> = ALL.into_iter().filter(possible).collect();
        let mut faults = Vec::new();
        for number in 0..self.faults {
            let kind = kinds[number % kinds.len()];
            if clock.is_over() {
                account.cut(format!(
                    "{} of {} faults were not made",
                    self.faults - number,
                    self.faults
                ));
                break;
            }
            let random = &mut Random::of(&[self.rng_seed, 0xfa, number as u64]);
            let fault = match (&last, kind.is_planted()) {
                (Ok(last), true) => Planting {
                    subject,
                    last,
                    brightest: domain.upper(),
                }
                .plant(kind, random, clock)?,
                _ => weight_mutants::draw(subject, kind, random, clock)?,
            };
            match fault {
                Some(fault) => faults.push(fault),
                None if clock.is_over() => {
                    account.cut(format!("a {} fault was not finished", kind.name()));
                }
                None => account.note(format!(
                    "a {} fault could not be made: {}",
                    kind.name(),
                    if kind.is_planted() {
                        "training the last layer did not reach half of the inputs meant for it"
                    } else {
                        "no layer can have it"
                    }
                )),
            }
        }
        if faults.is_empty() {
            return Err(Error::Request(
                "no fault was made in the time there was; give more with --budget".into(),
            ));
        }
        Ok(faults)
    }

    fn make_suites(
        &self,
        subject: &Subject,
        clock: &Clock,
        account: &mut Account,
    ) -> Result<Made, Error> {
        let mut by_criteria = Vec::new();
        let mut ground = None;
        for (number, name) in self.criteria.iter().enumerate() {
            let left = self.criteria.len() - number;
            let clock = clock.share((1.0 - RUNS_SHARE) / left as f64);
            let folder = self.out.as_ref().map(|out| out.join("suites").join(name));
            // What a run tells of model and data was told when they were read.
            let run = suites::by_criterion(
                self.job(name),
                self.tests,
                &clock,
                folder.as_deref(),
                &mut |_| {},
            )?;
            if run.cut {
                account.cut(format!(
                    "the search for {name} ended before there were as many tests"
                ));
            }
            by_criteria.push(run.suite);
            ground.get_or_insert((run.space, run.seeds));
        }
        let Some((space, seeds)) = ground else {
            return Err(Error::Internal("an audit without a criterion".into()));
        };
        let controls = Controls {
            subject,
            space: &space,
            seeds: &seeds,
            tests: self.tests,
            rng_seed: self.rng_seed,
        };
        let (gradient, cut) = controls.gradient(&clock.share(RUNS_SHARE))?;
        if cut {
            account.cut("the gradient attack ended before all of its steps".into());
        }
        let mut suites = vec![controls.random(), gradient, controls.data()];
        suites.extend(by_criteria);
        Ok(Made {
            suites,
            seeds: seeds.len(),
            region: space.place(),
        })
    }

    fn job(&self, criterion: &str) -> Job {
        Job {
            model: self.model.clone(),
            data: self.data.clone(),
            decision: self.decision,
            criterion: Some(criterion.to_owned()),
            parameters: self.parameters.clone(),
            radius: self.radius,
            domain: self.domain.clone(),
            seeds: SeedRequest::First(self.seeds),
            rng_seed: self.rng_seed,
            command: self.command.clone(),
            ..Job::default()
        }
    }

    /// The models with faults, and the suites that no run wrote.
    fn write(&self, subject: &Subject, faults: &[Fault], suites: &[Suite]) -> Result<(), Error> {
        let Some(folder) = &self.out else {
            return Ok(());
        };
        for (number, fault) in faults.iter().enumerate() {
            let path = folder.join(file_name(number, fault));
            let bytes = subject
                .weights
                .with(&fault.changes)
                .map_err(LoadError::Onnx)?;
            let mut file = AtomicFile::create(&path)?;
            file.write_all(&bytes).map_err(unwritable(&path))?;
            file.commit()?;
        }
        let shape = subject.network.input_shape();
        for suite in suites.iter().filter(|suite| suite.coverage.is_none()) {
            let count = suite.inputs.len() / subject.network.input_elements().max(1);
            let mut extents = vec![count];
            extents.extend_from_slice(shape.without_batch());
            let path = folder.join("suites").join(format!("{}.npz", suite.name));
            let mut archive = NpzWriter::create(&path)?;
            archive.add("x", &extents, &suite.inputs)?;
            archive.finish()?;
        }
        Ok(())
    }

    fn report(
        &self,
        subject: &Subject,
        faults: Vec<Fault>,
        made: Made,
        counted: &Counted,
        account: Account,
        clock: &Clock,
    ) -> AuditReport {
        let suites = made.suites.iter().zip(&counted.differs);
        let random = counted.differs.first();
        let gradient = counted.differs.get(1);
        let suites = suites.map(|(suite, differs)| {
            let beside = |other: Option<&Vec<Vec<bool>>>, name: &str| {
                let other = other.filter(|_| suite.name != name)?;
                compare(differs, other, self.rng_seed)
            };
            let differing: Vec<usize> = differs.iter().map(|tests| hits(tests)).collect();
            let found = differing.iter().filter(|&&tests| tests > 0).count();
            let run: usize = differs.iter().map(Vec::len).sum();
            SuiteReport {
                name: suite.name.clone(),
                what: suite.what.clone(),
                tests: differs.first().map_or(0, Vec::len),
                coverage: suite.coverage,
                found,
                found_interval: wilson(found, differs.len()),
                differing_share: differing.iter().sum::<usize>() as f64 / run.max(1) as f64,
                differing,
                beside_random: beside(random, "random"),
                beside_gradient: beside(gradient, "gradient"),
            }
        });
        let suites = suites.collect();
        let named = |(number, fault): (usize, Fault)| FaultReport {
            number: number + 1,
            kind: fault.kind,
            file: self.out.as_ref().map(|_| file_name(number, &fault)),
            what: fault.what,
            shown_by_samples: fault.shown_by,
            planted: fault.planted,
        };
        let rule = subject.decision.rule();
        AuditReport {
            format: AuditReport::FORMAT,
            model: self.model.model.display().to_string(),
            data: self.data.data.display().to_string(),
            decision: rule.map_or_else(String::new, |rule| rule.to_string()),
            rng_seed: self.rng_seed,
            seeds: made.seeds,
            region: made.region,
            tests: self.tests,
            samples: subject.samples(),
            faults: faults
                .into_iter()
                .enumerate()
                .take(counted.faults)
                .map(named)
                .collect(),
            suites,
            cut: account.cut,
            notes: account.notes,
            time_s: clock.seconds(),
        }
    }
}

/// What the reader should know.
#[derive(Default)]
struct Account {
    cut: Vec<String>,
    notes: Vec<String>,
}

impl Account {
    fn cut(&mut self, what: String) {
        self.cut.push(what);
    }

    /// Says a thing once.
    fn note(&mut self, what: String) {
        if !self.notes.contains(&what) {
            self.notes.push(what);
        }
    }
}

/// The suites, and what they were made from.
struct Made {
    suites: Vec<Suite>,
    seeds: usize,
    region: String,
}

/// For each suite, for each fault, for each test: whether its answer differs.
struct Counted {
    faults: usize,
    differs: Vec<Vec<Vec<bool>>>,
}

/// Cuts suites to as many tests as can be run on the model and on one fault in the time that is left.
fn shorten(subject: &Subject, suites: &mut [Suite], clock: &Clock, account: &mut Account) {
    /// Inputs that are timed.
    const TIMED: usize = 64;
    let each = subject.network.input_elements().max(1);
    let longest = suites.iter().map(|suite| suite.inputs.len() / each).max();
    let longest = longest.unwrap_or_default();
    let Some(sample) = suites.iter().max_by_key(|suite| suite.inputs.len()) else {
        return;
    };
    let timed = TIMED.min(longest).max(1);
    let began = clock.seconds();
    let _ = subject.answers(
        &subject.network,
        &sample.inputs[..timed.min(longest) * each],
    );
    let input = (clock.seconds() - began) / timed as f64;
    let affordable = clock.left() / (2.0 * input * suites.len() as f64);
    let tests = (affordable as usize).max(1);
    if tests >= longest {
        return;
    }
    for suite in suites.iter_mut() {
        suite.inputs.truncate(tests * each);
    }
    account.cut(format!(
        "suites of up to {longest} tests were cut to their first {tests}"
    ));
}

/// Runs all suites on all faults, as far as time allows.
fn count(
    subject: &Subject,
    faults: &[Fault],
    suites: &[Suite],
    clock: &Clock,
    account: &mut Account,
) -> Result<Counted, Error> {
    let original: Vec<Vec<Prediction>> = suites
        .iter()
        .map(|suite| subject.answers(&subject.network, &suite.inputs))
        .collect();
    let mut differs = vec![Vec::new(); suites.len()];
    let mut done = 0;
    let mut last = 0.0;
    for fault in faults {
        // The first is run in any case: without it there is nothing to say. Others take about as long as the one before.
        if done > 0 && clock.left() <= last {
            account.cut(format!(
                "{} of {} faults were made and not run, so that they are left out",
                faults.len() - done,
                faults.len()
            ));
            break;
        }
        let began = clock.seconds();
        let network = subject.with(&fault.changes)?;
        for ((suite, before), differs) in suites.iter().zip(&original).zip(&mut differs) {
            let now = subject.answers(&network, &suite.inputs);
            let both = before.iter().zip(&now);
            differs.push(both.map(|(a, b)| subject.differ(a, b)).collect());
        }
        last = clock.seconds() - began;
        done += 1;
    }
    Ok(Counted {
        faults: done,
        differs,
    })
}

fn hits(tests: &[bool]) -> usize {
    tests.iter().filter(|&&differs| differs).count()
}

/// A suite beside the first so many tests of another, fault by fault.
fn compare(own: &[Vec<bool>], other: &[Vec<bool>], seed: u64) -> Option<Comparison> {
    let tests = own.first()?.len().min(other.first()?.len());
    if tests == 0 {
        return None;
    }
    let first = |tests_of_fault: &Vec<bool>| hits(&tests_of_fault[..tests]);
    let both: Vec<(usize, usize)> = (own.iter().zip(other))
        .map(|(own, other)| (first(own), first(other)))
        .collect();
    let difference = |figure: &dyn Fn(usize) -> f64| {
        let differences: Vec<f64> = both.iter().map(|&(a, b)| figure(a) - figure(b)).collect();
        let (mean, interval) = bootstrap(&differences, seed);
        Difference {
            mean,
            interval,
            verdict: match interval {
                _ if tests < AuditJob::COMPARABLE => Verdict::TooFewTests,
                [low, _] if low > 0.0 => Verdict::Better,
                [_, high] if high < 0.0 => Verdict::Worse,
                _ => Verdict::NoBetter,
            },
        }
    };
    Some(Comparison {
        tests,
        found_by_other: both.iter().filter(|(_, other)| *other > 0).count(),
        found: difference(&|tests| f64::from(u8::from(tests > 0))),
        differing: difference(&|hits| hits as f64 / tests as f64),
    })
}

fn file_name(number: usize, fault: &Fault) -> String {
    format!("faults/{:02}-{}.onnx", number + 1, fault.kind.name())
}

/// The folder of an audit, new or empty.
fn make_folder(folder: &Path) -> Result<(), Error> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::Request(format!(
            "{} is not empty; name a new folder with --out",
            folder.display()
        )));
    }
    for part in ["faults", "suites"] {
        let path = folder.join(part);
        fs::create_dir_all(&path).map_err(unwritable(&path))?;
    }
    Ok(())
}

fn unwritable(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    |error| Error::Request(format!("{} cannot be written: {error}", path.display()))
}
