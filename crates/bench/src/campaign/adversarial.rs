//! Adversarial tests among those that neuron coverage makes near 100 images.

use std::collections::BTreeMap;

use deepconcolic::{Job, Radius, SeedRequest, Verdict as Word};

use super::field::Field;
use crate::cores;
use crate::error::BenchError;
use crate::job::job;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::PAPER;
use crate::verdict::Verdict;

const SEEDS: usize = 100;
const RADIUS: f64 = 0.3;
const STEPS: u32 = 255;

/// Prints figures beside the paper's.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== adversarial tests: nc of {PAPER}, the first {SEEDS} images it gets right, radius {RADIUS}, \
         quantised to {STEPS} steps"
    );
    let field = Field::new(Job {
        radius: Radius::Within(RADIUS),
        quantise: Some(STEPS),
        adversarial_radius: Some(RADIUS),
        ..job(shelf, PAPER, "nc", SeedRequest::First(SEEDS))?
    })?;
    let ended = field.run(&pool(cores())?)?;
    ended.print();
    let (suite, seeds) = (&ended.conclusion.suite, ended.summary.tests.seeds);
    let generated = ended.summary.tests.generated;
    let of = |word: Word| {
        let tests = seeds..suite.len();
        tests.filter(|&t| suite.verdict[t] == word as u8).count()
    };
    let bad = of(Word::Adversarial);
    let fraction = 100.0 * bad as f64 / generated.max(1) as f64;
    let nearest = ended
        .summary
        .adversarial
        .and_then(|found| found.min_distance);
    println!(
        "{:>12} {:>10} {:>12} {:>16}",
        "", "generated", "adversarial", "least distance"
    );
    println!(
        "{:>12} {generated:>10} {fraction:>11.2}% {:>16.4}",
        "here",
        nearest.unwrap_or(f64::INFINITY)
    );
    println!(
        "{:>12} {:>10} {:>11.2}% {:>16.4}",
        "the paper", "", 13.93, 0.0039
    );
    println!(
        "of the others, {} have the label of the nearest image, {} are too far from any to be judged",
        of(Word::Passes),
        of(Word::TooFar)
    );
    let labels = suite.provenance.root[..seeds].iter().zip(&suite.label);
    let labels: BTreeMap<i64, i64> = labels.map(|(root, label)| (*root, *label)).collect();
    let tests = suite.provenance.root.iter().zip(&suite.label);
    let strayed = tests.filter(|(root, label)| labels[root] != **label);
    println!("{} have another label than their seed", strayed.count());
    println!(
        "what differs: the paper solves for the nearest point that meets one requirement, so it has \
         many tests close to their images; here a test climbs as far as the radius allows and meets \
         many requirements at once, so there are few, at the edge of the ball, and none is made \
         smaller afterwards"
    );
    let furthest = field.furthest(&ended);
    Ok(vec![Verdict::new(
        format!(
            "{bad} adversarial tests of {generated} ({fraction:.2} %), each within {furthest} of its seed"
        ),
        bad > 0 && furthest <= RADIUS,
    )])
}
