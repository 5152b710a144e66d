//! How steep networks are near images: random pairs, the paper's compass search and ours, beside each other and
//! beside the certified upper bound.
//!
//! The paper's experiment: the logit of the label, an L-infinity box of 0.1, the L2 norm in the ratio; 1,000,000 random pairs
//! an image. Random pairs and compass search get no more executions than there is time for, the same number for every
//! image, and that number is printed.

use std::sync::Arc;
use std::time::Instant;

use deepconcolic::{
    Cancel, CriterionSettings, Job, LipschitzName, Prepared, Radius, SeedRequest, Session,
    SlopeSummary, Spread,
};
use deepconcolic_engines::random_pairs;
use deepconcolic_geometry::Norm;

use crate::contest::print_load;
use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// Passes an image that each search gets.
const COMPASS: usize = 20_000;
const OURS: usize = 2_000;
/// Data read, in multiples of the images: enough to find those that the network gets right.
const LOOKED_AT: usize = 4;
/// How many times as steep ours must be as compass search, on the median image.
const BETTER: f64 = 1.7;

/// What is measured.
pub struct Plan {
    /// Images of each network.
    pub images: usize,
    /// Most random pairs an image.
    pub random_pairs: usize,
    /// Seconds that random pairs, compass search and proofs get, each, for each network.
    pub seconds: f64,
}

/// Executions whose time is taken.
const TIMED: usize = 256;
/// Part of the time that executions get; drawing and comparing inputs take the rest.
const EXECUTING: f64 = 0.7;

/// A network, and what its certified bound may be, in multiples of the steepest pair, on the median image, where that is
/// asked.
struct Subject {
    model: &'static str,
    loosest: Option<f64>,
}

/// The paper's networks, and two that are small enough to be bounded tightly.
const SUBJECTS: [Subject; 4] = [
    Subject {
        model: "mnist_complicated_logits.onnx",
        loosest: None,
    },
    Subject {
        model: "cifar10_complicated_logits.onnx",
        loosest: None,
    },
    Subject {
        model: "mnist_mlp_100x2_logits.onnx",
        loosest: Some(10.0),
    },
    Subject {
        model: "mnist_mlp_32_16_logits.onnx",
        loosest: Some(3.0),
    },
];

/// Prints the constants of every network whose name contains a text.
pub fn run(shelf: &Shelf, plan: &Plan, named: &str) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== slopes near {} images: label's logit, box 0.1, L2 ratio; at most {} random pairs, {COMPASS} executions of \
         compass search and {OURS} of ours an image, {} s for each of the first two",
        plan.images, plan.random_pairs, plan.seconds
    );
    println!("the paper, image 1 of MNIST: random 3.23 (1,000,000 pairs), compass search 10.38");
    print_load();
    let mut verdicts = Vec::new();
    for subject in SUBJECTS
        .iter()
        .filter(|subject| subject.model.contains(named))
    {
        verdicts.extend(measure(shelf, plan, subject)?);
    }
    Ok(verdicts)
}

fn measure(shelf: &Shelf, plan: &Plan, subject: &Subject) -> Result<Vec<Verdict>, BenchError> {
    let base = papers_job(shelf, subject.model, plan.images)?;
    println!("\n{}", subject.model);
    let affordable = affordable(&prepare(&base)?, plan.seconds);
    let mut columns = Vec::new();
    for (strategy, passes) in [
        ("random", affordable.min(inputs_of(plan.random_pairs))),
        ("paper", affordable.min(COMPASS)),
        // The last: it has the proofs.
        ("cascade", OURS),
    ] {
        let ours = strategy == "cascade";
        let job = Job {
            strategy: strategy.into(),
            proofs: ours,
            // The search ends by itself before half of it, so that the rest is for the proofs.
            budget: ours.then_some(2.0 * plan.seconds),
            ..base.clone()
        };
        let start = Instant::now();
        let regions = slopes(job, passes)?;
        let found = Spread::of(regions.iter().filter_map(|region| region.found));
        println!(
            "{:8} {:>9} executions an image{}: largest ratio {:>8.3} at least, {:>8.3} in the median, {:>8.3} at most; \
             image 1: {:>8.3}; {:.0} s",
            name(strategy),
            passes,
            if strategy == "random" {
                format!(" ({} pairs)", random_pairs(passes))
            } else {
                String::new()
            },
            found.min.unwrap_or(0.0),
            found.median.unwrap_or(0.0),
            found.max.unwrap_or(0.0),
            regions
                .first()
                .and_then(|region| region.found)
                .unwrap_or(0.0),
            start.elapsed().as_secs_f64()
        );
        columns.push(regions);
    }
    Ok(judge(subject, &columns[1], &columns[2]))
}

