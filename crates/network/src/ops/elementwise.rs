//! The operator that applies a [`Curve`] to every element.

use super::curve::{Curve, only_kink};
use super::envelope;
use crate::bits;
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Relaxation, Reordered,
    Scratch, shape_of_one,
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
            let kink = T::of(kink);
            return Phase::signs(batch.samples, input, |x| x >= kink);
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
            pull(&self.curve, phase, cotangent, result);
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

fn pull<C: Curve, T: Scalar>(
    curve: &C,
    phase: &PhaseRow<'_, T>,
    cotangent: &[T],
    result: &mut [T],
) {
    match *phase {
        PhaseRow::Signs(bits) => {
            let kink = only_kink(curve).unwrap_or(0.0);
            let on = T::of(curve.slope(kink));
            let off = T::of(curve.slope(kink.next_down()));
            if on == T::ONE && off == T::ZERO {
                // No product, so that infinite cotangents do not become NaN behind a closed gate.
                bits::select(bits, cotangent, result, |c| c, |_| T::ZERO);
            } else {
                bits::select(bits, cotangent, result, |c| c * on, |c| c * off);
            }
        }
        PhaseRow::Values(slopes) => {
            for ((r, &c), &slope) in result.iter_mut().zip(cotangent).zip(slopes) {
                *r = c * slope;
            }
        }
        PhaseRow::Fixed | PhaseRow::Choice(_) => {
            let slope = T::of(curve.slope(0.0));
            for (r, &c) in result.iter_mut().zip(cotangent) {
                *r = c * slope;
            }
        }
    }
}
