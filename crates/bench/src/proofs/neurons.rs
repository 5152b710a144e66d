//! Which neurons can be active at all, and which cannot: neuron coverage with nothing left open.

use std::time::Instant;

use deepconcolic::Prepared;
use deepconcolic_check::{Expectation, check};
use deepconcolic_language::{Formula, Input, Inputs, Quantifier, Requirement};
use deepconcolic_network::{Pass, Point};
use deepconcolic_proofs::{BatchLimits, Finding, Prover};

use super::ground::ProofSubject;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// A network, and where its inputs lie.
pub struct Question {
    /// The model's file.
    pub model: &'static str,
    /// The seed's number among the test images.
    pub seed: usize,
    /// L-infinity radius round the seed, within 0..1; none: all of 0..1.
    pub radius: Option<f64>,
    /// Only the first so many hidden layers.
    pub layers: usize,
    /// Most parts of the region for each neuron.
    pub nodes: usize,
    /// The share of all neurons asked about that should be resolved.
    pub wanted: f64,
}

/// Prints a table of layers.
pub fn run(shelf: &Shelf, question: &Question) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== neurons that can be active: {}, image {}, radius {:?}",
        question.model, question.seed, question.radius
    );
    let ProofSubject { prepared, region } =
        ProofSubject::load(shelf, question.model, "nc", question.seed, question.radius)?;
    let (network, digest) = (prepared.network.as_ref(), prepared.digest);
    let layers = network.layers().len().min(question.layers);
    let asked = inactive_neurons(&prepared, layers);
    let requirements: Vec<Requirement> = asked.iter().map(|(_, r)| r.clone()).collect();
    let limits = BatchLimits {
        nodes: question.nodes,
        ..BatchLimits::default()
    };
    let start = Instant::now();
    let found = Prover::new(network, &digest, &region)
        .decide(&requirements, &limits)
        .map_err(|e| BenchError::NoModel(e.to_string()))?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{:>6} {:>8} {:>8} {:>11} {:>6}",
        "layer", "neurons", "covered", "infeasible", "open"
    );
    let (mut resolved, mut total) = (0, 0);
    for layer in 0..layers {
        let neurons = network.layers()[layer].neurons();
        let mine = asked
            .iter()
            .zip(&found.findings)
            .filter(|((l, _), _)| *l == layer);
        let mut counts = [0; 3];
        for (_, finding) in mine {
            counts[match finding {
                Finding::Witness(_) => 0,
                Finding::Infeasible(_) => 1,
                Finding::Open { .. } => 2,
            }] += 1;
        }
        let covered = neurons - counts[1] - counts[2];
        println!(
            "{:>6} {neurons:>8} {covered:>8} {:>11} {:>6}",
            layer + 2,
            counts[1],
            counts[2]
        );
        resolved += neurons - counts[2];
        total += neurons;
    }
    let again = Instant::now();
    let expectation = Expectation {
        model: &digest,
        regions: None,
        requirements: None,
    };
    let accepted = check(network, found.accepted.certificate(), &expectation).is_ok();
    let share = resolved as f64 / total.max(1) as f64;
    println!(
        "resolved {resolved} of {total} ({:.2} %) in {seconds:.0} s with {} witnesses; \
         {} certificates, {} bytes, checked again in {:.0} s",
        100.0 * share,
        found.witnesses.len(),
        found.accepted.certificate().entries.len(),
        found.accepted.certificate().to_bytes(network).len(),
        again.elapsed().as_secs_f64()
    );
    Ok(vec![
        Verdict::new(
            format!("{}: certificates accepted", question.model),
            accepted,
        ),
        Verdict::new(
            format!(
                "{}: {:.2} % resolved, wanted {:.0} %",
                question.model,
                100.0 * share,
                100.0 * question.wanted
            ),
            share >= question.wanted,
        ),
    ])
}

/// That a neuron is active, for those of the first layers that are not at the seed, with their layers.
pub fn inactive_neurons(prepared: &Prepared, layers: usize) -> Vec<(usize, Requirement)> {
    let points: Vec<Point> = (0..layers).map(Point::Pre).collect();
    let pass = Pass::keep(points.clone());
    let trace = prepared.network.forward(prepared.seeds.values(), &pass);
    let mut asked = Vec::new();
    for (layer, &point) in points.iter().enumerate() {
        let u = trace.sample(point, 0);
        let inactive = (0..u.len()).filter(|&neuron| u[neuron] < 0.0);
        asked.extend(inactive.map(|neuron| (layer, active(layer, neuron))));
    }
    asked
}

fn active(layer: usize, neuron: usize) -> Requirement {
    Requirement {
        name: None,
        quantifier: Quantifier::Exists,
        inputs: Inputs::One,
        formula: Formula::active(Input::First, layer + 2, neuron),
    }
}
