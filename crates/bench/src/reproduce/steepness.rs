//! The paper's figure on Lipschitz constants: the largest ratios near images, by random pairs, by the paper's search and by
//! ours.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use deepconcolic::Job;

use super::experiment::Length;
use super::once;
use crate::error::BenchError;
use crate::lipschitz::{papers_job, slopes};
use crate::shelf::Shelf;

/// The networks of the figure.
const MODELS: [(&str, &str); 2] = [
    ("MNIST", "mnist_complicated_logits.onnx"),
    ("CIFAR-10", "cifar10_complicated_logits.onnx"),
];

/// How constants are searched for: strategy, words, passes an image in the short and in the long form.
const SEARCHES: [(&str, &str, usize, usize); 3] = [
    ("random", "random pairs", 2_000, 2_000_000),
    ("paper", "the paper's compass search", 4_000, 20_000),
    ("cascade", "gradient-norm ascent", 1_000, 2_000),
];

/// One search on one network: the largest ratio near each image.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Steepness {
    pub data: String,
    pub search: String,
    pub passes: usize,
    pub found: Vec<f64>,
    pub seconds: f64,
}

/// Runs what is missing.
pub fn run(
    shelf: &Shelf,
    length: Length,
    folder: &Path,
    started: Instant,
) -> Result<Vec<Steepness>, BenchError> {
    let images = match length {
        Length::Quick => 5,
        Length::Full => 50,
    };
    let mut all = Vec::new();
    for (data, model) in MODELS {
        for (strategy, search, quick, full) in SEARCHES {
            let passes = if length == Length::Quick { quick } else { full };
            let name = format!("lipschitz-{}-{strategy}", data.to_lowercase());
            let path = folder.join(format!("{name}.json"));
            let steepness = once(&path, || {
                let start = Instant::now();
                let job = Job {
                    strategy: strategy.into(),
                    ..papers_job(shelf, model, images)?
                };
                let regions = slopes(job, passes)?;
                Ok(Steepness {
                    data: data.into(),
                    search: search.into(),
                    passes,
                    found: regions.iter().filter_map(|region| region.found).collect(),
                    seconds: start.elapsed().as_secs_f64(),
                })
            })?;
            println!(
                "{:>6.0} s  {name:34} median {:.2} of {} images",
                started.elapsed().as_secs_f64(),
                steepness.median(),
                steepness.found.len()
            );
            all.push(steepness);
        }
    }
    Ok(all)
}

impl Steepness {
    pub fn median(&self) -> f64 {
        deepconcolic::Spread::of(self.found.iter().copied())
            .median
            .unwrap_or(f64::NAN)
    }

    pub fn largest(&self) -> f64 {
        self.found.iter().copied().fold(0.0, f64::max)
    }

    /// The share of images whose largest ratio is above each constant, as steps of a curve.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let mut found = self.found.clone();
        found.sort_by(f64::total_cmp);
        let all = found.len().max(1) as f64;
        let mut curve = vec![(0.0, 1.0)];
        for (below, constant) in found.iter().enumerate() {
            curve.push((*constant, (found.len() - below) as f64 / all));
            curve.push((*constant, (found.len() - below - 1) as f64 / all));
        }
        curve
    }
}
