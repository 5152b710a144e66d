//! The suites that are compared: by criteria, at random, by gradient attack, and plain data.

use std::path::Path;
use std::sync::Arc;

use deepconcolic_campaign::{Seeds, Stop};
use deepconcolic_geometry::{AllowedRegion, Random, SearchSpace};
use deepconcolic_network::{Pass, Point, Row, Seed};

use super::clock::Clock;
use super::subject::Subject;
use crate::error::Error;
use crate::event::Event;
use crate::job::Job;
use crate::session::{Cancel, Session};

/// Passes that a criterion's search may make for each test asked for. Counted, so that a suite does not depend on the
/// machine unless time is up.
const PASSES: usize = 1000;
/// Steps of the gradient attack, and the length of each, as a part of the reach.
const STEPS: usize = 20;
const LENGTH: f32 = 0.1;

/// A suite.
pub struct Suite {
    /// The criterion, or what else it was made by.
    pub name: String,
    /// How it was made, in words.
    pub what: String,
    /// Its inputs, one after the other.
    pub inputs: Vec<f32>,
    /// Requirements covered, and all of them.
    pub coverage: Option<[usize; 2]>,
}

/// What a criterion's run made, and what it ran on.
pub struct Run {
    /// The tests beside the seeds.
    pub suite: Suite,
    /// Whether time was up before there were as many tests as asked for.
    pub cut: bool,
    /// Where tests may lie.
    pub space: Arc<SearchSpace>,
    /// What it started from.
    pub seeds: Arc<Seeds>,
}

/// The tests of a job beside its seeds: the first so many, or fewer if the search ends before. With a folder, the run is
/// saved there.
pub fn by_criterion(
    job: Job,
    tests: usize,
    clock: &Clock,
    folder: Option<&Path>,
    tell: &mut dyn FnMut(Event),
) -> Result<Run, Error> {
    let name = job.criterion.clone().unwrap_or_default();
    let job = Job {
        max_executions: Some(PASSES.saturating_mul(tests)),
        budget: Some(clock.left()),
        proofs: false,
        ..job
    };
    let cancel = Cancel::default();
    let mut session = match folder {
        Some(folder) => Session::create(job, folder, &cancel, tell)?,
        None => Session::new(job, &cancel, tell)?,
    };
    let is_test = |test: &&deepconcolic_campaign::Test| test.provenance.parent.is_some();
    let mut stop = None;
    while stop.is_none() && session.suite().tests().iter().filter(is_test).count() < tests {
        stop = session.step(tell)?;
    }
    let chosen = session.suite().tests().iter().filter(is_test).take(tests);
    let inputs: Vec<f32> = chosen.flat_map(|test| test.input.iter().copied()).collect();
    let (covered, total) = session.coverage();
    let prepared = session.prepared();
    let (space, seeds) = (Arc::clone(&prepared.space), Arc::clone(&prepared.seeds));
    if folder.is_some() {
        session.save()?;
    }
    Ok(Run {
        suite: Suite {
            what: format!("tests that `run --criterion {name}` added to the seeds"),
            name,
            inputs,
            coverage: Some([covered, total]),
        },
        cut: stop == Some(Stop::Budget),
        space,
        seeds,
    })
}

/// Where controls are drawn from: the same seeds and the same region as criteria search.
pub struct Controls<'a> {
    /// The model.
    pub subject: &'a Subject,
    /// Where tests may lie.
    pub space: &'a SearchSpace,
    /// What they start from.
    pub seeds: &'a Seeds,
    /// How many tests each has.
    pub tests: usize,
    /// Seed of the random numbers.
    pub rng_seed: u64,
}

