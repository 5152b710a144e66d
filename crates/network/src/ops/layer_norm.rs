//! `LayerNormalization`: the trailing axes of each sample, shifted and scaled to mean 0 and
//! variance 1, then times a scale and plus a bias that belong to the model.

use super::affine::finite;
use super::outward::{down, up};
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Reordered, Scratch,
};
use crate::{Order, Scalar, Shape};

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias` over the axes from `axis` on.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    axis: usize,
    epsilon: f64,
    scale: Vec<f64>,
    bias: Vec<f64>,
}

impl LayerNorm {
    /// Normalises the axes from `axis` on. `scale` and `bias` hold a number for each element of
    /// those axes.
    pub fn new(
        axis: usize,
        epsilon: f64,
        scale: Vec<f64>,
        bias: Option<Vec<f64>>,
    ) -> Result<Self, String> {
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            return Err(format!(
                "epsilon of LayerNormalization is {epsilon}; it must not be negative"
            ));
        }
        let bias = bias.unwrap_or_else(|| vec![0.0; scale.len()]);
        if scale.is_empty() || bias.len() != scale.len() {
            return Err(format!(
                "LayerNormalization has {} scales and {} biases; it needs as many of each",
                scale.len(),
                bias.len()
            ));
        }
        finite("scales", &scale)?;
        finite("biases", &bias)?;
        Ok(Self {
            axis,
            epsilon,
            scale,
            bias,
        })
    }

    /// Deviations from the mean, and the reciprocal of their spread.
    fn centred<T: Scalar>(&self, x: &[T], deviations: &mut [f64]) -> f64 {
        let n = x.len() as f64;
        let mean = x.iter().map(|x| x.f64()).sum::<f64>() / n;
        for (deviation, x) in deviations.iter_mut().zip(x) {
            *deviation = x.f64() - mean;
        }
        let variance = deviations.iter().map(|d| d * d).sum::<f64>() / n;
        1.0 / (variance + self.epsilon).sqrt()
    }

    /// Bounds of one group. Each deviation and the spread are bounded apart, as if they did not
    /// depend on each other, and no normalised number exceeds `sqrt(n)`: sound, exact at a point,
    /// and loose for wide boxes.
    fn bounds(&self, from: &[f64], to: &[f64]) -> Vec<(f64, f64)> {
        let n = from.len() as f64;
        let size = from.iter().chain(to).fold(0.0f64, |m, x| m.max(x.abs()));
        // Means and deviations are sums of n terms of this size.
        let error = 4.0 * f64::EPSILON * (n + 4.0) * size;
        let (sum_low, sum_high) = (from.iter().sum::<f64>(), to.iter().sum::<f64>());
        let deviations: Vec<(f64, f64)> = (from.iter().zip(to))
            .map(|(&l, &u)| {
                let low = l - (sum_high - u + l) / n;
                let high = u - (sum_low - l + u) / n;
                (low - error, high + error)
            })
            .collect();
        let mean_square = |part: fn(&(f64, f64)) -> f64| {
            deviations.iter().map(part).map(|d| d * d).sum::<f64>() / n
        };
        let smallest = mean_square(|&(low, high)| low.max(-high).max(0.0));
        let largest = mean_square(|&(low, high)| high.max(-low));
        let slack = 4.0 * f64::EPSILON * (n + 8.0);
        let narrow = (smallest * (1.0 - slack) + self.epsilon).sqrt();
        let wide = (largest * (1.0 + slack) + self.epsilon).sqrt();
        let limit = n.sqrt();
        (deviations.iter().zip(self.scale.iter().zip(&self.bias)))
            .map(|(&(low, high), (&scale, &bias))| {
                let low = low / if low < 0.0 { narrow } else { wide };
                let high = high / if high > 0.0 { narrow } else { wide };
                // `max` and `min` drop a NaN (0 / 0, or infinite ends).
                let (low, high) = (low.max(-limit), high.min(limit));
                let ends = [low * scale, high * scale];
                let margin = slack * (ends[0].abs().max(ends[1].abs()) + bias.abs());
                (
                    ends[0].min(ends[1]) + bias - margin,
                    ends[0].max(ends[1]) + bias + margin,
                )
            })
            .collect()
    }
}

impl Operator for LayerNorm {
    fn kind(&self) -> &'static str {
        "LayerNormalization"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let [input] = inputs else {
            return Err(format!(
                "LayerNormalization takes one variable input, not {}",
                inputs.len()
            ));
        };
        let normalised: usize = match input.dims().get(self.axis..) {
            Some(dims) if !dims.is_empty() => dims.iter().product(),
            _ => {
                return Err(format!(
                    "axis {} is outside a tensor of shape {input}",
                    self.axis
                ));
            }
        };
        if normalised == self.scale.len() {
            Ok((*input).clone())
        } else {
            Err(format!(
                "LayerNormalization has {} scales for {normalised} elements of {input}",
                self.scale.len()
            ))
        }
    }

    fn nature(&self, _constant: &[bool]) -> Nature {
        Nature::Smooth
    }

    fn reordered(&self, order: &Order) -> Reordered {
        let mut trailing = order.axes().iter().enumerate().skip(self.axis);
        if trailing.all(|(to, &from)| to == from) {
            Reordered::Same
        } else {
            Reordered::No
        }
    }
}

impl<T: Scalar> Evaluate<T> for LayerNorm {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _scratch: &mut Scratch<T>) {
        let n = self.scale.len();
        let mut deviations = vec![0.0; n];
        let each = batch.output.elements().max(1);
        for (s, output) in output.chunks_exact_mut(each).enumerate() {
            let groups = batch.inputs[0].sample(s).chunks_exact(n);
            for (x, y) in groups.zip(output.chunks_exact_mut(n)) {
                let spread = self.centred(x, &mut deviations);
                for (e, y) in y.iter_mut().enumerate() {
                    *y = T::of(deviations[e] * spread * self.scale[e] + self.bias[e]);
                }
            }
        }
    }

    /// Per group: the normalised numbers, then the reciprocal of their spread.
    fn phase(&self, batch: &Batch<'_, T>, _output: &[T]) -> Phase<T> {
        let n = self.scale.len();
        let each = batch.output.elements() / n * (n + 1);
        let mut deviations = vec![0.0; n];
        let mut values = Vec::with_capacity(batch.samples * each);
        for s in 0..batch.samples {
            for x in batch.inputs[0].sample(s).chunks_exact(n) {
                let spread = self.centred(x, &mut deviations);
                values.extend(deviations.iter().map(|d| T::of(d * spread)));
                values.push(T::of(spread));
            }
        }
        Phase::Values { values, each }
    }

    fn vjp(
        &self,
        _input: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _scratch: &mut Scratch<T>,
    ) {
        let n = self.scale.len();
        let each = call.output.elements().max(1);
        let rows = cotangent
            .chunks_exact(each)
            .zip(result.chunks_exact_mut(each));
        for ((cotangent, result), phase) in rows.zip(call.phases) {
            let PhaseRow::Values(held) = *phase else {
                continue;
            };
            let groups = cotangent.chunks_exact(n).zip(result.chunks_exact_mut(n));
            for ((cotangent, result), held) in groups.zip(held.chunks_exact(n + 1)) {
                pull(&self.scale, held, cotangent, result);
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
        let n = self.scale.len();
        let each = boxes.output.elements().max(1);
        let range = &boxes.inputs[0];
        let wide = |x: &[T]| x.iter().map(|x| x.f64()).collect::<Vec<f64>>();
        let samples = lower
            .chunks_exact_mut(each)
            .zip(upper.chunks_exact_mut(each));
        for (s, (lower, upper)) in samples.enumerate() {
            let (from, to) = (wide(range.lower.sample(s)), wide(range.upper.sample(s)));
            let bounds = (from.chunks_exact(n).zip(to.chunks_exact(n)))
                .flat_map(|(from, to)| self.bounds(from, to));
            for (e, (low, high)) in bounds.enumerate() {
                (lower[e], upper[e]) = (down(low), up(high));
            }
        }
    }
}

/// `spread (g - mean(g) - z mean(g z))` with `g` the scaled cotangent and `z` the normalised
/// numbers.
fn pull<T: Scalar>(scale: &[f64], held: &[T], cotangent: &[T], result: &mut [T]) {
    let n = T::of(scale.len() as f64);
    let (normalised, spread) = (&held[..scale.len()], held[scale.len()]);
    for (r, (&c, &scale)) in result.iter_mut().zip(cotangent.iter().zip(scale)) {
        *r = c * T::of(scale);
    }
    let mean = result.iter().copied().sum::<T>() / n;
    let along = (result.iter().zip(normalised))
        .map(|(&g, &z)| g * z)
        .sum::<T>()
        / n;
    for (r, &z) in result.iter_mut().zip(normalised) {
        *r = spread * (*r - mean - z * along);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::laws::Laws;
    use super::*;

    fn norm(axis: usize, n: usize, epsilon: f64) -> LayerNorm {
        let scale = (0..n).map(|i| 1.5 - i as f64).collect();
        let bias = (0..n).map(|i| 0.5 * i as f64).collect();
        LayerNorm::new(axis, epsilon, scale, Some(bias)).unwrap()
    }

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for range in [(-3.0, 3.0), (1e5, 1e5 + 10.0), (1e7, 1e7 + 10.0)] {
            laws.check(&norm(1, 5, 1e-5), &[&[1, 5]], &[], range, 1);
            laws.check(&norm(2, 4, 1e-5), &[&[1, 3, 4]], &[], range, 2);
            laws.check(&norm(1, 12, 1e-3), &[&[2, 3, 4]], &[], range, 3);
        }
        laws.check(&norm(1, 1, 1e-5), &[&[2, 1]], &[], (-3.0, 3.0), 4);
    }

    #[test]
    fn a_point_has_a_narrow_range() {
        let x = [1.0, 2.0, 4.0];
        for (low, high) in norm(0, 3, 1e-5).bounds(&x, &x) {
            assert!(high - low < 1e-12);
        }
        let inf = f64::INFINITY;
        let unbounded = norm(0, 3, 0.0).bounds(&[-inf; 3], &[inf; 3]);
        assert!(unbounded.iter().all(|(low, high)| low <= high));
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(LayerNorm::new(1, -1.0, vec![1.0], None).is_err());
        assert!(LayerNorm::new(1, 1e-5, vec![1.0], Some(vec![])).is_err());
        let shape = Shape::new([1, 4]).unwrap();
        assert!(norm(1, 3, 1e-5).output_shape(&[&shape]).is_err());
        assert!(norm(2, 4, 1e-5).output_shape(&[&shape]).is_err());
        assert!(norm(1, 4, 1e-5).output_shape(&[&shape]).is_ok());
    }
}
