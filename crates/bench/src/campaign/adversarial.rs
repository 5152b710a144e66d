//! Adversarial tests among those that neuron coverage makes near 100 images.

use deepconcolic_campaign::oracle::{Judgement, Oracle, Verdict as Word};

use super::field::{Ended, Field, Quest, Start};
use crate::cores;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::{Images, PAPER};
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
    let all = pool(cores())?;
    let quest = Quest {
        radius: Some(RADIUS),
        grid: Some(STEPS),
        ..Quest::new("nc", Start::First(SEEDS))
    };
    let field = Field::load(shelf, PAPER, &quest)?;
    let (ended, _) = field.reach(&all)?;
    let judged = all.install(|| judge(&field, &ended));
    let generated = &judged[field.seeds().len()..];
    let of = |word: Word| generated.iter().filter(move |j| j.verdict == word);
    let bad = of(Word::Adversarial).count();
    let nearest = of(Word::Adversarial)
        .map(|j| j.distance)
        .fold(f64::INFINITY, f64::min);
    let fraction = 100.0 * bad as f64 / generated.len().max(1) as f64;
    println!(
        "{:>12} {:>10} {:>12} {:>16}",
        "", "generated", "adversarial", "least distance"
    );
    println!(
        "{:>12} {:>10} {:>11.2}% {:>16.4}",
        "here",
        generated.len(),
        fraction,
        nearest
    );
    println!(
        "{:>12} {:>10} {:>11.2}% {:>16.4}",
        "the paper", "", 13.93, 0.0039
    );
    println!(
        "of the others, {} have the label of the nearest image, {} are too far from any to be judged",
        of(Word::Passes).count(),
        of(Word::TooFar).count()
    );
    let tests = ended.suite.tests();
    let strayed = tests
        .iter()
        .filter(|t| t.prediction != tests[t.provenance.root].prediction);
    println!("{} have another label than their seed", strayed.count());
    println!(
        "what differs: the paper solves for the nearest point that meets one requirement, so it has \
         many tests close to their images; here a test climbs as far as the radius allows and meets \
         many requirements at once, so there are few, at the edge of the ball, and none is made \
         smaller afterwards"
    );
    let furthest = field.furthest(&ended.suite);
    Ok(vec![Verdict::new(
        format!(
            "{bad} adversarial tests of {} ({fraction:.2} %), each within {furthest} of its seed",
            generated.len()
        ),
        bad > 0 && furthest <= RADIUS,
    )])
}

/// Judges every test by the test images.
fn judge(field: &Field, ended: &Ended) -> Vec<Judgement> {
    let samples = &field.subject.samples;
    let references = Images::first(samples, samples.len());
    let decision = &field.decision;
    let (norm, units) = (field.space.norm, &field.space.units);
    let oracle = Oracle::new(&references, norm, units, RADIUS, decision);
    let tests = ended.suite.tests();
    let inputs: Vec<f32> = tests.iter().flat_map(|t| &t.input).copied().collect();
    let predictions: Vec<_> = tests.iter().map(|t| t.prediction.clone()).collect();
    let hint = |root: usize| Some(field.seeds().index(root));
    let hints: Vec<Option<usize>> = tests.iter().map(|t| hint(t.provenance.root)).collect();
    oracle.judge(&field.subject.network, &inputs, &predictions, &hints)
}
