//! Rounding to a grid of integers, as `QuantizeLinear` does, and back, as a following
//! `DequantizeLinear` does.

use std::sync::Arc;

use crate::bits;
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Reordered, Scratch,
};
use crate::{Order, Scalar, Shape};

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantizedOutput {
    /// The integers, as numbers.
    Quantised,
    /// The numbers they stand for: `(q - zero_point) * scale`.
    Dequantised,
}

/// `q = saturate(round(x / scale) + zero_point)`, rounding half to even, in the arithmetic of the
/// number type as ONNX has it for `f32`.
///
/// The derivative is the straight-through convention: as if nothing were rounded (1, or `1 / scale`
/// for integers) where the result is not saturated, and 0 where it is.
#[derive(Clone, Debug)]
pub struct FakeQuantize {
    scale: Vec<f32>,
    zero_point: Vec<i64>,
    axis: Option<usize>,
    low: i64,
    high: i64,
    output: QuantizedOutput,
}

/// The grid of one element.
#[derive(Clone, Copy)]
struct Grid {
    scale: f64,
    zero_point: f64,
    low: f64,
    high: f64,
}

impl Grid {
    /// The integer before saturation. A quotient of two `f32` rounded to `f64` first is the same.
    fn place<T: Scalar>(&self, x: T) -> f64 {
        let quotient = T::of(x.f64() / self.scale);
        quotient.f64().round_ties_even() + self.zero_point
    }

    fn holds<T: Scalar>(&self, x: T) -> bool {
        (self.low..=self.high).contains(&self.place(x))
    }

    fn at<T: Scalar>(&self, x: T, output: QuantizedOutput) -> T {
        let integer = self.place(x).clamp(self.low, self.high);
        T::of(match output {
            QuantizedOutput::Quantised => integer,
            QuantizedOutput::Dequantised => (integer - self.zero_point) * self.scale,
        })
    }
}

impl FakeQuantize {
    /// One scale and zero point for all, or one for each place along `axis`; integers are held
    /// between `low` and `high`.
    pub fn new(
        scale: Vec<f32>,
        zero_point: Vec<i64>,
        axis: Option<usize>,
        low: i64,
        high: i64,
        output: QuantizedOutput,
    ) -> Result<Self, String> {
        if scale.len() != zero_point.len() || (axis.is_none() && scale.len() != 1) {
            return Err(format!(
                "quantisation has {} scales and {} zero points",
                scale.len(),
                zero_point.len()
            ));
        }
        if let Some(bad) = scale.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            return Err(format!("a quantisation scale is {bad}; it must be above 0"));
        }
        // Beyond 2^32 the integers would no longer be exact on the way.
        let limit = 1i64 << 32;
        let fits = |i: &i64| (-limit..=limit).contains(i);
        if low > high || !zero_point.iter().chain([&low, &high]).all(fits) {
            return Err(format!(
                "quantisation to {low}..{high} with zero points {zero_point:?} is not supported"
            ));
        }
        Ok(Self {
            scale,
            zero_point,
            axis,
            low,
            high,
            output,
        })
    }

    fn grid(&self, place: usize) -> Grid {
        Grid {
            scale: f64::from(self.scale[place]),
            zero_point: self.zero_point[place] as f64,
            low: self.low as f64,
            high: self.high as f64,
        }
    }

    /// Runs of elements with the same grid, in order: the grid and how many.
    fn runs(&self, shape: &Shape) -> Vec<(Grid, usize)> {
        let Some(axis) = self.axis else {
            return vec![(self.grid(0), shape.elements())];
        };
        let (before, places, inner) = shape.around(axis);
        (0..before)
            .flat_map(|_| (0..places).map(|place| (self.grid(place), inner)))
            .collect()
    }

    fn apply<T: Scalar>(&self, runs: &[(Grid, usize)], mut input: &[T], mut output: &mut [T]) {
        for &(grid, count) in runs {
            let (x, input_rest) = input.split_at(count);
            let (y, output_rest) = output.split_at_mut(count);
            for (y, &x) in y.iter_mut().zip(x) {
                *y = grid.at(x, self.output);
            }
            (input, output) = (input_rest, output_rest);
        }
    }
}

impl Operator for FakeQuantize {
    fn kind(&self) -> &'static str {
        match self.output {
            QuantizedOutput::Quantised => "QuantizeLinear",
            QuantizedOutput::Dequantised => "FakeQuantize",
        }
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let [input] = inputs else {
            return Err(format!(
                "{} takes one variable input, not {}",
                self.kind(),
                inputs.len()
            ));
        };
        match self.axis {
            Some(axis) if input.dims().get(axis) != Some(&self.scale.len()) => Err(format!(
                "{} scales along axis {axis} do not fit {input}",
                self.scale.len()
            )),
            _ => Ok((*input).clone()),
        }
    }

    fn nature(&self, _constant: &[bool]) -> Nature {
        Nature::Discrete
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        elements.to_vec()
    }

    fn reordered(&self, order: &Order) -> Reordered {
        match self.axis {
            None => Reordered::Same,
            Some(axis) => Reordered::By(Arc::new(Self {
                axis: Some(order.axes()[axis]),
                ..self.clone()
            })),
        }
    }
}

