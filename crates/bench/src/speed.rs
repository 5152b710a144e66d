//! Times against onnxruntime's, and of derivatives against runs.

use std::path::Path;

use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_network::{Network, Pass, Point, Row, Scalar, Trace};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::conformance::answers;
use crate::contest::{Contest, ROUNDS, Side, print_load, side};
use crate::cores;
use crate::deviation::{LIMIT, worst};
use crate::error::BenchError;
use crate::inputs::inputs;
use crate::peak::{Numbers, Product};
use crate::reference::{BatchAxis, NodeShape, Reference};
use crate::rng::Rng;
use crate::shelf::{Shelf, stem};
use crate::verdict::Verdict;

/// Samples run together.
pub const BATCH: usize = 64;
/// The network that targets are set for.
pub const PAPER: &str = "mnist_complicated_logits.onnx";
/// Networks that show whether it is an exception.
const OTHERS: [&str; 5] = [
    "mnist_complicated_nchw_logits.onnx",
    "cifar10_complicated_nchw_logits.onnx",
    "cifar10_resnet8_nchw_logits.onnx",
    "mnist_mlp_100x2_logits.onnx",
    "ACASXU_run2a_1_1_batch_2000.onnx",
];

/// A network with a batch to run.
struct Subject {
    network: Network,
    samples: Vec<f32>,
}

impl Subject {
    fn load(shelf: &Shelf, model: &Path) -> Result<Self, BenchError> {
        let network = load(model, &LoadOptions::default())?.network;
        let samples = inputs(shelf, &network, stem(model), BATCH).values;
        Ok(Self { network, samples })
    }

    fn forward(&self) -> Vec<f32> {
        self.network.logits(&self.samples)
    }

    fn record(&self) -> Trace<f32> {
        let layers = (0..self.network.layers().len()).map(Point::Pre);
        let pass = Pass::keep([]).differentiating(layers);
        self.network.forward(&self.samples, &pass)
    }

    fn pull(&self, trace: &Trace<f32>, rows: &[Row<f32>]) -> Vec<f32> {
        let pull = |tape| self.network.vjp(tape, rows);
        trace.tape().map(pull).unwrap_or_default()
    }
}

/// Prints every ratio.
pub fn run(shelf: &Shelf, reference: &mut Reference) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== speed: {PAPER}, batch {BATCH}");
    let model = match shelf.model(PAPER) {
        Ok(model) => model,
        Err(reason) => {
            println!("skipped: {reason}");
            return Ok(Vec::new());
        }
    };
    println!(
        "{ROUNDS} rounds, both sides in turn in each; ratio: median over rounds, (best): fastest runs of all"
    );
    print_load();
    let subject = Subject::load(shelf, &model)?;
    let one = pool(1)?;
    let verdicts = vec![
        forward(&subject, &model, reference, &one)?,
        threads(&subject, &one)?,
        derivatives(&subject, &one)?,
    ];
    others(shelf, reference, &one)?;
    Ok(verdicts)
}

/// Threads to run on.
pub fn pool(threads: usize) -> Result<ThreadPool, BenchError> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

/// Our side and onnxruntime's, one thread each, after a look at whether they answer alike.
fn opponents<'a>(
    subject: &'a Subject,
    model: &Path,
    reference: &'a mut Reference,
    one: &'a ThreadPool,
) -> Result<[Side<'a>; 2], BenchError> {
    reference.load(model, 1, BatchAxis::Open)?;
    let theirs = reference.hold(&subject.network, &subject.samples)?;
    let error = worst(&answers(&subject.network, &subject.samples), &theirs, BATCH);
    if error > LIMIT {
        println!("FAIL  answers to the timed batch differ by {error:.2e}: the times mean nothing");
    }
    let (runs, ours) = side(one, || subject.forward());
    Ok([ours, Box::new(move || reference.time(runs))])
}

