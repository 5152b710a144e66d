//! What runs reach when tests may differ from their seed in 100 pixels, beside the paper's figures.
//!
//! The paper's setting: one seed; "100 pixels" is the distance up to which an input counts as adversarial, and no test
//! is kept to it. So a neuron of a deep layer, which sees more pixels than that, can be out of reach here and not
//! there. The CIFAR-10 network is therefore measured in both settings; where tests are limited, shares of what is not
//! proven to be out of reach are printed beside shares of all.

use deepconcolic::{Job, Radius, SeedRequest};
use deepconcolic_geometry::Norm;

use crate::campaign::{Ended, Field, Race, keep_first, race};
use crate::cores;
use crate::error::BenchError;
use crate::job::job;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::PAPER;
use crate::verdict::Verdict;

/// Pixels that a test may change.
const PIXELS: f64 = 100.0;
/// The paper's seeds.
const MNIST_SEED: usize = 9370;
const CIFAR_SEED: usize = 8661;
const CIFAR: &str = "cifar10_complicated_logits.onnx";
const DENSE: &str = "mnist_mlp_100x2_logits.onnx";
/// Images that the paper starts boundary coverage and pairs from.
const SEEDS: usize = 1000;
/// Least coverage in percent: of neurons, of neurons of the CIFAR-10 network, of boundaries and of pairs that are
/// not proven to be out of reach.
const NC: f64 = 99.0;
const NC_CIFAR: f64 = 99.9;
const NBC: f64 = 95.0;
const SSC: f64 = 95.0;
/// Share of neurons that both strategies race to, how much faster the cascade must be, and when the paper's is cut off.
const SHARE: f64 = 0.95;
const FASTER: f64 = 20.0;
const LONGEST: f64 = 240.0;
/// Seconds of the longest parts, and of each part of the CIFAR-10 network.
const BUDGET: f64 = 900.0;
const BUDGET_CIFAR: f64 = 240.0;
/// Seeds of the CIFAR-10 network where tests are limited: one ball holds fewer patterns than the whole domain.
const SEEDS_CIFAR: usize = 100;

/// A job with tests of so few pixels.
fn few_pixels(
    shelf: &Shelf,
    model: &str,
    criterion: &str,
    seeds: SeedRequest,
) -> Result<Job, BenchError> {
    let mut job = Job {
        radius: Radius::Within(PIXELS),
        budget: Some(BUDGET),
        ..job(shelf, model, criterion, seeds)?
    };
    job.parameters.norm = Norm::L0;
    Ok(job)
}

/// Runs a job and prints what came of it, the paper's figure below.
fn ended(title: &str, job: Job, paper: &str) -> Result<Ended, BenchError> {
    println!("\n== {title}, at most {PIXELS} pixels a test");
    run(job, paper)
}

fn run(job: Job, paper: &str) -> Result<Ended, BenchError> {
    let ended = Field::new(job)?.run(&pool(cores())?)?;
    ended.print();
    ended.print_layers();
    println!("the paper: {paper}");
    Ok(ended)
}

/// Percent of what is not proven to be out of reach.
fn of_feasible(ended: &Ended) -> f64 {
    let counted = ended.summary.requirements;
    100.0 * counted.covered as f64 / (counted.total - counted.infeasible).max(1) as f64
}

fn at_least(what: &str, percent: f64, least: f64) -> Verdict {
    let words = format!("{what}, {PIXELS} pixels: {percent:.3} % (at least {least} %)");
    Verdict::new(words, percent >= least)
}

/// Neurons of the paper's MNIST network.
pub fn nc(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let job = few_pixels(shelf, PAPER, "nc", SeedRequest::Given(vec![MNIST_SEED]))?;
    let paper = "97.5 % with 2,779 tests";
    let ended = ended(&format!("nc of {PAPER}, seed {MNIST_SEED}"), job, paper)?;
    Ok(vec![at_least("nc", ended.percent(), NC)])
}

/// Neurons of the paper's CIFAR-10 network: in the paper's setting, and with tests limited, from the paper's seed and from
/// several.
pub fn cifar(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let paper = "99.8 % with 3,511 tests from one seed, of tests without a limit on pixels";
    let one = SeedRequest::Given(vec![CIFAR_SEED]);
    let job = |seeds| -> Result<Job, BenchError> {
        Ok(Job {
            budget: Some(BUDGET_CIFAR),
            ..few_pixels(shelf, CIFAR, "nc", seeds)?
        })
    };
    let free = Job {
        radius: Radius::Anywhere,
        ..job(one.clone())?
    };
    println!(
        "\n== nc of {CIFAR}, seed {CIFAR_SEED}, the paper's setting: any number of pixels a test"
    );
    let free = run(free, paper)?;
    let words = format!(
        "nc of the CIFAR-10 network, seed {CIFAR_SEED}, any number of pixels: {:.3} % (at least {NC_CIFAR} %)",
        free.percent()
    );
    let mut verdicts = vec![Verdict::new(words, free.percent() >= NC_CIFAR)];
    let limited = Job {
        proofs: true,
        ..job(one)?
    };
    let limited = ended(&format!("nc of {CIFAR}, seed {CIFAR_SEED}"), limited, paper)?;
    print_shares(&limited);
    let words = format!("{SEEDS_CIFAR} seeds");
    let several = job(SeedRequest::First(SEEDS_CIFAR))?;
    let several = ended(&format!("nc of {CIFAR}, {words}"), several, paper)?;
    let what = format!("nc of the CIFAR-10 network, {words}");
    verdicts.push(at_least(&what, of_feasible(&several), NC_CIFAR));
    Ok(verdicts)
}

/// Both shares: of all, and of what is not proven to be out of reach.
fn print_shares(ended: &Ended) {
    let counted = ended.summary.requirements;
    println!(
        "{:.3} % of all; {:.3} % of those not proven to be out of reach ({} are); {} are neither covered nor proven",
        ended.percent(),
        of_feasible(ended),
        counted.infeasible,
        counted.unresolved
    );
}

/// Neuron boundaries of the paper's MNIST network; what is proven to be out of reach is not counted.
pub fn nbc(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let place = tempfile::tempdir()?;
    let images = place.path().join("profiled.npz");
    keep_first(&shelf.data("mnist_train.npz"), &images)?;
    let job = Job {
        profile: Some(images),
        proofs: true,
        ..few_pixels(shelf, PAPER, "nbc", SeedRequest::First(SEEDS))?
    };
    let paper = "48.5 % of a subset, from 1000 images";
    let ended = ended(&format!("nbc of {PAPER}, {SEEDS} seeds"), job, paper)?;
    Ok(vec![at_least(
        "nbc, of what is not proven to be out of reach",
        of_feasible(&ended),
        NBC,
    )])
}

/// Sign-sign pairs of a dense network: both inputs within so many pixels of the same seed.
pub fn ssc(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let job = few_pixels(shelf, DENSE, "ssc", SeedRequest::First(SEEDS))?;
    let paper = "none: given up in this norm as too slow";
    let ended = ended(&format!("ssc of {DENSE}, {SEEDS} seeds"), job, paper)?;
    Ok(vec![at_least("ssc", of_feasible(&ended), SSC)])
}

/// The paper's search for few pixels against the cascade: same kernels, same seed, one run.
pub fn strategies(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let job = few_pixels(shelf, PAPER, "nc", SeedRequest::Given(vec![MNIST_SEED]))?;
    race(
        &Race {
            title: format!("nc of {PAPER} from image {MNIST_SEED}, {PIXELS} pixels"),
            shares: vec![SHARE],
            longest: LONGEST,
            least: FASTER,
        },
        &job,
    )
}
