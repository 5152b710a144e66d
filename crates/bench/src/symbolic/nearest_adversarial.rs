//! The nearest adversarial input of each of the first images: beside a slow reference, beside a certified lower bound,
//! and in few pixels.

use std::time::{Duration, Instant};

use deepconcolic::{Job, Prepared, Radius, SeedAnswer, SeedRequest};
use deepconcolic_criteria::{Departure, Objective};
use deepconcolic_engines::{Budget, Goal, Margin, Origin, named};
use deepconcolic_geometry::Norm;
use deepconcolic_language::{Input, Inputs};
use rayon::prelude::*;

use super::pgd;
use crate::contest::print_load;
use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::shelf::Shelf;
use crate::subject::PAPER;
use crate::verdict::Verdict;

const DENSE: &str = "mnist_mlp_100x2_logits.onnx";
/// How long the proofs of one image may take: two minutes for 100 images.
const PROOFS: Duration = Duration::from_millis(1200);
/// The paper's smallest distances: one grey level of 255, and one pixel.
const GREY_LEVEL: f64 = 1.0 / 255.0;

/// Prints both networks in all norms.
pub fn run(shelf: &Shelf, images: usize) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== nearest adversarial inputs of the first {images} test images");
    print_load();
    let mut verdicts = Vec::new();
    for model in [DENSE, PAPER] {
        let largest = Subject::new(shelf, model, Norm::LINF, images)?;
        let found = largest.ours("boundary");
        let bounds = largest.bounds(&found);
        verdicts.push(largest.contest(model, &found, &bounds));
        let length = Subject::new(shelf, model, Norm::L2, images)?;
        let found = length.ours("boundary");
        // No L2 distance is below the L-infinity distance, so that its bound holds here too.
        verdicts.push(length.contest(model, &found, &bounds));
        Subject::new(shelf, model, Norm::L0, images)?.pixels();
    }
    Ok(verdicts)
}

/// An image that the network gets right, and what another answer is.
struct Image {
    input: Vec<f32>,
    departure: Departure,
}

/// What was found of one image.
struct Nearest {
    input: Option<Vec<f32>>,
    distance: f64,
    passes: usize,
}

/// The images that a network gets right, with a norm.
struct Subject {
    prepared: Prepared,
    images: Vec<Image>,
}

impl Subject {
    fn new(shelf: &Shelf, model: &str, norm: Norm, images: usize) -> Result<Self, BenchError> {
        let seeds = SeedRequest::Given((0..images).collect());
        let mut plan = Job {
            radius: Radius::Anywhere,
            ..job(shelf, model, "nc", seeds)?
        };
        plan.parameters.norm = norm;
        let prepared = prepare(&plan)?;
        let right = |&s: &usize| {
            let number = prepared.seeds.index(s);
            !prepared.misclassified.contains(&number)
        };
        let seeds = (0..prepared.seeds.len()).filter(right);
        let images: Vec<Image> = seeds
            .filter_map(|s| {
                let input = prepared.seeds.input(s).to_vec();
                let logits = prepared.network.logits(&input);
                let departure = prepared.decision.departure(&logits).ok()?;
                Some(Image { input, departure })
            })
            .collect();
        Ok(Self { prepared, images })
    }

    /// What an engine finds round each image.
    fn ours(&self, engine: &str) -> Vec<Nearest> {
        let search = |image: &Image| self.search(image, engine);
        self.images.par_iter().map(search).collect()
    }

    fn search(&self, image: &Image, engine: &str) -> Nearest {
        let prepared = &self.prepared;
        let layer = prepared.network.layers().len() + 2;
        let objective = Objective::Formula {
            formula: image.departure.formula(Input::First, layer),
            inputs: Inputs::One,
        };
        let root = image.input.as_slice();
        let goal = Goal {
            network: &prepared.network,
            objectives: &[&[objective]],
            origins: &[Origin::seed(&root)],
            space: &prepared.space,
            means: &prepared.settings.means,
            margin: Margin::default(),
            rng_seed: 0,
        };
        let report = named(engine).map(|engine| engine.search(&goal, &Budget::default()));
        let report = report.unwrap_or_default();
        let input = report.witness().map(|(found, _)| found.tests[0].clone());
        // What counts is what an execution of its own says.
        let input = input.filter(|x| image.departure.holds(&prepared.network.logits(x)));
        Nearest {
            distance: input
                .as_ref()
                .map_or(f64::INFINITY, |x| prepared.space.distance(x, root)),
            input,
            passes: report.effort.passes(),
        }
    }

