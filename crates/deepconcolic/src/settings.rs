//! What decides a run: kept in its journal and in `run.json`, compared when it is resumed, and enough
//! to do it all again. Plain data: names here are those of the files, whatever flags are called.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deepconcolic_campaign::oracle::Oracle;
use deepconcolic_check::{Digest, hex, sha256};
use deepconcolic_criteria::{LipschitzOutput, Parameters, Partition, Rule, Scope, Selection};
use deepconcolic_dataset::{Dataset, Samples};
use deepconcolic_formats::{FixedInput, LoadOptions};
use deepconcolic_geometry::{Domain, Norm};
use deepconcolic_network::Network;
use deepconcolic_record::finite;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::features::FeatureSettings;
use crate::model_inputs;
use crate::oracle;
use crate::plan;

/// What is said of a run whose tests were held to a function of the caller's.
const FILTERED: &str = "only inputs that a function of the caller's allows became tests; `check` cannot repeat that, and proofs are \
     about all inputs of the region";

/// A requirement file: what errors call it, and what it says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequirementText {
    /// The file's name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// SHA-256 of the text.
    pub sha256: String,
}

impl RequirementText {
    /// Of a file with this name and text.
    pub fn new(name: String, text: String) -> Self {
        let sha256 = hash_text(&text);
        Self { name, text, sha256 }
    }
}

/// The model and how it is read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ModelSettings {
    /// The file.
    pub model: PathBuf,
    /// Subtracted from the input first.
    pub mean: Option<Vec<f64>>,
    /// The input is then divided by this.
    pub std: Option<Vec<f64>>,
    /// The shape of one input, for a model that leaves it open.
    pub input_shape: Option<Vec<usize>>,
    /// Extents of open axes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dims: BTreeMap<String, usize>,
    /// Inputs that are not tested, with their values: the folder of a run needs no other file for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<FixedInput>,
    /// Tensors inside the model that are tested in place of its inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// The content of the file, where it is in memory already. It is then named as
    /// [`KEPT_MODEL`](crate::KEPT_MODEL), and the folder of a run keeps it.
    #[serde(skip)]
    pub content: Option<Arc<[u8]>>,
}

impl ModelSettings {
    /// A file, read as it is.
    pub fn new(model: &Path) -> Self {
        Self {
            model: model.to_owned(),
            ..Self::default()
        }
    }

    /// The same model, or another file in its place that is read the same way.
    pub fn or_file(&self, other: Option<&Path>) -> Self {
        match other {
            None => self.clone(),
            Some(file) => Self {
                model: file.to_owned(),
                content: None,
                ..self.clone()
            },
        }
    }

    /// What the model format needs to know.
    pub fn options(&self) -> LoadOptions {
        LoadOptions {
            mean: self.mean.clone(),
            std: self.std.clone(),
            input_shape: self.input_shape.clone(),
            dims: self.dims.clone(),
            fixed: self.fixed.clone(),
            from: self.from.clone(),
            ..LoadOptions::default()
        }
    }
}

/// The data and how they are read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DataSettings {
    /// The file or folder.
    pub data: PathBuf,
    /// What values are divided by.
    pub scale: Option<f32>,
    /// How many samples are used.
    pub limit: Option<usize>,
    /// The data themselves, where they are in memory already. They are then named as
    /// [`KEPT_DATA`](crate::KEPT_DATA), and the folder of a run keeps them.
    #[serde(skip)]
    pub content: Option<Dataset>,
}

impl DataSettings {
    /// A file or folder, read as it is.
    pub fn new(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            ..Self::default()
        }
    }

    /// The samples as the network takes them.
    pub fn open(&self, network: &Network) -> Result<Samples, Error> {
        let Some(dataset) = &self.content else {
            return self.prepare(&self.data, self.limit, network);
        };
        let shape = network.input_shape();
        let scale = model_inputs::scale_of(network, self.scale);
        Ok(dataset.prepare(shape.without_batch(), scale)?)
    }

    /// Other data, read the same way but for the limit.
    pub fn open_as(&self, path: &Path, network: &Network) -> Result<Samples, Error> {
        self.prepare(path, None, network)
    }

    fn prepare(
        &self,
        path: &Path,
        limit: Option<usize>,
        network: &Network,
    ) -> Result<Samples, Error> {
        model_inputs::samples(path, limit, self.scale, network)
    }
}

/// Whose signs must not change in a pair.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeName {
    /// All of the layer's.
    Layer,
    /// Those of the decision's field.
    Field,
}

/// Which logits a Lipschitz quotient compares.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LipschitzName {
    /// That of the seed's label.
    Label,
    /// All of them.
    All,
}

