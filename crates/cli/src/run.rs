//! `run`: makes the tests that are missing.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use deepconcolic_archive::{Entry, Journal, RunFolder, Summary};
use deepconcolic_check::Digest;
use deepconcolic_concolic::oracle::{Judgement, Oracle, Verdict};
use deepconcolic_concolic::{
    Campaign, Inputs, Limits, Passes, Round, Seeds, Stage, Stop, Subject, first_seeds, given_seeds,
};
use deepconcolic_dataset::Samples;
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_formats::Loaded;
use deepconcolic_network::Network;
use deepconcolic_spec::SearchSpace;
use deepconcolic_spec::criteria::{Family, Profile};
use serde_json::Value;

use crate::arguments::{DataArguments, ModelArguments, ThreadArguments};
use crate::criteria::{self, CriterionArguments};
use crate::exit::{Failure, Status};
use crate::outcome::{Finished, Stopwatch};
use crate::progress::{Progress, Snapshot};
use crate::prove::Proven;
use crate::settings::{RequirementText, Settings};
use crate::{
    Outcome, interrupt, model, outcome, plan, profile_file, prove, region_file, requirements,
    samples,
};

/// Seeds when nobody says how many.
const SEEDS: usize = 1000;
/// Tests judged at a time: each time all references are read.
const JUDGED: usize = 128;

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