/// The forward pass against onnxruntime's, and both against products alone.
fn forward(
    subject: &Subject,
    model: &Path,
    reference: &mut Reference,
    one: &ThreadPool,
) -> Result<Verdict, BenchError> {
    reference.load(model, 1, BatchAxis::AsFiled)?;
    let nodes = reference.nodes()?;
    let blas = reference.sgemm()?;
    let products = products(&nodes, one);
    let mut sides = Vec::from(opponents(subject, model, reference, one)?);
    for (_, product) in &products {
        let mut numbers = Numbers::default();
        sides.push(side(one, move || product.run(&mut numbers)).1);
    }
    let contest = Contest::hold(sides)?;
    println!(
        "forward, one thread:  ours / onnxruntime = {}",
        contest.compare(0, 1)
    );
    print_peak(&contest, &nodes, &products, blas);
    let ratio = contest.ratio(0, 1);
    let what = format!("forward on one thread: {ratio:.3} times onnxruntime's (at most 1.2)");
    Ok(Verdict::new(what, ratio <= 1.2))
}

/// One product in the first-level cache and those of the convolutions, with the node of each.
fn products<'a>(nodes: &'a [NodeShape], one: &ThreadPool) -> Vec<(Option<&'a NodeShape>, Product)> {
    let flops = BATCH * total_flops(nodes);
    let cached = (None, one.install(Product::in_first_cache));
    let of_node = |node| Some((Some(node), Product::of_convolution(node, 8)?));
    std::iter::once(cached)
        .chain(nodes.iter().filter_map(of_node))
        .map(|(node, product)| (node, product.lasting(flops)))
        .collect()
}

fn total_flops(nodes: &[NodeShape]) -> usize {
    nodes.iter().map(|node| node.flops).sum()
}

/// What share of the core's best product rate everything reaches. A share is a ratio of rates in
/// the same round, as those of times are. The products follow the two opponents in the contest.
fn print_peak(
    contest: &Contest,
    nodes: &[NodeShape],
    products: &[(Option<&NodeShape>, Product)],
    blas: f64,
) {
    let flops = total_flops(nodes);
    let rate = |index: usize| products[index].1.flops as f64 / contest.best(index + 2);
    let fastest = (0..products.len()).max_by(|&a, &b| rate(a).total_cmp(&rate(b)));
    let peak = fastest.unwrap_or(0);
    println!(
        "sgemm peak of the core: {:.1} GFLOP/s, the fastest of our {} kernel's products below (numpy's OpenBLAS: {:.1})",
        rate(peak) / 1e9,
        f32::kernel().name,
        blas / 1e9
    );
    let share = |side: usize, flops: usize| {
        let work = flops as f64 / products[peak].1.flops as f64;
        let (share, best) = (
            contest.ratio(peak + 2, side),
            contest.best_ratio(peak + 2, side),
        );
        format!("{:.3} of the peak (best {:.3})", work * share, work * best)
    };
    println!("a pass, {:.2} MFLOP a sample:", flops as f64 / 1e6);
    println!("  ours:        {}", share(0, flops * BATCH));
    println!("  onnxruntime: {}", share(1, flops * BATCH));
    println!("products alone, with our kernel:");
    let mut convolutions = 0.0;
    for (index, (node, product)) in products.iter().enumerate() {
        let reached = share(index + 2, product.flops);
        let Some(node) = node else {
            println!("  dense, in the first-level cache: {reached}");
            continue;
        };
        let (input, output) = (&node.input[1..], &node.output[1..]);
        let part = node.flops as f64 / flops as f64;
        println!("  convolution {input:?} -> {output:?}, {part:.3} of the FLOP: {reached}");
        let passes = (node.flops * BATCH) as f64 / product.flops as f64;
        convolutions += contest.ratio(index + 2, 0) * passes;
    }
    println!(
        "these convolutions are {convolutions:.3} of our time; the rest is dense layers, Relu, pooling and moving numbers"
    );
}