/// Parameters of criteria, the norm, the neurons chosen.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct CriterionSettings {
    /// nc: what v must exceed.
    #[serde(serialize_with = "finite::option")]
    pub threshold: Option<f64>,
    /// nc: outputs are scaled to 0..1.
    pub scaled: bool,
    /// nc: logits are neurons too.
    pub with_logits: bool,
    /// kmnc: sections of a range.
    pub sections: usize,
    /// tknc: how many are the top.
    pub top: usize,
    /// The factor by which a value changes.
    #[serde(serialize_with = "finite::option")]
    pub sigma: Option<f64>,
    /// Whose signs must not change.
    pub ssc_scope: ScopeName,
    /// lipschitz: the constant; none to look for the largest, in files `max`.
    #[serde(with = "or_largest")]
    pub constant: Option<f64>,
    /// lipschitz: which logits.
    pub lipschitz_output: LipschitzName,
    /// lipschitz: the norm of both differences.
    #[serde(with = "by_name")]
    pub ratio_norm: Norm,
    /// The norm of distances to seeds.
    #[serde(with = "by_name")]
    pub norm: Norm,
    /// Layers required.
    pub layers: Vec<String>,
    /// Neurons required.
    pub neurons: Vec<String>,
}

impl CriterionSettings {
    /// The parameters they say, checked; the radius is that of the search region.
    pub fn parameters(&self, radius: Option<f64>) -> Result<Parameters, Error> {
        let usage = |message: &str| Err(Error::Request(message.into()));
        if self.sigma.is_some_and(|s| !s.is_finite() || s <= 0.0) {
            return usage("--sigma must be a positive number");
        }
        if self.constant.is_some_and(|c| !c.is_finite() || c <= 0.0) {
            return usage("--constant must be a number above 0, or max");
        }
        if self.threshold.is_some_and(|t| !t.is_finite()) {
            return usage("--threshold must be a finite number");
        }
        if let Some(radius) = radius {
            plan::check_radius("--radius", self.norm, radius)?;
        }
        Ok(Parameters {
            threshold: self.threshold,
            scaled: self.scaled,
            with_logits: self.with_logits,
            sections: self.sections,
            top: self.top,
            sigma: self.sigma,
            scope: match self.ssc_scope {
                ScopeName::Layer => Scope::Layer,
                ScopeName::Field => Scope::Field,
            },
            constant: self.constant,
            lipschitz_output: match self.lipschitz_output {
                LipschitzName::Label => LipschitzOutput::Label,
                LipschitzName::All => LipschitzOutput::All,
            },
            ratio_norm: self.ratio_norm,
            norm: self.norm,
            radius,
            boxes: Vec::new(),
        })
    }

    /// Whether neurons are chosen by their numbers.
    pub fn names_neurons(&self) -> bool {
        !self.neurons.is_empty()
    }

    /// The neurons they select.
    pub fn selection(&self, network: &Network) -> Result<Selection, Error> {
        let layers: Vec<&str> = self.layers.iter().map(String::as_str).collect();
        let neurons: Vec<&str> = self.neurons.iter().map(String::as_str).collect();
        Selection::parse(network, &layers, &neurons).map_err(Error::Request)
    }
}

/// A constant in a file is a number, or `max` for the largest.
mod or_largest {
    use deepconcolic_record::finite;
    use serde::{Deserialize, Deserializer, Serializer, de};

    const LARGEST: &str = "max";

    #[expect(
        clippy::ref_option,
        reason = "serde hands over a reference to the field"
    )]
    pub fn serialize<S: Serializer>(constant: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        match constant {
            Some(number) => finite::number(number, to),
            None => to.serialize_str(LARGEST),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(f64),
        Word(String),
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        match Either::deserialize(from)? {
            Either::Number(number) => Ok(Some(number)),
            Either::Word(word) if word == LARGEST => Ok(None),
            Either::Word(word) => Err(de::Error::custom(format!("`{word}` is no constant"))),
        }
    }
}

/// A norm in a file is its name.
mod by_name {
    use deepconcolic_geometry::Norm;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(norm: &Norm, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(norm.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Norm, D::Error> {
        let name = String::deserialize(deserializer)?;
        Norm::from_name(&name).ok_or_else(|| de::Error::custom(format!("`{name}` is not a norm")))
    }
}

/// The domain of inputs, as it was asked for and as numbers: one pair if it is the same for every
/// element, else a pair for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DomainSettings {
    /// As it was given.
    pub given: Option<String>,
    /// Where it comes from, in words.
    pub words: String,
    /// Lowest values.
    #[serde(serialize_with = "finite::list")]
    pub lower: Vec<f32>,
    /// Highest values.
    #[serde(serialize_with = "finite::list")]
    pub upper: Vec<f32>,
}

impl DomainSettings {
    /// Of a domain that was asked for so, and is called so.
    pub fn new(domain: &Domain, given: Option<String>, words: String) -> Self {
        let bits = |x: &f32| x.to_bits();
        let is_uniform = |ends: &[f32]| ends.windows(2).all(|w| bits(&w[0]) == bits(&w[1]));
        let uniform = is_uniform(domain.lower()) && is_uniform(domain.upper());
        let keep = |ends: &[f32]| {
            ends.iter()
                .take(if uniform { 1 } else { ends.len() })
                .copied()
                .collect()
        };
        Self {
            given,
            words,
            lower: keep(domain.lower()),
            upper: keep(domain.upper()),
        }
    }

