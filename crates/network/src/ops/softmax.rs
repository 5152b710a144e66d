//! Softmax and its logarithm along one axis.

use std::sync::Arc;

use super::exponential::{exp, exp_for_single};
use super::outward::{down, up};
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Reordered, Scratch,
    shape_of_one,
};
use crate::{Head, Order, Scalar, Shape, vectorised};

/// `exp(x)` divided by its sum along an axis, or the logarithm of that.
#[derive(Clone, Copy, Debug)]
pub struct Softmax {
    axis: usize,
    log: bool,
}

impl Softmax {
    /// Along `axis`, counted from 0.
    pub fn new(axis: usize) -> Self {
        Self { axis, log: false }
    }

    /// The logarithm of the softmax.
    pub fn log(axis: usize) -> Self {
        Self { axis, log: true }
    }

    /// Each output as a function of `d`, by how much the logarithm of the others' sum exceeds
    /// its own input: `1 / (1 + exp(d))`, or the logarithm of that.
    fn share(&self, d: f64) -> f64 {
        if self.log {
            // Right for large d, where exp overflows, and for small.
            let rest = (-d.abs()).exp().ln_1p();
            if d > 0.0 { -d - rest } else { -rest }
        } else {
            1.0 / (1.0 + d.exp())
        }
    }

    /// Bounds of one line of a box, by the other elements' worst case.
    fn bounds(&self, from: &[f64], to: &[f64]) -> Vec<(f64, f64)> {
        let (others_low, others_high) = (sums_of_others(from), sums_of_others(to));
        let n = from.len() as f64;
        let (least, maximum) = if self.log {
            (f64::NEG_INFINITY, 0.0)
        } else {
            (0.0, 1.0)
        };
        // How far d may be off: the sums have n terms, here and in forward, each of them rounded.
        let error = |a: f64, b: f64| 4.0 * f64::EPSILON * (1.0 + n) * (1.0 + a.abs() + b.abs());
        let bound = |others: f64, own: f64, sign: f64, unknown: f64| {
            let d = others - own;
            if d.is_infinite() {
                return self.share(d);
            }
            let value = self.share(d + sign * error(others, own));
            if value.is_nan() {
                return unknown;
            }
            // The margin in d is relative for a share; its own rounding needs one more.
            let margin = 4.0 * f64::EPSILON * (value.abs() + if self.log { n } else { 0.0 });
            (value - sign * (margin + f64::MIN_POSITIVE)).clamp(least, maximum)
        };
        (0..from.len())
            .map(|i| {
                (
                    bound(others_high[i], from[i], 1.0, least),
                    bound(others_low[i], to[i], -1.0, maximum),
                )
            })
            .collect()
    }
}

/// Sums that run side by side along a line, element `k` in sum `k % LANES`; added up in the end.
const LANES: usize = 8;
/// Neighbouring lines that are worked on together.
const TOGETHER: usize = 16;

impl Softmax {
    /// One line of neighbours.
    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for wide vectors"
    )]
    #[inline(always)]
    fn line<T: Scalar>(
        &self,
        input: &[T],
        output: &mut [T],
        weights: &mut Vec<f64>,
        exp: impl Fn(f64) -> f64,
    ) {
        let mut largest = [f64::NEG_INFINITY; LANES];
        for part in input.chunks(LANES) {
            for (largest, x) in largest.iter_mut().zip(part) {
                *largest = larger(*largest, x.f64());
            }
        }
        let largest = largest.into_iter().fold(f64::NEG_INFINITY, larger);
        weights.clear();
        weights.extend(input.iter().map(|x| exp(x.f64() - largest)));
        let mut sums = [0.0; LANES];
        for part in weights.chunks(LANES) {
            for (sum, weight) in sums.iter_mut().zip(part) {
                *sum += weight;
            }
        }
        let sum: f64 = sums.iter().sum();
        let logarithm = if self.log { sum.ln() } else { 0.0 };
        for ((y, x), weight) in output.iter_mut().zip(input).zip(weights) {
            *y = T::of(if self.log {
                x.f64() - largest - logarithm
            } else {
                *weight / sum
            });
        }
    }

    /// Lines side by side, `step` of them; every number as [`Softmax::line`] computes it.
    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for wide vectors"
    )]
    #[inline(always)]
    fn columns<T: Scalar>(
        &self,
        input: &[T],
        output: &mut [T],
        step: usize,
        weights: &mut Vec<f64>,
        exp: impl Fn(f64) -> f64,
    ) {
        let length = input.len() / step;
        for first in (0..step).step_by(TOGETHER) {
            let count = TOGETHER.min(step - first);
            let mut largest = [f64::NEG_INFINITY; TOGETHER];
            for row in input.chunks_exact(step) {
                for (largest, x) in largest.iter_mut().zip(&row[first..first + count]) {
                    *largest = larger(*largest, x.f64());
                }
            }
            weights.clear();
            weights.resize(length * TOGETHER, 0.0);
            let mut sums = [[0.0; TOGETHER]; LANES];
            let rows = weights
                .chunks_exact_mut(TOGETHER)
                .zip(input.chunks_exact(step));
            for (k, (weights, row)) in rows.enumerate() {
                for (lane, x) in row[first..first + count].iter().enumerate() {
                    weights[lane] = exp(x.f64() - largest[lane]);
                }
                for (sum, weight) in sums[k % LANES].iter_mut().zip(weights) {
                    *sum += *weight;
                }
            }
            let sums: [f64; TOGETHER] =
                std::array::from_fn(|lane| sums.iter().map(|sums| sums[lane]).sum());
            let logarithms = if self.log { sums.map(f64::ln) } else { sums };
            let rows = output.chunks_exact_mut(step).zip(input.chunks_exact(step));
            for ((output, row), weights) in rows.zip(weights.chunks_exact(TOGETHER)) {
                for lane in 0..count {
                    output[first + lane] = T::of(if self.log {
                        row[first + lane].f64() - largest[lane] - logarithms[lane]
                    } else {
                        weights[lane] / sums[lane]
                    });
                }
            }
        }
    }
}

