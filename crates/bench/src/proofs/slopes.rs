//! How steep networks are at most round test images: certified bounds, what they take, and what a plain look at
//! gradients finds.

use std::time::Instant;

use deepconcolic::{Job, Radius, SeedRequest};
use deepconcolic_check::steepness::{SlopeSubject, check_slopes};
use deepconcolic_geometry::Norm;
use deepconcolic_network::{Network, Pass, Point, Row};
use deepconcolic_proofs::{SlopeLimits, prove_slope, regions};

use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::rng::Rng;
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// A network and how much is asked of it.
pub struct Steepness {
    /// The model's file.
    pub model: &'static str,
    /// How many of the first test images.
    pub images: usize,
    /// The median of bound to gradient that should not be exceeded.
    pub wanted: f64,
}

/// The radius of the box round an image.
const RADIUS: f64 = 0.1;

/// Prints a line for each model: medians over the images.
pub fn run(shelf: &Shelf, asked: &Steepness) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== certified steepness: {}, box {RADIUS}, label's logit, L2, {} images",
        asked.model, asked.images
    );
    let prepared = prepare(&Job {
        radius: Radius::Within(RADIUS),
        ..job(
            shelf,
            asked.model,
            "nc",
            SeedRequest::Given((0..asked.images).collect()),
        )?
    })?;
    let network = prepared.network.as_ref();
    let (mut bounds, mut ratios) = (Vec::new(), Vec::new());
    let (mut proving, mut checking) = (Vec::new(), Vec::new());
    for image in 0..prepared.seeds.len() {
        let seed = prepared.seeds.input(image).to_vec();
        let (region, _) = regions(&prepared.space, std::slice::from_ref(&seed)).swap_remove(0);
        let logits = network.logits(&seed);
        let label = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
        let label = label.unwrap_or(0);
        let subject = SlopeSubject {
            outputs: vec![label as u32],
            norm: Norm::L2,
            widths: vec![1.0; seed.len()],
        };
        let start = Instant::now();
        let limits = SlopeLimits::default();
        let found = prove_slope(network, &prepared.digest, &region, &subject, &limits);
        let found = found.map_err(|e| BenchError::NoModel(e.to_string()))?;
        proving.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let accepted = check_slopes(network, &found.certificate, &prepared.digest);
        checking.push(start.elapsed().as_secs_f64());
        let bound = accepted
            .map_err(|e| BenchError::NoModel(e.to_string()))?
            .bound();
        let steepest = steepest(network, &region.lower, &region.upper, label);
        bounds.push(bound);
        ratios.push(bound / steepest);
    }
    let ratio = median(&mut ratios);
    println!(
        "bound {:.2}, over the steepest gradient seen {ratio:.2}, {:.2} s to prove, {:.2} s to check (medians)",
        median(&mut bounds),
        median(&mut proving),
        median(&mut checking)
    );
    let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(vec![
        Verdict::new(
            format!("{}: bound over gradient, median", asked.model),
            ratio <= asked.wanted,
        ),
        Verdict::new(
            format!("{}: no bound below a gradient", asked.model),
            lowest >= 1.0 - 1e-6,
        ),
    ])
}

fn median(list: &mut [f64]) -> f64 {
    list.sort_by(f64::total_cmp);
    list.get(list.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The longest gradient among inputs of a box: corners, each the best so far with a part drawn anew.
fn steepest(network: &Network, lower: &[f64], upper: &[f64], output: usize) -> f64 {
    let mut random = Rng::new(1);
    let n = lower.len();
    let mut best: (f64, Vec<f32>) = (0.0, lower.iter().map(|&x| x as f32).collect());
    for round in 0..40 {
        let share = [1.0, 0.5, 0.2, 0.05][round / 10];
        let mut batch = Vec::with_capacity(50 * n);
        for _ in 0..50 {
            batch.extend((0..n).map(|e| match f64::from(random.uniform(0.0, 1.0)) {
                x if x >= share => best.1[e],
                x if x < 0.5 * share => lower[e] as f32,
                _ => upper[e] as f32,
            }));
        }
        let pass = Pass::keep([]).differentiating([Point::Logits]);
        let trace = network.forward(&batch, &pass);
        let Some(tape) = trace.tape() else {
            return best.0;
        };
        let rows: Vec<Row<f32>> = (0..50).map(|s| Row::of(s, Point::Logits, output)).collect();
        let gradients = network.vjp(tape, &rows);
        for (sample, gradient) in gradients.chunks_exact(n).enumerate() {
            let squares = gradient.iter().map(|&g| f64::from(g) * f64::from(g));
            let length = squares.sum::<f64>().sqrt();
            if length > best.0 {
                best = (length, batch[sample * n..(sample + 1) * n].to_vec());
            }
        }
    }
    best.0
}