impl<T: Scalar> Evaluate<T> for FakeQuantize {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _scratch: &mut Scratch<T>) {
        let runs = self.runs(batch.output);
        let samples = output.chunks_exact_mut(batch.output.elements().max(1));
        for (s, output) in samples.enumerate() {
            self.apply(&runs, batch.inputs[0].sample(s), output);
        }
    }

    /// A bit an element: whether it is not saturated.
    fn phase(&self, batch: &Batch<'_, T>, _output: &[T]) -> Phase<T> {
        let runs = self.runs(batch.output);
        let words = batch.output.elements().div_ceil(64);
        let mut bits = vec![0u64; batch.samples * words];
        for (s, bits) in bits.chunks_exact_mut(words.max(1)).enumerate() {
            let grids = runs.iter().flat_map(|&(grid, n)| (0..n).map(move |_| grid));
            for (e, (x, grid)) in batch.inputs[0].sample(s).iter().zip(grids).enumerate() {
                bits[e / 64] |= u64::from(grid.holds(*x)) << (e % 64);
            }
        }
        Phase::Signs { bits, words }
    }

    fn vjp(
        &self,
        _input: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _scratch: &mut Scratch<T>,
    ) {
        let runs = self.runs(call.output);
        let each = call.output.elements().max(1);
        let rows = cotangent
            .chunks_exact(each)
            .zip(result.chunks_exact_mut(each));
        for ((cotangent, result), phase) in rows.zip(call.phases) {
            let PhaseRow::Signs(bits) = *phase else {
                continue;
            };
            bits::select(bits, cotangent, result, |c| c, |_| T::ZERO);
            if self.output == QuantizedOutput::Quantised {
                let mut rest = &mut *result;
                for (grid, count) in &runs {
                    let (run, others) = rest.split_at_mut(*count);
                    for r in run {
                        *r = *r / T::of(grid.scale);
                    }
                    rest = others;
                }
            }
        }
    }

    /// Rounding never falls: the ends map to the ends.
    fn interval(
        &self,
        boxes: &Boxes<'_, T>,
        lower: &mut [T],
        upper: &mut [T],
        _scratch: &mut Scratch<T>,
    ) {
        let runs = self.runs(boxes.output);
        let each = boxes.output.elements().max(1);
        let range = &boxes.inputs[0];
        let samples = lower
            .chunks_exact_mut(each)
            .zip(upper.chunks_exact_mut(each));
        for (s, (lower, upper)) in samples.enumerate() {
            self.apply(&runs, range.lower.sample(s), lower);
            self.apply(&runs, range.upper.sample(s), upper);
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
pub(super) mod tests {
    use super::super::laws::Laws;
    use super::*;

    fn byte(output: QuantizedOutput) -> FakeQuantize {
        FakeQuantize::new(vec![2.0], vec![128], None, 0, 255, output).unwrap()
    }

    #[test]
    fn halves_round_to_even_and_ends_saturate() {
        let grid = byte(QuantizedOutput::Quantised).grid(0);
        // The example of the ONNX specification.
        let x = [0.0f32, 2.0, 3.0, 1000.0, -254.0, -1000.0];
        let q = x.map(|x| grid.at(x, QuantizedOutput::Quantised));
        assert_eq!(q, [128.0, 129.0, 130.0, 255.0, 1.0, 0.0]);
        assert_eq!(grid.at(1.0f32, QuantizedOutput::Quantised), 128.0);
        assert_eq!(grid.at(-3.0f32, QuantizedOutput::Dequantised), -4.0);
        assert_eq!(grid.at(f32::INFINITY, QuantizedOutput::Dequantised), 254.0);
        assert!(grid.at(f32::NAN, QuantizedOutput::Quantised).is_nan());
    }

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for output in [QuantizedOutput::Quantised, QuantizedOutput::Dequantised] {
            laws.check(&byte(output), &[&[1, 70]], &[], (-300.0, 300.0), 1);
            let scales = vec![0.1, 0.03, 2.0];
            let zeros = vec![0, -5, 100];
            let each = FakeQuantize::new(scales, zeros, Some(1), -128, 127, output).unwrap();
            laws.check(&each, &[&[1, 3, 2, 4]], &[], (-20.0, 20.0), 2);
        }
    }

    #[test]
    fn cotangents_pass_straight_through_unless_saturated() {
        let shape = Shape::new([3]).unwrap();
        let call = Backward {
            rows: 1,
            phases: &[PhaseRow::Signs(&[0b101])],
            inputs: &[(&shape, None)],
            output: &shape,
        };
        let mut result = [f32::NAN; 3];
        let cotangent = [1.0, 2.0, 3.0];
        let quantised = byte(QuantizedOutput::Quantised);
        quantised.vjp(0, &call, &cotangent, &mut result, &mut Vec::new());
        assert_eq!(result, [0.5, 0.0, 1.5]);
        let dequantised = byte(QuantizedOutput::Dequantised);
        dequantised.vjp(0, &call, &cotangent, &mut result, &mut Vec::new());
        assert_eq!(result, [1.0, 0.0, 3.0]);
    }

    #[test]
    fn bad_parameters_are_refused() {
        let new = |scale: Vec<f32>, axis, low, high| {
            let zero = vec![0; scale.len()];
            FakeQuantize::new(scale, zero, axis, low, high, QuantizedOutput::Quantised)
        };
        assert!(new(vec![0.0], None, 0, 255).is_err());
        assert!(new(vec![1.0, 2.0], None, 0, 255).is_err());
        assert!(new(vec![1.0], None, 5, 4).is_err());
        let shape = Shape::new([1, 3]).unwrap();
        let two = new(vec![1.0, 2.0], Some(1), 0, 255).unwrap();
        assert!(two.output_shape(&[&shape]).is_err());
    }
}
