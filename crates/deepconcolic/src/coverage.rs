//! What data cover, by any number of criteria in one pass.

mod part;

use std::path::{Path, PathBuf};

use deepconcolic_campaign::{Accuracy, Answer, Measurement, Noise, answer, measure, sanity};
use deepconcolic_criteria::{Criterion, Decision, Family, Group, Polarity, Profile, Rule, Setting};
use deepconcolic_dataset::Samples;
use deepconcolic_geometry::{Domain, InputSpace};
use deepconcolic_language::{Inputs, RequirementSet};
use deepconcolic_network::{BitSet, Network};
use deepconcolic_record::PropertySummary;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::Event;
use crate::folder::{paths, profile_file};
use crate::samples::{self, LabelledInputs};
use crate::settings::{CriterionSettings, DataSettings, ModelSettings};
use crate::{criterion, model, requirements, two_inputs};

pub use part::CoveragePart;

/// Refuted properties of a file that are named; the figures have all of them.
const REFUTATIONS: usize = 100;

/// What is asked of data.
///
/// ```no_run
/// use deepconcolic::CoverageJob;
///
/// let job = CoverageJob::new("model.onnx", "data.npz", &["nc", "kmnc"]);
/// let report = job.run(&mut |_| {})?;
/// println!("{} of {}", report.criteria[0].covered, report.criteria[0].total);
/// # Ok::<(), deepconcolic::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CoverageJob {
    /// The model and how it is read.
    pub model: ModelSettings,
    /// The data and how they are read.
    pub data: DataSettings,
    /// What the model's answer is; without it, what the model shows.
    pub decision: Option<Rule>,
    /// Criteria by name.
    pub criteria: Vec<String>,
    /// Requirements of one's own: a .dr file, or a .vnnlib file (also .gz).
    pub requirements: Option<PathBuf>,
    /// How many open requirements of each criterion are named.
    pub open: usize,
    /// How many requirements of each criterion are given as formulas.
    pub formulas: usize,
    /// Where the ranges of neurons come from; without it, the first tenth of the data.
    pub profile: Option<PathBuf>,
    /// Where to save them.
    pub save_profile: Option<PathBuf>,
    /// The domain of every input element, `LO..HI`; without it, 0..1 for images, else the observed ranges.
    pub domain: Option<String>,
    /// Do not measure as many noise inputs for comparison.
    pub no_noise: bool,
    /// Seed of the noise.
    pub rng_seed: u64,
    /// Parameters of the criteria, the norm, the neurons chosen.
    pub parameters: CriterionSettings,
    /// The radius of the regions round the data, for criteria that have regions; none for the domain.
    pub radius: Option<f64>,
}

/// What data cover.
#[derive(Clone, Debug, Serialize)]
pub struct CoverageReport {
    /// How many samples there are.
    pub samples: usize,
    /// How the data were laid out for the model.
    pub layout: String,
    /// The domain, in words.
    pub domain: String,
    /// Where the ranges of neurons come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// How outputs are read; none where nobody has said.
    pub decision: Option<Rule>,
    /// The share of samples that get the answer of their label, where labels are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Samples by the class the network gives them; empty where its answer is no class.
    pub classes: Vec<usize>,
    /// What the user should know about the data.
    pub notes: Vec<String>,
    /// What they cover, criterion by criterion.
    pub criteria: Vec<CriterionReport>,
    /// What they cover of a requirement file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<RequirementReport>,
}