    /// How near another answer can be, image by image.
    fn bounds(&self, found: &[Nearest]) -> Vec<Option<f64>> {
        let each = self.images.iter().zip(found);
        each.map(|(image, found)| {
            let question = SeedAnswer {
                network: &self.prepared.network,
                model: &self.prepared.digest,
                space: &self.prepared.space,
                root: &image.input,
                departure: &image.departure,
            };
            let end = Instant::now() + PROOFS;
            let certified = question.certified_distance(found.input.as_ref()?, Some(end));
            certified.bound.map(|(bound, _)| bound)
        })
        .collect()
    }

    /// Prints what was found beside the reference.
    fn contest(&self, model: &str, found: &[Nearest], bounds: &[Option<f64>]) -> Verdict {
        let (space, norm) = (&self.prepared.space, self.prepared.space.norm);
        let wrong = self.prepared.misclassified.len();
        println!(
            "\n{model}, {norm}: {} images; {wrong} that the network gets wrong are left out",
            self.images.len()
        );
        let attacked: Vec<(&[f32], &Departure)> = self
            .images
            .iter()
            .map(|image| (image.input.as_slice(), &image.departure))
            .collect();
        let (reference, cost) = pgd::attack(&self.prepared.network, space, &attacked);
        let theirs: Vec<f64> = reference.iter().map(|image| image.distance).collect();
        let ours: Vec<f64> = found.iter().map(|found| found.distance).collect();
        let passes: usize = found.iter().map(|found| found.passes).sum();
        let images = self.images.len().max(1);
        row(
            "",
            ["least", "median", "largest"].map(str::to_owned),
            "passes an image",
        );
        row("here", spread(&ours), &(passes / images).to_string());
        row("reference", spread(&theirs), &(cost / images).to_string());
        let known: Vec<f64> = bounds.iter().copied().flatten().collect();
        let of = format!("certified for {} of {images}", known.len());
        row("none nearer", spread(&known), &of);
        let sound = bounds
            .iter()
            .zip(&ours)
            .all(|(b, d)| b.is_none_or(|b| b <= *d));
        let pairs = || ours.iter().zip(&theirs);
        let nearer = pairs().filter(|(a, b)| a < b).count();
        let ratios: Vec<f64> = pairs().map(|(a, b)| a / b).collect();
        println!(
            "{:>12} nearer for {nearer} of {images}; ours by theirs {:.4} in the median, {:.4} at most",
            "",
            median(&ratios),
            ratios.iter().copied().fold(0.0, f64::max)
        );
        if norm == Norm::LINF {
            println!("{:>12} the paper's least: {GREY_LEVEL:.6}", "");
        }
        let (a, b) = (median(&ours), median(&theirs));
        let what = format!(
            "{model}, {norm}: nearest adversarial at {a:.6} in the median, at most {b:.6} of the reference, and no \
             certified bound above one"
        );
        Verdict::new(what, a <= b && sound)
    }

    /// Prints how few pixels change the answer.
    fn pixels(&self) {
        let found = self.ours("l0");
        let pixels: Vec<f64> = found.iter().map(|found| found.distance).collect();
        let one = pixels.iter().filter(|&&pixels| pixels < 1.5).count();
        let passes: usize = found.iter().map(|found| found.passes).sum();
        println!(
            "\nl0: one pixel is enough for {one} of {} images (the paper's least: 1 pixel)",
            pixels.len()
        );
        let cost = (passes / pixels.len().max(1)).to_string();
        row("here", spread(&pixels), &cost);
        let known: Vec<f64> = self.bounds(&found).into_iter().flatten().collect();
        let of = format!("certified for {} of {}", known.len(), pixels.len());
        row("not enough", spread(&known), &of);
    }
}

fn row(name: &str, numbers: [String; 3], last: &str) {
    let [least, middle, largest] = numbers;
    println!("{name:>12} {least:>10} {middle:>10} {largest:>10}  {last}");
}

/// Least, median and largest, as text.
fn spread(numbers: &[f64]) -> [String; 3] {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [least, median(numbers), largest].map(|number| format!("{number:.6}"))
}

fn median(numbers: &[f64]) -> f64 {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
