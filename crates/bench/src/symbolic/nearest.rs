//! Neurons of the paper's network from the paper's seed: the default search, the nearest witness, and the
//! paper's own program, beside each other.

use std::time::Instant;

use deepconcolic_engines::{
    Effort, Goal, Margin, Outcome, Reason, Report, nearest, paper_step, search,
};
use deepconcolic_language::{Formula, Input, Inputs};
use deepconcolic_network::{Pass, Point};

use super::seeds::Seeds;
use crate::contest::print_load;
use crate::coverage::PAPER;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// The paper's seed for L-infinity.
const SEED: usize = 6427;
/// Silent neurons tried of each layer.
const SAMPLE: usize = 10;
/// What a distance may exceed the certified optimum of its cell by.
const CLOSE: f64 = 1e-4;

type Engine<'a> = (&'static str, Box<dyn Fn(&Goal<'_>) -> Report + 'a>);

/// Prints what each engine finds, layer by layer.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== nc from image {SEED} of {PAPER}, radius 0.3: {SAMPLE} silent neurons a layer");
    print_load();
    let seeds = Seeds::load(shelf, PAPER, 100)?;
    let (network, root) = (&seeds.subject.network, seeds.image(SEED));
    let space = seeds.space(0.3)?;
    let engines: Vec<Engine<'_>> = vec![
        ("search", Box::new(|goal| search(network, goal))),
        ("nearest", Box::new(|goal| nearest(network, goal))),
        (
            "paper",
            Box::new(|goal| paper_step(network, goal, goal.root)),
        ),
    ];
    let mut worst: f64 = 0.0;
    for layer in 0..network.layers().len() {
        let point = Point::Pre(layer);
        let trace = network.forward(&root, &Pass::keep([point]));
        let silent: Vec<usize> = (0..network.elements(point))
            .filter(|&n| trace.get(point)[n] < 0.0)
            .collect();
        let sample: Vec<usize> = silent
            .iter()
            .copied()
            .step_by((silent.len() / SAMPLE).max(1))
            .take(SAMPLE)
            .collect();
        for (name, engine) in &engines {
            let start = Instant::now();
            let mut seen = Seen::default();
            for &neuron in &sample {
                let formula = Formula::active(Input::First, layer + 2, neuron);
                seen.add(&engine(&Goal {
                    formula: &formula,
                    inputs: Inputs::One,
                    root: &root,
                    starts: &[&root],
                    space: &space,
                    means: &seeds.means,
                    margin: Margin::default(),
                    most: None,
                }));
            }
            seen.print(layer, name, sample.len(), start.elapsed().as_secs_f64());
            worst = worst.max(seen.gap);
        }
    }
    let what = format!(
        "distances in the cell exceed the certified optimum by {worst:.1e} at most (below {CLOSE:.0e})"
    );
    Ok(vec![Verdict::new(what, worst < CLOSE)])
}

/// What came of a sample.
#[derive(Default)]
struct Seen {
    distances: Vec<f64>,
    infeasible: usize,
    gap: f64,
    effort: Effort,
}

impl Seen {
    fn add(&mut self, report: &Report) {
        self.effort += report.effort;
        match &report.outcome {
            Outcome::Witness(witness) => {
                self.distances.push(witness.distance);
                let bound = witness.bound.unwrap_or(witness.distance);
                self.gap = self.gap.max(witness.distance - bound);
            }
            Outcome::GaveUp(Reason::NotFound { infeasible, .. }) => self.infeasible += infeasible,
            Outcome::GaveUp(_) => {}
        }
    }

    fn print(&mut self, layer: usize, engine: &str, tried: usize, seconds: f64) {
        self.distances.sort_by(f64::total_cmp);
        let median = self.distances.get(self.distances.len() / 2);
        let median = median.map_or_else(|| "-".into(), |d| format!("{d:.4}"));
        println!(
            "layer {} {engine:8} {:>3} of {tried} found, {:>3} cells empty, median distance {median:>7}, \
             {:>5} programs, {:>7.1} ms each",
            layer + 2,
            self.distances.len(),
            self.infeasible,
            self.effort.lp,
            1e3 * seconds / tried.max(1) as f64
        );
    }
}
