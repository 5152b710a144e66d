//! Neuron boundaries of the paper's MNIST network, both sides, with bounds from training images.

use deepconcolic_campaign::profile;
use deepconcolic_criteria::Profile;
use deepconcolic_network::{Network, Point};

use super::field::{Field, Quest, Start};
use super::nc::SEED;
use crate::cores;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::{Images, PAPER, Subject, samples};
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
    let subject = Subject::load(shelf, PAPER)?;
    let training = samples(shelf, &subject.network, "mnist_train.npz")?;
    let images = Images::first(&training, PROFILED);
    let profile = all.install(|| profile(&subject.network, &images, PROFILED));
    let quest = Quest {
        executions: Some(PASSES),
        profile: Some(&profile),
        ..Quest::new("nbc", Start::Index(SEED))
    };
    let field = Field::new(subject, &quest)?;
    let (ended, counted) = field.reach(&all)?;
    println!("the paper: 60.7 % of a subset of 2,504 requirements");
    let open = field.print_layers(&counted);
    let impossible = impossible(&field.subject.network, &profile);
    let inherent = open.iter().filter(|&&slot| impossible[slot]).count();
    let all_of_them = impossible.iter().filter(|&&is| is).count();
    println!(
        "first layer: {} open, {inherent} of them beyond what nine weights can reach; {all_of_them} are in all",
        open.len()
    );
    let (random, data) = field.controls(&all, ended.suite.len());
    println!("controls: as many random inputs {random:.2} %, 10,000 test images {data:.2} %");
    Ok(vec![
        Verdict::new(
            format!("nbc: {:.3} % (at least {LEAST} %)", counted.percent()),
            counted.percent() >= LEAST,
        ),
        Verdict::new(
            format!("nbc: {} passes (at most {PASSES})", ended.passes.total()),
            ended.passes.total() <= PASSES,
        ),
    ])
}

/// For each requirement of the first layer, upper and lower in turn, whether no input of the domain can
/// meet it by the margin: an affine layer's interval bounds are met at corners.
fn impossible(network: &Network, profile: &Profile) -> Vec<bool> {
    let elements = network.input_elements();
    let bounds = network.intervals(&vec![0.0; elements], &vec![1.0f64; elements]);
    let (low, high) = network.range(&bounds, Point::Pre(0));
    let seen = profile.layer(0);
    (0..low.len())
        .flat_map(|i| {
            [
                high[i] <= f64::from(seen.high[i]) + MARGIN,
                low[i] >= f64::from(seen.low[i]) - MARGIN,
            ]
        })
        .collect()
}