/// What a run works on, read and checked.
struct Scene {
    digest: Digest,
    network: Network,
    data: Samples,
    reference: Option<Samples>,
    settings: Settings,
    domain_words: String,
    space: SearchSpace,
    family: Box<dyn Family>,
    profile: Option<Profile>,
    seeds: Seeds,
    misclassified: Vec<usize>,
    /// Passes made so far.
    runs: usize,
    notes: Vec<String>,
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
        let limits = Limits {
            executions: self.max_executions,
            deadline: budget.map(|b| watch.started + Duration::from_secs_f64(left(b))),
            interrupt: Some(interrupt),
        };
        let means = plan::means(&scene.settings, &scene.network)?;
        let subject = Subject {
            network: &scene.network,
            family: scene.family.as_ref(),
            space: &scene.space,
            seeds: &scene.seeds,
            means: &means,
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
            &scene.network,
        );
        let mut sitting = Sitting {
            judge: Judge {
                oracle: Oracle::new(
                    references.as_ref(),
                    scene.space.norm,
                    &scene.space.units,
                    scene.settings.adversarial_radius,
                ),
                scene: &scene,
                judgements: Vec::new(),
            },
            progress: Progress::new(self.quiet),
            journal,
            watch,
            limits: &limits,
            known: 0,
        };
        let (stop, proven) = self.search(&mut campaign, &entries, &folder, &mut sitting)?;
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
            data: samples::inputs(&scene.data, &scene.network).as_ref(),
            rng_seed: self.rng_seed,
            limits: &limits,
            passes: campaign.passes(),
            stop,
            settings: &scene.settings,
            settings_value: settings,
            domain_words: &scene.domain_words,
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
        Ok(self.status(&finished, stop))
    }

    /// Concrete search, then proofs, then symbolic search for what neither settled. What the journal
    /// holds is repeated at its place, so that proofs are about the same state as the first time.
    fn search(
        &self,
        campaign: &mut Campaign<'_>,
        entries: &[Entry],
        folder: &RunFolder,
        sitting: &mut Sitting<'_>,
    ) -> Result<(Stop, Proven), Failure> {
        let is_late = |e: &Entry| matches!(e.round.stage, Stage::Prove | Stage::Symbolic);
        let split = entries.iter().position(is_late).unwrap_or(entries.len());
        let (early, late) = entries.split_at(split);
        restore(campaign, early, folder)?;
        campaign.hold_symbolic(true);
        let limits = sitting.limits;
        let mut stop = campaign.run(limits, |campaign, round| sitting.hear(campaign, round))?;
        let mut proven = Proven::default();
        if stop == Stop::Complete {
            if !self.no_proofs {
                let scene = sitting.judge.scene;
                let stage = prove::Stage {
                    network: &scene.network,
                    family: scene.family.as_ref(),
                    space: &scene.space,
                    seeds: &scene.seeds,
                    model: scene.digest,
                    folder: folder.file(prove::CERTIFICATES),
                };
                let found = |e: &&Entry| e.round.stage == Stage::Prove;
                sitting.known = late.iter().filter(found).count();
                proven = stage.run(campaign, limits, &mut |campaign, round| {
                    sitting.hear(campaign, round)
                })?;
                campaign.set_aside(proven.infeasible.keys().copied());
                sitting.watch.lap(|times| &mut times.prove);
            }
            let symbolic = late.iter().filter(|e| e.round.stage == Stage::Symbolic);
            restore(campaign, symbolic, folder)?;
            campaign.hold_symbolic(false);
            stop = campaign.run(limits, |campaign, round| sitting.hear(campaign, round))?;
        }
        sitting.progress.finish();
        Ok((stop, proven))
    }

    fn status(&self, summary: &Summary, stop: Stop) -> Status {
        let short = self
            .fail_under
            .is_some_and(|least| summary.coverage * 100.0 < least);
        let gate = short || (self.fail_on_adversarial && summary.adversarial.count > 0);
        match stop {
            Stop::Interrupted => Status::Interrupted,
            _ if gate => Status::GateFailed,
            _ => Status::Done,
        }
    }

    fn report(&self, summary: &Summary) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer_pretty(&mut out, summary).map_err(io::Error::from)?;
            writeln!(out)?;
        } else if !self.quiet {
            outcome::print(&mut out, summary)?;
            writeln!(out, "saved in {}", self.out.display())?;
            eprintln!("{:.1} s", summary.time_s.total);
        }
        Ok(())
    }

    fn folder(
        &self,
        settings: &Value,
        scene: &Scene,
    ) -> Result<(RunFolder, Journal, Vec<Entry>), Failure> {
        let (folder, journal, entries) = if self.resume {
            RunFolder::resume(&self.out, settings)?
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
            let is_json = region.extension().is_some_and(|e| e == "json");
            let saved = folder.file(if is_json { "region.json" } else { "region.npz" });
            if !saved.exists() {
                copy(region, &saved)?;
            }
        }
        Ok((folder, journal, entries))
    }

    fn scene(&self) -> Result<Scene, Failure> {
        let mut notes = Vec::new();
        plan::strategy(&self.strategy)?;
        self.gate()?;
        let radius = self.radius()?;
        let criterion = self.criterion.as_deref().map(criteria::find).transpose()?;
        let loaded = model::load(&self.model)?;
        let digest = model::digest(&loaded);
        let Loaded {
            network, sha256, ..
        } = loaded;
        let written = match &self.requirements {
            Some(path) => Some(RequirementText {
                name: path.display().to_string(),
                text: requirements::text(path, &network)?,
            }),
            None => None,
        };
        let data = self.data.open(&network)?;
        let (domain, domain_words) = samples::domain(self.domain.as_deref(), &data)?;
        let reference = match &self.reference {
            Some(path) => Some(self.data.open_as(path, &network)?),
            None => None,
        };
        let boxes = match &self.region {
            Some(path) => Some(region_file::load(path, network.input_elements())?),
            None => None,
        };
        let inputs = samples::inputs(&data, &network);
        let choice = self.choose(&network, inputs.as_ref())?;
        if self.seed_index.is_some() && !choice.misclassified.is_empty() {
            notes.push(format!(
                "the network gets {} of the seeds given wrong: {}",
                choice.misclassified.len(),
                list(&choice.misclassified)
            ));
        }
        let (profile, profile_words) = match criterion {
            Some(criterion) if criterion.needs_profile() => {
                let (profile, words) =
                    profile_file::find(self.profile.as_deref(), &self.data, &data, &network)?;
                (Some(profile), Some(words))
            }
            _ => (None, None),
        };
        let (means, sampled) = deepconcolic_concolic::means(&network, inputs.as_ref());
        drop(inputs);
        let settings = Settings {
            version: env!("CARGO_PKG_VERSION").into(),
            model: self.model.clone(),
            sha256,
            data: self.data.clone(),
            samples: data.len(),
            criterion: self.criterion.clone(),
            requirements: written,
            profile: profile_words,
            knobs: self.knobs.clone(),
            radius,
            region: match &self.region {
                Some(path) => Some(crc32fast::hash(&std::fs::read(path)?)),
                None => None,
            },
            domain: self.domain.clone(),
            quantise: self.grid()?,
            validity: self.least_similarity()?,
            strategy: self.strategy.clone(),
            proofs: !self.no_proofs,
            rng_seed: self.rng_seed,
            seeds: (0..choice.seeds.len())
                .map(|s| choice.seeds.index(s))
                .collect(),
            seed_values: checksum(&choice.seeds),
            reference: self.reference.clone(),
            adversarial_radius: self.judging_radius()?,
            means: means.layers().to_vec(),
        };
        let space = plan::search_space(&settings, &network, domain, boxes)?;
        let rows: Vec<Vec<f32>> = choice.seeds.iter().map(<[f32]>::to_vec).collect();
        let family = plan::family(&settings, &network, &rows, &space.units, profile.as_ref())?;
        notes.extend(family.notes());
        Ok(Scene {
            digest,
            network,
            data,
            reference,
            settings,
            domain_words,
            space,
            family,
            profile,
            seeds: choice.seeds,
            misclassified: choice.misclassified,
            runs: choice.runs + sampled,
            notes,
        })
    }

    fn choose(
        &self,
        network: &Network,
        data: &dyn Inputs,
    ) -> Result<deepconcolic_concolic::Choice, Failure> {
        let choice = if let Some(indices) = &self.seed_index {
            if let Some(index) = indices.iter().find(|&&index| index >= data.len()) {
                return Err(Failure::Usage(format!(
                    "--seed-index {index}: the data have {} samples, numbered from 0",
                    data.len()
                )));
            }
            let mut indices = indices.clone();
            let mut seen = std::collections::HashSet::new();
            indices.retain(|index| seen.insert(*index));
            given_seeds(network, data, &indices)
        } else {
            let count = self.seeds.unwrap_or(SEEDS);
            if count == 0 {
                return Err(Failure::Usage("--seeds must be at least 1".into()));
            }
            first_seeds(network, data, count)
        };
        if choice.seeds.is_empty() {
            return Err(Failure::Usage(format!(
                "the network gets none of the {} samples right, so there is no seed to start from; \
                 check --scale, --mean and --std, or name seeds with --seed-index",
                data.len()
            )));
        }
        Ok(choice)
    }

    /// The radius of the search region: what was given, or the norm's default.
    fn radius(&self) -> Result<Option<f64>, Failure> {
        match &self.knobs.radius {
            _ if self.region.is_some() => Ok(None),
            Some(text) => criteria::radius(text),
            None => Ok(Some(plan::default_radius(self.knobs.norm))),
        }
    }

    fn judging_radius(&self) -> Result<f64, Failure> {
        match self.adversarial_radius {
            None => Ok(plan::default_radius(self.knobs.norm)),
            Some(radius) if radius.is_finite() && radius >= 0.0 => Ok(radius),
            Some(radius) => Err(Failure::Usage(format!(
                "--adversarial-radius must be a number of at least 0, not {radius}"
            ))),
        }
    }

    fn gate(&self) -> Result<(), Failure> {
        match self.fail_under {
            Some(percent) if !(0.0..=100.0).contains(&percent) => Err(Failure::Usage(format!(
                "--fail-under must be a percentage from 0 to 100, not {percent}"
            ))),
            _ => Ok(()),
        }
    }

    fn grid(&self) -> Result<Option<u32>, Failure> {
        match self.quantise {
            Some(steps) if !(1..=65535).contains(&steps) => Err(Failure::Usage(format!(
                "--quantise must be from 1 to 65535 (255 for 8-bit images), not {steps}"
            ))),
            steps => Ok(steps),
        }
    }

    fn least_similarity(&self) -> Result<Option<f64>, Failure> {
        let Some(text) = &self.validity else {
            return Ok(None);
        };
        let least = text.strip_prefix("ssim:").and_then(|s| s.parse().ok());
        match least {
            Some(least) if (0.0..=1.0).contains(&least) => Ok(Some(least)),
            _ => Err(Failure::Usage(format!(
                "--validity `{text}` is not of the form ssim:S with S from 0 to 1, for example \
                 ssim:0.9"
            ))),
        }
    }
}

