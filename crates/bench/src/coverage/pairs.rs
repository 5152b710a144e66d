//! How much room the pairs of the paper's network take.

use deepconcolic_criteria::{Decision, Family, Group, Parameters, Selection, Setting};
use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_geometry::InputSpace;
use deepconcolic_network::{Layer, Network};

use crate::allocator::in_use;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::subject::{PAPER, family};
use crate::verdict::Verdict;

/// Connected pairs of neurons of layers that follow each other, counted by hand from the shapes: a
/// decision's conditions are all neurons under its kernel, where there is pooling all under every
/// pooling window below it (counting pooled cells instead would give 9,755,712).
const PAIRS: usize = 18_432 * 288 + 6_400 * 1_152 + 4_096 * 576 + 200 * 4_096 + 200 * 200;

/// Prints pairs and bytes by layer.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== pairs of ssc: {PAPER}");
    let model = shelf.model(PAPER).map_err(BenchError::NoModel)?;
    let network = load(&model, &LoadOptions::default())?.network;
    println!(
        "family: growth of the program's memory while it is kept; measured: with an empty suite's"
    );
    println!(
        "{:46} {:>8} {:>12} {:>12} {:>12} {:>10}",
        "decisions of", "neurons", "pairs", "family", "measured", "bits/pair"
    );
    for layer in network.layers() {
        let selection = Selection::parse(&network, &[layer.name()], &[]);
        let Ok(held) = selection.map(|selection| held(&network, &selection)) else {
            continue;
        };
        match held {
            Ok(held) => held.print(layer.name(), layer.neurons()),
            Err(_) => println!("{:46} {:>8} {:>12}", layer.name(), layer.neurons(), "none"),
        }
    }
    let neurons = network.layers().iter().map(Layer::neurons).sum();
    let all = held(&network, &Selection::everything(&network))?;
    all.print("all", neurons);
    let what = format!(
        "ssc of {PAPER}: {} pairs in {:.2} MB (expected {PAIRS})",
        all.pairs,
        all.measured as f64 / 1e6
    );
    Ok(vec![Verdict::new(what, all.pairs == PAIRS)])
}

/// What a family holds.
struct Held {
    pairs: usize,
    /// Bytes of the family.
    family: usize,
    /// Bytes of the family and the measurement of an empty suite.
    measured: usize,
}

impl Held {
    fn print(&self, name: &str, neurons: usize) {
        let (pairs, family, measured) = (self.pairs, self.family, self.measured);
        let bits = 8.0 * measured as f64 / pairs as f64;
        println!("{name:46} {neurons:>8} {pairs:>12} {family:>12} {measured:>12} {bits:>10.2}");
    }
}

fn held(network: &Network, selection: &Selection) -> Result<Held, BenchError> {
    let (parameters, space) = (Parameters::default(), InputSpace::default());
    let setting = Setting {
        network,
        selection,
        parameters: &parameters,
        decision: &Decision::shown(network),
        seeds: &[],
        space: &space,
        profile: None,
    };
    let before = in_use();
    let family: Box<dyn Family> = family("ssc", &setting)?;
    let kept = in_use();
    let tally = family.tally();
    let measured = in_use();
    drop(tally);
    Ok(Held {
        pairs: family.groups().iter().map(Group::total).sum(),
        family: kept.saturating_sub(before),
        measured: measured.saturating_sub(before),
    })
}
