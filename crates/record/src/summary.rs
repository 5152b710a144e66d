//! `run.json`: what a run was asked, and what came of it. Scripts rely on its names.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use deepconcolic_criteria::{Partition, Rule};
use deepconcolic_dataset::write::AtomicFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ArchiveError;
use crate::finite;
use crate::slopes::{ConstantCounts, SlopeSummary};

/// The whole file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this format.
    pub schema: u32,
    /// Name and version of the tool.
    pub tool: String,
    /// When the run ended, in UTC.
    pub date: String,
    /// The command line.
    pub command: Vec<String>,
    /// The network.
    pub model: ModelSummary,
    /// The criterion, or the requirement file.
    pub criterion: String,
    /// The part of the requirements that was required, if not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// The norm of distances.
    pub norm: String,
    /// The radius of the search region; none for the domain or boxes.
    #[serde(serialize_with = "finite::option")]
    pub radius: Option<f64>,
    /// The domain in words.
    pub domain: String,
    /// Seed of the random numbers.
    pub rng_seed: u64,
    /// How outputs are read: `argmax`, `threshold:T` or `within:D`; none where nobody has said.
    #[serde(default)]
    pub decision: Option<Rule>,
    /// Share of the data that the network gets right, where labels are known.
    #[serde(serialize_with = "finite::option")]
    pub accuracy: Option<f64>,
    /// How the requirements ended.
    pub requirements: RequirementSummary,
    /// How those of them ended that are properties and want no witness; none where all are goals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<PropertySummary>,
    /// Covered requirements among all; of a file with goals and properties, covered goals among goals.
    #[serde(serialize_with = "finite::number")]
    pub coverage: f64,
    /// Covered or infeasible requirements among the same.
    #[serde(serialize_with = "finite::number")]
    pub resolved: f64,
    /// The same, layer by layer.
    pub layers: Vec<LayerSummary>,
    /// Of several criteria on one suite: how the requirements of each ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionSummary>,
    /// What the rows of `requirements.npz` stand for; empty for pairs of neurons, whose rows say it themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<RowGroup>,
    /// For the criterion lipschitz: the regions, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lipschitz: Vec<SlopeSummary>,
    /// For the criterion lipschitz: in how many regions each of the constants 0.01, 0.02, ... 20 is refuted or
    /// proven. An entry holds from its constant to the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<ConstantCounts>,
    /// Tests by the class that the network gives them; empty where its answer is no class.
    pub classes: Vec<ClassSummary>,
    /// Tests.
    pub tests: TestSummary,
    /// Adversarial tests; none where nobody has said how outputs are read, so that no test was judged.
    pub adversarial: Option<AdversarialSummary>,
    /// Nearest adversarial inputs; none where nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest_adversarial: Option<NearestAdversarialSummary>,
    /// Distances of generated tests to their roots.
    pub distance: Spread,
    /// What else covers how much.
    pub baseline: Baseline,
    /// Seconds.
    pub time_s: Times,
    /// Work.
    pub executions: Executions,
    /// Why the run ended.
    pub stop: String,
    /// What the run had to come to, and whether it did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateSummary>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// SHA-256 of the files that were written with this one; of a folder, of the names and contents in it.
    pub files: BTreeMap<String, String>,
    /// SHA-256 of the settings as compact JSON.
    pub settings_sha256: String,
    /// Everything that decides what the run does: what `replay` and `--resume` go by.
    pub settings: Value,
}

/// The network of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ModelSummary {
    /// The file, as it was named.
    pub path: String,
    /// SHA-256 of the file (and of the weights beside it).
    pub sha256: String,
    /// Names of the hidden layers.
    pub layers: Vec<String>,
}

/// Counts of requirements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequirementSummary {
    /// All of them.
    pub total: usize,
    /// Met by a test.
    pub covered: usize,
    /// Proven impossible in the search region.
    pub infeasible: usize,
    /// The rest.
    pub unresolved: usize,
    /// Covered, but only within the margin of rounding.
    pub fragile: usize,
}