/// How many executions an image there is time for.
fn affordable(prepared: &Prepared, seconds: f64) -> usize {
    let seeds: Vec<&[f32]> = prepared.seeds.iter().collect();
    let batch: Vec<f32> = seeds
        .iter()
        .cycle()
        .take(TIMED)
        .copied()
        .flatten()
        .copied()
        .collect();
    prepared.network.logits(&batch);
    let start = Instant::now();
    prepared.network.logits(&batch);
    let each = start.elapsed().as_secs_f64() / TIMED as f64;
    (EXECUTING * seconds / each / seeds.len().max(1) as f64) as usize
}

/// The paper's experiment on so many images: the label's logit, a box of 0.1, the L2 ratio.
pub fn papers_job(shelf: &Shelf, model: &str, images: usize) -> Result<Job, BenchError> {
    let mut base = Job {
        radius: Radius::Within(0.1),
        parameters: CriterionSettings {
            constant: None,
            lipschitz_output: LipschitzName::Label,
            ratio_norm: Norm::L2,
            ..CriterionSettings::default()
        },
        ..job(shelf, model, "lipschitz", SeedRequest::First(images))?
    };
    // The images come first in the data; accuracy over all others is no matter here.
    base.data.limit = Some(LOOKED_AT * images);
    Ok(base)
}

fn name(strategy: &str) -> &str {
    match strategy {
        "paper" => "compass",
        "cascade" => "ours",
        other => other,
    }
}

/// A whole run of a job with so many passes for each region.
pub fn slopes(job: Job, passes: usize) -> Result<Vec<SlopeSummary>, BenchError> {
    let prepared: Prepared = prepare(&job)?;
    let seeds = prepared.seeds.len();
    let job = Job {
        max_executions: Some(prepared.runs + seeds + passes * seeds),
        ..job
    };
    let cancel = Cancel::default();
    let mut session = Session::of(job, Arc::new(prepared), &cancel, &mut |_| {})?;
    session.run(&mut |_| {})?;
    Ok(session.save()?.lipschitz)
}

/// The least number of random inputs that make so many pairs.
fn inputs_of(pairs: usize) -> usize {
    let mut inputs = 0;
    while random_pairs(inputs) < pairs {
        inputs += 1;
    }
    inputs
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    Spread::of(numbers).median.unwrap_or(f64::NAN)
}

fn judge(subject: &Subject, compass: &[SlopeSummary], ours: &[SlopeSummary]) -> Vec<Verdict> {
    let model = subject.model;
    let both = ours.iter().zip(compass);
    let ratio = median(both.filter_map(|(ours, compass)| Some(ours.found? / compass.found?)));
    let mut verdicts = vec![Verdict::new(
        format!(
            "{model}: ours is {ratio:.2} times compass on the median image (at least {BETTER})"
        ),
        ratio >= BETTER,
    )];
    let bounds: Vec<(f64, f64)> = ours
        .iter()
        .chain(compass)
        .zip(ours.iter().chain(ours))
        .filter_map(|(found, bound)| Some((found.found?, bound.upper?)))
        .collect();
    if !bounds.is_empty() {
        let below = bounds.iter().filter(|(found, upper)| upper < found).count();
        verdicts.push(Verdict::new(
            format!(
                "{model}: {below} of {} certified bounds below a pair (0)",
                bounds.len()
            ),
            below == 0,
        ));
    }
    let uppers = Spread::of(ours.iter().filter_map(|region| region.upper));
    let gaps = ours
        .iter()
        .filter_map(|region| Some(region.upper? / region.found?));
    let gap = median(gaps.clone());
    println!(
        "certified upper bounds of {} images: {:.3} at least, {:.3} in the median, {:.3} at most; {gap:.2} times the steepest \
         pair in the median",
        gaps.count(),
        uppers.min.unwrap_or(f64::NAN),
        uppers.median.unwrap_or(f64::NAN),
        uppers.max.unwrap_or(f64::NAN),
    );
    if let Some(loosest) = subject.loosest {
        verdicts.push(Verdict::new(
            format!("{model}: the certified bound is {gap:.2} times the steepest pair in the median (below {loosest})"),
            gap < loosest,
        ));
    }
    verdicts
}
