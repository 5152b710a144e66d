//! Networks of the size that people deploy, made by `python/large_networks.py`: answers, times, loading and memory
//! beside onnxruntime's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use deepconcolic_dataset::write::write_npy;
use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_network::Network;
use rayon::ThreadPool;

use crate::allocator::{in_use, peak};
use crate::contest::{Contest, print_load, time};
use crate::deviation::{LIMIT, worst};
use crate::error::BenchError;
use crate::reference::{BatchAxis, Reference};
use crate::rng::Rng;
use crate::speed::pool;
use crate::venv;
use crate::verdict::Verdict;

const SCRIPT: &str = include_str!("../python/large_networks.py");
/// The networks, with the largest ratio of times that is asked for.
const NETWORKS: [(&str, f64); 6] = [
    ("mobilenet_v2", 1.5),
    ("resnet18", 1.2),
    ("resnet50", 1.2),
    ("mlp_12x2048", 1.2),
    ("unet", 1.2),
    ("vgg16", 1.2),
];
/// Samples run together.
const BATCHES: [usize; 2] = [1, 16];
/// Rounds of a contest: a pass takes a good part of a second.
const ROUNDS: usize = 7;
/// What loading may take, beside onnxruntime, in time and in memory.
const LOADING: f64 = 2.0;
const MEMORY: f64 = 1.5;

/// Prints a table of ratios for the networks whose names contain a text.
pub fn run(named: &str) -> Result<Vec<Verdict>, BenchError> {
    let python = venv::python()?;
    println!("\n== large networks, one thread, ours / onnxruntime's; median of {ROUNDS} rounds");
    println!(
        "memory: what is allocated after loading and one pass, beside the growth of onnxruntime's process; \
         peak: most that was allocated while loading, beside the size of the file"
    );
    print_load();
    println!(
        "{:14} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "network", "batch 1", "batch 16", "loading", "memory", "peak", "answers"
    );
    let one = pool(1)?;
    let mut verdicts = Vec::new();
    for (name, wanted) in NETWORKS {
        if !name.contains(named) {
            continue;
        }
        let model = made(name)?;
        let row = Row::of(&model, &python, &one)?;
        println!(
            "{name:14} {:9.3} {:9.3} {:9.3} {:9.3} {:9.3} {:9.1e}",
            row.passes[0], row.passes[1], row.loading, row.memory, row.peak, row.error
        );
        let slowest = row.passes[0].max(row.passes[1]);
        verdicts.extend([
            Verdict::new(
                format!("{name}: forward {slowest:.2} times onnxruntime's (at most {wanted})"),
                slowest <= wanted,
            ),
            Verdict::new(
                format!(
                    "{name}: answers differ by {:.1e} (at most {LIMIT})",
                    row.error
                ),
                row.error <= LIMIT,
            ),
            Verdict::new(
                format!(
                    "{name}: loading {:.2} times onnxruntime's (at most {LOADING})",
                    row.loading
                ),
                row.loading <= LOADING,
            ),
            Verdict::new(
                format!(
                    "{name}: memory {:.2} times onnxruntime's (at most {MEMORY})",
                    row.memory
                ),
                row.memory <= MEMORY,
            ),
        ]);
    }
    Ok(verdicts)
}

/// The file of one of the networks, made if it is not there.
pub fn made(name: &str) -> Result<PathBuf, BenchError> {
    let folder = venv::target()?.join("large-networks");
    venv::run(
        Command::new(venv::python()?)
            .args(["-c", SCRIPT])
            .arg(&folder)
            .arg(name),
    )?;
    Ok(folder.join(format!("{name}.onnx")))
}

/// Writes so many images of noise for a network.
pub fn write_noise(model: &Path, data: &Path, images: usize) -> Result<(), BenchError> {
    let network = load(model, &LoadOptions::default())?.network;
    let mut shape = vec![images];
    shape.extend(network.input_shape().without_batch());
    let mut rng = Rng::new(200);
    let numbers = images * network.input_elements();
    let noise: Vec<f32> = (0..numbers).map(|_| rng.uniform(0.0, 1.0)).collect();
    write_npy(data, &shape, &noise)?;
    Ok(())
}

/// Ratios of one network.
struct Row {
    passes: [f64; 2],
    loading: f64,
    memory: f64,
    peak: f64,
    error: f64,
}

impl Row {
    /// In a process of onnxruntime's that has loaded nothing before.
    fn of(model: &Path, python: &Path, one: &ThreadPool) -> Result<Self, BenchError> {
        let mut reference = Reference::start(python)?;
        let empty = reference.memory()?;
        let theirs = reference.load_timed(model, 1)?;
        let before = in_use();
        let started = Instant::now();
        let (network, peak) = peak(|| one.install(|| load(model, &LoadOptions::default())));
        let ours = started.elapsed().as_secs_f64();
        let network = network?.network;
        let size = std::fs::metadata(model)?.len() as f64;
        let mut row = Self {
            passes: [0.0; 2],
            loading: ours / theirs,
            memory: 0.0,
            peak: peak.saturating_sub(before) as f64 / size,
            error: 0.0,
        };
        for (at, batch) in BATCHES.into_iter().enumerate() {
            let samples = samples(&network, batch);
            if at == 0 {
                reference.hold(&network, &samples)?;
                let held = reference.memory()?.saturating_sub(empty);
                drop(one.install(|| network.logits(&samples)));
                row.memory = (in_use() - before) as f64 / held.max(1) as f64;
                reference.load(model, 1, BatchAxis::AsFiled)?;
            }
            let theirs = reference.hold(&network, &samples)?;
            let answers = one.install(|| network.logits(&samples));
            row.error = row.error.max(worst(&answers, &theirs, batch));
            let sides: Vec<crate::contest::Side<'_>> = vec![
                Box::new(|| Ok(time(one, 1, || network.logits(&samples)))),
                Box::new(|| reference.time(1)),
            ];
            row.passes[at] = Contest::hold_for(ROUNDS, sides)?.ratio(0, 1);
        }
        Ok(row)
    }
}

/// Images of noise.
fn samples(network: &Network, count: usize) -> Vec<f32> {
    let mut rng = Rng::new(7);
    (0..count * network.input_elements())
        .map(|_| rng.uniform(0.0, 1.0))
        .collect()
}