/// What data cover of one criterion.
#[derive(Clone, Debug, Serialize)]
pub struct CriterionReport {
    /// Its name.
    pub name: &'static str,
    /// What it requires.
    pub definition: &'static str,
    /// Requirements.
    pub total: usize,
    /// Those that are met: goals that are covered, or properties that are refuted.
    pub covered: usize,
    /// The share of goals that are covered; none of properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// How they ended, where they are properties. Data prove nothing: what they do not refute is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<PropertySummary>,
    /// Share that as many inputs of uniform noise cover, or refute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// Layer by layer.
    pub layers: Vec<LayerReport>,
    /// Some that are not met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// Some as formulas.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub formulas: Vec<String>,
    /// What the user should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What data cover of one layer.
#[derive(Clone, Debug, Serialize)]
pub struct LayerReport {
    /// Its name.
    pub name: String,
    /// Requirements.
    pub total: usize,
    /// Those that are met.
    pub covered: usize,
}

/// What data cover of a requirement file.
#[derive(Clone, Debug, Serialize)]
pub struct RequirementReport {
    /// The file.
    #[serde(serialize_with = "paths::serialize")]
    pub file: PathBuf,
    /// Goals: requirements that want a witness.
    pub total: usize,
    /// Goals that are met.
    pub covered: usize,
    /// The share of goals that are met; none where there are no goals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// How properties ended, where there are any. Data prove nothing: what they do not refute is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<PropertySummary>,
    /// What the user should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Some goals that are not met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// The first properties that are refuted, with what refutes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<Refutation>,
}

/// A property that data refute.
#[derive(Clone, Debug, Serialize)]
pub struct Refutation {
    /// The property.
    pub requirement: String,
    /// The sample that refutes it, or the two that do so together.
    pub samples: Vec<usize>,
}

/// How properties ended over data.
fn over_data(total: usize, refuted: usize) -> PropertySummary {
    PropertySummary {
        total,
        refuted,
        proven: 0,
        open: total.saturating_sub(refuted),
        fragile: 0,
    }
}

/// The share that is covered; of nothing, all.
pub fn share(covered: usize, total: usize) -> f64 {
    if total == 0 {
        1.0
    } else {
        covered as f64 / total as f64
    }
}

/// What is measured, and on what: read and checked.
struct Prepared {
    chosen: Vec<&'static dyn Criterion>,
    network: Network,
    requirements: Option<RequirementSet>,
    decision: Decision,
    data: Samples,
    domain: Domain,
    domain_words: String,
    space: InputSpace,
    profile: Option<Profile>,
    profile_words: Option<String>,
    families: Vec<Box<dyn Family>>,
}

impl Prepared {
    fn inputs(&self) -> Result<LabelledInputs<'_>, Error> {
        samples::inputs(&self.data, &self.decision)
    }

    fn families(&self) -> Vec<&dyn Family> {
        self.families.iter().map(AsRef::as_ref).collect()
    }
}

