//! What work costs as it grows: time and peak memory for ten times as much of one thing, everything else the
//! same, and the slope between: 1 is in proportion, 0 costs nothing more.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use deepconcolic::{Cancel, CriterionSettings, Job, SeedRequest, Session};
use deepconcolic_campaign::oracle::nearest;
use deepconcolic_campaign::{Inputs, measure};
use deepconcolic_criteria::{Decision, Family, Group, Parameters, Selection, Setting};
use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_network::ops::{Conv, Dense, Elementwise, Relu, Window};
use deepconcolic_network::{Layer, Network, NetworkBuilder, Shape};

use crate::allocator::{in_use, peak};
use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::rng::Rng;
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// The network of whole runs.
const MODEL: &str = "mnist_mlp_100x2_logits.onnx";
/// A slope may be this much above what it should be: caches end somewhere, and the machine has other work.
const LEEWAY: f64 = 0.15;
/// Times shorter than this are mostly what every call costs.
const SHORT: f64 = 2e-3;

/// So much of something, and what it cost.
struct Step {
    amount: usize,
    seconds: f64,
    bytes: usize,
}

/// Times something, and says how much memory it took beyond what there was.
fn step<R>(amount: usize, run: impl FnOnce() -> Result<R, BenchError>) -> Result<Step, BenchError> {
    let before = in_use();
    let start = Instant::now();
    let (result, peak) = peak(run);
    let seconds = start.elapsed().as_secs_f64();
    black_box(result?);
    Ok(Step {
        amount,
        seconds,
        bytes: peak.saturating_sub(before),
    })
}

/// How many times ten times as much multiplies a cost by ten, between two steps.
fn slope(cost: impl Fn(&Step) -> f64, a: &Step, b: &Step) -> f64 {
    let growth = b.amount as f64 / a.amount as f64;
    (cost(b) / cost(a).max(f64::MIN_POSITIVE)).ln() / growth.ln()
}

/// Prints steps with their slopes, and judges that between the last two, where what every call costs counts
/// least.
fn judge(what: &str, steps: &[Step], most: f64) -> Vec<Verdict> {
    println!("\n{what}");
    println!(
        "{:>12} {:>12} {:>10} {:>12} {:>10}",
        "amount", "seconds", "slope", "peak MB", "slope"
    );
    for (at, step) in steps.iter().enumerate() {
        let slopes = at.checked_sub(1).map(|before| {
            let before = &steps[before];
            let seconds = slope(|s| s.seconds, before, step);
            (seconds, slope(|s| s.bytes as f64, before, step))
        });
        let word = |slope: Option<f64>| slope.map_or("-".to_owned(), |s| format!("{s:.2}"));
        println!(
            "{:>12} {:>12.4} {:>10} {:>12.1} {:>10}",
            step.amount,
            step.seconds,
            word(slopes.map(|s| s.0)),
            step.bytes as f64 / 1e6,
            word(slopes.map(|s| s.1))
        );
    }
    let [.., a, b] = steps else {
        return Vec::new();
    };
    let (time, memory) = (
        slope(|s| s.seconds.max(SHORT), a, b),
        slope(|s| s.bytes as f64, a, b),
    );
    let limit = most + LEEWAY;
    let words = format!(
        "{what}: from {} to {}, slope of time {time:.2}, of memory {memory:.2} (at most {limit:.2})",
        a.amount, b.amount
    );
    vec![Verdict::new(words, time <= limit && memory <= limit)]
}

/// Inputs drawn once.
struct Drawn {
    values: Vec<f32>,
    each: usize,
}

impl Drawn {
    fn new(count: usize, each: usize) -> Self {
        let mut random = Rng::new(7);
        let values = (0..count * each).map(|_| random.uniform(0.0, 1.0));
        Self {
            values: values.collect(),
            each,
        }
    }
}

impl Inputs for Drawn {
    fn len(&self) -> usize {
        self.values.len() / self.each
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        for (&index, into) in indices.iter().zip(into.chunks_exact_mut(self.each)) {
            into.copy_from_slice(&self.values[index * self.each..][..self.each]);
        }
    }
}

fn weights(count: usize, inputs: usize) -> Vec<f64> {
    let mut random = Rng::new(count as u64);
    let scale = (2.0 / inputs as f32).sqrt();
    let weights = (0..count).map(|_| random.uniform(-scale, scale).into());
    weights.collect()
}

/// Two convolutions over an image of this width: neurons grow with its square, and so do operations.
fn convolutional(width: usize) -> Result<Network, String> {
    const CHANNELS: usize = 16;
    let shape = Shape::new([1, width, width, 3])?;
    let (mut builder, mut x) = NetworkBuilder::new("x", shape);
    let mut channels = 3;
    for name in ["first", "second"] {
        let mut window = Window::new([3, 3]);
        (window.before, window.after) = ([1; 2], [1; 2]);
        let inputs = 9 * channels;
        let conv = Conv::new(
            window,
            1,
            [width, width, channels],
            CHANNELS,
            weights(inputs * CHANNELS, inputs),
            vec![0.0; CHANNELS],
        )?;
        x = builder.add(conv, &[x], name)?;
        x = builder.add(Elementwise::new(Relu), &[x], &format!("{name}/relu"))?;
        channels = CHANNELS;
    }
    builder.finish(&[("y", x)], 0)
}