/// Two threads against one, with a product that shares nothing as what the machine has to give.
fn threads(subject: &Subject, one: &ThreadPool) -> Result<Verdict, BenchError> {
    let two = pool(2)?;
    let forward = || subject.forward();
    let product = one.install(Product::in_first_cache).lasting(1 << 29);
    let mut numbers = [Numbers::default(), Numbers::default()];
    let mut others = numbers.clone();
    let contest = Contest::hold(vec![
        side(one, forward).1,
        side(&two, forward).1,
        side(one, || numbers.iter_mut().for_each(|n| product.run(n))).1,
        side(&two, || others.par_iter_mut().for_each(|n| product.run(n))).1,
    ])?;
    println!(
        "forward, one thread / two threads = {}; two products that share nothing: {}",
        contest.compare(0, 1),
        contest.compare(2, 3)
    );
    let ratio = contest.ratio(0, 1);
    let cores = cores();
    let what = format!(
        "forward on two threads: {ratio:.3} times as fast as on one (at least 1.7; {cores} cores gave two separate products {:.3})",
        contest.ratio(2, 3)
    );
    Ok(Verdict::new(what, ratio >= 1.7))
}

fn derivatives(subject: &Subject, one: &ThreadPool) -> Result<Verdict, BenchError> {
    let rows = mixed_rows(&subject.network);
    let trace = one.install(|| subject.record());
    let contest = Contest::hold(vec![
        side(one, || subject.forward()).1,
        side(one, || subject.pull(&trace, &rows)).1,
        side(one, || subject.record()).1,
        side(one, || subject.pull(&subject.record(), &rows)).1,
    ])?;
    println!("{BATCH} VJPs from mixed layers, one thread:");
    for (index, name) in ["derivatives", "recording run", "both"].iter().enumerate() {
        println!("  {name:13} / forward = {}", contest.compare(index + 1, 0));
    }
    let ratio = contest.ratio(1, 0);
    let what = format!("{BATCH} VJPs from mixed layers: {ratio:.3} times a forward (at most 2.5)");
    Ok(Verdict::new(what, ratio <= 2.5))
}

/// One neuron a sample, over all hidden layers in turn.
fn mixed_rows(network: &Network) -> Vec<Row<f32>> {
    let mut rng = Rng::new(64);
    let layers = network.layers();
    (0..if layers.is_empty() { 0 } else { BATCH })
        .map(|sample| {
            let layer = sample % layers.len();
            let neuron = rng.below(layers[layer].neurons());
            Row::of(sample, Point::Pre(layer), neuron)
        })
        .collect()
}

fn others(shelf: &Shelf, reference: &mut Reference, one: &ThreadPool) -> Result<(), BenchError> {
    println!("\nforward of other networks, batch {BATCH}, one thread: ours / onnxruntime");
    println!(
        "onnxruntime's times include its Python call, a few microseconds of the smallest network's"
    );
    println!(
        "{:40} {:>10} {:>7} {:>7} {:>10}",
        "network", "MFLOP", "ratio", "best", "ours, us"
    );
    for name in OTHERS {
        let model = match shelf.model(name) {
            Ok(model) => model,
            Err(reason) => {
                println!("{name:40} skipped: {reason}");
                continue;
            }
        };
        let subject = match Subject::load(shelf, &model) {
            Ok(subject) => subject,
            Err(error) => {
                println!("{name:40} FAIL  {error}");
                continue;
            }
        };
        let contest = Contest::hold(opponents(&subject, &model, reference, one)?.into())?;
        let flops = total_flops(&reference.nodes()?);
        println!(
            "{name:40} {:>10.3} {:>7.3} {:>7.3} {:>10.0}",
            (flops * BATCH) as f64 / 1e6,
            contest.ratio(0, 1),
            contest.best_ratio(0, 1),
            contest.best(0) * 1e6
        );
    }
    Ok(())
}
