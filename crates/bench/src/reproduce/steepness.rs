//! The paper's figure on Lipschitz constants: the largest ratios near images, by random pairs, by the paper's search and by
//! ours.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use deepconcolic::Job;
use deepconcolic_engines::random_pairs;

use super::Kept;
use super::experiment::Length;
use crate::error::BenchError;
use crate::lipschitz::{papers_job, slopes};
use crate::shelf::Shelf;

/// The networks of the figure.
const MODELS: [(&str, &str); 2] = [
    ("MNIST", "mnist_complicated_logits.onnx"),
    ("CIFAR-10", "cifar10_complicated_logits.onnx"),
];

/// How constants are searched for.
struct Search {
    strategy: &'static str,
    words: &'static str,
    /// Passes an image and images, in the short and in the long form.
    quick: (usize, usize),
    full: (usize, usize),
}

/// Images of the figure.
const QUICK: usize = 5;
const FULL: usize = 50;

/// The searches. Random pairs get the passes that the paper's search gets, which make more than its 1,000,000 pairs.
const SEARCHES: [Search; 3] = [
    Search {
        strategy: "random",
        words: "random pairs",
        quick: (4_000, QUICK),
        full: (20_000, FULL),
    },
    Search {
        strategy: "paper",
        words: "the paper's compass search",
        quick: (4_000, QUICK),
        full: (20_000, FULL),
    },
    Search {
        strategy: "cascade",
        words: "gradient-norm ascent",
        quick: (1_000, QUICK),
        full: (2_000, FULL),
    },
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

/// Runs what is missing of those whose names contain a text.
pub fn run(
    shelf: &Shelf,
    named: &str,
    length: Length,
    kept: &mut Kept,
) -> Result<Vec<Steepness>, BenchError> {
    let mut all = Vec::new();
    for (data, model) in MODELS {
        for search in &SEARCHES {
            let (passes, images) = match length {
                Length::Quick => search.quick,
                Length::Full => search.full,
            };
            let strategy = search.strategy;
            let name = format!("lipschitz-{}-{strategy}-{images}", data.to_lowercase());
            if !name.contains(named) {
                continue;
            }
            all.extend(kept.once(&name, Steepness::in_words, || {
                let start = Instant::now();
                let job = Job {
                    strategy: strategy.into(),
                    ..papers_job(shelf, model, images)?
                };
                let regions = slopes(job, passes)?;
                Ok(Steepness {
                    data: data.into(),
                    search: search.in_words(passes),
                    passes,
                    found: regions.iter().filter_map(|region| region.found).collect(),
                    seconds: start.elapsed().as_secs_f64(),
                })
            })?);
        }
    }
    Ok(all)
}

impl Search {
    /// What it is called, with the number of pairs where that says more than the passes do.
    fn in_words(&self, passes: usize) -> String {
        match self.strategy {
            "random" => format!("{}, {} an image", self.words, random_pairs(passes)),
            _ => self.words.into(),
        }
    }
}

impl Steepness {
    fn in_words(&self) -> String {
        format!("median {:.2} of {} images", self.median(), self.found.len())
    }

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