impl Controls<'_> {
    /// Points drawn from the region round the seeds, in turn.
    pub fn random(&self) -> Suite {
        let mut inputs = Vec::new();
        for number in 0..self.tests {
            let root = self.seeds.input(number % self.seeds.len());
            if let Some(region) = self.region(root, number) {
                inputs.extend(settled(&region, self.drawn(&region, number, 1)));
            }
        }
        Suite {
            name: "random".into(),
            what: "points drawn from the region round the seeds, in turn".into(),
            inputs,
            coverage: None,
        }
    }

    /// The first samples of the data, as they are.
    pub fn data(&self) -> Suite {
        let count = self.subject.data.len().min(self.tests);
        let mut inputs = vec![0.0; count * self.subject.network.input_elements()];
        self.subject.data.fill(0..count, &mut inputs);
        Suite {
            name: "data".into(),
            what: "the first samples of the data, unchanged".into(),
            inputs,
            coverage: None,
        }
    }

    /// Signed gradient steps towards another answer of the model as it is, from the seeds in turn: first from a seed
    /// itself, then from points drawn round it. A point stops where it gets there. Fewer steps when time is up, which is
    /// said.
    pub fn gradient(&self, clock: &Clock) -> Result<(Suite, bool), Error> {
        let network = &self.subject.network;
        let each = network.input_elements();
        let mut departures = Vec::new();
        for root in self.seeds.iter() {
            let departure = self.subject.decision.departure(&network.logits(root));
            departures.push(departure.map_err(Error::Request)?);
        }
        let mut points = Vec::new();
        let mut attacked = Vec::new();
        for number in 0..self.tests {
            let root = self.seeds.input(number % self.seeds.len());
            let Some(region) = self.region(root, number) else {
                continue;
            };
            let start = if number < self.seeds.len() {
                root.to_vec()
            } else {
                self.drawn(&region, number, 2)
            };
            points.push(start);
            attacked.push((region, &departures[number % self.seeds.len()]));
        }
        let mut active: Vec<usize> = (0..points.len()).collect();
        let mut cut = false;
        for _ in 0..STEPS {
            cut = clock.is_over();
            if active.is_empty() || cut {
                break;
            }
            let inputs: Vec<f32> = active.iter().flat_map(|&i| points[i].clone()).collect();
            let pass = Pass::keep([Point::Logits]).differentiating([Point::Logits]);
            let trace = network.forward(&inputs, &pass);
            let (mut rows, mut left) = (Vec::new(), Vec::new());
            for (sample, &i) in active.iter().enumerate() {
                let logits = trace.sample(Point::Logits, sample);
                let departure = attacked[i].1;
                if let (false, Some((_, weights))) =
                    (departure.holds(logits), departure.nearest(logits))
                {
                    let seeds = weights.into_iter().map(|(element, weight)| Seed {
                        point: Point::Logits,
                        element,
                        weight,
                    });
                    rows.push(Row {
                        sample,
                        seeds: seeds.collect(),
                    });
                    left.push(i);
                }
            }
            let gradients = trace.tape().map(|tape| network.vjp(tape, &rows));
            let gradients = gradients.unwrap_or_default();
            for (gradient, &i) in gradients.chunks_exact(each).zip(&left) {
                attacked[i].0.step(&mut points[i], gradient, LENGTH);
            }
            active = left;
        }
        let tests = attacked.iter().zip(points);
        let inputs = tests.flat_map(|((region, _), point)| settled(region, point));
        let suite = Suite {
            name: "gradient".into(),
            what: format!(
                "up to {STEPS} signed gradient steps from the seeds, in turn, towards another answer of the model"
            ),
            inputs: inputs.collect(),
            coverage: None,
        };
        Ok((suite, cut))
    }

    fn region<'s>(&'s self, root: &'s [f32], number: usize) -> Option<AllowedRegion<'s>> {
        AllowedRegion::new(self.space, root, None, number)
    }

    fn drawn(&self, region: &AllowedRegion<'_>, number: usize, use_of: u64) -> Vec<f32> {
        region.draw(&mut Random::of(&[self.rng_seed, use_of, number as u64]))
    }
}

/// The point as it is run.
fn settled(region: &AllowedRegion<'_>, mut point: Vec<f32>) -> Vec<f32> {
    let mut settled = point.clone();
    region.settle(&mut point, &mut settled);
    settled
}