/// What goes along with a campaign: the journal, the verdicts, the clock, the display.
struct Sitting<'a> {
    judge: Judge<'a>,
    progress: Progress,
    journal: Journal,
    watch: Stopwatch,
    limits: &'a Limits<'a>,
    /// Rounds to come that the journal has already.
    known: usize,
}

impl Sitting<'_> {
    /// A round: on disk first, then in sight.
    fn hear(&mut self, campaign: &Campaign<'_>, round: &Round) -> Result<(), Failure> {
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
struct Judge<'a> {
    oracle: Oracle<'a>,
    scene: &'a Scene,
    judgements: Vec<Judgement>,
}

impl Judge<'_> {
    fn catch_up(&mut self, campaign: &Campaign<'_>) {
        let new = &campaign.suite().tests()[self.judgements.len()..];
        if new.is_empty() {
            return;
        }
        let inputs: Vec<f32> = new.iter().flat_map(|t| &t.input).copied().collect();
        let labels: Vec<usize> = new.iter().map(|t| t.label).collect();
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
            .judge(&self.scene.network, &inputs, &labels, &hints);
        self.judgements.extend(judged);
    }

    fn snapshot(&self, campaign: &Campaign<'_>, round: &Round, limits: &Limits<'_>) -> Snapshot {
        let bad = |j: &&Judgement| j.verdict == Verdict::Adversarial;
        Snapshot {
            stage: round.stage.name(),
            covered: campaign.ledger().covered_count(),
            total: campaign.ledger().total(),
            tests: campaign.suite().len(),
            adversarial: self.judgements.iter().filter(bad).count(),
            passes: Passes::total(round.passes),
            most: limits.executions,
            left: limits
                .deadline
                .map(|end| end.saturating_duration_since(Instant::now())),
        }
    }
}

/// Repeats what the journal says.
fn restore<'a>(
    campaign: &mut Campaign<'_>,
    entries: impl IntoIterator<Item = &'a Entry>,
    folder: &RunFolder,
) -> Result<(), Failure> {
    for (number, entry) in entries.into_iter().enumerate() {
        campaign.restore(&entry.round).map_err(|why| {
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

fn checksum(seeds: &Seeds) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for value in seeds.iter().flatten() {
        hasher.update(&value.to_le_bytes());
    }
    hasher.finalize()
}

/// The first few numbers of a list.
fn list(numbers: &[usize]) -> String {
    const FEW: usize = 8;
    let mut text: Vec<String> = numbers.iter().take(FEW).map(ToString::to_string).collect();
    if numbers.len() > FEW {
        text.push("...".into());
    }
    text.join(", ")
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
