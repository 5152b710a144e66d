//! Several criteria measured in one pass over inputs.

use deepconcolic_network::{Network, Pass, Point, Trace, label};
use deepconcolic_spec::criteria::{BitSet, Family, Profile};

use crate::Inputs;

/// Bytes of a batch's trace: several criteria read it, so it should stay in the last-level cache.
const TRACE_BYTES: usize = 6 << 20;
/// Most inputs run at once.
const MOST: usize = 1024;

/// What inputs cover.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// For each family, the slots covered, group by group.
    pub covered: Vec<Vec<BitSet>>,
    /// How often the network is right, where labels are known.
    pub accuracy: Option<Accuracy>,
    /// Inputs by the label the network gives them.
    pub classes: Vec<usize>,
}

/// Right answers among labelled inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accuracy {
    /// Inputs whose largest logit is their label's.
    pub right: usize,
    /// All of them.
    pub total: usize,
}

/// Runs all inputs once and measures every family on the traces.
pub fn measure(network: &Network, inputs: &dyn Inputs, families: &[&dyn Family]) -> Measurement {
    let mut points = vec![Point::Logits];
    for point in families.iter().flat_map(|family| family.points()) {
        if !points.contains(&point) {
            points.push(point);
        }
    }
    let mut tallies: Vec<_> = families.iter().map(|family| family.tally()).collect();
    let mut classes = vec![0; network.elements(Point::Logits)];
    let mut right = 0;
    let labels = inputs.labels();
    each_batch(
        network,
        inputs,
        inputs.len(),
        &Pass::keep(points),
        |first, trace| {
            for sample in 0..trace.samples() {
                let label = label(trace.sample(Point::Logits, sample));
                classes[label] += 1;
                let truth = labels.map(|labels| labels[first + sample]);
                right += usize::from(truth.and_then(|t| usize::try_from(t).ok()) == Some(label));
            }
            for tally in &mut tallies {
                tally.observe(trace);
            }
        },
    );
    for tally in &mut tallies {
        tally.finish(&|tests, points| {
            let mut x = vec![0.0; tests.len() * network.input_elements()];
            inputs.gather(tests, &mut x);
            network.forward(&x, &Pass::keep(points.iter().copied()))
        });
    }
    Measurement {
        covered: tallies
            .iter()
            .map(|tally| tally.covered().to_vec())
            .collect(),
        accuracy: labels.map(|_| Accuracy {
            right,
            total: inputs.len(),
        }),
        classes,
    }
}

/// The profile of the first so many inputs.
pub fn profile(network: &Network, inputs: &dyn Inputs, count: usize) -> Profile {
    let mut profile = Profile::new(network);
    let pass = Pass::keep(Profile::points(network));
    each_batch(network, inputs, count, &pass, |_, trace| {
        profile.observe(trace);
    });
    profile
}

/// Runs the first `count` inputs in batches and hands each trace on with its first input's number.
pub(crate) fn each_batch(
    network: &Network,
    inputs: &dyn Inputs,
    count: usize,
    pass: &Pass,
    mut visit: impl FnMut(usize, &Trace<f32>),
) {
    let each: usize = pass.points().iter().map(|&p| network.elements(p)).sum();
    let batch = (TRACE_BYTES / (each * size_of::<f32>()).max(1)).clamp(16, MOST);
    let mut x = Vec::new();
    let mut trace = Trace::default();
    for first in (0..count).step_by(batch) {
        let numbers: Vec<usize> = (first..count.min(first + batch)).collect();
        x.resize(numbers.len() * network.input_elements(), 0.0);
        inputs.gather(&numbers, &mut x);
        network.forward_into(&x, pass, &mut trace);
        visit(first, &trace);
    }
}
