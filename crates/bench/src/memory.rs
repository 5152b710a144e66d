//! What a trace holds against what was asked of it.

use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_network::{Network, Pass, Point, Trace};

use crate::allocator::in_use;
use crate::error::BenchError;
use crate::inputs::inputs;
use crate::reference::{BatchAxis, NodeShape, Reference};
use crate::shelf::{Shelf, stem};
use crate::speed::{BATCH, PAPER, pool};
use crate::verdict::Verdict;

/// What may come on top of what was asked: bits are rounded up to words, and vectors have heads.
const SHARE: f64 = 0.01;
/// The same for traces so small that a head is a share of them.
const BYTES: usize = 256;

/// Measures traces of the paper's network and prints a table.
pub fn run(shelf: &Shelf, reference: &mut Reference) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== memory: bytes a trace holds, {PAPER}, batch {BATCH}");
    let model = match shelf.model(PAPER) {
        Ok(model) => model,
        Err(reason) => {
            println!("skipped: {reason}");
            return Ok(Vec::new());
        }
    };
    let network = load(&model, &LoadOptions::default())?.network;
    let samples = inputs(shelf, &network, stem(&model), BATCH).values;
    reference.load(&model, 1, BatchAxis::AsFiled)?;
    let nodes = reference.nodes()?;
    println!("allocated: growth of the program's memory while only the trace is kept");
    println!(
        "{:24} {:>12} {:>12} {:>12} {:>7}",
        "kept", "asked", "reported", "allocated", "ratio"
    );
    let one = pool(1)?;
    let mut worst = 0.0f64;
    for (name, pass, asked) in cases(&network, &nodes) {
        let (reported, allocated) = one.install(|| held(&network, &samples, &pass));
        let ratio = allocated.max(reported) as f64 / asked as f64;
        let beyond = allocated.max(reported).saturating_sub(asked + BYTES);
        worst = worst.max(beyond as f64 / asked as f64);
        println!("{name:24} {asked:>12} {reported:>12} {allocated:>12} {ratio:>7.4}");
    }
    let what = format!(
        "a trace holds {worst:.4} of what was asked beyond it and {BYTES} bytes (at most {SHARE})"
    );
    Ok(vec![Verdict::new(what, worst <= SHARE)])
}

/// Bytes a trace says it holds, and those the program has more while it lives: the median of a few
/// runs, since a thread pool takes and frees memory of its own at times.
fn held(network: &Network, samples: &[f32], pass: &Pass) -> (usize, usize) {
    let mut runs = [(0, 0); 9];
    for run in &mut runs {
        let before = in_use();
        let trace: Trace<f32> = network.forward(samples, pass);
        *run = (trace.bytes(), in_use().saturating_sub(before));
    }
    runs.sort_unstable();
    runs[runs.len() / 2]
}

/// Names, passes, and the bytes that they ask for.
fn cases(network: &Network, nodes: &[NodeShape]) -> Vec<(&'static str, Pass, usize)> {
    let layers: Vec<Point> = (0..network.layers().len()).map(Point::Pre).collect();
    let tensors = |points: &[Point]| -> usize {
        let elements: usize = points.iter().map(|&point| network.elements(point)).sum();
        elements * size_of::<f32>() * BATCH
    };
    let one = [Point::Pre(1.min(layers.len().saturating_sub(1)))];
    vec![
        (
            "logits",
            Pass::keep([Point::Logits]),
            tensors(&[Point::Logits]),
        ),
        ("one layer", Pass::keep(one), tensors(&one)),
        ("all layers", Pass::keep(layers.clone()), tensors(&layers)),
        (
            "tape of the logits",
            Pass::keep([]).differentiating([Point::Logits]),
            tape(nodes),
        ),
    ]
}

/// A bit for each Relu neuron and an index of four bytes for each pooled output.
fn tape(nodes: &[NodeShape]) -> usize {
    let elements = |operator: &str| -> usize {
        let found = nodes.iter().filter(|node| node.operator == operator);
        found
            .map(|node| node.output.iter().product::<usize>())
            .sum()
    };
    BATCH * (elements("Relu").div_ceil(8) + elements("MaxPool") * size_of::<u32>())
}
