//! What a job works on: model, data and settings, read and checked before anything is written.

mod settle;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use deepconcolic_campaign::{Choice, Inputs, Limits, Seeds, Strategy, first_seeds, given_seeds};
use deepconcolic_check::Digest;
use deepconcolic_criteria::{Decision, Family, Group, Profile, UNSTATED};
use deepconcolic_dataset::Samples;
use deepconcolic_formats::{LoadUntil, Loaded};
use deepconcolic_geometry::{Domain, SearchSpace};
use deepconcolic_network::Network;

use crate::error::Error;
use crate::event::Event;
use crate::features::FeatureSettings;
use crate::folder::{paths, profile_file, region_file};
use crate::job::{Job, Radius, SeedRequest};
use crate::model::GRACE;
use crate::session::{Closing, Timetable};
use crate::settings::{
    DataNames, DomainSettings, RequirementText, SeedChoice, Settings, Shapes, hash_bytes,
    hash_samples, hash_values,
};
use crate::{
    criterion, least_time, memory, model, model_inputs, oracle, plan, requirements, samples,
    two_inputs,
};

/// What a job works on, read and checked.
pub struct Prepared {
    /// The fingerprint of the model.
    pub digest: Digest,
    /// The network.
    pub network: Arc<Network>,
    /// What its answer is.
    pub decision: Arc<Decision>,
    /// The data.
    pub data: Samples,
    /// What tests are judged by, if not the data.
    pub reference: Option<Samples>,
    /// Everything that decides what the run does.
    pub settings: Settings,
    /// Where tests may lie.
    pub space: Arc<SearchSpace>,
    /// What is required.
    pub family: Arc<dyn Family>,
    /// The ranges of neurons, if the criterion needs them.
    pub profile: Option<Profile>,
    /// What the run starts from.
    pub seeds: Arc<Seeds>,
    /// Samples that were passed over, or are seeds, though the network gets them wrong.
    pub misclassified: Vec<usize>,
    /// Passes made so far.
    pub runs: usize,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// The shares of the time left that choosing seeds, a profile, and measuring seeds may take.
const SEEDS_SHARE: f64 = 0.1;
const PROFILE_SHARE: f64 = 0.25;
const MEASURE_SHARE: f64 = 0.15;
/// Passes that a seed costs before anything is searched from it (it is chosen, measured and ranked), twice: as much
/// is left for the search.
const PASSES_OF_SEED: usize = 6;

/// What preparing a run may take, and what an earlier sitting settled.
#[derive(Default)]
pub(crate) struct Preparing<'a> {
    /// The time of this sitting.
    pub time: Timetable,
    /// Raised when the user wants an end.
    pub interrupt: Option<&'a Arc<AtomicBool>>,
    /// The settings of the run that is gone on with.
    pub earlier: Option<Settings>,
}

impl Preparing<'_> {
    /// What ends reading the model.
    pub fn loading(&self) -> LoadUntil {
        LoadUntil {
            deadline: self.time.end().map(|end| end + GRACE),
            interrupt: self.interrupt.cloned(),
        }
    }

    /// What ends a part that may take this share of the time left. Where passes are counted, what a run starts from
    /// does not depend on the clock.
    fn limits(&self, share: f64) -> Limits<'_> {
        self.limits_before(0.0, share)
    }

    /// The same where so many seconds of the time are kept for the end of the run.
    fn limits_before(&self, kept: f64, share: f64) -> Limits<'_> {
        let end = self.time.before_last(kept);
        let end = end.filter(|_| self.time.has_shares());
        Limits {
            executions: None,
            deadline: self.time.share(share, end),
            interrupt: self.interrupt.map(AsRef::as_ref),
        }
    }
}

impl Prepared {
    /// Reads and checks everything, however long it takes. What is odd about the model is told at once.
    pub fn of(job: &Job, tell: &mut dyn FnMut(Event)) -> Result<Self, Error> {
        Self::within(job, &Preparing::default(), tell)
    }

    /// The same within the time of a run: fewer seeds and a profile of fewer samples than asked for, rather than no
    /// time for anything else.
    pub(crate) fn within(
        job: &Job,
        preparing: &Preparing<'_>,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Self, Error> {
        let mut prepared = job.prepare(preparing, tell)?;
        if preparing.earlier.is_none() {
            let kept = Closing::of_run(&prepared).at_least();
            prepared.settle(job, &preparing.limits_before(kept, MEASURE_SHARE))?;
        }
        let family = family_notes(prepared.family.as_ref(), &prepared.space);
        prepared.notes.extend(family);
        prepared.notes.extend(job.seeds_note(&prepared.settings));
        Ok(prepared)
    }
}

