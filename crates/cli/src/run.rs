//! `run`: makes the tests that are missing.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use deepconcolic_campaign::oracle::Oracle;
use deepconcolic_campaign::{Campaign, Limits, Round, Stage, Stop, Strategy, Subject};
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_record::{Entry, Journal, OnDamage, RunFolder, Summary};
use serde_json::Value;

use crate::arguments::{DataArguments, DecisionArguments, ModelArguments, ThreadArguments};
use crate::criteria::{self, CriterionArguments};
use crate::exit::{Failure, Status};
use crate::outcome::{Finished, Stopwatch};
use crate::progress::Progress;
use crate::prove::{Proven, Recall};
use crate::scene::Scene;
use crate::sitting::{Judge, Sitting};
use crate::{Outcome, exit, interrupt, outcome, plan, profile_file, prove, region_file, samples};

/// The share of the budget that proofs before a search for pairs may take, and the share of what is left
/// of it that proofs between two searches may take.
const PAIR_SHARE: f64 = 0.25;
const PROOF_SHARE: f64 = 0.5;
/// The share of the budget that is kept for nearest witnesses, if these are asked for.
const MINIMISE_SHARE: f64 = 0.4;
/// The share of the budget that is kept for proofs when the search does not end by itself.
const RESERVE: f64 = 0.2;

/// Make the tests that are missing: a suite that meets the requirements, checked and replayable
#[derive(Args, Clone)]
#[command(after_long_help = criteria::help())]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Run {
    #[command(flatten)]
    pub model: ModelArguments,
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub decision: DecisionArguments,
    /// A criterion by name (see --help for all of them)
    #[arg(
        long,
        value_name = "C",
        required_unless_present = "requirements",
        conflicts_with = "requirements"
    )]
    pub criterion: Option<String>,
    /// Requirements of your own: a .dr file, or a .vnnlib file (also .gz)
    #[arg(long, value_name = "FILE")]
    pub requirements: Option<PathBuf>,
    /// The folder to write to; new or empty, unless --resume is given
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Go on with the run in the folder
    #[arg(long)]
    pub resume: bool,
    /// With --resume: where the journal is damaged, go on from the rounds before that
    #[arg(long, requires = "resume")]
    pub accept_loss: bool,
    /// Start from the first N inputs that the network gets right (default: 1000)
    #[arg(long, value_name = "N", conflicts_with = "seed_index")]
    pub seeds: Option<usize>,
    /// Start from these inputs, by their numbers in the data, from 0
    #[arg(long, value_name = "I,J", value_delimiter = ',')]
    pub seed_index: Option<Vec<usize>>,
    /// Search these boxes instead of balls round the seeds: .npz (lower, upper) or .json
    #[arg(long, value_name = "FILE", conflicts_with = "radius")]
    pub region: Option<PathBuf>,
    /// How near a reference an adversarial test must be (default: as --radius without a value)
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    pub adversarial_radius: Option<f64>,
    /// Real inputs that tests are judged by (default: the data)
    #[arg(long, value_name = "DATA")]
    pub reference: Option<PathBuf>,
    /// Only tests this similar to their seed: ssim:S with S from 0 to 1
    #[arg(long, value_name = "ssim:S")]
    pub validity: Option<String>,
    /// How to search: cascade, paper (Algorithm 1 as written) or random
    #[arg(long, value_name = "S", default_value = "cascade")]
    pub strategy: String,
    /// Keep generated values on a grid of so many steps of the domain (255 for 8-bit images)
    #[arg(long, value_name = "STEPS")]
    pub quantise: Option<u32>,
    /// For every covered requirement on one input, also look for the nearest witness (nearest.npz)
    #[arg(long)]
    pub minimise: bool,
    /// Do not try to prove that what is left open cannot be met
    #[arg(long)]
    pub no_proofs: bool,
    /// Stop after this time: 90, 60s, 10m, 2h or none
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10m",
        allow_hyphen_values = true
    )]
    pub budget: String,
    /// Stop after so many passes through the network, forward and backward
    #[arg(long, value_name = "N")]
    pub max_executions: Option<usize>,
    /// Bounds for nbc, snac, kmnc come from these data, or from a saved profile (default: the first
    /// tenth of the data)
    #[arg(long, value_name = "DATA")]
    pub profile: Option<PathBuf>,
    /// The domain of every input element (default: 0..1 for images, else the observed ranges)
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Seed of the random numbers
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub rng_seed: u64,
    /// Exit with 1 if less than this many percent are covered
    #[arg(long, value_name = "PCT", allow_hyphen_values = true)]
    pub fail_under: Option<f64>,
    /// Exit with 1 if there is an adversarial test
    #[arg(long)]
    pub fail_on_adversarial: bool,
    /// Print nothing but errors
    #[arg(long)]
    pub quiet: bool,
    /// Print run.json instead of the summary
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub knobs: CriterionArguments,
    #[command(flatten)]
    pub threads: ThreadArguments,
}

