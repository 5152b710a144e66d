//! Neuron coverage of the paper's MNIST network from the paper's seed, anywhere in the domain; and what the
//! search costs on top of the passes it makes.

use std::hint::black_box;

use deepconcolic::{Passes, SeedRequest};
use deepconcolic_network::{Network, Pass, Point, Row, Seed, Tape, Trace};
use rayon::ThreadPool;

use super::field::Field;
use crate::contest::{Contest, Side, print_load, time};
use crate::cores;
use crate::error::BenchError;
use crate::job::job;
use crate::rng::Rng;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::PAPER;
use crate::verdict::Verdict;

/// The paper's seed.
pub const SEED: usize = 6427;
/// Most tests, and most passes of each kind.
const TESTS: usize = 300;
const PASSES: usize = 8000;
/// How often the time of its passes a campaign may take.
const RATIO: f64 = 2.0;
/// Inputs run at a time on the other side: as many as a round of the campaign has climbers.
const BATCH: usize = 24;
/// Neurons that a derivative of the other side is taken of.
const TARGETS: usize = 16;
/// Rounds of the contest.
const ROUNDS: usize = 5;

/// Prints figures and the ratio.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== nc of {PAPER}, seed {SEED}, no radius");
    let all = pool(cores())?;
    let seeds = SeedRequest::Given(vec![SEED]);
    let field = Field::new(job(shelf, PAPER, "nc", seeds)?)?;
    let ended = field.run(&all)?;
    ended.print();
    println!(
        "the paper: 97 % after 7.4 hours, 97.89 % after 6.5 days, 4,995 tests from 11,807 LPs"
    );
    let tests = ended.conclusion.suite.len();
    let (random, data) = ended.controls();
    println!("controls: {tests} random inputs {random:.2} %, 10,000 plain test images {data:.2} %");
    let passes = Passes {
        forward: ended.summary.executions.forward,
        vjp: ended.summary.executions.vjp,
        lp: 0,
    };
    let ratio = ratio(&field, passes, &all)?;
    let counted = ended.summary.requirements;
    let complete = counted.covered == counted.total;
    Ok(vec![
        Verdict::new(
            format!("nc, no radius: {:.3} % (100 %)", ended.percent()),
            complete,
        ),
        Verdict::new(
            format!("nc, no radius: {tests} tests (at most {TESTS})"),
            tests <= TESTS,
        ),
        Verdict::new(
            format!(
                "nc, no radius: {} forward and {} VJP passes (at most {PASSES} each)",
                passes.forward, passes.vjp
            ),
            passes.forward <= PASSES && passes.vjp <= PASSES,
        ),
        Verdict::new(
            format!("control of 10,000 plain images: {data:.2} % (97.59 %)"),
            format!("{data:.2}") == "97.59",
        ),
        Verdict::new(
            format!("nc, no radius: {ratio:.3} times the time of its passes (at most {RATIO})"),
            ratio <= RATIO,
        ),
    ])
}

/// The time of the campaign over that of as many passes alone.
fn ratio(field: &Field, passes: Passes, all: &ThreadPool) -> Result<f64, BenchError> {
    print_load();
    let bare = Bare::new(&field.prepared.network, passes)?;
    let campaign: Side<'_> = Box::new(|| Ok(vec![field.search(all, |_, _| true)?.1]));
    let passes: Side<'_> = Box::new(|| Ok(time(all, 1, || bare.run())));
    let contest = Contest::hold_for(ROUNDS, vec![campaign, passes])?;
    println!(
        "{ROUNDS} rounds in turn: campaign / passes alone, {BATCH} at a time: {}",
        contest.compare(0, 1)
    );
    Ok(contest.ratio(0, 1))
}

/// So many passes with nothing round them: plain runs that keep logits alone, and derivatives at a
/// tape that is there already.
struct Bare<'a> {
    network: &'a Network,
    passes: Passes,
    inputs: Vec<f32>,
    tape: Tape<f32>,
    rows: Vec<Row<f32>>,
}

impl<'a> Bare<'a> {
    fn new(network: &'a Network, passes: Passes) -> Result<Self, BenchError> {
        let mut rng = Rng::new(1);
        let elements = BATCH * network.input_elements();
        let inputs: Vec<f32> = (0..elements).map(|_| rng.uniform(0.0, 1.0)).collect();
        let points: Vec<Point> = (0..network.layers().len()).map(Point::Pre).collect();
        let pass = Pass::keep(points.iter().copied()).differentiating(points);
        let trace = network.forward(&inputs, &pass);
        let tape = trace.tape().ok_or_else(|| {
            BenchError::Campaign(format!(
                "{PAPER} has no hidden layer to take derivatives of; name another folder with --models"
            ))
        })?;
        let rows = (0..BATCH)
            .map(|sample| Row {
                sample,
                seeds: (0..TARGETS).map(|_| target(network, &mut rng)).collect(),
            })
            .collect();
        Ok(Self {
            network,
            passes,
            inputs,
            tape: tape.clone(),
            rows,
        })
    }

    fn run(&self) {
        let pass = Pass::keep([Point::Logits]);
        let each = self.network.input_elements();
        let mut trace = Trace::default();
        for count in batches(self.passes.forward) {
            self.network
                .forward_into(&self.inputs[..count * each], &pass, &mut trace);
            black_box(&trace);
        }
        for count in batches(self.passes.vjp) {
            black_box(self.network.vjp(&self.tape, &self.rows[..count]));
        }
    }
}

/// Some neuron, each as likely as any other: as a campaign draws them.
fn target(network: &Network, rng: &mut Rng) -> Seed<f32> {
    let layers = network.layers();
    let mut element = rng.below(
        layers
            .iter()
            .map(deepconcolic_network::Layer::neurons)
            .sum(),
    );
    let mut number = 0;
    while element >= layers[number].neurons() {
        element -= layers[number].neurons();
        number += 1;
    }
    Seed {
        point: Point::Pre(number),
        element,
        weight: 1.0,
    }
}

/// Sizes of the batches of so many passes.
fn batches(passes: usize) -> impl Iterator<Item = usize> {
    (0..passes)
        .step_by(BATCH)
        .map(move |first| BATCH.min(passes - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_add_up() {
        for passes in [0, 1, BATCH, 100] {
            assert_eq!(batches(passes).sum::<usize>(), passes);
        }
    }
}
