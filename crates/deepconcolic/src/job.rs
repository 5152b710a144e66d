//! What is asked of a run: plain data, with every default in one place.
//!
//! A job can be written to a file and read again; fields that a file does not have get their defaults. What a run
//! then works on, in numbers, is in its [`Settings`](crate::Settings).

use std::path::{Path, PathBuf};
use std::time::Duration;

use deepconcolic_campaign::{Filter, Strategy};
use deepconcolic_criteria::{Parameters, Partition, Rule};
use deepconcolic_geometry::Norm;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::gate::Gates;
use crate::oracle;
use crate::settings::{CriterionSettings, DataSettings, LipschitzName, ModelSettings, ScopeName};

/// What is asked of a run.
///
/// ```
/// use deepconcolic::Job;
///
/// let mut job = Job::new("model.onnx", "data.npz", "nc");
/// job.max_executions = Some(2000);
/// let text = serde_json::to_string(&job)?;
/// let again: Job = serde_json::from_str(&text)?;
/// assert_eq!(again.max_executions, Some(2000));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Job {
    /// Version of this record; a file with another one is refused.
    #[serde(deserialize_with = "known_format")]
    pub format: u32,
    /// The model and how it is read.
    pub model: ModelSettings,
    /// The data and how they are read.
    pub data: DataSettings,
    /// What the model's answer is; without it, what the model shows.
    pub decision: Option<Rule>,
    /// A criterion by name; or several on one suite, with commas between them.
    pub criterion: Option<String>,
    /// Requirements of one's own instead: a .dr file, or a .vnnlib file (also .gz).
    pub requirements: Option<PathBuf>,
    /// Parameters of the criterion, the norm, the neurons chosen.
    pub parameters: CriterionSettings,
    /// Which inputs of the data to start from.
    pub seeds: SeedRequest,
    /// How far from its seed a test may lie.
    pub radius: Radius,
    /// Search these boxes instead of balls round the seeds: a file, .npz (lower, upper) or .json.
    pub region: Option<PathBuf>,
    /// How near a reference an adversarial test must be; without it, the norm's default radius.
    pub adversarial_radius: Option<f64>,
    /// What tests are judged by: an oracle by name.
    pub oracle: String,
    /// Real inputs that tests are judged by; without them, the data.
    pub reference: Option<PathBuf>,
    /// Only tests this similar to their seed, from 0 to 1.
    pub validity: Option<f64>,
    /// How to search: one of [`STRATEGIES`].
    pub strategy: String,
    /// Keep generated values on a grid of so many steps of the domain.
    pub quantise: Option<u32>,
    /// Features that tests never change, by name or by number from 0.
    pub fixed: Vec<String>,
    /// Features that take whole numbers of the data's own unit only, by name or by number from 0.
    pub integer: Vec<String>,
    /// For every covered requirement on one input, also look for the nearest witness; for every seed with adversarial
    /// tests for the nearest adversarial input.
    pub minimise: bool,
    /// Try to prove that what is left open cannot be met.
    pub proofs: bool,
    /// Stop after so many seconds.
    pub budget: Option<f64>,
    /// Stop after so many passes through the network, forward and backward.
    pub max_executions: Option<usize>,
    /// Where the ranges of neurons come from; without it, the first tenth of the data.
    pub profile: Option<PathBuf>,
    /// The domain of every input element, `LO..HI`; without it, 0..1 for images, else the observed ranges.
    pub domain: Option<String>,
    /// Look only for a part of the requirements; [`Merge`](crate::Merge) joins what the parts found.
    pub partition: Option<Partition>,
    /// Refuse requirements that need more memory than this, as `8G`; without it, three quarters of what the machine has.
    #[serde(default)]
    pub memory: Option<String>,
    /// Seed of the random numbers.
    pub rng_seed: u64,
    /// What the run must come to. A model whose answer nobody has said how to read is refused where adversarial
    /// tests are asked about.
    pub gates: Gates,
    /// How the run was asked for, in words, for its record: a command line, for example.
    pub command: Vec<String>,
    /// What may be a test at all, by a function of the caller's, which no file can hold and no check repeat.
    #[serde(skip)]
    pub filter: Option<Filter>,
}

/// Which inputs of the data to start from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeedRequest {
    /// The first so many that the network gets right.
    First(usize),
    /// These, by their numbers in the data, from 0.
    Given(Vec<usize>),
}

impl SeedRequest {
    /// How many are asked for.
    pub fn count(&self) -> usize {
        match self {
            Self::First(count) => *count,
            Self::Given(indices) => indices.len(),
        }
    }
}

/// How far from its seed a test may lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Radius {
    /// As far as is usual for the norm.
    #[default]
    Usual,
    /// As far as the domain reaches.
    Anywhere,
    /// So far, in units of the domain's width.
    Within(f64),
}

/// The strategies by name: the first is the default.
pub const STRATEGIES: [(&str, Strategy); 4] = [
    ("cascade", Strategy::Cascade),
    ("paper", Strategy::Paper),
    ("published", Strategy::Published),
    ("random", Strategy::Random),
];

impl Job {
    /// The version of the record written here.
    pub const FORMAT: u32 = 1;
    /// Seeds when nobody says how many.
    pub const SEEDS: usize = 1000;
    /// Time when nobody says how much.
    pub const BUDGET: Duration = Duration::from_mins(10);

    /// A criterion on a model with data, everything else by default.
    pub fn new(model: impl AsRef<Path>, data: impl AsRef<Path>, criterion: &str) -> Self {
        Self {
            model: ModelSettings::new(model.as_ref()),
            data: DataSettings::new(data.as_ref()),
            criterion: Some(criterion.to_owned()),
            ..Self::default()
        }
    }
}

impl Default for Job {
    fn default() -> Self {
        Self {
            format: Self::FORMAT,
            model: ModelSettings::default(),
            data: DataSettings::default(),
            decision: None,
            criterion: None,
            requirements: None,
            parameters: CriterionSettings::default(),
            seeds: SeedRequest::default(),
            radius: Radius::default(),
            region: None,
            adversarial_radius: None,
            oracle: oracle::usual().name().to_owned(),
            reference: None,
            validity: None,
            strategy: STRATEGIES[0].0.to_owned(),
            quantise: None,
            fixed: Vec::new(),
            integer: Vec::new(),
            minimise: false,
            proofs: true,
            budget: Some(Self::BUDGET.as_secs_f64()),
            max_executions: None,
            profile: None,
            domain: None,
            partition: None,
            memory: None,
            rng_seed: 0,
            gates: Gates::default(),
            command: Vec::new(),
            filter: None,
        }
    }
}

/// Another format may mean other things by the same names.
fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let format = u32::deserialize(deserializer)?;
    if format == Job::FORMAT {
        return Ok(format);
    }
    Err(de::Error::custom(format!(
        "the job has format {format}, and this version reads {}; write it anew, or use the version that wrote it",
        Job::FORMAT
    )))
}

impl Default for SeedRequest {
    fn default() -> Self {
        Self::First(Job::SEEDS)
    }
}

impl Default for CriterionSettings {
    fn default() -> Self {
        let Parameters {
            sections,
            top,
            constant,
            ..
        } = Parameters::default();
        Self {
            threshold: None,
            scaled: false,
            with_logits: false,
            sections,
            top,
            sigma: None,
            ssc_scope: ScopeName::Layer,
            constant,
            lipschitz_output: LipschitzName::All,
            ratio_norm: Norm::LINF,
            norm: Norm::LINF,
            layers: Vec::new(),
            neurons: Vec::new(),
        }
    }
}