impl Run {
    /// Runs, saves and reports.
    pub fn run(&self) -> Outcome {
        self.threads.run(|| self.work())?
    }

    fn work(&self) -> Outcome {
        let mut watch = Stopwatch::start();
        let budget = duration(&self.budget)?;
        let interrupt = interrupt::listen()?;
        let scene = self.scene()?;
        let settings = serde_json::to_value(&scene.settings).map_err(io::Error::from)?;
        let (folder, journal, entries) = self.folder(&settings, &scene)?;
        let before = entries.last().map_or(0.0, |entry| entry.seconds);
        watch.carry(before);
        let left = |budget: Duration| (budget.as_secs_f64() - before).max(0.0);
        let until = |share: f64| Limits {
            executions: self.max_executions,
            deadline: budget.map(|b| watch.started + Duration::from_secs_f64(share * left(b))),
            interrupt: Some(interrupt),
        };
        let whole = until(1.0);
        let limits = if self.minimise {
            until(1.0 - MINIMISE_SHARE)
        } else {
            whole
        };
        let means = Arc::new(plan::means(&scene.settings, &scene.network)?);
        let subject = Subject {
            network: Arc::clone(&scene.network),
            family: Arc::clone(&scene.family),
            space: Arc::clone(&scene.space),
            seeds: Arc::clone(&scene.seeds),
            means: Arc::clone(&means),
            decision: Arc::clone(&scene.decision),
        };
        let strategy = plan::strategy(&self.strategy)?;
        // What is in the journal was done from all seeds, so they are run again whatever the limits.
        let measuring = if entries.is_empty() {
            limits
        } else {
            Limits::default()
        };
        let mut campaign = Campaign::new(subject, strategy, self.rng_seed, scene.runs, &measuring)
            .map_err(Failure::Usage)?;
        watch.lap(|times| &mut times.measure);
        let references = samples::inputs(
            scene.reference.as_ref().unwrap_or(&scene.data),
            &scene.decision,
        )?;
        let mut sitting = Sitting {
            judge: Judge {
                oracle: Oracle::new(
                    &references,
                    scene.space.norm,
                    &scene.space.units,
                    scene.settings.adversarial_radius,
                    &scene.decision,
                ),
                scene: &scene,
                judgements: Vec::new(),
            },
            progress: Progress::new(self.quiet),
            journal,
            watch,
            limits: &limits,
        };
        let (stop, mut proven) = self.search(&mut campaign, &entries, &folder, &mut sitting)?;
        proven.name_certificates(&scene.network, scene.family.as_ref(), scene.digest)?;
        let Sitting {
            mut judge,
            mut watch,
            ..
        } = sitting;
        judge.catch_up(&campaign);
        watch.lap(|times| &mut times.oracle);
        let finished = Finished {
            folder: &folder,
            network: &scene.network,
            family: scene.family.as_ref(),
            space: &scene.space,
            means: &means,
            seeds: &scene.seeds,
            suite: campaign.suite(),
            judgements: &judge.judgements,
            claims: campaign.claims(),
            minimise: self.minimise,
            proven: &proven,
            data: &samples::inputs(&scene.data, &scene.decision)?,
            class_names: scene.data.dataset().class_names(),
            decision: &scene.decision,
            limits: &whole,
            passes: campaign.passes(),
            stop,
            settings: &scene.settings,
            settings_value: settings,
            misclassified: scene.misclassified.len(),
            notes: scene
                .notes
                .iter()
                .chain(campaign.reasons())
                .chain(&proven.notes)
                .cloned()
                .collect(),
        }
        .save(&mut watch)?;
        self.report(&finished)?;
        Ok(self.status(&finished))
    }