/// The larger of two numbers, the first if the second is none.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// `ln(exp(a) + exp(b))`.
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    if low == f64::NEG_INFINITY || high == f64::INFINITY {
        high
    } else {
        high + (low - high).exp().ln_1p()
    }
}

/// For each element, the logarithm of the sum of the others' exponentials. Sums from both ends,
/// since taking one element out of the whole would cancel.
fn sums_of_others(x: &[f64]) -> Vec<f64> {
    let mut sums = Vec::with_capacity(x.len());
    let mut before = f64::NEG_INFINITY;
    for &x in x {
        sums.push(before);
        before = log_add(before, x);
    }
    let mut after = f64::NEG_INFINITY;
    for (sum, &x) in sums.iter_mut().zip(x).rev() {
        *sum = log_add(*sum, after);
        after = log_add(after, x);
    }
    sums
}

impl Operator for Softmax {
    fn kind(&self) -> &'static str {
        if self.log { "LogSoftmax" } else { "Softmax" }
    }

    fn head(&self, input: &Shape) -> Option<Head> {
        // Several groups of elements that each add up to one keep no order among them.
        let all = input.dims()[self.axis] == input.elements();
        all.then_some(if self.log {
            Head::LogSoftmax
        } else {
            Head::Softmax
        })
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let input = shape_of_one(self.kind(), inputs)?;
        if self.axis < input.rank() {
            Ok(input.clone())
        } else {
            Err(format!(
                "axis {} is outside a tensor of shape {input}",
                self.axis
            ))
        }
    }

    fn nature(&self, _constant: &[bool]) -> Nature {
        Nature::Smooth
    }

    fn reordered(&self, order: &Order) -> Reordered {
        Reordered::By(Arc::new(Self {
            axis: order.axes()[self.axis],
            log: self.log,
        }))
    }
}

/// The lines of a tensor along an axis: their length, their step, and the first index of each; the
/// elements of one are `first + k * step`.
fn lines(shape: &Shape, axis: usize) -> (usize, usize, impl Iterator<Item = usize>) {
    let (before, length, step) = shape.around(axis);
    let firsts = (0..before)
        .flat_map(move |block| (0..step).map(move |inner| block * length * step + inner));
    (length, step, firsts)
}