    /// The domain of inputs of so many elements.
    pub fn domain(&self, elements: usize) -> Result<Domain, String> {
        let spread = |ends: &[f32]| match ends {
            [one] => Ok(vec![*one; elements]),
            all if all.len() == elements => Ok(all.to_vec()),
            all => Err(format!(
                "the domain has {} ends, and inputs have {elements} elements",
                all.len()
            )),
        };
        Domain::new(spread(&self.lower)?, spread(&self.upper)?)
    }
}

/// How seeds were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeedChoice {
    /// The first so many that the network gets right.
    First(usize),
    /// Those that were named.
    Given,
}

/// Shapes of a model's tensors, without the batch axis: elements and neurons are counted in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shapes {
    /// Of the input.
    pub input: Vec<usize>,
    /// Of the hidden layers.
    pub layers: Vec<Vec<usize>>,
}

impl Shapes {
    /// Those of a network.
    pub fn of(network: &Network) -> Self {
        let layers = network.layers().iter();
        Self {
            input: network.input_shape().without_batch().to_vec(),
            layers: layers
                .map(|layer| layer.shape().without_batch().to_vec())
                .collect(),
        }
    }
}

/// What data call classes and features: index `i` is class or feature `i`; empty where they have no names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataNames {
    /// Of classes.
    pub classes: Vec<String>,
    /// Of the values of a sample.
    pub features: Vec<String>,
}

impl DataNames {
    /// Those of data.
    pub fn of(samples: &Samples) -> Self {
        let data = samples.dataset();
        let list = |names: Option<&[String]>| names.unwrap_or_default().to_vec();
        Self {
            classes: list(data.class_names()),
            features: list(data.feature_names()),
        }
    }

    /// What a feature is called: its name, or its number.
    pub fn feature(&self, number: usize) -> String {
        let name = self.features.get(number);
        name.map_or_else(|| number.to_string(), |name| format!("`{name}`"))
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Everything that decides what a run does, budgets and threads apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Version of this record.
    pub format: u32,
    /// Version of the tool: another one may search otherwise.
    pub version: String,
    /// The model and how it is read.
    pub model: ModelSettings,
    /// Its fingerprint.
    pub sha256: String,
    /// How its tensors are laid out.
    pub shapes: Option<Shapes>,
    /// The data and how they are read.
    pub data: DataSettings,
    /// How many samples they have.
    pub samples: usize,
    /// SHA-256 of the samples and labels as they are used.
    pub data_sha256: String,
    /// What the data call classes and features.
    #[serde(default, skip_serializing_if = "DataNames::is_empty")]
    pub names: DataNames,
    /// The criterion, unless there is a requirement file.
    pub criterion: Option<String>,
    /// The requirement file.
    pub requirements: Option<RequirementText>,
    /// Where the bounds of the profile come from, in words.
    pub profile: Option<String>,
    /// The file they come from, if not from the data.
    pub profile_data: Option<PathBuf>,
    /// How many samples of it were run, if there was no time for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_samples: Option<usize>,
    /// Parameters of the criterion, the norm, the neurons chosen.
    #[serde(rename = "knobs")]
    pub parameters: CriterionSettings,
    /// The part of the requirements that is required, if not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// The radius of the search region; none for the domain or boxes.
    #[serde(serialize_with = "finite::option")]
    pub radius: Option<f64>,
    /// SHA-256 of the region file.
    pub region: Option<String>,
    /// The domain.
    pub domain: DomainSettings,
    /// Steps of the grid.
    pub quantise: Option<u32>,
    /// Features that are not free.
    #[serde(default, skip_serializing_if = "FeatureSettings::is_empty")]
    pub features: FeatureSettings,
    /// Least similarity to the root.
    #[serde(serialize_with = "finite::option")]
    pub validity: Option<f64>,
    /// Whether tests are held to a function of the caller's, which no file keeps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filtered: bool,
    /// Which stages work.
    pub strategy: String,
    /// Whether what is left open is tried for infeasibility.
    pub proofs: bool,
    /// Seed of the random numbers.
    pub rng_seed: u64,
    /// How seeds were chosen.
    pub seed_choice: SeedChoice,
    /// How many seeds were asked for, if limits allowed no more than there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds_asked: Option<usize>,
    /// Seeds, by their numbers in the data.
    pub seeds: Vec<usize>,
    /// SHA-256 of the seeds' values.
    pub seed_values: String,
    /// The reference data, if not the data.
    pub reference: Option<PathBuf>,
    /// SHA-256 of their samples and labels as they are used.
    pub reference_sha256: Option<String>,
    /// How near a reference an adversarial test lies at most.
    #[serde(serialize_with = "finite::number")]
    pub adversarial_radius: f64,
    /// What tests are judged by. Records without it have the usual one.
    #[serde(
        default = "oracle::usual",
        skip_serializing_if = "oracle::is_usual",
        with = "oracle::by_name"
    )]
    pub oracle: &'static dyn Oracle,
    /// How outputs are read; none where nobody has said.
    #[serde(default)]
    pub decision: Option<Rule>,
    /// The mean |u| of each layer.
    #[serde(serialize_with = "finite::list")]
    pub means: Vec<f64>,
}