    /// Concrete search, then proofs, then symbolic search for what neither settled. What the journal
    /// holds is repeated at its place, so that proofs are about the same state as the first time.
    fn search(
        &self,
        campaign: &mut Campaign,
        entries: &[Entry],
        folder: &RunFolder,
        sitting: &mut Sitting<'_>,
    ) -> Result<(Stop, Proven), Failure> {
        let rounds: Vec<&Round> = entries.iter().filter_map(Entry::round).collect();
        let is_late = |round: &&Round| round.stage == Stage::Symbolic;
        let (late, early): (Vec<&Round>, Vec<&Round>) = rounds.into_iter().partition(is_late);
        let recorded = entries.iter().filter_map(Entry::proof).cloned();
        let mut proven = Proven::recalling(Recall::new(recorded));
        let pairs = sitting.judge.scene.family.pairs().is_some();
        if pairs && !self.no_proofs {
            // Before the search, which then passes over what is impossible.
            let budget = duration(&self.budget)?;
            let end = budget.map(|b| sitting.watch.started + b.mul_f64(PAIR_SHARE));
            let neurons = When {
                deadline: end,
                admits: false,
                recorded: true,
                closed: !(early.is_empty() && late.is_empty()),
                neurons_only: true,
            };
            proven = prove(proven, campaign, folder, &neurons, sitting)?;
        }
        restore(campaign, early, folder)?;
        campaign.hold_symbolic(true);
        let limits = sitting.limits;
        // Random tests are what the others are compared with: they get all of the time.
        let proving = !self.no_proofs && plan::strategy(&self.strategy)? != Strategy::Random;
        let now = Instant::now();
        let search = Limits {
            deadline: limits.deadline.map(|end| {
                let reserve = if proving { RESERVE } else { 0.0 };
                now + end.saturating_duration_since(now).mul_f64(1.0 - reserve)
            }),
            ..*limits
        };
        let mut stop = campaign.run(&search, |campaign, round| sitting.hear(campaign, round))?;
        if stop == Stop::Budget && proving {
            // The search may go on in another sitting, so that its journal must not know of this.
            let budget = duration(&self.budget)?;
            let cut = When {
                deadline: budget.map(|b| Instant::now() + b.mul_f64(RESERVE)),
                admits: false,
                recorded: false,
                closed: false,
                neurons_only: false,
            };
            proven = prove(proven, campaign, folder, &cut, sitting)?;
        }
        if stop == Stop::Complete {
            if proving {
                // No search for pairs comes after.
                let share = if pairs { 1.0 } else { PROOF_SHARE };
                let now = Instant::now();
                let end = |end: Instant| now + end.saturating_duration_since(now).mul_f64(share);
                let all = When {
                    deadline: limits.deadline.map(end),
                    admits: true,
                    recorded: true,
                    closed: !late.is_empty(),
                    neurons_only: false,
                };
                proven = prove(proven, campaign, folder, &all, sitting)?;
            }
            restore(campaign, late, folder)?;
            campaign.hold_symbolic(false);
            stop = campaign.run(limits, |campaign, round| sitting.hear(campaign, round))?;
        }
        if matches!(stop, Stop::Complete | Stop::Executions) {
            prove::remove_needless(&folder.file(prove::CERTIFICATES), &proven)?;
        }
        sitting.progress.finish();
        Ok((stop, proven))
    }

    fn status(&self, summary: &Summary) -> Status {
        let short = self
            .fail_under
            .is_some_and(|least| summary.coverage * 100.0 < least);
        let gate =
            short || (self.fail_on_adversarial && summary.adversarial.is_some_and(|a| a.count > 0));
        match &summary.stop {
            stop if stop == Stop::Interrupted.name() => Status::Interrupted,
            _ if gate => Status::GateFailed,
            _ => Status::Done,
        }
    }

