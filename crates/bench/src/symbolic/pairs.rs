//! Sign-sign pairs: all of a dense network, and those of ten decisions of the paper's.

use std::time::{Duration, Instant};

use deepconcolic::{Job, Prepared, Radius, SeedRequest};
use deepconcolic_criteria::{Change, Changing, Kept, Objective, PairRequirement};
use deepconcolic_engines::{Budget, Effort, Found, Goal, Margin, Origin, supporting};
use deepconcolic_network::{Network, Pass, Point};

use crate::contest::print_load;
use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::rng::Rng;
use crate::shelf::Shelf;
use crate::subject::PAPER;
use crate::verdict::Verdict;

const DENSE: &str = "mnist_mlp_100x2_logits.onnx";
const SEEDS: usize = 1000;
/// Pairs a second of the dense network.
const RATE: f64 = 200.0;
/// Percent of the pairs of a decision neuron of the paper's second convolution, on average.
const COVERED: f64 = 92.0;
/// Pairs that are searched for together.
const PART: usize = 600;
/// How long pairs of a whole layer are searched for.
const LAYER: Duration = Duration::from_mins(10);
/// Channels of the second convolution.
const CHANNELS: usize = 32;
/// Decision neurons drawn.
const DECISIONS: usize = 10;

/// Prints both.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== sign-sign pairs; each pair is run again by its definition");
    print_load();
    Ok(vec![dense(shelf)?, paper(shelf)?])
}

/// A network with the first images that it gets right, and how far from them tests may lie.
fn seeds(shelf: &Shelf, model: &str, radius: f64) -> Result<Prepared, BenchError> {
    prepare(&Job {
        radius: Radius::Within(radius),
        ..job(shelf, model, "ssc", SeedRequest::First(SEEDS))?
    })
}

fn dense(shelf: &Shelf) -> Result<Verdict, BenchError> {
    let seeds = seeds(shelf, DENSE, 0.1)?;
    let network = &seeds.network;
    let decisions = 0..network.layers()[1].neurons();
    let open = decisions.flat_map(|j| network.conditions(0, 1, j).into_iter().map(move |i| (i, j)));
    let result = cover(&seeds, &open.collect::<Vec<_>>())?;
    result.print(DENSE);
    let (found, rate) = (result.confirmed.len(), result.rate());
    let what = format!(
        "ssc of {DENSE}, radius 0.1: {found} of {} pairs, {rate:.0} a second (all, at {RATE})",
        result.asked
    );
    Ok(Verdict::new(what, found == result.asked && rate >= RATE))
}