impl Settings {
    /// The version of the record written here.
    pub const FORMAT: u32 = 2;

    /// What is said of a run whose tests were held to a function of the caller's.
    pub fn filter_note(&self) -> Option<String> {
        self.filtered.then(|| FILTERED.to_owned())
    }

    /// The domain as people read it, with the features that are not free in it.
    pub fn domain_in_words(&self) -> String {
        match self.features.words(&self.names) {
            features if features.is_empty() => self.domain.words.clone(),
            features => format!("{}; {features}", self.domain.words),
        }
    }

    /// Reads them from `run.json`. Older records lack what a folder must hold to be checked.
    pub fn read(value: &Value) -> Result<Self, String> {
        let format = &value["format"];
        if *format != Self::FORMAT {
            return Err(format!(
                "its settings have format {}, and this version reads {}; make the run again, or use the \
                 version that wrote it ({})",
                if format.is_null() {
                    "1".into()
                } else {
                    format.to_string()
                },
                Self::FORMAT,
                value["version"].as_str().unwrap_or("not named")
            ));
        }
        let read: Self =
            serde_json::from_value(value.clone()).map_err(|e| format!("its settings: {e}"))?;
        read.refuse_impossible()?;
        Ok(read)
    }

    /// Refuses numbers that no run has, so that a record that somebody wrote is no work without an end.
    fn refuse_impossible(&self) -> Result<(), String> {
        let is_length = |length: f64| length.is_finite() && length >= 0.0;
        let radii = [
            ("radius", self.radius),
            ("adversarial_radius", Some(self.adversarial_radius)),
        ];
        for (name, radius) in radii {
            if let Some(radius) = radius.filter(|&radius| !is_length(radius)) {
                return Err(format!(
                    "its settings: {name} {radius}, which is no distance"
                ));
            }
        }
        match self.quantise {
            Some(0) => Err("its settings: quantise 0, which is no grid".into()),
            _ => Ok(()),
        }
    }
}

/// SHA-256 of a text, in hexadecimal.
pub fn hash_text(text: &str) -> String {
    hash_bytes(text.as_bytes())
}

/// SHA-256 of bytes, in hexadecimal.
pub fn hash_bytes(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// SHA-256 of numbers, in hexadecimal.
pub fn hash_values<'a>(values: impl IntoIterator<Item = &'a f32>) -> String {
    let bytes: Vec<u8> = values.into_iter().flat_map(|v| v.to_le_bytes()).collect();
    hex(&sha256(&bytes))
}

/// SHA-256 of samples and labels as they are used, in hexadecimal: of the digests of parts, so that
/// data need not be in memory as numbers at once.
pub fn hash_samples(samples: &Samples) -> String {
    const PART: usize = 256;
    let parts = samples.len().div_ceil(PART);
    let part = |number: usize| {
        let range = number * PART..samples.len().min((number + 1) * PART);
        let mut values = vec![0.0; range.len() * samples.features()];
        samples.fill(range, &mut values);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        sha256(&bytes)
    };
    let digests: Vec<Digest> = (0..parts).into_par_iter().map(part).collect();
    let mut digests = digests.concat();
    let labels = samples.labels().unwrap_or_default();
    let labels: Vec<u8> = labels.iter().flat_map(|l| l.to_le_bytes()).collect();
    digests.extend(sha256(&labels));
    let quantities = (0..samples.len()).filter_map(|sample| samples.quantity(sample));
    let quantities: Vec<u8> = quantities.flat_map(f64::to_le_bytes).collect();
    digests.extend(sha256(&quantities));
    hex(&sha256(&digests))
}
