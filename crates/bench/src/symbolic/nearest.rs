//! Neurons of the paper's network from the paper's seed: the default search, the nearest witness, and the
//! paper's own program, beside each other.

use std::time::Instant;

use deepconcolic::{Job, Radius, SeedRequest};
use deepconcolic_criteria::Objective;
use deepconcolic_engines::{Budget, ENGINES, Effort, Goal, Margin, Origin, Reason, Report};
use deepconcolic_language::{Formula, Input, Inputs};
use deepconcolic_network::{Pass, Point};

use crate::contest::print_load;
use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::shelf::Shelf;
use crate::subject::PAPER;
use crate::verdict::Verdict;

/// The paper's seed for L-infinity.
const SEED: usize = 6427;
/// Silent neurons tried of each layer.
const SAMPLE: usize = 10;
/// What a distance may exceed the certified optimum of its cell by.
const CLOSE: f64 = 1e-4;

/// Prints what each engine finds, layer by layer.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== nc from image {SEED} of {PAPER}, radius 0.3: {SAMPLE} silent neurons a layer");
    print_load();
    let prepared = prepare(&Job {
        radius: Radius::Within(0.3),
        ..job(shelf, PAPER, "nc", SeedRequest::Given(vec![SEED]))?
    })?;
    let (network, root) = (&prepared.network, prepared.seeds.input(0));
    let mut worst: f64 = 0.0;
    for layer in 0..network.layers().len() {
        let point = Point::Pre(layer);
        let trace = network.forward(root, &Pass::keep([point]));
        let silent: Vec<usize> = (0..network.elements(point))
            .filter(|&n| trace.get(point)[n] < 0.0)
            .collect();
        let sample: Vec<usize> = silent
            .iter()
            .copied()
            .step_by((silent.len() / SAMPLE).max(1))
            .take(SAMPLE)
            .collect();
        let active = |&neuron: &usize| Objective::Formula {
            formula: Formula::active(Input::First, layer + 2, neuron),
            inputs: Inputs::One,
        };
        let objectives: Vec<Objective> = sample.iter().map(active).collect();
        let origin = Origin {
            root,
            starts: &[root],
        };
        for engine in ENGINES {
            let start = Instant::now();
            let mut seen = Seen::default();
            for objective in &objectives {
                let goal = Goal {
                    network,
                    objectives: &[std::slice::from_ref(objective)],
                    origins: &[origin],
                    space: &prepared.space,
                    means: &prepared.settings.means,
                    margin: Margin::default(),
                    rng_seed: 0,
                };
                if engine.supports(&goal).is_ok() {
                    seen.add(&engine.search(&goal, &Budget::default()));
                }
            }
            let seconds = start.elapsed().as_secs_f64();
            seen.print(layer, engine.name(), sample.len(), seconds);
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
        if let Some((_, witness)) = report.witness() {
            self.distances.push(witness.distance);
            let bound = witness.bound.unwrap_or(witness.distance);
            self.gap = self.gap.max(witness.distance - bound);
        }
        if let Some(Reason::NotFound { infeasible, .. }) = &report.reason {
            self.infeasible += infeasible;
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