/// How the requirements of one of several criteria ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CriterionSummary {
    /// The criterion.
    pub criterion: String,
    /// Counts.
    pub requirements: RequirementSummary,
    /// The same as refuted, proven and open, if it is a property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<PropertySummary>,
    /// Covered requirements among all of them.
    #[serde(serialize_with = "finite::number")]
    pub coverage: f64,
    /// Covered or infeasible requirements among all of them.
    #[serde(serialize_with = "finite::number")]
    pub resolved: f64,
    /// The same, layer by layer.
    pub layers: Vec<LayerSummary>,
}

/// Counts of properties: requirements that should have no witness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertySummary {
    /// All of them.
    pub total: usize,
    /// Shown not to hold by a test.
    pub refuted: usize,
    /// Shown to hold in the search region by a certificate.
    pub proven: usize,
    /// The rest.
    pub open: usize,
    /// Those of the refuted ones that are so only within the margin of rounding.
    #[serde(default, skip_serializing_if = "is_none")]
    pub fragile: usize,
}

/// Whether there is nothing to say.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Something that a run had to come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSummary {
    /// As it is asked for on the command line.
    pub gate: String,
    /// Whether the run came to it.
    pub passes: bool,
    /// Why.
    pub reason: String,
}

/// Counts of one layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LayerSummary {
    /// Its name; `output` for requirements on the network as a whole.
    pub name: String,
    /// Requirements.
    pub total: usize,
    /// Met by a test.
    pub covered: usize,
    /// Proven impossible.
    pub infeasible: usize,
    /// The rest.
    pub unresolved: usize,
}

/// Tests of one label.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ClassSummary {
    /// The label that the network gives them.
    pub label: usize,
    /// How many there are.
    pub tests: usize,
    /// How many of those are adversarial.
    pub adversarial: usize,
}

/// Counts of tests.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TestSummary {
    /// Taken from the data.
    pub seeds: usize,
    /// Made by the run.
    pub generated: usize,
    /// Seeds that were set aside because the network gets them wrong.
    pub misclassified: usize,
}

/// Adversarial tests.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct AdversarialSummary {
    /// How many there are.
    pub count: usize,
    /// Their share of the generated tests.
    #[serde(serialize_with = "finite::number")]
    pub fraction: f64,
    /// The smallest distance to a reference.
    #[serde(serialize_with = "finite::option")]
    pub min_distance: Option<f64>,
    /// The median of those distances.
    #[serde(serialize_with = "finite::option")]
    pub median_distance: Option<f64>,
}

/// Nearest adversarial inputs, beside the suite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearestAdversarialSummary {
    /// Seeds that adversarial tests of the suite were made from.
    pub seeds: usize,
    /// Of how many of them the nearest adversarial input was looked for.
    pub count: usize,
    /// The smallest distance of such an input to its seed.
    #[serde(serialize_with = "finite::option")]
    pub min: Option<f64>,
    /// The median of those distances.
    #[serde(serialize_with = "finite::option")]
    pub median: Option<f64>,
    /// The largest of them.
    #[serde(serialize_with = "finite::option")]
    pub max: Option<f64>,
    /// For how many of them a certificate shows how near an adversarial input can be.
    pub bounds: usize,
    /// The median of those lower bounds.
    #[serde(serialize_with = "finite::option")]
    pub median_bound: Option<f64>,
}

/// Smallest, middle and largest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The smallest.
    #[serde(serialize_with = "finite::option")]
    pub min: Option<f64>,
    /// The middle one, or the mean of the two in the middle.
    #[serde(serialize_with = "finite::option")]
    pub median: Option<f64>,
    /// The largest.
    #[serde(serialize_with = "finite::option")]
    pub max: Option<f64>,
}

impl Spread {
    /// The spread of these numbers.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let mut all: Vec<f64> = numbers.into_iter().collect();
        all.sort_unstable_by(f64::total_cmp);
        let middle = all.len() / 2;
        let median = match all.len() {
            0 => None,
            n if n % 2 == 1 => Some(all[middle]),
            _ => Some(f64::midpoint(all[middle - 1], all[middle])),
        };
        Self {
            min: all.first().copied(),
            median,
            max: all.last().copied(),
        }
    }
}