impl Job {
    fn memory_limit(&self) -> Result<Option<u64>, Error> {
        self.memory.as_deref().map(memory::parse).transpose()
    }

    /// What is required, if it fits into memory.
    fn family(
        &self,
        settings: &Settings,
        (network, decision): (&Network, &Decision),
        seeds: &Seeds,
        space: &SearchSpace,
        profile: Option<&Profile>,
    ) -> Result<Box<dyn Family>, Error> {
        let rows: Vec<Vec<f32>> = seeds.iter().map(<[f32]>::to_vec).collect();
        let family = plan::family(settings, network, decision, &rows, space, profile)?;
        let strategy = plan::strategy(&self.strategy)?;
        strategy
            .can_search(family.as_ref())
            .map_err(Error::Request)?;
        memory::check(family.as_ref(), self.proofs, self.memory_limit()?)?;
        let requirements = family.groups().iter().map(Group::slots).sum();
        least_time::check(requirements, self.budget)?;
        Ok(family)
    }

    fn prepare(
        &self,
        preparing: &Preparing<'_>,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Prepared, Error> {
        let began = Instant::now();
        let mut notes = Vec::new();
        self.can_be_named()?;
        plan::strategy(&self.strategy)?;
        self.memory_limit()?;
        let oracle = oracle::find(&self.oracle)?;
        let radius = self.search_radius()?;
        let criteria = (self.criterion.as_deref().map(criterion::find_all)).transpose()?;
        let named = criteria.iter().flatten();
        let names: Vec<&str> = named.map(|criterion| criterion.name()).collect();
        self.gates.fit(&names, self.requirements.is_some())?;
        let loaded = model::load_until(&self.model, preparing.loading())?;
        (loaded.notes.iter().cloned().map(Event::Note)).for_each(&mut *tell);
        model_inputs::can_be_searched(&loaded)?;
        notes.extend_from_slice(&loaded.scope);
        let digest = model::digest(&loaded);
        let Loaded {
            network, sha256, ..
        } = loaded;
        let written = self.written(&network)?;
        let decision = model::decision(self.decision, &network)?;
        if decision.rule().is_none() && self.gates.needs_verdicts() {
            return Err(Error::Request(format!("--fail-on adversarial: {UNSTATED}")));
        }
        let data = self.data.open(&network)?;
        let (domain, domain_words) = samples::domain(self.domain.as_deref(), &data, &network)?;
        let reference = self.references(&network, &decision)?;
        let boxes = self.boxes(&domain, &mut notes)?;
        let inputs = samples::inputs(&data, &decision)?;
        let wanted = self.wanted_seeds(preparing);
        let choice = self.choose(&wanted, &network, &decision, &inputs, preparing, began)?;
        let seeds_asked = self.seeds_left_out(&wanted, &choice);
        notes.extend(decision_notes(&decision));
        notes.extend(not_finite(&choice));
        inside(&choice.seeds, &domain, &domain_words)?;
        let features = self.features(&data, &network, &choice.seeds, &domain)?;
        notes.extend(self.wrong_seeds(&choice));
        let needs_profile = criteria.iter().flatten().any(|c| c.needs_profile());
        let profile = self.profile(needs_profile, &data, &network, preparing)?;
        let profile_samples = profile.as_ref().and_then(|profile| profile.cut);
        let (profile, profile_words) = profile.map(|of| (of.profile, of.words)).unzip();
        let (means, sampled) = deepconcolic_campaign::means(&network, &inputs);
        let settings = Settings {
            format: Settings::FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            model: self.model.clone(),
            sha256,
            shapes: Some(Shapes::of(&network)),
            data: self.data.clone(),
            samples: data.len(),
            data_sha256: hash_samples(&data),
            names: DataNames::of(&data),
            criterion: criteria.as_ref().map(|_| names.join(",")),
            requirements: written,
            profile_data: profile_words.as_ref().and(self.profile.clone()),
            profile: profile_words,
            profile_samples,
            parameters: self.parameters.clone(),
            partition: self.partition,
            radius,
            region: self.region_sha256()?,
            domain: DomainSettings::new(&domain, self.domain.clone(), domain_words),
            quantise: self.grid()?,
            features,
            validity: self.least_similarity()?,
            filtered: self.filter.is_some(),
            strategy: self.strategy.clone(),
            proofs: self.proofs,
            rng_seed: self.rng_seed,
            seed_choice: self.seed_choice(seeds_asked.map(|_| choice.seeds.len())),
            seeds_asked,
            seeds: numbers(&choice.seeds),
            seed_values: hash_values(choice.seeds.iter().flatten()),
            reference: self.reference.clone(),
            reference_sha256: reference.as_ref().map(hash_samples),
            adversarial_radius: self.judging_radius()?,
            oracle,
            decision: decision.rule(),
            means: means.layers().to_vec(),
        };
        notes.extend(settings.filter_note());
        let space = plan::search_space(&settings, &network, domain, boxes)?;
        let subject = (&network, &decision);
        let family = self.family(&settings, subject, &choice.seeds, &space, profile.as_ref())?;
        Ok(Prepared {
            digest,
            network: Arc::new(network),
            decision: Arc::new(decision),
            data,
            reference,
            settings,
            space: Arc::new(space),
            family: family.into(),
            profile,
            seeds: Arc::new(choice.seeds),
            misclassified: choice.misclassified,
            runs: choice.runs + sampled,
            notes,
        })
    }

