//! Several criteria measured in one pass over inputs.

use deepconcolic_criteria::{Decision, Family, Profile, Tally};
use deepconcolic_geometry::Together;
use deepconcolic_network::{BitSet, Network, Pass, Point, Trace};

use crate::Inputs;
use crate::answers::Answers;
use crate::batches::each_batch;
use crate::limits::Limits;

/// What inputs cover.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// For each family, the slots covered, group by group.
    pub covered: Vec<Vec<BitSet>>,
    /// What the network says of the inputs.
    pub answers: Answers,
    /// How many inputs were run: the first ones.
    pub inputs: usize,
}

/// Runs all inputs once and measures every family on the traces. Inputs without an answer cover nothing;
/// requirements on two inputs are met by any two.
pub fn measure(
    network: &Network,
    inputs: &dyn Inputs,
    families: &[&dyn Family],
    decision: &Decision,
) -> Measurement {
    let limits = Limits::default();
    measure_within(
        network,
        inputs,
        families,
        decision,
        &Together::any(),
        &limits,
    )
}

/// The same of the first inputs that there is time for. Two of so many count together only where they may.
pub fn measure_within(
    network: &Network,
    inputs: &dyn Inputs,
    families: &[&dyn Family],
    decision: &Decision,
    together: &Together,
    limits: &Limits<'_>,
) -> Measurement {
    let mut points = Vec::new();
    for point in families.iter().flat_map(|family| family.points()) {
        if !points.contains(&point) {
            points.push(point);
        }
    }
    let mut tallies: Vec<_> = families.iter().map(|family| family.tally()).collect();
    let mut answers = Answers::new(decision);
    let mut run: Vec<usize> = Vec::new();
    let ran = each_batch(
        network,
        inputs,
        inputs.len(),
        &points,
        limits,
        |numbers, trace| {
            for (sample, &number) in numbers.iter().enumerate() {
                let logits = trace.sample(Point::Logits, sample);
                answers.observe(number, logits, inputs.truth(number).as_ref());
            }
            observe_together(&mut tallies, trace);
            run.extend(numbers);
        },
    );
    answers.counts.not_finite = ran.not_finite;
    for tally in &mut tallies {
        let rerun = |tests: &[usize], points: &[Point]| {
            let numbers: Vec<usize> = tests.iter().map(|&test| run[test]).collect();
            let mut x = vec![0.0; tests.len() * network.input_elements()];
            inputs.gather(&numbers, &mut x);
            network.forward(&x, &Pass::keep(points.iter().copied()))
        };
        tally.finish(&rerun, together);
    }
    Measurement {
        covered: tallies
            .iter()
            .map(|tally| tally.covered().to_vec())
            .collect(),
        answers,
        inputs: ran.count,
    }
}

/// Bytes of values, of all samples together, that every tally looks at before any goes on: they stay in the cache of a core
/// beside what tallies hold of these neurons.
const STRETCH: usize = 1 << 18;
/// Neurons of a stretch are a multiple of this, so that tallies need not share words.
const LEAST_STRETCH: usize = 1024;

/// Shows a trace to all tallies, stretch by stretch of a layer: a layer of a large network is read from memory once and not
/// by every family anew.
fn observe_together(tallies: &mut [Box<dyn Tally + '_>], trace: &Trace<f32>) {
    let parts = tallies.iter().map(|tally| tally.parts()).max();
    let values = STRETCH / size_of::<f32>() * rayon::current_num_threads();
    let stretch = (values / trace.samples().max(1)).next_multiple_of(LEAST_STRETCH);
    for part in 0..parts.unwrap_or(0) {
        let (mut whole, mut by_neurons) = (Vec::new(), Vec::new());
        for tally in tallies.iter_mut().filter(|tally| part < tally.parts()) {
            match tally.neurons(part) {
                Some(neurons) => by_neurons.push((neurons, tally)),
                None => whole.push(tally),
            }
        }
        for tally in whole {
            tally.observe_part(trace, part);
        }
        let most = by_neurons.iter().map(|(neurons, _)| *neurons).max();
        for first in (0..most.unwrap_or(0)).step_by(stretch) {
            for (neurons, tally) in &mut by_neurons {
                if first < *neurons {
                    let end = (*neurons).min(first + stretch);
                    tally.observe_neurons(trace, part, first..end);
                }
            }
        }
    }
}

/// The profile of the first so many inputs, or of as many as there is time for, and of how many it is.
pub fn profile(
    network: &Network,
    inputs: &dyn Inputs,
    count: usize,
    limits: &Limits<'_>,
) -> (Profile, usize) {
    let mut profile = Profile::new(network);
    let points: Vec<Point> = Profile::points(network).collect();
    let ran = each_batch(network, inputs, count, &points, limits, |_, trace| {
        profile.observe(trace);
    });
    (profile, ran.count)
}
