//! `suite.npz`: the tests, as numpy reads them.

use std::path::Path;

use deepconcolic_campaign::oracle::{Judgement, Verdict};
use deepconcolic_campaign::{Seeds, Suite};
use deepconcolic_criteria::Truth;
use deepconcolic_dataset::arrays::{Element, NpzReader};
use deepconcolic_dataset::write::NpzWriter;

use crate::error::ArchiveError;
use crate::provenance::ProvenanceColumns;

/// The tests of a run, seeds first.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SuiteTable {
    /// Inputs, one after the other.
    pub x: Vec<f32>,
    /// Where each comes from.
    pub provenance: ProvenanceColumns,
    /// Its distance to the root.
    pub distance: Vec<f32>,
    /// The network's class for it, -1 where its answer is no class.
    pub label: Vec<i64>,
    /// The network's outputs for it, test after test, where the answer is a quantity; else empty.
    pub output: Vec<f64>,
    /// Index of the nearest reference, -1 if none was looked for.
    pub reference: Vec<i64>,
    /// Its distance to that reference.
    pub reference_distance: Vec<f64>,
    /// The class it should have: that of the reference; -1 where there is none.
    pub reference_label: Vec<i64>,
    /// The outputs it should have, test after test, where the answer is a quantity, NaN where that is not
    /// known; else empty.
    pub reference_output: Vec<f64>,
    /// What the oracle says.
    pub verdict: Vec<u8>,
    /// The last seeds, one after the other, where there was no time to run them: no tests, but tests may lie round them.
    pub unmeasured: Vec<f32>,
}

impl SuiteTable {
    /// The table of a suite and what was said of it.
    pub fn new(suite: &Suite, seeds: &Seeds, judgements: &[Judgement]) -> Self {
        let tests = suite.tests();
        let mut table = Self {
            x: tests.iter().flat_map(|t| &t.input).copied().collect(),
            provenance: ProvenanceColumns::of(suite, seeds),
            distance: tests.iter().map(|t| t.distance as f32).collect(),
            label: tests.iter().map(|t| t.prediction.label()).collect(),
            output: tests
                .iter()
                .flat_map(|t| t.prediction.values())
                .copied()
                .collect(),
            unmeasured: (tests.len()..seeds.len())
                .flat_map(|seed| seeds.input(seed))
                .copied()
                .collect(),
            ..Self::default()
        };
        table.judge(judgements);
        table
    }

    /// Every seed, measured or not, one after the other; none unless there are so many.
    pub fn all_seeds(&self, count: usize, elements: usize) -> Option<Vec<f32>> {
        let measured = self.x.get(..self.len().min(count) * elements)?;
        let all = [measured, &self.unmeasured].concat();
        (all.len() == count * elements).then_some(all)
    }

    /// What is wrong where [`all_seeds`](Self::all_seeds) finds another number.
    pub fn lack_of_seeds(&self, count: usize) -> String {
        let tests = self.len();
        let unmeasured = if self.unmeasured.is_empty() {
            String::new()
        } else {
            format!(
                " and {} numbers of seeds that were not run",
                self.unmeasured.len()
            )
        };
        format!("it has {tests} tests{unmeasured}, and the run has {count} seeds")
    }

    /// Enters what the oracle says of every test.
    pub fn judge(&mut self, judgements: &[Judgement]) {
        let outputs = self.outputs();
        let number = |j: &Judgement| j.reference.map_or(-1, |r| r as i64);
        self.reference = judgements.iter().map(number).collect();
        self.reference_distance = judgements.iter().map(|j| j.distance).collect();
        self.reference_label = judgements.iter().map(true_class).collect();
        self.reference_output = judgements
            .iter()
            .flat_map(|j| true_values(j, outputs))
            .collect();
        self.verdict = judgements.iter().map(|j| j.verdict as u8).collect();
    }

