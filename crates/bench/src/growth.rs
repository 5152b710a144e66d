//! What work costs as it grows: time and peak memory for ten times as much of one thing, everything else the
//! same, and the slope: 1 is in proportion, 0 costs nothing more. Steeper than n log n fails.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use deepconcolic::{Cancel, CriterionSettings, Job, Radius, SeedRequest, Session};
use deepconcolic_campaign::oracle::nearest;
use deepconcolic_campaign::{Inputs, measure};
use deepconcolic_criteria::{Decision, Family, Group, Parameters, Selection, Setting};
use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_network::ops::{Conv, Dense, Elementwise, Relu, Window};
use deepconcolic_network::{Layer, Network, NetworkBuilder, Shape};

use crate::allocator::{in_use, peak};
use crate::cores;
use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::large;
use crate::rng::Rng;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::verdict::Verdict;

/// The network of whole runs.
const MODEL: &str = "mnist_mlp_100x2_logits.onnx";
/// A slope may be this much above what it should be: caches end somewhere, and the machine has other work.
const LEEWAY: f64 = 0.15;
/// What takes longer than this is timed once.
const QUICK: f64 = 1.0;
/// Times shorter than this are mostly what every call costs.
const SHORT: f64 = 2e-3;

/// Neurons that `convolutions_W` has for each position of its images.
const NEURONS_OF_AREA: usize = 32;
/// Images beside which tests of whole runs are judged.
const IMAGES: usize = 10;
/// Bytes that runs on the largest networks may hold.
const MEMORY: usize = 6_000_000_000;

/// So much of something, and what it cost.
struct Step {
    amount: usize,
    seconds: f64,
    bytes: usize,
}

/// Times something, the fastest of three if it is quick, and says how much memory it took beyond what there was.
fn step<R>(amount: usize, run: impl Fn() -> Result<R, BenchError>) -> Result<Step, BenchError> {
    let before = in_use();
    let (mut seconds, mut bytes) = (f64::INFINITY, 0);
    for _ in 0..3 {
        let start = Instant::now();
        let (result, peak) = peak(&run);
        seconds = seconds.min(start.elapsed().as_secs_f64());
        bytes = bytes.max(peak.saturating_sub(before));
        black_box(result?);
        if seconds > QUICK {
            break;
        }
    }
    Ok(Step {
        amount,
        seconds,
        bytes,
    })
}

/// How many times ten times as much multiplies a cost by ten, between two steps.
fn slope(cost: impl Fn(&Step) -> f64, a: &Step, b: &Step) -> f64 {
    let growth = b.amount as f64 / a.amount as f64;
    (cost(b) / cost(a).max(f64::MIN_POSITIVE)).ln() / growth.ln()
}

/// The slope of the line through all steps, by least squares of the logarithms.
fn fitted(cost: impl Fn(&Step) -> f64, steps: &[Step]) -> f64 {
    let points: Vec<(f64, f64)> = steps
        .iter()
        .map(|step| {
            (
                (step.amount as f64).ln(),
                cost(step).max(f64::MIN_POSITIVE).ln(),
            )
        })
        .collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let products: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let squares: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    products / squares
}

/// The slope of n log n from one amount to another.
fn n_log_n(a: &Step, b: &Step) -> f64 {
    let cost = |step: &Step| step.amount as f64 * (step.amount as f64).max(2.0).ln();
    slope(cost, a, b)
}

/// Prints steps with their slopes, and judges the last two, where what every call costs counts least, and the line
/// through all steps: neither may be steeper than n log n.
fn judge(what: &str, steps: &[Step]) -> Vec<Verdict> {
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
    let [first, .., a, b] = steps else {
        return Vec::new();
    };
    let seconds = |s: &Step| s.seconds.max(SHORT);
    let bytes = |s: &Step| s.bytes as f64;
    let ends = [slope(seconds, a, b), slope(bytes, a, b)];
    let fits = [fitted(seconds, steps), fitted(bytes, steps)];
    let (last, all) = (n_log_n(a, b) + LEEWAY, n_log_n(first, b) + LEEWAY);
    let words = format!(
        "{what}: from {} to {}, slope of time {:.2}, of memory {:.2} (at most {last:.2}); fitted from {} on, {:.2} and {:.2} \
         (at most {all:.2})",
        a.amount, b.amount, ends[0], ends[1], first.amount, fits[0], fits[1]
    );
    let met = ends.iter().all(|&s| s <= last) && fits.iter().all(|&s| s <= all);
    vec![Verdict::new(words, met)]
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
    Ok(judge(what, &steps))
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
    Ok(judge(what, &steps))
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
    Ok(judge(what, &steps))
}

