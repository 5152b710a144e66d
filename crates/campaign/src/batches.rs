//! Many inputs run in batches. An input for which an output is NaN or infinite has no answer: it is told of
//! and not used for anything.

use deepconcolic_network::{Network, Pass, Point, Trace};

use crate::Inputs;
use crate::limits::Limits;
use crate::portion;

/// Bytes of a batch's trace: several criteria read it, so it should stay in the last-level cache.
const TRACE_BYTES: usize = 6 << 20;
/// Fewest inputs run at once, however large a trace is: what criteria hold of a neuron is read once a batch.
const MIN: usize = 8;
/// Most inputs run at once.
const MAX: usize = 1024;

/// Inputs that were run.
pub(crate) struct Ran {
    /// How many: the first ones.
    pub count: usize,
    /// Those of them that have no answer.
    pub not_finite: Vec<usize>,
}

/// Runs the first `count` inputs, or as many as there is time for but at least a batch, and hands on what was kept of them, with their
/// numbers. Those that have no answer are not handed on. The logits are always kept.
pub(crate) fn each_batch(
    network: &Network,
    inputs: &dyn Inputs,
    count: usize,
    points: &[Point],
    limits: &Limits<'_>,
    mut visit: impl FnMut(&[usize], &Trace<f32>),
) -> Ran {
    let mut points = points.to_vec();
    if !points.contains(&Point::Logits) {
        points.push(Point::Logits);
    }
    let each: usize = points.iter().map(|&p| network.elements(p)).sum();
    let batch = (TRACE_BYTES / (each * size_of::<f32>()).max(1)).clamp(MIN, MAX);
    let batch = batch.min(portion::passes(network));
    let pass = Pass::keep(points);
    let mut x = Vec::new();
    let mut trace = Trace::default();
    let mut not_finite = Vec::new();
    for first in (0..count).step_by(batch) {
        if first > 0 && limits.is_over() {
            return Ran {
                count: first,
                not_finite,
            };
        }
        let mut numbers: Vec<usize> = (first..count.min(first + batch)).collect();
        x.resize(numbers.len() * network.input_elements(), 0.0);
        inputs.gather(&numbers, &mut x);
        network.forward_into(&x, &pass, &mut trace);
        if !trace.get(Point::Logits).iter().all(|v| v.is_finite()) {
            let finite = |i: usize| trace.sample(Point::Logits, i).iter().all(|v| v.is_finite());
            let (good, bad): (Vec<usize>, Vec<usize>) =
                (0..numbers.len()).partition(|&i| finite(i));
            not_finite.extend(bad.iter().map(|&i| numbers[i]));
            numbers = good.iter().map(|&i| numbers[i]).collect();
            x.resize(numbers.len() * network.input_elements(), 0.0);
            inputs.gather(&numbers, &mut x);
            network.forward_into(&x, &pass, &mut trace);
        }
        if !numbers.is_empty() {
            visit(&numbers, &trace);
        }
    }
    Ran { count, not_finite }
}