    /// Features that are not free, if the region and the seeds allow it.
    fn features(
        &self,
        data: &Samples,
        network: &Network,
        seeds: &Seeds,
        domain: &Domain,
    ) -> Result<FeatureSettings, Error> {
        let features = FeatureSettings::of(self, data, network)?;
        features.fit_region(self, self.search_radius()?)?;
        features.fit_data(seeds, domain, &DataNames::of(data))?;
        Ok(features)
    }

    /// How seeds were chosen, of which limits left so many, if they did.
    fn seed_choice(&self, left: Option<usize>) -> SeedChoice {
        match self.seeds {
            SeedRequest::Given(_) => SeedChoice::Given,
            SeedRequest::First(count) => SeedChoice::First(left.unwrap_or(count)),
        }
    }

    /// The requirement file.
    fn written(&self, network: &Network) -> Result<Option<RequirementText>, Error> {
        let Some(path) = &self.requirements else {
            return Ok(None);
        };
        let text = requirements::text(path, network)?;
        Ok(Some(RequirementText::new(path.display().to_string(), text)))
    }

    /// The boxes to search, if they were given.
    fn boxes(
        &self,
        domain: &Domain,
        notes: &mut Vec<String>,
    ) -> Result<Option<Vec<region_file::Box>>, Error> {
        let Some(path) = &self.region else {
            return Ok(None);
        };
        let region = region_file::load(path, domain)?;
        notes.extend(region.notes);
        Ok(Some(region.boxes))
    }

    /// The reference data, if they are not the data.
    fn references(&self, network: &Network, decision: &Decision) -> Result<Option<Samples>, Error> {
        let Some(path) = &self.reference else {
            return Ok(None);
        };
        let samples = self.data.open_as(path, network)?;
        samples::inputs(&samples, decision)?;
        Ok(Some(samples))
    }

    /// The fingerprint of the file of boxes.
    fn region_sha256(&self) -> Result<Option<String>, Error> {
        let Some(path) = &self.region else {
            return Ok(None);
        };
        let bytes = std::fs::read(path).map_err(Error::unreadable(path))?;
        Ok(Some(hash_bytes(&bytes)))
    }

    /// What is known of the ranges of neurons, and where from, if the criterion needs to know.
    fn profile(
        &self,
        needed: bool,
        data: &Samples,
        network: &Network,
        preparing: &Preparing<'_>,
    ) -> Result<Option<profile_file::Source>, Error> {
        if !needed {
            return Ok(None);
        }
        let given = self.profile.as_deref();
        let extent = match &preparing.earlier {
            Some(earlier) => profile_file::Extent {
                samples: earlier.profile_samples,
                ..profile_file::Extent::default()
            },
            None => profile_file::Extent {
                samples: None,
                limits: preparing.limits(PROFILE_SHARE),
            },
        };
        profile_file::find(given, &self.data, data, network, &extent).map(Some)
    }

