//! One changed pixel: for each of the first test images another label, or a certificate that there is none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use deepconcolic::{Job, Prepared, Radius, SeedRequest};
use deepconcolic_check::{Expectation, Region, check};
use deepconcolic_geometry::Norm;
use deepconcolic_proofs::{FewestChanges, ProofLimits, fewest_changes, regions};

use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// A network, how many images, and how far proofs may go for each.
pub struct PixelPlan {
    /// The model's file.
    pub model: &'static str,
    /// The first so many test images.
    pub images: usize,
    /// Most parts of the region for each alternative.
    pub nodes: usize,
    /// Most seconds for each image.
    pub seconds: u64,
    /// The share of images that should be decided.
    pub wanted: f64,
}

/// Prints how many images end which way, and what that takes.
pub fn run(shelf: &Shelf, plan: &PixelPlan) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== one changed pixel: {}, first {} test images",
        plan.model, plan.images
    );
    let prepared = subject(shelf, plan)?;
    let inputs: Vec<Vec<f32>> = prepared.seeds.iter().map(<[f32]>::to_vec).collect();
    let places = regions(&prepared.space, &inputs);
    let mut tally = Tally::default();
    for (image, place) in places.iter().enumerate() {
        let ended = tally.image(&prepared, image, place, plan)?;
        println!("image {image}: {ended}");
    }
    tally.print(plan)
}

fn subject(shelf: &Shelf, plan: &PixelPlan) -> Result<Prepared, BenchError> {
    let seeds = SeedRequest::Given((0..plan.images).collect());
    let mut job = Job {
        radius: Radius::Within(1.0),
        ..job(shelf, plan.model, "safety", seeds)?
    };
    job.parameters.norm = Norm::L0;
    prepare(&job)
}

#[derive(Default)]
struct Tally {
    found: usize,
    excluded: usize,
    open: Vec<usize>,
    rejected: usize,
    /// Of those found, how many every pixel at both ends of its range shows.
    at_ends: usize,
    nodes: Vec<usize>,
    seconds: Vec<f64>,
    checking: f64,
    bytes: Vec<usize>,
}

impl Tally {
    /// Asks of one image; how it ended.
    fn image(
        &mut self,
        prepared: &Prepared,
        image: usize,
        place: &(Region, Vec<f32>),
        plan: &PixelPlan,
    ) -> Result<&'static str, BenchError> {
        let start = Instant::now();
        if at_ends(prepared, place) {
            self.found += 1;
            self.at_ends += 1;
            return Ok("found at an end of a pixel's range");
        }
        let network = prepared.network.as_ref();
        let requirement = prepared.family.requirement(0, image);
        let requirement = requirement.map_err(BenchError::NoModel)?;
        let spent = AtomicUsize::new(0);
        let limits = ProofLimits {
            nodes: plan.nodes,
            deadline: Some(start + Duration::from_secs(plan.seconds)),
            spent: Some(&spent),
            ..ProofLimits::default()
        };
        let FewestChanges { excluded, found } =
            fewest_changes(network, &prepared.digest, &requirement, &place.0, &limits)
                .map_err(|e| BenchError::NoModel(e.to_string()))?;
        self.seconds.push(start.elapsed().as_secs_f64());
        self.nodes.push(spent.load(Ordering::Relaxed));
        Ok(match (excluded, found) {
            (_, Some(_)) => {
                self.found += 1;
                "found"
            }
            (Some((_, accepted)), None) => {
                let again = Instant::now();
                let expectation = Expectation {
                    model: &prepared.digest,
                    regions: Some(std::slice::from_ref(&place.0)),
                    requirements: Some(&[requirement.to_string()]),
                };
                let verdict = check(network, accepted.certificate(), &expectation);
                self.rejected += usize::from(verdict.is_err());
                self.checking += again.elapsed().as_secs_f64();
                self.bytes
                    .push(accepted.certificate().to_bytes(network).len());
                self.excluded += 1;
                "excluded"
            }
            (None, None) => {
                self.open.push(image);
                "open"
            }
        })
    }

    fn print(mut self, plan: &PixelPlan) -> Result<Vec<Verdict>, BenchError> {
        println!(
            "found {} ({} at an end of a pixel's range), excluded {}, open {} {:?}",
            self.found,
            self.at_ends,
            self.excluded,
            self.open.len(),
            self.open
        );
        println!(
            "parts: median {}, most {}; seconds: median {:.2}, most {:.2}, together {:.1}, checked again in {:.1}; \
             bytes: median {}, most {}",
            median(&mut self.nodes),
            self.nodes.last().copied().unwrap_or_default(),
            self.seconds_at(0.5),
            self.seconds_at(1.0),
            self.seconds.iter().sum::<f64>(),
            self.checking,
            median(&mut self.bytes),
            self.bytes.last().copied().unwrap_or_default()
        );
        let decided = (self.found + self.excluded) as f64 / plan.images.max(1) as f64;
        Ok(vec![
            Verdict::new(
                format!("{}: certificates accepted", plan.model),
                self.rejected == 0,
            ),
            Verdict::new(
                format!(
                    "{}: {:.0} % decided, wanted {:.0} %",
                    plan.model,
                    100.0 * decided,
                    100.0 * plan.wanted
                ),
                decided >= plan.wanted,
            ),
        ])
    }

    fn seconds_at(&mut self, share: f64) -> f64 {
        self.seconds.sort_by(f64::total_cmp);
        let last = self.seconds.len().saturating_sub(1);
        let at = (share * last as f64) as usize;
        self.seconds.get(at).copied().unwrap_or_default()
    }
}

fn median(numbers: &mut [usize]) -> usize {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}

/// Whether a pixel at one of its ends, all others as they are, gives another answer: every one is tried.
fn at_ends(prepared: &Prepared, (region, seed): &(Region, Vec<f32>)) -> bool {
    let network = prepared.network.as_ref();
    let Some(changes) = &region.changes else {
        return false;
    };
    let mut batch = seed.clone();
    let positions = changes.positions.iter().max().map_or(0, |last| last + 1);
    for position in 0..positions {
        for ends in [&region.lower, &region.upper] {
            let elements = seed.iter().zip(ends).zip(&*changes.positions);
            batch.extend(
                elements.map(|((&x, &end), p)| if *p == position { end as f32 } else { x }),
            );
        }
    }
    let logits = network.logits(&batch);
    let classes = logits.len() / (batch.len() / seed.len());
    let mut answers = logits.chunks(classes).map(|l| prepared.decision.predict(l));
    let own = answers.next();
    answers.any(|answer| Some(answer) != own)
}
