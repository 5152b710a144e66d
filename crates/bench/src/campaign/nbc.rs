//! Neuron boundaries of the paper's MNIST network, both sides, with bounds from training images.

use std::path::Path;

use deepconcolic::{Job, Prepared, SeedRequest, State};
use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;
use deepconcolic_network::Point;

use super::field::Field;
use super::nc::SEED;
use crate::cores;
use crate::error::BenchError;
use crate::job::job;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::PAPER;
use crate::verdict::Verdict;

/// Images that bounds are taken from.
const PROFILED: usize = 10_000;
/// Passes allowed.
const PASSES: usize = 150_000;
/// What a generated test must clear a bound by, at least.
const MARGIN: f64 = 1e-6;
/// Least coverage in percent.
const LEAST: f64 = 97.5;

/// Prints figures, layer by layer, and what is open in the first.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== nbc of {PAPER}, seed {SEED}, no radius, bounds of {PROFILED} training images");
    let all = pool(cores())?;
    let place = tempfile::tempdir()?;
    let images = place.path().join("profiled.npz");
    keep_first(&shelf.data("mnist_train.npz"), &images)?;
    let field = Field::new(Job {
        max_executions: Some(PASSES),
        profile: Some(images),
        ..job(shelf, PAPER, "nbc", SeedRequest::Given(vec![SEED]))?
    })?;
    let ended = field.run(&all)?;
    ended.print();
    println!("the paper: 60.7 % of a subset of 2,504 requirements");
    ended.print_layers();
    let impossible = impossible(&field.prepared);
    // The first layer's requirements come first.
    let states = ended.conclusion.requirements.state.iter().zip(&impossible);
    let open = states.filter(|(state, _)| **state == State::Unresolved as u8);
    let open: Vec<bool> = open.map(|(_, &impossible)| impossible).collect();
    let count = |of: &[bool]| of.iter().filter(|&&is| is).count();
    println!(
        "first layer: {} open, {} of them beyond what nine weights can reach; {} are in all",
        open.len(),
        count(&open),
        count(&impossible)
    );
    let (random, data) = ended.controls();
    println!("controls: as many random inputs {random:.2} %, 10,000 test images {data:.2} %");
    Ok(vec![
        Verdict::new(
            format!("nbc: {:.3} % (at least {LEAST} %)", ended.percent()),
            ended.percent() >= LEAST,
        ),
        Verdict::new(
            format!("nbc: {} passes (at most {PASSES})", ended.passes()),
            ended.passes() <= PASSES,
        ),
    ])
}

/// Keeps the first images of a file as a file of their own.
pub fn keep_first(all: &Path, into: &Path) -> Result<(), BenchError> {
    let images = NpzReader::open(all)?.read::<u8>("x")?;
    let mut shape = images.shape;
    let each: usize = shape[1..].iter().product();
    shape[0] = PROFILED.min(shape[0]);
    let mut file = NpzWriter::create(into)?;
    file.add("x", &shape, &images.values[..shape[0] * each])?;
    Ok(file.finish()?)
}

/// For each requirement of the first layer, upper and lower in turn, whether no input of the domain can
/// meet it by the margin: an affine layer's interval bounds are met at corners.
fn impossible(prepared: &Prepared) -> Vec<bool> {
    let (network, domain) = (&prepared.network, &prepared.space.domain);
    let wide = |ends: &[f32]| ends.iter().map(|&end| f64::from(end)).collect::<Vec<_>>();
    let bounds = network.intervals(&wide(domain.lower()), &wide(domain.upper()));
    let (low, high) = network.range(&bounds, Point::Pre(0));
    let Some(seen) = prepared.profile.as_ref().map(|profile| profile.layer(0)) else {
        return Vec::new();
    };
    (0..low.len())
        .flat_map(|i| {
            [
                high[i] <= f64::from(seen.high[i]) + MARGIN,
                low[i] >= f64::from(seen.low[i]) - MARGIN,
            ]
        })
        .collect()
}