    /// Seeds that were asked for although the network gets them wrong.
    fn wrong_seeds(&self, choice: &Choice) -> Option<String> {
        let wrong = &choice.misclassified;
        (matches!(self.seeds, SeedRequest::Given(_)) && !wrong.is_empty()).then(|| {
            format!(
                "the network gets {} of the seeds given wrong: {}",
                wrong.len(),
                list(wrong)
            )
        })
    }

    /// The seeds to look for: those of an earlier sitting that settled for fewer, or no more than passes allow.
    fn wanted_seeds(&self, preparing: &Preparing<'_>) -> SeedRequest {
        let earlier = preparing.earlier.as_ref();
        let settled = earlier.filter(|earlier| earlier.seeds_asked == Some(self.seeds.count()));
        if let Some(earlier) = settled {
            return match earlier.seed_choice {
                SeedChoice::Given => SeedRequest::Given(earlier.seeds.clone()),
                SeedChoice::First(count) => SeedRequest::First(count),
            };
        }
        match (&self.seeds, self.max_executions) {
            (&SeedRequest::First(count), Some(passes)) if earlier.is_none() => {
                SeedRequest::First(count.min((passes / PASSES_OF_SEED).max(1)))
            }
            (seeds, _) => seeds.clone(),
        }
    }

    /// How many seeds were asked for, if limits allowed no more than there are.
    fn seeds_left_out(&self, wanted: &SeedRequest, choice: &Choice) -> Option<usize> {
        let (asked, found) = (self.seeds.count(), choice.seeds.len());
        let is_short = found == wanted.count() && found < asked;
        (choice.cut || is_short).then_some(asked)
    }

    /// That limits allowed fewer seeds than were asked for.
    fn seeds_note(&self, settings: &Settings) -> Option<String> {
        let (asked, found) = (settings.seeds_asked?, settings.seeds.len());
        let why = if self.max_executions.is_some() {
            "more would take most of --max-executions"
        } else {
            "there was time for no more"
        };
        Some(format!("{found} of {asked} seeds are used: {why}"))
    }

    /// Everything that `run.json` names.
    fn can_be_named(&self) -> Result<(), Error> {
        paths::storable([
            ("MODEL", Some(self.model.model.as_path())),
            ("--data", Some(self.data.data.as_path())),
            ("--requirements", self.requirements.as_deref()),
            ("--reference", self.reference.as_deref()),
            ("--profile", self.profile.as_deref()),
        ])
    }

    fn choose(
        &self,
        wanted: &SeedRequest,
        network: &Network,
        decision: &Decision,
        data: &dyn Inputs,
        preparing: &Preparing<'_>,
        began: Instant,
    ) -> Result<Choice, Error> {
        let read = began.elapsed().as_secs_f64();
        // What an earlier sitting settled for is taken whatever the time.
        let limits = match preparing.earlier {
            Some(_) => Limits::default(),
            None => preparing.limits(SEEDS_SHARE),
        };
        let choice = match wanted {
            SeedRequest::Given(indices) => {
                if let Some(index) = indices.iter().find(|&&index| index >= data.len()) {
                    return Err(Error::Request(format!(
                        "--seed-index {index}: the data have {} samples, numbered from 0",
                        data.len()
                    )));
                }
                let mut indices = indices.clone();
                let mut seen = std::collections::HashSet::new();
                indices.retain(|index| seen.insert(*index));
                given_seeds(network, data, decision, &indices, &limits)
            }
            SeedRequest::First(0) => {
                return Err(Error::Request("--seeds must be at least 1".into()));
            }
            SeedRequest::First(count) => first_seeds(network, data, decision, *count, &limits),
        };
        if choice.seeds.is_empty() && choice.cut {
            return Err(self.no_time(read, began.elapsed().as_secs_f64() - read, choice.runs));
        }
        let looked_at = choice.misclassified.len() + choice.not_finite.len();
        if choice.seeds.is_empty() && choice.not_finite.len() == looked_at {
            return Err(Error::Request(format!(
                "the model's output is NaN or infinite for all {looked_at} samples that were tried, so that \
                 there is no seed to start from; check the model's weights, and --scale, --mean and --std"
            )));
        }
        if choice.seeds.is_empty() {
            return Err(Error::Request(format!(
                "the network gets none of the {} samples right, so there is no seed to start from; \
                 check --scale, --mean and --std, or name seeds with --seed-index",
                data.len()
            )));
        }
        Ok(choice)
    }