/// Whole runs on larger and larger networks, up to the size of VGG-16: reading the file, searching, controls, the audit,
/// judging and what is written of it.
fn networks() -> Result<Vec<Verdict>, BenchError> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("images.npy");
    let mut steps = Vec::new();
    for width in [6, 18, 56, 177, 640] {
        let model = large::made(&format!("convolutions_{width}"))?;
        large::write_noise(&model, &data, IMAGES)?;
        let job = Job {
            seeds: SeedRequest::First(1),
            radius: Radius::Within(0.1),
            proofs: false,
            budget: None,
            ..Job::new(&model, &data, "nc")
        };
        steps.push(step(NEURONS_OF_AREA * width * width, || play(&job, 60))?);
    }
    let what = "networks (and operations): a whole run for nc with 60 further passes";
    let mut verdicts = judge(what, &steps);
    let bytes = steps.iter().map(|step| step.bytes).max().unwrap_or(0);
    verdicts.push(Verdict::new(
        format!(
            "networks: {:.2} GB at most (below {:.0})",
            bytes as f64 / 1e9,
            MEMORY as f64 / 1e9
        ),
        bytes < MEMORY,
    ));
    Ok(verdicts)
}

/// A whole run with so many passes beyond those that it cannot do without.
fn play(job: &Job, passes: usize) -> Result<(), BenchError> {
    let prepared = prepare(job)?;
    let least = prepared.runs + prepared.seeds.len();
    let job = Job {
        max_executions: Some(least + passes),
        ..job.clone()
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
        steps.push(step(count, || play(&job, 2000))?);
    }
    let what = "seeds: nbc with 2,000 further passes";
    Ok(judge(what, &steps))
}

fn data() -> Result<Vec<Verdict>, BenchError> {
    let network = convolutional(18).map_err(BenchError::Growth)?;
    cover(&network, "nc", 1)?;
    let mut steps = Vec::new();
    for count in [100, 1000, 10_000] {
        steps.push(step(count, || cover(&network, "nc", count))?);
    }
    let what = "data: nc of two convolutions over so many inputs";
    Ok(judge(what, &steps))
}

fn passes(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let mut steps = Vec::new();
    for count in [1000, 10_000, 100_000] {
        let job = Job {
            parameters: CriterionSettings {
                sections: 1000,
                ..CriterionSettings::default()
            },
            ..job(shelf, MODEL, "kmnc", SeedRequest::First(20))?
        };
        steps.push(step(count, || play(&job, count))?);
    }
    let what = "passes, and tests with them: kmnc of 1,000 sections from 20 seeds";
    Ok(judge(what, &steps))
}

/// The time of the same work on more and more threads. No target: what else the machine does decides it.
fn threads() -> Result<(), BenchError> {
    let network = convolutional(56).map_err(BenchError::Growth)?;
    println!("\nthreads: nc over 256 inputs of two convolutions, the fastest of three");
    println!(
        "{:>12} {:>12} {:>12}",
        "threads", "seconds", "times as fast"
    );
    let mut alone = None;
    let mut count = 1;
    while count <= cores() {
        let pool = pool(count)?;
        let best = pool
            .install(|| step(count, || cover(&network, "nc", 256)))?
            .seconds;
        let one = *alone.get_or_insert(best);
        println!("{count:>12} {best:>12.4} {:>12.2}", one / best);
        count *= 2;
    }
    Ok(())
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
        steps.push(step(count, || play(&job, 5000))?);
    }
    let what = "sections: kmnc with 5,000 passes from 20 seeds";
    Ok(judge(what, &steps))
}

/// Prints every table.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "== growth: the fastest of three, or one run where it is long; slopes say more than times"
    );
    crate::contest::print_load();
    let mut verdicts = neurons()?;
    verdicts.extend(pairs()?);
    verdicts.extend(references()?);
    verdicts.extend(data()?);
    threads()?;
    verdicts.extend(networks()?);
    if let Err(reason) = shelf.model(MODEL) {
        println!("skipped seeds, sections and passes: {reason}");
        return Ok(verdicts);
    }
    verdicts.extend(seeds(shelf)?);
    verdicts.extend(sections(shelf)?);
    verdicts.extend(passes(shelf)?);
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(cost: impl Fn(f64) -> f64) -> Vec<Step> {
        let amounts = [1000, 10_000, 100_000, 1_000_000];
        let step = |amount: usize| Step {
            amount,
            seconds: cost(amount as f64),
            bytes: amount,
        };
        amounts.map(step).into()
    }

    #[test]
    fn the_fitted_slope_is_the_power() {
        for power in [0.5, 1.0, 2.0] {
            let steps = steps(|n| 3.0 * n.powf(power));
            assert!((fitted(|s| s.seconds, &steps) - power).abs() < 1e-9);
        }
    }

    #[test]
    fn n_log_n_passes_and_its_square_does_not() {
        let met = |steps: &[Step]| crate::verdict::summarise(&judge("test", steps));
        assert!(met(&steps(|n| n * n.ln())));
        assert!(!met(&steps(|n| 1e-3 * n.powf(1.5))));
    }
}