    /// The tests that the oracle calls adversarial.
    pub fn adversarial(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|&test| self.verdict[test] == Verdict::Adversarial as u8)
    }

    /// How many tests there are.
    pub fn len(&self) -> usize {
        self.provenance.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Outputs of each test, where the answer is a quantity.
    pub fn outputs(&self) -> usize {
        self.output.len() / self.len().max(1)
    }

    /// Seeds among them.
    pub fn seeds(&self) -> usize {
        self.provenance.seeds()
    }

    /// Writes it; `shape` is that of one input.
    pub fn write(&self, path: &Path, shape: &[usize]) -> Result<(), ArchiveError> {
        let tests = self.len();
        let mut whole = vec![tests];
        whole.extend(shape);
        let mut file = NpzWriter::create(path)?;
        file.add("x", &whole, &self.x)?;
        self.provenance.write(&mut file)?;
        file.add("distance", &[tests], &self.distance)?;
        file.add("label", &[tests], &self.label)?;
        if !self.output.is_empty() {
            file.add("output", &[tests, self.outputs()], &self.output)?;
        }
        file.add("reference", &[tests], &self.reference)?;
        file.add("reference_distance", &[tests], &self.reference_distance)?;
        file.add("reference_label", &[tests], &self.reference_label)?;
        if !self.reference_output.is_empty() {
            let shape = [tests, self.outputs()];
            file.add("reference_output", &shape, &self.reference_output)?;
        }
        file.add("verdict", &[tests], &self.verdict)?;
        if !self.unmeasured.is_empty() {
            whole[0] = self.unmeasured.len() / shape.iter().product::<usize>().max(1);
            file.add("unmeasured", &whole, &self.unmeasured)?;
        }
        Ok(file.finish()?)
    }

    /// The shape of one input of a saved suite.
    pub fn shape(path: &Path) -> Result<Vec<usize>, ArchiveError> {
        let file = NpzReader::open(path)?;
        match file.shape("x") {
            Some([_, shape @ ..]) => Ok(shape.to_vec()),
            _ => Err(ArchiveError::damaged(path, "it holds no inputs")),
        }
    }

    /// Whether two tables hold the same numbers, bit for bit: what is no number is the same as itself.
    pub fn is_same(&self, other: &Self) -> bool {
        let single = |a: &[f32], b: &[f32]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        };
        let double = |a: &[f64], b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        };
        let floats = single(&self.x, &other.x)
            && single(&self.unmeasured, &other.unmeasured)
            && single(&self.distance, &other.distance)
            && double(&self.output, &other.output)
            && double(&self.reference_distance, &other.reference_distance)
            && double(&self.reference_output, &other.reference_output);
        let rest = |table: &Self| Self {
            x: Vec::new(),
            unmeasured: Vec::new(),
            distance: Vec::new(),
            output: Vec::new(),
            reference_distance: Vec::new(),
            reference_output: Vec::new(),
            ..table.clone()
        };
        floats && rest(self) == rest(other)
    }

    /// How many tests a file has, without reading them.
    pub fn count(path: &Path) -> Result<usize, ArchiveError> {
        let file = NpzReader::open(path)?;
        let labels = file.shape("label").and_then(|shape| shape.first().copied());
        labels.ok_or_else(|| ArchiveError::damaged(path, "it has no labels"))
    }

    /// Reads it back; `elements` is the size of one input.
    pub fn read(path: &Path, elements: usize) -> Result<Self, ArchiveError> {
        let mut file = NpzReader::open(path)?;
        let misfit = || {
            let detail =
                format!("its arrays do not fit each other or inputs of {elements} elements");
            ArchiveError::damaged(path, detail)
        };
        let table = Self {
            x: file.read("x")?.values,
            provenance: ProvenanceColumns::read(&mut file)?.ok_or_else(misfit)?,
            distance: file.read("distance")?.values,
            label: file.read("label")?.values,
            output: optional(&mut file, "output")?,
            reference: file.read("reference")?.values,
            reference_distance: file.read("reference_distance")?.values,
            reference_label: file.read("reference_label")?.values,
            reference_output: optional(&mut file, "reference_output")?,
            verdict: file.read("verdict")?.values,
            unmeasured: optional(&mut file, "unmeasured")?,
        };
        let tests = table.len();
        let fits = table.x.len() == tests * elements
            && table.unmeasured.len().is_multiple_of(elements.max(1))
            && table.output.len().is_multiple_of(tests.max(1))
            && table.output.len() == table.reference_output.len()
            && [
                table.distance.len(),
                table.label.len(),
                table.reference.len(),
                table.reference_distance.len(),
                table.reference_label.len(),
                table.verdict.len(),
            ]
            .iter()
            .all(|&length| length == tests);
        if fits { Ok(table) } else { Err(misfit()) }
    }
}

/// Numbers that a file may have or not.
fn optional<T: Element>(file: &mut NpzReader, name: &str) -> Result<Vec<T>, ArchiveError> {
    Ok(if file.shape(name).is_some() {
        file.read(name)?.values
    } else {
        Vec::new()
    })
}

/// The class a test should have; -1 where its answer is no class or not known.
fn true_class(judgement: &Judgement) -> i64 {
    match judgement.truth {
        Some(Truth::Class(class)) => class,
        Some(Truth::Values(_)) | None => -1,
    }
}

/// The outputs a test should have, where the answer is so many quantities.
fn true_values(judgement: &Judgement, outputs: usize) -> Vec<f64> {
    match &judgement.truth {
        Some(Truth::Values(values)) => values.clone(),
        Some(Truth::Class(_)) | None => vec![f64::NAN; outputs],
    }
}