    /// Why nothing could be done, and what it would have needed.
    fn no_time(&self, read: f64, choosing: f64, runs: usize) -> Error {
        let budget = self.budget.unwrap_or_default();
        let needed = 2.0 * read + 20.0 * (choosing / runs.max(1) as f64).max(0.5);
        Error::Request(format!(
            "--budget {budget}s is too short: reading the model and the data took {read:.1} s, and the time for \
             choosing seeds was up after {runs} inputs; give --budget {}s or more",
            needed.max(2.0 * budget).ceil()
        ))
    }

    /// The radius of the search region: what was given, or the norm's default.
    fn search_radius(&self) -> Result<Option<f64>, Error> {
        match self.radius {
            _ if self.region.is_some() => Ok(None),
            Radius::Anywhere => Ok(None),
            // The published tool searches the whole domain.
            Radius::Usual if plan::strategy(&self.strategy)? == Strategy::Published => Ok(None),
            Radius::Usual => Ok(Some(plan::default_radius(self.parameters.norm))),
            Radius::Within(radius) if radius.is_finite() && radius >= 0.0 => {
                plan::check_radius("--radius", self.parameters.norm, radius)?;
                Ok(Some(radius))
            }
            Radius::Within(radius) => Err(Error::Request(format!(
                "--radius must be a number of at least 0, or none, not `{radius}`"
            ))),
        }
    }

    fn judging_radius(&self) -> Result<f64, Error> {
        match self.adversarial_radius {
            None => Ok(plan::default_radius(self.parameters.norm)),
            Some(radius) if radius.is_finite() && radius >= 0.0 => {
                plan::check_radius("--adversarial-radius", self.parameters.norm, radius)?;
                Ok(radius)
            }
            Some(radius) => Err(Error::Request(format!(
                "--adversarial-radius must be a number of at least 0, not {radius}"
            ))),
        }
    }

    fn grid(&self) -> Result<Option<u32>, Error> {
        match self.quantise {
            Some(steps) if !(1..=65535).contains(&steps) => Err(Error::Request(format!(
                "--quantise must be from 1 to 65535 (255 for 8-bit images), not {steps}"
            ))),
            steps => Ok(steps),
        }
    }

    fn least_similarity(&self) -> Result<Option<f64>, Error> {
        match self.validity {
            Some(least) if !(0.0..=1.0).contains(&least) => Err(Error::Request(format!(
                "--validity ssim:{least} is not of the form ssim:S with S from 0 to 1, for example ssim:0.9"
            ))),
            validity => Ok(validity),
        }
    }
}

/// What the user should know about what is required.
fn family_notes(family: &dyn Family, space: &SearchSpace) -> Vec<String> {
    let mut notes = family.notes();
    notes.extend(two_inputs::of_run(family, space));
    notes
}

/// What the user should know about how outputs are read.
pub fn decision_notes(decision: &Decision) -> Option<String> {
    match decision.rule() {
        Some(_) => decision.note(),
        None => Some(format!(
            "accuracy and adversarial tests are left out, and seeds are the first samples, right or wrong: \
             {UNSTATED}"
        )),
    }
}

pub fn not_finite(choice: &Choice) -> Option<String> {
    (!choice.not_finite.is_empty()).then(|| {
        format!(
            "the model's output is NaN or infinite for {} of the samples looked at for seeds, which are not \
             used: {}",
            choice.not_finite.len(),
            list(&choice.not_finite)
        )
    })
}

/// Refuses seeds outside the domain: nothing near them could be a test.
fn inside(seeds: &Seeds, domain: &Domain, words: &str) -> Result<(), Error> {
    let ends = || domain.lower().iter().zip(domain.upper());
    for (number, seed) in seeds.iter().enumerate() {
        if !seed
            .iter()
            .zip(ends())
            .all(|(x, (low, high))| low <= x && x <= high)
        {
            let low = seed.iter().copied().fold(f32::INFINITY, f32::min);
            let high = seed.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            return Err(Error::Request(format!(
                "sample {} has values from {low} to {high}, outside the domain {words}; give \
                 --domain LO..HI, or --scale if the data have another range than the model takes",
                seeds.index(number)
            )));
        }
    }
    Ok(())
}

/// Seeds by their numbers in the data.
fn numbers(seeds: &Seeds) -> Vec<usize> {
    (0..seeds.len()).map(|seed| seeds.index(seed)).collect()
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
