//! What decides a run: kept in its journal and in `run.json`, compared when it is resumed, and enough
//! to do it all again.

use deepconcolic_network::Network;
use deepconcolic_spec::Rule;
use serde::{Deserialize, Serialize};

use crate::arguments::{DataArguments, ModelArguments};
use crate::criteria::CriterionArguments;

/// A requirement file: what errors call it, and what it says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequirementText {
    /// The file's name.
    pub name: String,
    /// Its text.
    pub text: String,
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

/// Everything that decides what a run does, budgets and threads apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Version of the tool: another one may search otherwise.
    pub version: String,
    /// The model and how it is read.
    pub model: ModelArguments,
    /// Its fingerprint.
    pub sha256: String,
    /// How its tensors are laid out.
    #[serde(default)]
    pub shapes: Option<Shapes>,
    /// The data and how they are read.
    pub data: DataArguments,
    /// How many samples they have.
    pub samples: usize,
    /// The criterion, unless there is a requirement file.
    pub criterion: Option<String>,
    /// The requirement file.
    pub requirements: Option<RequirementText>,
    /// Where the bounds of the profile come from.
    pub profile: Option<String>,
    /// Parameters of the criterion, the norm, the neurons chosen.
    pub knobs: CriterionArguments,
    /// The radius of the search region; none for the domain or boxes.
    pub radius: Option<f64>,
    /// Checksum of the region file.
    pub region: Option<u32>,
    /// The domain as it was given.
    pub domain: Option<String>,
    /// Steps of the grid.
    pub quantise: Option<u32>,
    /// Least similarity to the root.
    pub validity: Option<f64>,
    /// Which stages work.
    pub strategy: String,
    /// Whether what is left open is tried for infeasibility.
    pub proofs: bool,
    /// Seed of the random numbers.
    pub rng_seed: u64,
    /// Seeds, by their numbers in the data.
    pub seeds: Vec<usize>,
    /// Checksum of the seeds' values.
    pub seed_values: u32,
    /// The reference data, if not the data.
    pub reference: Option<std::path::PathBuf>,
    /// How near a reference an adversarial test lies at most.
    pub adversarial_radius: f64,
    /// How outputs are read; none where nobody has said.
    #[serde(default)]
    pub decision: Option<Rule>,
    /// The mean |u| of each layer.
    pub means: Vec<f64>,
}