fn paper(shelf: &Shelf) -> Result<Verdict, BenchError> {
    let seeds = seeds(shelf, PAPER, 0.3)?;
    let network = &seeds.network;
    let mut rng = Rng::new(0);
    let neurons = network.layers()[1].neurons();
    let mut shares = Vec::new();
    for _ in 0..DECISIONS {
        let decision = rng.below(neurons);
        let open: Vec<(usize, usize)> = network
            .conditions(0, 1, decision)
            .into_iter()
            .map(|condition| (condition, decision))
            .collect();
        let result = cover(&seeds, &open)?;
        result.print(&format!("decision {decision}"));
        shares.push(100.0 * result.confirmed.len() as f64 / result.asked as f64);
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let what = format!(
        "ssc of {PAPER}, radius 0.3, {DECISIONS} decisions of the second convolution: {mean:.1} % of \
         their pairs (at least {COVERED} %)"
    );
    Ok(Verdict::new(what, mean >= COVERED))
}

/// All pairs of the second convolution, pixel by pixel, until time is up: pairs closed per second.
pub fn layer(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== sign-sign pairs of the whole second convolution of {PAPER}, for {LAYER:?}");
    print_load();
    let seeds = seeds(shelf, PAPER, 0.3)?;
    let network = &seeds.network;
    let neurons = network.layers()[1].neurons();
    let pixels = neurons / CHANNELS;
    let end = Instant::now() + LAYER;
    let mut all = Tally::default();
    let mut pixel = 0;
    // Neurons are in the file's order, channel after channel: those of one pixel share conditions.
    while Instant::now() < end && pixel < pixels {
        let conditions = network.conditions(0, 1, pixel);
        let open: Vec<(usize, usize)> = conditions
            .chunks(PART / CHANNELS)
            .flat_map(|conditions| {
                let decisions = (0..CHANNELS).map(|channel| channel * pixels + pixel);
                decisions.flat_map(move |j| conditions.iter().map(move |&i| (i, j)))
            })
            .collect();
        all.join(cover(&seeds, &open)?);
        pixel += 1;
    }
    all.print("whole layer");
    let what = format!(
        "{pixel} of {pixels} pixels: {} of {} pairs ({:.1} %) at {:.0} a second, {} refuted when run again",
        all.confirmed.len(),
        all.asked,
        100.0 * all.confirmed.len() as f64 / all.asked.max(1) as f64,
        all.rate(),
        all.wrong
    );
    Ok(vec![Verdict::new(what, all.wrong == 0)])
}

/// What came of some pairs.
#[derive(Default)]
struct Tally {
    asked: usize,
    confirmed: Vec<(usize, usize)>,
    wrong: usize,
    tests: usize,
    effort: Effort,
    seconds: f64,
}

impl Tally {
    fn join(&mut self, other: Self) {
        self.asked += other.asked;
        self.confirmed.extend(other.confirmed);
        self.wrong += other.wrong;
        self.tests += other.tests;
        self.effort += other.effort;
        self.seconds += other.seconds;
    }

    fn rate(&self) -> f64 {
        self.confirmed.len() as f64 / self.seconds
    }

    fn print(&self, name: &str) {
        println!(
            "{name:28} {:>6} of {:>6} pairs ({} refuted), {:>5} tests, {:>8.0} pairs/s, {:.2} runs, {:.2} \
             gradients and {:.2} programs a pair",
            self.confirmed.len(),
            self.asked,
            self.wrong,
            self.tests,
            self.rate(),
            self.each(self.effort.forward),
            self.each(self.effort.vjp),
            self.each(self.effort.lp)
        );
    }

    fn each(&self, count: usize) -> f64 {
        count as f64 / self.asked.max(1) as f64
    }
}

/// Searches; pairs are run again when the clock has stopped.
fn cover(seeds: &Prepared, open: &[(usize, usize)]) -> Result<Tally, BenchError> {
    let network = &seeds.network;
    let objectives: Vec<Objective> = open.iter().map(|&pair| sign_sign(network, pair)).collect();
    // Parts as a run makes them: those of one decision together, and not too many.
    let parts: Vec<&[Objective]> = objectives.chunks(PART).collect();
    let inputs: Vec<&[f32]> = seeds.seeds.iter().collect();
    let origins: Vec<Origin<'_>> = inputs.iter().map(Origin::seed).collect();
    let goal = Goal {
        network,
        objectives: &parts,
        origins: &origins,
        space: &seeds.space,
        means: &seeds.settings.means,
        margin: Margin::default(),
        rng_seed: 0,
    };
    let mut result = Tally {
        asked: open.len(),
        ..Tally::default()
    };
    let engine = supporting(&goal).map_err(|reason| BenchError::Criterion {
        name: "ssc".into(),
        reason: reason.to_string(),
    })?;
    let start = Instant::now();
    let report = engine.search(&goal, &Budget::default());
    result.seconds = start.elapsed().as_secs_f64();
    result.effort = report.effort;
    for found in &report.found {
        result.tests += found.tests.len().saturating_sub(1);
        let truth = confirm(&goal, &objectives, found);
        for (witness, holds) in found.witnesses.iter().zip(truth) {
            if holds {
                result.confirmed.push(open[witness.objective]);
            } else {
                result.wrong += 1;
            }
        }
    }
    result.confirmed.sort_unstable();
    result.confirmed.dedup();
    Ok(result)
}

/// The requirement that two neurons of the first two hidden layers change their signs.
fn sign_sign(network: &Network, (condition, decision): (usize, usize)) -> Objective {
    let changing = |layer: usize, neuron: usize| Changing {
        layer,
        neuron,
        change: Change::Sign,
    };
    Objective::PairOfChanges(PairRequirement {
        condition: changing(0, condition),
        decision: changing(1, decision),
        kept: Kept::Layer(network.layers()[0].neurons()),
    })
}

/// Whether each witness is one by definition: run again, compared neuron by neuron.
fn confirm(goal: &Goal<'_>, objectives: &[Objective], found: &Found) -> Vec<bool> {
    let points = [Point::Pre(0), Point::Pre(1)];
    let trace = goal
        .network
        .forward(&found.tests.concat(), &Pass::keep(points));
    let root = &found.tests[0];
    let allowed =
        |test: &usize| *test == 0 || goal.space.violation(&found.tests[*test], root).is_none();
    let holds = |objective: &Objective, tests: &[usize]| {
        let (Objective::PairOfChanges(pair), &[first, second]) = (objective, tests) else {
            return false;
        };
        pair.contrasts().all(|(layer, neuron, contrast)| {
            let u = |test: usize| trace.sample(points[layer], test)[neuron];
            contrast.holds(u(first), u(second))
        })
    };
    let witnesses = found.witnesses.iter();
    witnesses
        .map(|w| holds(&objectives[w.objective], &w.tests) && w.tests.iter().all(allowed))
        .collect()
}