impl<T: Scalar> Evaluate<T> for Softmax {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _scratch: &mut Scratch<T>) {
        let (_, length, step) = batch.output.around(self.axis);
        let block = (length * step).max(1);
        let each = batch.output.elements().max(1);
        let mut weights = Vec::new();
        for (s, output) in output.chunks_exact_mut(each).enumerate() {
            let blocks = batch.inputs[0].sample(s).chunks_exact(block);
            for (input, output) in blocks.zip(output.chunks_exact_mut(block)) {
                vectorised(
                    #[inline(always)]
                    || match (T::SINGLE && !self.log, step) {
                        (true, 1) => self.line(input, output, &mut weights, exp_for_single),
                        (true, _) => {
                            self.columns(input, output, step, &mut weights, exp_for_single);
                        }
                        (false, 1) => self.line(input, output, &mut weights, exp),
                        (false, _) => self.columns(input, output, step, &mut weights, exp),
                    },
                );
            }
        }
    }

    fn phase(&self, batch: &Batch<'_, T>, output: &[T]) -> Phase<T> {
        Phase::Values {
            values: output.to_vec(),
            each: batch.output.elements(),
        }
    }

    fn vjp(
        &self,
        _input: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _scratch: &mut Scratch<T>,
    ) {
        let each = call.output.elements().max(1);
        let rows = cotangent
            .chunks_exact(each)
            .zip(result.chunks_exact_mut(each));
        for ((cotangent, result), phase) in rows.zip(call.phases) {
            let PhaseRow::Values(output) = *phase else {
                continue;
            };
            let (length, step, firsts) = lines(call.output, self.axis);
            for first in firsts {
                let indices = || (0..length).map(|k| first + k * step);
                if self.log {
                    let sum: T = indices().map(|e| cotangent[e]).sum();
                    indices().for_each(|e| result[e] = cotangent[e] - output[e].exp() * sum);
                } else {
                    let mean: T = indices().map(|e| cotangent[e] * output[e]).sum();
                    indices().for_each(|e| result[e] = output[e] * (cotangent[e] - mean));
                }
            }
        }
    }

    fn interval(
        &self,
        boxes: &Boxes<'_, T>,
        lower: &mut [T],
        upper: &mut [T],
        _scratch: &mut Scratch<T>,
    ) {
        let each = boxes.output.elements().max(1);
        let range = &boxes.inputs[0];
        let samples = lower
            .chunks_exact_mut(each)
            .zip(upper.chunks_exact_mut(each));
        for (s, (lower, upper)) in samples.enumerate() {
            let (from, to) = (range.lower.sample(s), range.upper.sample(s));
            let (length, step, firsts) = lines(boxes.output, self.axis);
            for first in firsts {
                let line = |x: &[T]| -> Vec<f64> {
                    (0..length).map(|k| x[first + k * step].f64()).collect()
                };
                let bounds = self.bounds(&line(from), &line(to));
                for (k, (low, high)) in bounds.into_iter().enumerate() {
                    lower[first + k * step] = down(low);
                    upper[first + k * step] = up(high);
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::laws::Laws;
    use super::*;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for range in [(-3.0, 3.0), (-60.0, 60.0), (1e6, 1.000_01e6)] {
            for op in [Softmax::new, Softmax::log] {
                laws.check(&op(1), &[&[1, 7]], &[], range, 1);
                laws.check(&op(1), &[&[2, 3, 4]], &[], range, 2);
                laws.check(&op(0), &[&[3, 2]], &[], range, 3);
                laws.check(&op(0), &[&[1]], &[], range, 4);
            }
        }
    }

    #[test]
    fn known_values() {
        let softmax = |op: Softmax, x: &[f32]| {
            let shape = Shape::new([x.len()]).unwrap();
            let mut y = vec![0.0; x.len()];
            let input = crate::operator::Operand {
                data: x,
                shape: &shape,
                constant: false,
            };
            let batch = Batch {
                samples: 1,
                inputs: &[input],
                output: &shape,
            };
            op.forward(&batch, &mut y, &mut Vec::new());
            y
        };
        assert_eq!(softmax(Softmax::new(0), &[1000.0, 1000.0]), [0.5, 0.5]);
        let y = softmax(Softmax::new(0), &[-1.0, 0.0, 1.0]);
        for (y, expected) in y.iter().zip([0.090_030_57, 0.244_728_47, 0.665_240_9]) {
            assert!((y - expected).abs() < 1e-7);
        }
        let y = softmax(Softmax::log(0), &[0.0, -200.0]);
        assert_eq!(y, [0.0, -200.0]);
        assert!(softmax(Softmax::new(0), &[f32::NAN, 0.0])[1].is_nan());
    }

    #[test]
    fn bounds_are_tight_and_survive_infinity() {
        let inf = f64::INFINITY;
        let bounds = Softmax::new(0).bounds(&[0.0, -1.0], &[1.0, 1.0]);
        // The first is least against the other's largest: 1 / (1 + e).
        assert!((bounds[0].0 - 0.268_941_421_369_995_1).abs() < 1e-14);
        let bounds = Softmax::new(0).bounds(&[-inf, 0.0, -inf], &[-inf, inf, 0.0]);
        assert!(bounds.iter().all(|(l, u)| 0.0 <= *l && l <= u && *u <= 1.0));
        let bounds = Softmax::log(0).bounds(&[-inf, -inf], &[inf, inf]);
        assert!(bounds.iter().all(|b| *b == (-inf, 0.0)));
    }
}