/// Controls: what else covers how much.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// As many inputs drawn from the search region.
    #[serde(serialize_with = "finite::option")]
    pub random_coverage: Option<f64>,
    /// How many those were.
    pub random_inputs: usize,
    /// Where ratios are required beside other things: random pairs drawn in each region, which are not among these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_pairs: Option<usize>,
    /// The user's data alone.
    #[serde(serialize_with = "finite::option")]
    pub data_coverage: Option<f64>,
    /// How many inputs of the data were run for that.
    pub data_inputs: usize,
    /// What they cover, in the order of `layers`; empty where nothing was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerControls>,
}

/// Requirements of one layer that the controls cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerControls {
    /// As many inputs drawn from the search region.
    pub random: usize,
    /// The user's data alone.
    pub data: usize,
}

/// What rows of `requirements.npz` stand for, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowGroup {
    /// The hidden layer whose neurons they are about; none for requirements on the network as a whole.
    pub layer: Option<String>,
    /// How many rows there are: for each neuron of the layer as many as for any other.
    pub rows: usize,
    /// What rows that are about no layer ask, the first 2,000 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedSummary>,
}

/// What a requirement that is about no layer asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedSummary {
    /// What a person calls it.
    pub name: String,
    /// Whether it is a property: a test refutes it, and none is wanted.
    pub property: bool,
}

/// Seconds of a run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Times {
    /// From the first seed to the last file.
    #[serde(serialize_with = "finite::number")]
    pub total: f64,
    /// Choosing and running seeds.
    #[serde(serialize_with = "finite::number")]
    pub measure: f64,
    /// Concrete search.
    #[serde(serialize_with = "finite::number")]
    pub ascend: f64,
    /// Symbolic search.
    #[serde(serialize_with = "finite::number")]
    pub symbolic: f64,
    /// Proofs.
    #[serde(serialize_with = "finite::number")]
    pub prove: f64,
    /// Judging tests by the references.
    #[serde(serialize_with = "finite::number")]
    pub oracle: f64,
    /// Random inputs and plain data, for comparison.
    #[serde(serialize_with = "finite::number")]
    pub controls: f64,
}

/// Work of a run, controls apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executions {
    /// Inputs run.
    pub forward: usize,
    /// Vector-Jacobian products.
    pub vjp: usize,
    /// Linear programs.
    pub lp: usize,
    /// Nodes of proofs.
    pub nodes: usize,
}

impl Summary {
    /// The version of the format written here.
    pub const SCHEMA: u32 = 1;

    /// Writes it.
    pub fn write(&self, path: &Path) -> Result<(), ArchiveError> {
        let mut file = AtomicFile::create(path)?;
        serde_json::to_writer_pretty(&mut file, self)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(file))
            .map_err(ArchiveError::io(path, "write"))?;
        Ok(file.commit()?)
    }

    /// Reads it back.
    pub fn read(path: &Path) -> Result<Self, ArchiveError> {
        let bytes = std::fs::read(path).map_err(ArchiveError::io(path, "read"))?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| ArchiveError::damaged(path, error.to_string()))?;
        let schema = &value["schema"];
        if *schema != Self::SCHEMA {
            return Err(ArchiveError::damaged(
                path,
                format!(
                    "it has schema {schema}, and this version reads {}",
                    Self::SCHEMA
                ),
            ));
        }
        // A field is a default nowhere: what a folder does not say, nothing can be checked against.
        serde_json::from_value(value).map_err(|error| {
            ArchiveError::damaged(
                path,
                format!(
                    "{error}; it was edited, or written by another version of this program than {}: \
                     run again, or use that version",
                    env!("CARGO_PKG_VERSION")
                ),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_middle() {
        assert_eq!(Spread::of([]).median, None);
        assert_eq!(Spread::of([3.0, 1.0, 2.0]).median, Some(2.0));
        let four = Spread::of([4.0, 1.0, 2.0, 3.0]);
        assert_eq!(
            (four.min, four.median, four.max),
            (Some(1.0), Some(2.5), Some(4.0))
        );
    }
}
