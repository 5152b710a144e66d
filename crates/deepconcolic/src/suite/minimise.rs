//! Fewer tests that show the same: every requirement that the suite of a run meets is met by those kept, which is
//! measured again in the end.

use std::path::{Path, PathBuf};

use deepconcolic_campaign::{Inputs, Limits, measure_within};
use deepconcolic_criteria::Family;
use deepconcolic_dataset::write::NpzWriter;
use deepconcolic_geometry::Together;
use deepconcolic_language::Inputs as Arity;
use deepconcolic_network::BitSet;
use deepconcolic_record::State;
use rayon::prelude::*;
use serde::Serialize;

use super::cover::Sets;
use crate::audit::Opened;
use crate::conclude::slopes::is_all_ratios;
use crate::error::Error;

/// The file that is written into the folder of a run unless another is named.
pub const MINIMAL: &str = "minimal-suite.npz";

/// What is asked for.
pub struct SuiteMinimisation {
    /// The folder of the run.
    pub dir: PathBuf,
    /// The model, if it does not lie where the run found it.
    pub model: Option<PathBuf>,
    /// Keep every adversarial test.
    pub keep_adversarial: bool,
}

/// Tests that show what all of a suite show.
#[derive(Clone, Debug, Serialize)]
pub struct MinimalSuite {
    /// The tests kept, by their rows in `suite.npz`.
    pub tests: Vec<usize>,
    /// How many there were.
    pub of: usize,
    /// No choice of fewer tests than this shows the same.
    pub at_least: usize,
    /// Requirements that all tests meet; those kept meet as many, measured again.
    pub covered: usize,
    /// What the figures mean here, where that is not plain.
    pub notes: Vec<String>,
    #[serde(skip)]
    x: Vec<f32>,
    #[serde(skip)]
    shape: Vec<usize>,
    #[serde(skip)]
    label: Vec<i64>,
    #[serde(skip)]
    reference_label: Vec<i64>,
}

/// Some rows of a suite.
struct Rows<'a> {
    x: &'a [f32],
    elements: usize,
    chosen: &'a [usize],
}

impl Inputs for Rows<'_> {
    fn len(&self) -> usize {
        self.chosen.len()
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        let rows = indices.iter().map(|&index| self.chosen[index]);
        for (row, into) in rows.zip(into.chunks_mut(self.elements)) {
            into.copy_from_slice(&self.x[row * self.elements..(row + 1) * self.elements]);
        }
    }
}

impl SuiteMinimisation {
    /// Finds few tests, and measures what they meet.
    pub fn run(&self) -> Result<MinimalSuite, Error> {
        let opened = Opened::new(&self.dir, self.model.as_deref(), None)?;
        let family = opened.family.as_ref();
        if opened.sha256 != opened.settings.sha256 {
            return Err(Error::Request(
                "the model at hand is not that of the run; `replay` says what the suite shows of another".into(),
            ));
        }
        if is_all_ratios(family) {
            return Err(Error::Request(
                "a suite of the criterion lipschitz holds the two steepest inputs of every region already".into(),
            ));
        }
        let all: Vec<usize> = (0..opened.suite.len()).collect();
        let whole = required(family, covered(&opened, &all));
        let mut given: Vec<usize> = steepest(&opened);
        let mut notes = Vec::new();
        if !given.is_empty() {
            notes.push("the two steepest inputs of every region are kept".to_owned());
        }
        if self.keep_adversarial {
            given.extend(opened.suite.adversarial());
        }
        given.sort_unstable();
        given.dedup();
        let (mut tests, at_least) = if on_single_inputs(family) {
            let bits = all.par_iter().map(|&test| {
                let met = required(family, covered(&opened, &[test]));
                met.iter().flat_map(BitSet::words).copied().collect()
            });
            let sets = Sets::new(bits.collect());
            (sets.cover(&given), sets.at_least())
        } else {
            notes.push(
                "requirements are about two inputs: kept are the two that the run names for each, and how few \
                 tests could do is not known"
                    .to_owned(),
            );
            (
                named(&opened, &given),
                usize::from(whole.iter().any(|set| set.count() > 0)) * 2,
            )
        };
        let again = required(family, covered(&opened, &tests));
        if again != whole {
            // What the run names may be met within the margin of rounding only, in this place.
            tests = all;
            notes.push("fewer tests were measured to meet less, so that all are kept".into());
        }
        let elements = opened.network.input_elements();
        let input = |&test: &usize| &opened.suite.x[test * elements..(test + 1) * elements];
        Ok(MinimalSuite {
            of: opened.suite.len(),
            at_least: at_least.max(given.len()),
            covered: whole.iter().map(BitSet::count).sum(),
            notes,
            x: tests.iter().flat_map(input).copied().collect(),
            shape: opened.network.input_shape().without_batch().to_vec(),
            label: tests.iter().map(|&t| opened.suite.label[t]).collect(),
            reference_label: (tests.iter().map(|&t| opened.suite.reference_label[t])).collect(),
            tests,
        })
    }
}

