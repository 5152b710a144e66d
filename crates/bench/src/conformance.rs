//! Our answers against onnxruntime's on every model of the shelf.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_network::{Network, Pass, Point};

use crate::deviation::{DEFINITION, LIMIT, worst};
use crate::error::BenchError;
use crate::inputs::inputs;
use crate::reference::{BatchAxis, Reference};
use crate::shelf::{Shelf, stem};
use crate::verdict::Verdict;

/// Inputs for each network.
const SAMPLES: usize = 100;

/// Compares every model and prints a table.
pub fn run(shelf: &Shelf, reference: &mut Reference) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== conformance: every network against onnxruntime, {SAMPLES} inputs each");
    let models = shelf.models()?;
    if models.is_empty() {
        println!("skipped: {}", shelf.absence());
        return Ok(Vec::new());
    }
    println!("{DEFINITION}; PASS up to {LIMIT:e}");
    println!("{:42} {:>5} {:>12}", "network", "real", "worst error");
    let mut within = 0;
    for model in &models {
        let name = stem(model);
        match compare(shelf, reference, model)? {
            Ok((real, error)) => {
                let met = error <= LIMIT;
                within += usize::from(met);
                println!("{name:42} {real:>5} {error:>12.2e}  {}", Verdict::word(met));
            }
            Err(reason) => println!("{name:42} {:>5} {:>12}  FAIL  {reason}", "-", "-"),
        }
    }
    let count = models.len();
    let what = format!(
        "{within} of {count} networks within {LIMIT:e} of onnxruntime on {SAMPLES} inputs each"
    );
    println!("{what}");
    Ok(vec![Verdict::new(what, within == count)])
}

/// How many inputs were real and the worst error, or why we have no answer.
fn compare(
    shelf: &Shelf,
    reference: &mut Reference,
    model: &Path,
) -> Result<Result<(usize, f64), String>, BenchError> {
    let network = match guarded(|| load(model, &LoadOptions::default())) {
        Ok(Ok(loaded)) => loaded.network,
        Ok(Err(error)) => return Ok(Err(error.to_string())),
        Err(panic) => return Ok(Err(panic)),
    };
    let samples = inputs(shelf, &network, stem(model), SAMPLES);
    let ours = match guarded(|| answers(&network, &samples.values)) {
        Ok(ours) => ours,
        Err(panic) => return Ok(Err(panic)),
    };
    reference.load(model, 1, BatchAxis::AsFiled)?;
    let theirs = reference.run(&network, &samples.values)?;
    Ok(Ok((samples.real, worst(&ours, &theirs, SAMPLES))))
}

/// What the network answers, in the file's order.
pub fn answers(network: &Network, inputs: &[f32]) -> Vec<f32> {
    let answer = Point::Output(network.primary_output());
    let trace = network.forward(inputs, &Pass::keep([answer]));
    trace.get(answer).to_vec()
}

/// Runs our code so that a bug in it fails one model and not the benchmark.
pub fn guarded<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| "we panicked, see above".to_owned())
}
