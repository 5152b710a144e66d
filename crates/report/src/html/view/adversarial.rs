//! Adversarial inputs: tests of the suite, and the nearest ones that were looked for beside it.

use std::collections::HashMap;

use deepconcolic::{SavedRun, Stage};

/// Where an adversarial input is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A test of `suite.npz`, by its row.
    Test(usize),
    /// A row of `nearest-adversarial/nearest.npz`.
    Nearest(usize),
}

/// An adversarial input.
pub struct Adversarial {
    /// Where it is.
    pub source: Source,
    /// The row of its seed in the suite.
    pub seed: Option<usize>,
    /// The seed's number in the data.
    pub root: i64,
    /// The number of the reference it was judged by.
    pub reference: i64,
    /// How far that is.
    pub distance: f64,
    /// The class it should have, if its answer is a class.
    pub truth: i64,
    /// The class it gets.
    pub found: i64,
    /// How sure the network says it is of that class.
    pub confidence: Option<f32>,
    /// The quantities it should have and those it gets, where answers are quantities.
    pub quantities: Option<(Vec<f64>, Vec<f64>)>,
    /// No input nearer to the seed has another answer: a certificate says so.
    pub bound: Option<f64>,
    /// The stage that made it.
    pub stage: &'static str,
}

impl Adversarial {
    /// What it is called on pages and in names of files.
    pub fn name(&self) -> String {
        match self.source {
            Source::Test(test) => format!("test-{test}"),
            Source::Nearest(_) => format!("nearest-{}", self.root),
        }
    }

    /// Its values.
    pub fn input<'a>(&self, run: &'a SavedRun) -> &'a [f32] {
        match (self.source, &run.nearest_adversarial) {
            (Source::Nearest(row), Some(table)) => table.input(row, run.elements()),
            (Source::Test(test), _) => run.input(test),
            (Source::Nearest(_), None) => &[],
        }
    }
}

/// All of them, the nearest first.
pub fn of(run: &SavedRun) -> Vec<Adversarial> {
    let table = &run.adversarial;
    let sure: HashMap<i64, f32> = (table.test.iter().copied())
        .zip(table.confidence.iter().copied())
        .collect();
    let of_test = |test: usize| Adversarial {
        confidence: sure.get(&(test as i64)).copied(),
        ..of_suite(run, test)
    };
    let mut all: Vec<Adversarial> = run.suite.adversarial().map(of_test).collect();
    let rows = run
        .nearest_adversarial
        .as_ref()
        .map_or(0, deepconcolic_record::NearestAdversarialTable::len);
    all.extend((0..rows).filter_map(|row| nearest(run, row)));
    all.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    all
}

fn of_suite(run: &SavedRun, test: usize) -> Adversarial {
    let suite = &run.suite;
    let outputs = suite.outputs();
    let row = |all: &[f64]| {
        all.get(test * outputs..(test + 1) * outputs)
            .map(<[f64]>::to_vec)
    };
    let quantities = row(&suite.reference_output).zip(row(&suite.output));
    Adversarial {
        source: Source::Test(test),
        seed: run.seed_of(test),
        root: suite.provenance.root[test],
        reference: suite.reference[test],
        distance: suite.reference_distance[test],
        truth: suite.reference_label[test],
        found: suite.label[test],
        confidence: None,
        quantities: quantities.filter(|_| outputs > 0),
        bound: None,
        stage: Stage::from_number(suite.provenance.stage[test]).map_or("unknown", Stage::name),
    }
}

fn nearest(run: &SavedRun, row: usize) -> Option<Adversarial> {
    let table = run.nearest_adversarial.as_ref()?;
    let root = table.root[row];
    let outputs = table.output.len() / table.len().max(1);
    let part = |all: &[f64]| {
        all.get(row * outputs..(row + 1) * outputs)
            .map(<[f64]>::to_vec)
    };
    Some(Adversarial {
        source: Source::Nearest(row),
        seed: run.seed(root),
        root,
        reference: root,
        distance: table.distance[row],
        truth: table.classes.get(row).copied().unwrap_or(-1),
        found: table.label[row],
        confidence: table.confidence.get(row).copied(),
        quantities: part(&table.quantities)
            .zip(part(&table.output))
            .filter(|_| outputs > 0),
        bound: Some(table.bound[row]).filter(|bound| bound.is_finite() && *bound > 0.0),
        stage: "nearest",
    })
}
