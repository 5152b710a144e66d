//! Pairs of neurons with nothing left open: two inputs, or a proof that there are none, without any search
//! before it.

use std::time::Instant;

use deepconcolic_check::{Expectation, ProvenFacts, check};
use deepconcolic_criteria::Family;
use deepconcolic_language::Requirement;
use deepconcolic_proofs::{BatchLimits, RegionProver};

use super::ground::ProofSubject;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::verdict::Verdict;

const MODEL: &str = "mnist_mlp_32_16_logits.onnx";
const SEED: usize = 5;
const RADIUS: f64 = 0.05;
/// Of the criteria that compare values, every so many pairs.
const EVERY: usize = 4;
/// The share of pairs that should be decided.
const WANTED: f64 = 0.9;

/// Prints a line for each pair criterion.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== pairs of neurons: {MODEL}, image {SEED}, radius {RADIUS}");
    println!(
        "{:>5} {:>6} {:>8} {:>11} {:>5} {:>10} {:>10} {:>8}",
        "", "asked", "covered", "infeasible", "open", "pairs/s", "check/find", "entries"
    );
    let mut verdicts = Vec::new();
    for name in ["ssc", "vsc", "svc", "vvc"] {
        let every = if name == "ssc" { 1 } else { EVERY };
        let ground = ProofSubject::load(shelf, MODEL, name, SEED, Some(RADIUS))?;
        let asked = requirements(ground.prepared.family.as_ref()).map_err(BenchError::NoModel)?;
        let asked: Vec<Requirement> = asked.into_iter().step_by(every).collect();
        verdicts.extend(decide(&ground, name, &asked)?);
    }
    Ok(verdicts)
}

/// Every requirement of a family.
fn requirements(family: &dyn Family) -> Result<Vec<Requirement>, String> {
    let groups = family.groups().iter().enumerate();
    let slots = groups.flat_map(|(group, content)| (0..content.slots()).map(move |s| (group, s)));
    slots
        .map(|(group, slot)| family.requirement(group, slot))
        .collect()
}

fn decide(
    ground: &ProofSubject,
    name: &str,
    asked: &[Requirement],
) -> Result<[Verdict; 2], BenchError> {
    let ProofSubject { prepared, region } = ground;
    let (network, model) = (prepared.network.as_ref(), &prepared.digest);
    let start = Instant::now();
    let mut place = RegionProver::new(network, model, region, []);
    let found = place.decide_jointly(asked, &BatchLimits::default());
    let finding = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let expectation = Expectation {
        model,
        regions: None,
        requirements: None,
    };
    let certificate = found.accepted.certificate();
    let accepted = check(network, certificate, &expectation);
    let mut facts = ProvenFacts::new(network, *model, vec![region.0.clone()]);
    if let Ok(accepted) = &accepted {
        facts
            .add_accepted(network, accepted)
            .map_err(|e| BenchError::NoModel(e.to_string()))?;
    }
    let refuted = asked.iter().filter(|r| facts.refute(r)).count();
    let checking = start.elapsed().as_secs_f64();
    let met = found.met.len();
    let open = asked.len() - met - refuted;
    println!(
        "{name:>5} {:>6} {met:>8} {refuted:>11} {open:>5} {:>10.1} {:>10.2} {:>8}",
        asked.len(),
        asked.len() as f64 / finding,
        checking / finding,
        certificate.entries.len()
    );
    let decided = (met + refuted) as f64 / asked.len().max(1) as f64;
    Ok([
        Verdict::new(
            format!("{name}: {:.1} % settled", 100.0 * decided),
            accepted.is_ok() && decided >= WANTED,
        ),
        Verdict::new(
            format!(
                "{name}: checking takes {:.2} of the time of finding",
                checking / finding
            ),
            checking < finding,
        ),
    ])
}
