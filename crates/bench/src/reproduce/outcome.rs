//! What came of one run, as data that the page is made from.

use std::collections::BTreeSet;
use std::sync::Arc;

use deepconcolic::{Conclusion, NearestAdversarialSummary, Prepared, Spread, State};
use serde::{Deserialize, Serialize};

use super::experiment::{Experiment, Length};
use crate::campaign::Field;
use crate::cores;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::speed::pool;

/// The paper's bound on what counts as adversarial in L-infinity.
const COLLECTED: f32 = 0.3;

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub experiment: String,
    pub strategy: String,
    pub seed: usize,
    pub total: usize,
    pub covered: usize,
    pub infeasible: usize,
    pub generated: usize,
    pub adversarial: usize,
    /// Distances of adversarial tests to the nearest real input.
    pub least: Option<f64>,
    pub median: Option<f64>,
    /// Distances of generated tests to their seeds.
    pub distances: Spread,
    /// Tests with another answer than the test they were made from: what the published tool calls adversarial. Those of
    /// them that are within the paper's bound of their seed come second.
    pub other_answer: usize,
    pub other_answer_near: usize,
    /// Of pairs of neurons: decisions with a covered pair, and all of them. The published tool closes a decision with its
    /// first pair.
    pub decisions: Option<[usize; 2]>,
    /// Where adversarial tests were shrunk: what that came to.
    pub nearest: Option<NearestAdversarialSummary>,
    pub seconds: f64,
    pub passes: usize,
    pub programs: usize,
    pub random: Option<f64>,
    pub data: Option<f64>,
    pub stop: String,
    /// How it went, thinned.
    pub curve: Vec<Moment>,
}

/// A run at one moment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Moment {
    pub seconds: f64,
    pub passes: usize,
    pub tests: usize,
    /// Share of all requirements.
    pub covered: f64,
    /// Tests so far with another answer than the test they were made from.
    pub other_answer: usize,
}

/// A moment is kept when so much has changed since the last.
const THINNED: f64 = 1.02;

pub fn run(
    shelf: &Shelf,
    experiment: &Experiment,
    strategy: &str,
    seed: usize,
    length: Length,
) -> Result<Outcome, BenchError> {
    let field = Field::new(experiment.job(shelf, strategy, seed, length)?)?;
    let prepared = Arc::clone(&field.prepared);
    let pool = pool(cores())?;
    let mut curve: Vec<Moment> = Vec::new();
    let (session, seconds) = field.search(&pool, |session, seconds| {
        let (covered, total) = session.coverage();
        let moment = Moment {
            seconds,
            passes: session.passes().total(),
            tests: session.suite().len(),
            covered: covered as f64 / total.max(1) as f64,
            other_answer: 0,
        };
        let is_far = |last: &Moment| {
            moment.tests as f64 > THINNED * last.tests as f64 || seconds > THINNED * last.seconds
        };
        if curve.last().is_none_or(is_far) {
            curve.push(moment);
        }
        true
    })?;
    let programs = session.passes().lp;
    let (conclusion, _) = pool.install(|| session.conclude())?;
    let (summary, suite) = (conclusion.summary(), &conclusion.suite);
    let differs = |test: usize| {
        let parent = usize::try_from(suite.provenance.parent[test]).ok();
        parent.is_some_and(|parent| suite.label[parent] != suite.label[test])
    };
    let mut seen = 0;
    let mut counted = 0;
    for moment in &mut curve {
        while seen < moment.tests.min(suite.len()) {
            counted += usize::from(differs(seen));
            seen += 1;
        }
        moment.other_answer = counted;
    }
    let other: Vec<usize> = (0..suite.len()).filter(|&test| differs(test)).collect();
    let near = other
        .iter()
        .filter(|&&test| suite.distance[test] <= COLLECTED);
    Ok(Outcome {
        experiment: experiment.name.into(),
        strategy: strategy.into(),
        seed,
        total: summary.requirements.total,
        covered: summary.requirements.covered,
        infeasible: summary.requirements.infeasible,
        generated: summary.tests.generated,
        adversarial: summary.adversarial.map_or(0, |found| found.count),
        least: summary.adversarial.and_then(|found| found.min_distance),
        median: summary.adversarial.and_then(|found| found.median_distance),
        distances: summary.distance,
        other_answer: other.len(),
        other_answer_near: near.count(),
        decisions: decisions(&prepared, &conclusion),
        nearest: summary.nearest_adversarial,
        seconds,
        passes: summary.executions.forward + summary.executions.vjp,
        programs,
        random: summary.baseline.random_coverage,
        data: summary.baseline.data_coverage,
        stop: summary.stop,
        curve,
    })
}

/// Decisions with a covered pair, and all that are required.
fn decisions(prepared: &Prepared, conclusion: &Conclusion) -> Option<[usize; 2]> {
    let table = &conclusion.requirements;
    let pairs = table.pairs.as_ref()?;
    // The rows of pairs are the last.
    let first = table.state.len() - pairs.j.len();
    let rows = table.state[first..].iter().zip(&pairs.layer2).zip(&pairs.j);
    let covered: BTreeSet<(i32, i32)> = rows
        .filter(|((state, _), _)| **state == State::Covered as u8)
        .map(|((_, &layer), &neuron)| (layer, neuron))
        .collect();
    let required = conclusion.summary().layers.into_iter().map(|l| l.name);
    let required: BTreeSet<String> = required.collect();
    let layers = prepared.network.layers().iter();
    let all = layers.filter(|layer| required.contains(layer.name()));
    Some([
        covered.len(),
        all.map(deepconcolic_network::Layer::neurons).sum(),
    ])
}

impl Outcome {
    /// Percent of the requirements.
    pub fn percent(&self) -> f64 {
        100.0 * self.covered as f64 / self.total.max(1) as f64
    }

    /// Percent of those that are not proven to be out of reach.
    pub fn of_feasible(&self) -> f64 {
        100.0 * self.covered as f64 / (self.total - self.infeasible).max(1) as f64
    }

    /// Percent of generated tests.
    pub fn adversarial_percent(&self) -> f64 {
        100.0 * self.adversarial as f64 / self.generated.max(1) as f64
    }

    /// The first moment at which so much was covered.
    pub fn reached(&self, share: f64) -> Option<&Moment> {
        self.curve.iter().find(|moment| moment.covered >= share)
    }

    /// One line for whoever waits.
    pub fn in_words(&self) -> String {
        format!(
            "{:.2} % with {} tests, {:.1} s, {} adversarial; {}",
            self.percent(),
            self.generated,
            self.seconds,
            self.adversarial,
            self.stop
        )
    }
}