    fn report(&self, summary: &Summary) -> Result<(), Failure> {
        let mut out = exit::output();
        if self.json {
            serde_json::to_writer_pretty(&mut out, summary).map_err(io::Error::from)?;
            writeln!(out)?;
        } else if !self.quiet {
            outcome::print(&mut out, summary)?;
            writeln!(out, "saved in {}", self.out.display())?;
            exit::tell(format_args!("{:.1} s", summary.time_s.total));
        }
        Ok(())
    }

    fn folder(
        &self,
        settings: &Value,
        scene: &Scene,
    ) -> Result<(RunFolder, Journal, Vec<Entry>), Failure> {
        let (folder, journal, entries) = if self.resume {
            let on_damage = if self.accept_loss {
                OnDamage::Drop
            } else {
                OnDamage::Refuse
            };
            RunFolder::resume(&self.out, settings, on_damage)?
        } else {
            let (folder, journal) = RunFolder::create(&self.out, settings)?;
            (folder, journal, Vec::new())
        };
        // Also when resuming: the run may have been killed before these were there.
        let saved = folder.file(outcome::PROFILE);
        if let Some(profile) = scene.profile.as_ref().filter(|_| !saved.exists()) {
            profile_file::save(&saved, &scene.network, profile)?;
        }
        if let Some(region) = &self.region {
            let saved = folder.file(region_file::saved_name(region));
            if !saved.exists() {
                copy(region, &saved)?;
            }
        }
        Ok((folder, journal, entries))
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

/// Tries what is open for infeasibility, after what is proven already.
fn prove(
    proven: Proven,
    campaign: &mut Campaign,
    folder: &RunFolder,
    when: &When,
    sitting: &mut Sitting<'_>,
) -> Result<Proven, Failure> {
    let scene = sitting.judge.scene;
    let means = campaign.means();
    let stage = prove::Stage {
        network: &scene.network,
        family: scene.family.as_ref(),
        space: &scene.space,
        seeds: &scene.seeds,
        means: &means,
        model: scene.digest,
        folder: folder.file(prove::CERTIFICATES),
        deadline: when.deadline,
        admits: when.admits,
        recorded: when.recorded,
        closed: when.closed,
        neurons_only: when.neurons_only,
    };
    let limits = sitting.limits;
    let proven = stage.run(proven, campaign, limits, &mut |campaign, proof| {
        sitting.hear_proof(campaign, proof)
    })?;
    campaign.set_aside(proven.infeasible());
    sitting.watch.lap(|times| &mut times.prove);
    Ok(proven)
}

/// Repeats what the journal says.
fn restore<'a>(
    campaign: &mut Campaign,
    rounds: impl IntoIterator<Item = &'a Round>,
    folder: &RunFolder,
) -> Result<(), Failure> {
    for (number, round) in rounds.into_iter().enumerate() {
        campaign.restore(round).map_err(|why| {
            Failure::Usage(format!(
                "{}: round {number} of the journal cannot be repeated: {why}; the model or this \
                 program may have changed since",
                folder.path().display()
            ))
        })?;
    }
    Ok(())
}

/// Copies a file; under its new name it is there whole or not at all.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let bytes = std::fs::read(from)
        .map_err(|e| Failure::Usage(format!("{}: cannot be read: {e}", from.display())))?;
    let mut file = AtomicFile::create(to)?;
    file.write_all(&bytes)
        .map_err(|e| Failure::Usage(format!("{}: cannot be written: {e}", to.display())))?;
    Ok(file.commit()?)
}

/// A time as the user gives it.
fn duration(text: &str) -> Result<Option<Duration>, Failure> {
    if text == "none" {
        return Ok(None);
    }
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let seconds = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    });
    match seconds {
        Some(seconds) if seconds > 0.0 && seconds < 1e9 => {
            Ok(Some(Duration::from_secs_f64(seconds)))
        }
        _ => Err(Failure::Usage(format!(
            "--budget `{text}` is no time; for example 90, 60s, 10m, 2h, or none"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("90").unwrap(), Some(Duration::from_secs(90)));
        assert_eq!(duration("1.5m").unwrap(), duration("90s").unwrap());
        assert_eq!(duration("120m").unwrap(), duration("2h").unwrap());
        assert_eq!(duration("none").unwrap(), None);
        for bad in ["", "s", "-3", "0", "ten", "1d", "nan", "inf"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