impl MinimalSuite {
    /// Writes it as arrays: `test` (rows of `suite.npz`), `x`, `y` (the class it should have, -1 where that is not
    /// known) and `label` (the class the network gives it).
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let count = self.tests.len();
        let rows: Vec<i64> = self.tests.iter().map(|&test| test as i64).collect();
        let shape: Vec<usize> = [count]
            .into_iter()
            .chain(self.shape.iter().copied())
            .collect();
        let mut file = NpzWriter::create(path)?;
        file.add("test", &[count], &rows)?;
        file.add("x", &shape, &self.x)?;
        file.add("y", &[count], &self.reference_label)?;
        file.add("label", &[count], &self.label)?;
        Ok(file.finish()?)
    }
}

/// The tests between which the network is steepest, where ratios are required.
fn steepest(opened: &Opened) -> Vec<usize> {
    let regions = opened.summary.lipschitz.iter();
    let tests = regions.flat_map(|region| [region.test, region.test2]);
    tests
        .filter_map(|test| usize::try_from(test).ok())
        .filter(|&test| test < opened.suite.len())
        .collect()
}

/// Whether every requirement is about one input, but for ratios.
fn on_single_inputs(family: &dyn Family) -> bool {
    let mut slots = family
        .groups()
        .iter()
        .enumerate()
        .filter(|(number, _)| !family.is_about_ratios(*number))
        .flat_map(|(number, group)| {
            let required = group.not_required.complement();
            let slots: Vec<usize> = required.iter().collect();
            slots.into_iter().map(move |slot| (number, slot))
        });
    !family.has_pairs() && slots.all(|(group, slot)| family.inputs(group, slot) == Arity::One)
}

/// What some tests of a run meet, where two count together as they do in the run.
fn covered(opened: &Opened, tests: &[usize]) -> Vec<BitSet> {
    let rows = Rows {
        x: &opened.suite.x,
        elements: opened.network.input_elements(),
        chosen: tests,
    };
    let mut x = vec![0.0; tests.len() * rows.elements];
    rows.gather(&(0..tests.len()).collect::<Vec<_>>(), &mut x);
    let together = Together::of(&opened.space, opened.seeds.values(), &x);
    let families = [opened.family.as_ref()];
    let network = &opened.network;
    let (decision, limits) = (&opened.decision, Limits::default());
    let mut measured = measure_within(network, &rows, &families, decision, &together, &limits);
    measured.covered.swap_remove(0)
}

/// Without what nobody requires.
fn required(family: &dyn Family, covered: Vec<BitSet>) -> Vec<BitSet> {
    let groups = family.groups().iter().zip(covered);
    groups
        .map(|(group, covered)| covered.without(&group.not_required))
        .collect()
}

/// The tests that a run names for what it met, and those given.
fn named(opened: &Opened, given: &[usize]) -> Vec<usize> {
    let table = &opened.table;
    let rows = (0..table.state.len()).filter(|&row| table.state[row] == State::Covered as u8);
    let tests = rows.flat_map(|row| [table.test[row], table.test2[row]]);
    let mut tests: Vec<usize> = tests
        .filter_map(|test| usize::try_from(test).ok())
        .filter(|&test| test < opened.suite.len())
        .chain(given.iter().copied())
        .collect();
    tests.sort_unstable();
    tests.dedup();
    tests
}
