//! Quantisation to 8 bits with the range found in the tensor itself (`DynamicQuantizeLinear`), as
//! three operators for its three outputs.
//!
//! The range is that of one sample. A runtime that takes it over a whole batch lets samples
//! influence each other; that is not a function of an input and cannot be tested as one.

use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Scratch,
};
use crate::{Scalar, Shape};

/// One of the three outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicQuantize {
    /// The tensor on the grid `0..=255`.
    Quantised,
    /// The step of the grid.
    Scale,
    /// The grid's position of 0.
    ZeroPoint,
}

/// Step of the grid and position of 0, both in the arithmetic of ONNX's reference.
fn grid<T: Scalar>(sample: &[T]) -> (T, T) {
    let low = sample.iter().fold(T::ZERO, |m, &x| m.min(x));
    let high = sample.iter().fold(T::ZERO, |m, &x| m.max(x));
    let scale = (high - low) / T::of(255.0);
    if scale <= T::ZERO {
        return (T::ONE, T::ZERO);
    }
    (
        scale,
        T::of((-(low / scale)).f64().round_ties_even().clamp(0.0, 255.0)),
    )
}

impl<T: Scalar> Evaluate<T> for DynamicQuantize {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        let each = batch.output.elements().max(1);
        for (s, y) in output.chunks_exact_mut(each).enumerate() {
            let x = batch.inputs[0].sample(s);
            let (scale, zero) = grid(x);
            match self {
                Self::Scale => y[0] = scale,
                Self::ZeroPoint => y[0] = zero,
                Self::Quantised => {
                    for (y, &x) in y.iter_mut().zip(x) {
                        let rounded = (x / scale).f64().round_ties_even() + zero.f64();
                        *y = T::of(rounded.clamp(0.0, 255.0));
                    }
                }
            }
        }
    }

    fn phase(&self, batch: &Batch<'_, T>, _: &[T]) -> Phase<T> {
        let values = (0..batch.samples)
            .map(|s| grid(batch.inputs[0].sample(s)).0)
            .collect();
        Phase::Values { values, each: 1 }
    }

    /// Straight through the rounding, the grid taken as fixed.
    fn vjp(
        &self,
        _: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        if *self != Self::Quantised {
            result.fill(T::ZERO);
            return;
        }
        let each = call.output.elements().max(1);
        for ((phase, g), x) in call
            .phases
            .iter()
            .zip(cotangent.chunks_exact(each))
            .zip(result.chunks_exact_mut(each))
        {
            let scale = match *phase {
                PhaseRow::Values(&[scale]) => scale,
                _ => T::ONE,
            };
            for (x, &g) in x.iter_mut().zip(g) {
                *x = g / scale;
            }
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let each = boxes.output.elements().max(1);
        for s in 0..boxes.samples {
            let range = &boxes.inputs[0];
            let low = range.lower.sample(s).iter().fold(T::ZERO, |m, &x| m.min(x));
            let high = range.upper.sample(s).iter().fold(T::ZERO, |m, &x| m.max(x));
            // A constant sample of zeros has step 1; nothing else is larger than the whole range.
            let widest = ((high - low) / T::of(255.0)).next_up().max(T::ONE);
            let top = if *self == Self::Scale {
                widest
            } else {
                T::of(255.0)
            };
            lower[s * each..(s + 1) * each].fill(T::ZERO);
            upper[s * each..(s + 1) * each].fill(top);
        }
    }
}

impl Operator for DynamicQuantize {
    fn kind(&self) -> &'static str {
        "DynamicQuantizeLinear"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        match self {
            Self::Quantised => Ok(inputs[0].clone()),
            Self::Scale | Self::ZeroPoint => Shape::new([]),
        }
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Discrete
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for part in [
            DynamicQuantize::Quantised,
            DynamicQuantize::Scale,
            DynamicQuantize::ZeroPoint,
        ] {
            laws.check(&part, &[&[1, 12]], &[None], (-3.0, 5.0), 1);
        }
    }
}