impl CoverageJob {
    /// Criteria on a model with data, everything else by default.
    pub fn new(model: impl AsRef<Path>, data: impl AsRef<Path>, criteria: &[&str]) -> Self {
        Self {
            model: ModelSettings::new(model.as_ref()),
            data: DataSettings::new(data.as_ref()),
            criteria: criteria.iter().map(|&name| name.to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Measures.
    pub fn run(&self, tell: &mut dyn FnMut(Event)) -> Result<CoverageReport, Error> {
        let prepared = self.prepare(tell)?;
        let refs = prepared.families();
        let inputs = prepared.inputs()?;
        let measured = measure(&prepared.network, &inputs, &refs, &prepared.decision);
        let noise = self.noise(&prepared, &refs);
        let noise =
            noise.map(|noise| measure(&prepared.network, &noise, &refs, &prepared.decision));
        self.conclude(
            &prepared,
            &measured,
            noise.as_ref().map(|n| n.covered.as_slice()),
        )
    }

    /// Everything that is measured, and on what.
    fn prepare(&self, tell: &mut dyn FnMut(Event)) -> Result<Prepared, Error> {
        let chosen: Vec<&'static dyn Criterion> = self
            .criteria
            .iter()
            .map(|name| criterion::find(name))
            .collect::<Result<_, _>>()?;
        let loaded = model::load(&self.model)?;
        let told = loaded.notes.into_iter().chain(loaded.scope);
        told.map(Event::Note).for_each(tell);
        let network = loaded.network;
        let requirements = self.requirements(&network)?;
        let decision = model::decision(self.decision, &network)?;
        let data = self.data.open(&network)?;
        let (domain, domain_words) = samples::domain(self.domain.as_deref(), &data, &network)?;
        let space = domain.space(samples::pixels(&network));
        let (profile, profile_words) = self.profile(&network, &data, &chosen)?;
        let families = self.families(
            &network,
            &decision,
            &data,
            &chosen,
            profile.as_ref(),
            &space,
        )?;
        Ok(Prepared {
            chosen,
            network,
            requirements,
            decision,
            data,
            domain,
            domain_words,
            space,
            profile,
            profile_words,
            families,
        })
    }

    /// The report of what was measured: on the data, and on noise.
    fn conclude(
        &self,
        prepared: &Prepared,
        measured: &Measurement,
        noise: Option<&[Vec<BitSet>]>,
    ) -> Result<CoverageReport, Error> {
        let Prepared { data, network, .. } = prepared;
        if let Some(why) = sanity::refusal(&measured.answers) {
            return Err(Error::Request(why));
        }
        if let (Some(path), Some(profile)) = (&self.save_profile, &prepared.profile) {
            profile_file::save(path, network, profile)?;
        }
        let (domain, words) = (&prepared.domain, &prepared.domain_words);
        Ok(CoverageReport {
            samples: data.len(),
            layout: data.layout().to_owned(),
            domain: words.clone(),
            profile: prepared.profile_words.clone(),
            decision: prepared.decision.rule(),
            accuracy: measured.answers.accuracy().map(Accuracy::share),
            classes: measured.answers.counts.classes.clone(),
            notes: samples::notes(data, &measured.answers, domain, words),
            criteria: (prepared.chosen.iter().zip(&prepared.families).enumerate())
                .map(|(i, (criterion, family))| {
                    let noise = noise.map(|noise| noise[i].as_slice());
                    let covered = &measured.covered[i];
                    self.criterion(network, *criterion, family.as_ref(), covered, noise)
                })
                .collect(),
            requirements: match &prepared.requirements {
                Some(set) => {
                    Some(self.answers(network, &prepared.inputs()?, set, &prepared.space)?)
                }
                None => None,
            },
        })
    }

    fn requirements(&self, network: &Network) -> Result<Option<RequirementSet>, Error> {
        let Some(path) = &self.requirements else {
            return Ok(None);
        };
        Ok(Some(requirements::load(path, network)?))
    }

    /// The profile to compare with, if a criterion needs one, and where it is from.
    fn profile(
        &self,
        network: &Network,
        data: &Samples,
        chosen: &[&dyn Criterion],
    ) -> Result<(Option<Profile>, Option<String>), Error> {
        let needed = self.save_profile.is_some() || chosen.iter().any(|c| c.needs_profile());
        if !needed {
            return Ok((None, None));
        }
        let given = self.profile.as_deref();
        let all = profile_file::Extent::default();
        let found = profile_file::find(given, &self.data, data, network, &all)?;
        Ok((Some(found.profile), Some(found.words)))
    }

    fn families(
        &self,
        network: &Network,
        decision: &Decision,
        data: &Samples,
        chosen: &[&dyn Criterion],
        profile: Option<&Profile>,
        space: &InputSpace,
    ) -> Result<Vec<Box<dyn Family>>, Error> {
        let parameters = self.parameters.parameters(self.radius)?;
        let selection = self.parameters.selection(network)?;
        // Regions are balls round the data themselves.
        let seeds: Vec<Vec<f32>> = match parameters.radius {
            Some(_) => (0..data.len()).map(|s| data.sample(s)).collect(),
            None => Vec::new(),
        };
        let setting = Setting {
            network,
            selection: &selection,
            parameters: &parameters,
            decision,
            seeds: &seeds,
            space,
            profile,
        };
        chosen
            .iter()
            .map(|criterion| {
                let refuse = |why| Error::Request(format!("{}: {why}", criterion.name()));
                criterion.family(&setting).map_err(refuse)
            })
            .collect()
    }

    /// As many inputs of noise as there are samples, unless nobody wants to know.
    fn noise(&self, prepared: &Prepared, families: &[&dyn Family]) -> Option<Noise> {
        let wanted = !self.no_noise && !families.is_empty();
        let noise = || Noise::new(prepared.domain.clone(), prepared.data.len(), self.rng_seed);
        wanted.then(noise)
    }

    fn criterion(
        &self,
        network: &Network,
        criterion: &'static dyn Criterion,
        family: &dyn Family,
        covered: &[BitSet],
        noise: Option<&[BitSet]>,
    ) -> CriterionReport {
        let groups = family.groups();
        let count = |covered: &[BitSet]| -> usize {
            let groups = groups.iter().zip(covered);
            groups
                .map(|(group, covered)| covered.count_without(&group.not_required))
                .sum()
        };
        let total = groups.iter().map(Group::total).sum();
        let done = count(covered);
        let slots = groups.iter().enumerate().flat_map(|(g, group)| {
            let required = (0..group.slots()).filter(|&s| !group.not_required.contains(s));
            required.map(move |s| (g, s))
        });
        let open = slots.clone().filter(|&(g, s)| !covered[g].contains(s));
        let is_property = criterion.polarity() == Polarity::Property;
        CriterionReport {
            name: criterion.name(),
            definition: criterion.definition(),
            total,
            covered: done,
            coverage: (!is_property).then(|| share(done, total)),
            properties: is_property.then(|| over_data(total, done)),
            noise: noise.map(|n| share(count(n), total)),
            layers: layers(network, family, covered),
            open: open
                .take(self.open)
                .map(|(g, s)| family.label(g, s))
                .collect(),
            formulas: slots
                .take(self.formulas)
                .map(|(g, s)| match family.requirement(g, s) {
                    Ok(requirement) => requirement.to_string(),
                    Err(why) => format!("# {} cannot be a formula: {why}", family.label(g, s)),
                })
                .collect(),
            notes: {
                let mut notes = family.notes();
                if two_inputs::has_some(family) {
                    notes.push(two_inputs::OVER_DATA.into());
                }
                notes
            },
        }
    }

    fn answers(
        &self,
        network: &Network,
        data: &LabelledInputs<'_>,
        set: &RequirementSet,
        space: &InputSpace,
    ) -> Result<RequirementReport, Error> {
        let path = self.requirements.clone().unwrap_or_default();
        let file = path.display().to_string();
        let in_file = |e: deepconcolic_language::Error| e.in_file(&file);
        let answers = answer(network, data, set, space).map_err(in_file)?;
        let polarity = |answer: &Answer| criterion::polarity_in_file(&file, answer.quantifier);
        let (properties, goals): (Vec<usize>, Vec<usize>) =
            (0..answers.len()).partition(|&i| polarity(&answers[i]) == Polarity::Property);
        let is_decided = |&&i: &&usize| answers[i].decided_by.is_some();
        let decided = |some: &[usize]| some.iter().filter(is_decided).count();
        let written = |i: usize| {
            let requirement = set.get(i).map_err(in_file)?;
            Ok::<String, Error>(requirement.to_string())
        };
        let open = goals.iter().filter(|i| !is_decided(i)).take(self.open);
        let refuted = properties.iter().filter(is_decided).take(REFUTATIONS);
        let refutation = |&i: &usize| {
            let (first, second) = answers[i].decided_by.unzip();
            let mut samples: Vec<usize> = first.into_iter().chain(second).collect();
            samples.dedup();
            Ok::<Refutation, Error>(Refutation {
                requirement: written(i)?,
                samples,
            })
        };
        let covered = decided(&goals);
        let mut pairs = false;
        for requirement in set.iter() {
            pairs |= requirement.map_err(in_file)?.inputs == Inputs::Two;
        }
        Ok(RequirementReport {
            notes: pairs
                .then(|| two_inputs::OVER_DATA.into())
                .into_iter()
                .collect(),
            total: goals.len(),
            covered,
            coverage: (!goals.is_empty()).then(|| share(covered, goals.len())),
            properties: (!properties.is_empty())
                .then(|| over_data(properties.len(), decided(&properties))),
            open: open.map(|&i| written(i)).collect::<Result<_, _>>()?,
            refuted: refuted.map(refutation).collect::<Result<_, _>>()?,
            file: path,
        })
    }
}

/// Figures by layer; several groups of one layer (pairs) are one row.
fn layers(network: &Network, family: &dyn Family, covered: &[BitSet]) -> Vec<LayerReport> {
    let mut rows: Vec<LayerReport> = Vec::new();
    for (group, covered) in family.groups().iter().zip(covered) {
        let name = match group.layer {
            Some(layer) => network.layers()[layer].name(),
            None => "output",
        };
        let done = covered.count_without(&group.not_required);
        match rows.iter_mut().find(|row| row.name == name) {
            Some(row) => {
                row.total += group.total();
                row.covered += done;
            }
            None => rows.push(LayerReport {
                name: name.to_owned(),
                total: group.total(),
                covered: done,
            }),
        }
    }
    rows
}
