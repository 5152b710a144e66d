//! Neuron coverage of the paper's CIFAR-10 network from the paper's seed.

use deepconcolic::SeedRequest;

use super::field::Field;
use crate::cores;
use crate::error::BenchError;
use crate::job::job;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::verdict::Verdict;

const MODEL: &str = "cifar10_complicated_logits.onnx";
const SEED: usize = 6402;
/// Least coverage in percent.
const LEAST: f64 = 99.9;

/// Prints figures, layer by layer.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== nc of {MODEL}, seed {SEED}, no radius");
    let all = pool(cores())?;
    let seeds = SeedRequest::Given(vec![SEED]);
    let ended = Field::new(job(shelf, MODEL, "nc", seeds)?)?.run(&all)?;
    ended.print();
    println!("the paper: 89.6 %");
    ended.print_layers();
    let tests = ended.conclusion.suite.len();
    let (random, data) = ended.controls();
    println!("controls: {tests} random inputs {random:.2} %, 10,000 plain test images {data:.2} %");
    Ok(vec![Verdict::new(
        format!(
            "nc of the CIFAR-10 network: {:.3} % (at least {LEAST} %)",
            ended.percent()
        ),
        ended.percent() >= LEAST,
    )])
}
