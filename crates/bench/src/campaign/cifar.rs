//! Neuron coverage of the paper's CIFAR-10 network from the paper's seed.

use super::field::{Field, Quest, Start};
use crate::cores;
use crate::error::BenchError;
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
    let field = Field::load(shelf, MODEL, &Quest::new("nc", Start::Index(SEED)))?;
    let (ended, counted) = field.reach(&all)?;
    println!("the paper: 89.6 %");
    field.print_layers(&counted);
    let tests = ended.suite.len();
    let (random, data) = field.controls(&all, tests);
    println!("controls: {tests} random inputs {random:.2} %, 10,000 plain test images {data:.2} %");
    Ok(vec![Verdict::new(
        format!(
            "nc of the CIFAR-10 network: {:.3} % (at least {LEAST} %)",
            counted.percent()
        ),
        counted.percent() >= LEAST,
    )])
}
