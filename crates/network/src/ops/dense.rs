//! A matrix product with stored weights along the last axis: Gemm, and `MatMul` by a constant.

use std::sync::Arc;

use crate::kernels::{Packed, Piece, PieceCache, multiply};
use crate::numbers::Numbers;
use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Scratch};
use crate::plain::AffineRow;
use crate::{Scalar, Shape};

use super::affine;

/// `y = x W + b` on the last axis.
#[derive(Debug)]
pub struct Dense {
    inputs: usize,
    outputs: usize,
    weights: Weights,
    bias: Vec<f64>,
    forward: PieceCache,
    transposed: PieceCache,
    magnitude: PieceCache,
}

/// The weights, held once.
#[derive(Debug)]
enum Weights {
    /// As the products in single precision read them, which is exact.
    Packed(Arc<[Piece<f32>]>),
    /// Row-major, inputs x outputs.
    Double(Arc<[f64]>),
}

/// Which way round a matrix of weights lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// A row an input.
    InputsByOutputs,
    /// A row an output.
    OutputsByInputs,
}

impl Lie {
    /// Place of a weight in a row-major matrix.
    fn place(self, [inputs, outputs]: [usize; 2], input: usize, output: usize) -> usize {
        match self {
            Self::InputsByOutputs => input * outputs + output,
            Self::OutputsByInputs => output * inputs + input,
        }
    }
}

impl Dense {
    /// `weights` are row-major, `inputs` x `outputs`; `bias` has `outputs` numbers.
    pub fn new(
        inputs: usize,
        outputs: usize,
        weights: Vec<f64>,
        bias: Vec<f64>,
    ) -> Result<Self, String> {
        let weights = Numbers::from(weights);
        Self::of([inputs, outputs], &weights, Lie::InputsByOutputs, bias)
    }

    /// The same of weights that lie either way round. Nothing is kept of the list itself where single
    /// precision holds it.
    pub fn of(
        [inputs, outputs]: [usize; 2],
        weights: &Numbers,
        lie: Lie,
        bias: Vec<f64>,
    ) -> Result<Self, String> {
        if Some(weights.len()) != inputs.checked_mul(outputs) || bias.len() != outputs {
            return Err(format!(
                "{} weights and {} biases do not make a {inputs}x{outputs} layer",
                weights.len(),
                bias.len()
            ));
        }
        affine::all_finite("weights", weights)?;
        affine::finite("biases", &bias)?;
        let place = |input, output| lie.place([inputs, outputs], input, output);
        let (weights, forward) = match weights {
            Numbers::Single(numbers) => {
                let start = |c: usize| bias[c] as f32;
                let packed = match lie {
                    Lie::OutputsByInputs => Packed::of_columns(inputs, outputs, start, numbers),
                    Lie::InputsByOutputs => {
                        Packed::new(inputs, outputs, start, |k, c| numbers[k * outputs + c])
                    }
                };
                let pieces: Arc<[Piece<f32>]> = [Piece::dense(packed)].into();
                (
                    Weights::Packed(Arc::clone(&pieces)),
                    PieceCache::holding(pieces),
                )
            }
            Numbers::Double(numbers) => {
                let row_major = (0..numbers.len())
                    .map(|at| numbers[place(at / outputs.max(1), at % outputs.max(1))])
                    .collect();
                (Weights::Double(row_major), PieceCache::default())
            }
        };
        Ok(Self {
            inputs,
            outputs,
            weights,
            bias,
            forward,
            transposed: PieceCache::default(),
            magnitude: PieceCache::default(),
        })
    }

    fn weight(&self, input: usize, output: usize) -> f64 {
        match &self.weights {
            Weights::Packed(pieces) => pieces[0].weights.at(input, output).into(),
            Weights::Double(weights) => weights[input * self.outputs + output],
        }
    }

    fn run<T: Scalar>(pieces: &[Piece<T>], input: &[T], output: &mut [T]) {
        let (depth, columns) = (pieces[0].weights.depth(), pieces[0].weights.columns());
        let rows = output.len() / columns.max(1);
        multiply(&pieces[0], rows, (input, depth), (output, columns));
    }

    fn forward_pieces<T: Scalar>(&self) -> &[Piece<T>] {
        self.forward.get(|| {
            vec![Piece::dense(Packed::new(
                self.inputs,
                self.outputs,
                |c| T::of(self.bias[c]),
                |k, c| T::of(self.weight(k, c)),
            ))]
        })
    }
}

impl<T: Scalar> Evaluate<T> for Dense {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        Self::run(self.forward_pieces(), batch.inputs[0].data, output);
    }

    fn vjp(
        &self,
        _: usize,
        _: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        let pieces = self.transposed.get(|| {
            vec![Piece::dense(Packed::new(
                self.outputs,
                self.inputs,
                |_| T::ZERO,
                |k, c| T::of(self.weight(c, k)),
            ))]
        });
        Self::run(pieces, cotangent, result);
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let gamma = affine::gamma::<T>(self.inputs).f64();
        let magnitude = self.magnitude.get(|| {
            vec![Piece::dense(Packed::new(
                self.inputs,
                self.outputs,
                |c| T::of(2.0 * gamma * self.bias[c].abs()),
                |k, c| T::of(self.weight(k, c).abs()),
            ))]
        });
        affine::interval(boxes, self.inputs, lower, upper, |magnitudes, x, y| {
            let pieces = if magnitudes {
                magnitude
            } else {
                self.forward_pieces()
            };
            Self::run(pieces, x, y);
        });
    }
}

impl Operator for Dense {
    fn kind(&self) -> &'static str {
        "Gemm"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let mut dims = inputs[0].dims().to_vec();
        match dims.last_mut() {
            Some(last) if *last == self.inputs => *last = self.outputs,
            _ => {
                return Err(format!(
                    "weights of {}x{} need {} numbers along the last axis, not shape {}",
                    self.inputs, self.outputs, self.inputs, inputs[0]
                ));
            }
        }
        Shape::new(dims)
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        let mut rows: Vec<usize> = elements.iter().map(|e| e / self.outputs).collect();
        rows.dedup();
        let row = |r: usize| r * self.inputs..(r + 1) * self.inputs;
        rows.into_iter().flat_map(row).collect()
    }

    fn shares_cone(&self, a: usize, b: usize) -> bool {
        a / self.outputs == b / self.outputs
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Affine
    }

    fn affine_row(
        &self,
        element: usize,
        _: &[(&Shape, Option<&[f64]>)],
        _: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let (line, output) = (element / self.outputs, element % self.outputs);
        row.constant = self.bias[output];
        row.terms.extend((0..self.inputs).map(|input| {
            let place = (line * self.inputs + input) as u32;
            (0, place, self.weight(input, output))
        }));
        true
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::{Laws, Random};

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let mut random = Random(5);
        for (seed, (inputs, outputs)) in [(7, 5), (1, 33), (40, 17)].into_iter().enumerate() {
            let weights = random.numbers(inputs * outputs);
            let bias = random.numbers(outputs);
            let dense = Dense::new(inputs, outputs, weights, bias).unwrap();
            for shape in [vec![1, inputs], vec![1, 3, inputs]] {
                laws.check(&dense, &[&shape], &[None], (-1.0, 1.0), seed as u64);
            }
        }
    }

    #[test]
    fn weights_that_do_not_fit_are_refused() {
        assert!(Dense::new(3, 2, vec![0.0; 5], vec![0.0; 2]).is_err());
        assert!(Dense::new(usize::MAX, 2, vec![0.0; 5], vec![0.0; 2]).is_err());
    }
}