/// Two dense layers of this width: so many neurons squared are its pairs.
fn dense(width: usize) -> Result<Network, String> {
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, 16])?);
    let mut inputs = 16;
    for (name, outputs) in [("first", width), ("second", width), ("last", 10)] {
        let layer = Dense::new(
            inputs,
            outputs,
            weights(inputs * outputs, inputs),
            vec![0.0; outputs],
        )?;
        x = builder.add(layer, &[x], name)?;
        if name != "last" {
            x = builder.add(Elementwise::new(Relu), &[x], &format!("{name}/relu"))?;
        }
        inputs = outputs;
    }
    builder.finish(&[("y", x)], 0)
}

/// A family of requirements of a network, with default parameters.
fn family(network: &Network, name: &str) -> Result<Box<dyn Family>, BenchError> {
    let (parameters, space) = (Parameters::default(), InputSpace::default());
    let setting = Setting {
        network,
        selection: &Selection::everything(network),
        parameters: &parameters,
        decision: &Decision::shown(network),
        seeds: &[],
        space: &space,
        profile: None,
    };
    crate::subject::family(name, &setting)
}

/// Measures a criterion over so many drawn inputs.
fn cover(network: &Network, name: &str, inputs: usize) -> Result<(), BenchError> {
    let family = family(network, name)?;
    let drawn = Drawn::new(inputs, network.input_elements());
    let decision = Decision::shown(network);
    black_box(measure(network, &drawn, &[family.as_ref()], &decision));
    Ok(())
}

fn neurons() -> Result<Vec<Verdict>, BenchError> {
    let mut steps = Vec::new();
    for width in [6, 18, 56, 177] {
        let network = convolutional(width).map_err(BenchError::Growth)?;
        let neurons = network.layers().iter().map(Layer::neurons).sum();
        cover(&network, "nc", 1)?;
        steps.push(step(neurons, || cover(&network, "nc", 16))?);
    }
    let what = "neurons (and operations): nc over 16 inputs of two convolutions";
    Ok(judge(what, &steps, 1.0))
}

fn pairs() -> Result<Vec<Verdict>, BenchError> {
    let mut steps = Vec::new();
    for width in [32, 100, 316, 1000] {
        let network = dense(width).map_err(BenchError::Growth)?;
        let pairs = family(&network, "ssc")?;
        let pairs = pairs.groups().iter().map(Group::total).sum();
        steps.push(step(pairs, || cover(&network, "ssc", 200))?);
    }
    let what = "pairs: ssc over 200 inputs of two dense layers";
    Ok(judge(what, &steps, 1.0))
}

fn references() -> Result<Vec<Verdict>, BenchError> {
    const TESTS: usize = 100;
    const EACH: usize = 784;
    let tests = Drawn::new(TESTS, EACH).values;
    let space = InputSpace::default();
    let mut steps = Vec::new();
    for count in [100, 1000, 10_000] {
        let references = Drawn::new(count, EACH);
        let hints = [None; TESTS];
        steps.push(step(count, || {
            Ok(nearest(&references, &tests, Norm::LINF, &space, &hints))
        })?);
    }
    let what = "references: the nearest of 100 tests with 784 elements";
    Ok(judge(what, &steps, 1.0))
}

/// A whole run with so many passes beyond those that it cannot do without.
fn play(job: Job, passes: usize) -> Result<(), BenchError> {
    let prepared = prepare(&job)?;
    let least = prepared.runs + prepared.seeds.len();
    let job = Job {
        max_executions: Some(least + passes),
        ..job
    };
    let cancel = Cancel::default();
    let mut session = Session::of(job, Arc::new(prepared), &cancel, &mut |_| {})?;
    session.run(&mut |_| {})?;
    session.save()?;
    Ok(())
}

fn seeds(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let mut steps = Vec::new();
    for count in [1, 10, 100, 1000] {
        let job = job(shelf, MODEL, "nbc", SeedRequest::First(count))?;
        steps.push(step(count, || play(job, 2000))?);
    }
    let what = "seeds: nbc with 2,000 further passes";
    Ok(judge(what, &steps, 1.0))
}

fn sections(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let mut steps = Vec::new();
    for count in [10, 100, 1000] {
        let job = Job {
            parameters: CriterionSettings {
                sections: count,
                ..CriterionSettings::default()
            },
            ..job(shelf, MODEL, "kmnc", SeedRequest::First(20))?
        };
        steps.push(step(count, || play(job, 5000))?);
    }
    let what = "sections: kmnc with 5,000 passes from 20 seeds";
    Ok(judge(what, &steps, 1.0))
}

/// Prints every table.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("== growth: one run each, so that times say less than slopes");
    crate::contest::print_load();
    let mut verdicts = neurons()?;
    verdicts.extend(pairs()?);
    verdicts.extend(references()?);
    if let Err(reason) = shelf.model(MODEL) {
        println!("skipped seeds and sections: {reason}");
        return Ok(verdicts);
    }
    verdicts.extend(seeds(shelf)?);
    verdicts.extend(sections(shelf)?);
    Ok(verdicts)
}
