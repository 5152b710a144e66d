//! The operator that applies a [`Curve`] to every element.

use super::curve::{Curve, only_kink};
use super::envelope;
use crate::bits;
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operand, Operator, Phase, PhaseRow, Relaxation,
    Reordered, Scratch, shape_of_one,
};
use crate::plain::{AffineRow, StraightPart};
use crate::{Head, Order, Scalar, Shape, vectorised};

/// A curve applied to every element of one tensor.
#[derive(Clone, Debug)]
pub struct Elementwise<C> {
    curve: C,
}

impl<C: Curve> Elementwise<C> {
    /// Applies `curve` to every element.
    pub fn new(curve: C) -> Self {
        Self { curve }
    }

    /// A straight line bends nowhere.
    fn is_affine(&self) -> bool {
        self.curve.nature() == Nature::PiecewiseLinear && self.curve.breaks().is_empty()
    }
}

impl<C: Curve> Operator for Elementwise<C> {
    fn kind(&self) -> &'static str {
        self.curve.kind()
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        shape_of_one(self.kind(), inputs).cloned()
    }

    fn nature(&self, _constant: &[bool]) -> Nature {
        if self.is_affine() {
            Nature::Affine
        } else {
            self.curve.nature()
        }
    }

    fn is_activation(&self) -> bool {
        self.curve.is_activation()
    }

    fn head(&self, _input: &Shape) -> Option<Head> {
        self.curve.head()
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        elements.to_vec()
    }

    fn reordered(&self, _order: &Order) -> Reordered {
        Reordered::Same
    }

    fn affine_row(
        &self,
        element: usize,
        _: &[(&Shape, Option<&[f64]>)],
        _: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let line = self.curve.line(0.0).filter(|_| self.is_affine());
        let Some((slope, intercept)) = line else {
            return false;
        };
        row.constant = intercept;
        row.terms.push((0, element as u32, slope));
        true
    }

    fn straight_parts(&self) -> Option<Vec<StraightPart>> {
        if self.curve.nature() != Nature::PiecewiseLinear {
            return None;
        }
        let starts = std::iter::once(f64::NEG_INFINITY).chain(self.curve.breaks().iter().copied());
        let part = |from| {
            let (slope, intercept) = self.curve.line(from)?;
            Some(StraightPart {
                from,
                slope,
                intercept,
            })
        };
        starts.map(part).collect()
    }
}

impl<C: Curve, T: Scalar> Evaluate<T> for Elementwise<C> {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _scratch: &mut Scratch<T>) {
        let samples = output.chunks_exact_mut(batch.output.elements().max(1));
        for (s, output) in samples.enumerate() {
            apply(&self.curve, batch.inputs[0].sample(s), output);
        }
    }

    fn forward_in_place(&self, numbers: &mut [T]) -> bool {
        vectorised(
            #[inline(always)]
            || numbers.iter_mut().for_each(|x| *x = self.curve.at(*x)),
        );
        true
    }

    fn phase(&self, batch: &Batch<'_, T>, _output: &[T]) -> Phase<T> {
        let each = batch.output.elements();
        let input = &batch.inputs[0];
        if self.is_affine() {
            return Phase::Fixed;
        }
        if let Some(kink) = only_kink(&self.curve) {
            return reaching(batch.samples, input, T::of(kink));
        }
        let slope = |x: &T| T::of(self.curve.slope(x.f64()));
        let values = (0..batch.samples).flat_map(|s| input.sample(s).iter().map(slope));
        Phase::Values {
            values: values.collect(),
            each,
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
            match *phase {
                PhaseRow::Signs(bits) => {
                    let kink = only_kink(&self.curve).unwrap_or(0.0);
                    let slope = |at| T::of(self.curve.slope(at));
                    through_gate(
                        bits,
                        slope(kink),
                        slope(kink.next_down()),
                        cotangent,
                        result,
                    );
                }
                PhaseRow::Values(slopes) => by_slopes(slopes, cotangent, result),
                PhaseRow::Fixed | PhaseRow::Choice(_) => {
                    by_slope(T::of(self.curve.slope(0.0)), cotangent, result);
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
            if self.curve.keeps_order() {
                apply(&self.curve, from, lower);
                apply(&self.curve, to, upper);
            } else {
                for (e, (lower, upper)) in lower.iter_mut().zip(upper).enumerate() {
                    (*lower, *upper) = envelope::interval(&self.curve, from[e], to[e]);
                }
            }
        }
    }

    fn relax(&self, boxes: &Boxes<'_, T>, _scratch: &mut Scratch<T>) -> Relaxation<T> {
        let range = &boxes.inputs[0];
        let ends = range.lower.sample(0).iter().zip(range.upper.sample(0));
        let (lower, upper) = ends
            .map(|(&l, &u)| envelope::lines(&self.curve, l, u))
            .unzip();
        Relaxation::Elementwise { lower, upper }
    }
}

fn apply<C: Curve, T: Scalar>(curve: &C, input: &[T], output: &mut [T]) {
    vectorised(
        #[inline(always)]
        || {
            for (y, &x) in output.iter_mut().zip(input) {
                *y = curve.at(x);
            }
        },
    );
}

/// Whether each element reaches the kink. This and what follows know of no curve, so that one copy serves all.
#[inline(never)]
fn reaching<T: Scalar>(samples: usize, input: &Operand<'_, T>, kink: T) -> Phase<T> {
    Phase::signs(samples, input, |x| x >= kink)
}

/// Cotangents behind units with one kink, that are `on` or `off`.
#[inline(never)]
fn through_gate<T: Scalar>(bits: &[u64], on: T, off: T, cotangent: &[T], result: &mut [T]) {
    if on == T::ONE && off == T::ZERO {
        // No product, so that infinite cotangents do not become NaN behind a closed gate.
        bits::select(bits, cotangent, result, |c| c, |_| T::ZERO);
    } else {
        bits::select(bits, cotangent, result, |c| c * on, |c| c * off);
    }
}

/// Cotangents behind units with a slope each.
#[inline(never)]
fn by_slopes<T: Scalar>(slopes: &[T], cotangent: &[T], result: &mut [T]) {
    for ((r, &c), &slope) in result.iter_mut().zip(cotangent).zip(slopes) {
        *r = c * slope;
    }
}

/// Cotangents behind units with one slope.
#[inline(never)]
fn by_slope<T: Scalar>(slope: T, cotangent: &[T], result: &mut [T]) {
    for (r, &c) in result.iter_mut().zip(cotangent) {
        *r = c * slope;
    }
}
