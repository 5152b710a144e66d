//! Average over windows of a channels-last image.

use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Scratch};
use crate::plain::AffineRow;
use crate::{Scalar, Shape};

use super::affine::gamma;
use super::max_pool::{members, pooled_shape};
use super::window::Window;

/// Average pooling for images of one size.
#[derive(Debug)]
pub struct AveragePool {
    input: [usize; 3],
    output: [usize; 2],
    /// For each output pixel, the input pixels in its window and what their sum is divided by.
    members: Vec<(Vec<usize>, f64)>,
}

impl AveragePool {
    /// `input` is height, width, channels; `count_padding` divides by the whole window, padding
    /// included (but not what `ceil` mode adds beyond the padding).
    pub fn new(window: &Window, input: [usize; 3], count_padding: bool) -> Result<Self, String> {
        let output = window.output([input[0], input[1]])?;
        let within_padding = |axis: usize, index: usize| {
            let end = input[axis] + window.before[axis] + window.after[axis];
            let start = index * window.strides[axis];
            (0..window.kernel[axis])
                .filter(|k| start + k * window.dilations[axis] < end)
                .count()
        };
        let members = members(window, input, output)
            .into_iter()
            .enumerate()
            .map(|(pixel, members)| {
                let (y, x) = (pixel / output[1], pixel % output[1]);
                let count = if count_padding {
                    within_padding(0, y) * within_padding(1, x)
                } else {
                    members.len()
                };
                (members, count.max(1) as f64)
            })
            .collect();
        Ok(Self {
            input,
            output,
            members,
        })
    }

    fn average<T: Scalar>(&self, samples: usize, input: &[T], output: &mut [T]) {
        let channels = self.input[2];
        let each_in = self.input.iter().product::<usize>();
        let each_out = self.members.len() * channels;
        for s in 0..samples {
            let image = &input[s * each_in..(s + 1) * each_in];
            let result = &mut output[s * each_out..(s + 1) * each_out];
            for ((members, count), y) in self.members.iter().zip(result.chunks_exact_mut(channels))
            {
                y.fill(T::ZERO);
                for &m in members {
                    let x = &image[m * channels..][..channels];
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y += x;
                    }
                }
                for y in y {
                    *y = *y / T::of(*count);
                }
            }
        }
    }
}

impl<T: Scalar> Evaluate<T> for AveragePool {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        self.average(batch.samples, batch.inputs[0].data, output);
    }

    fn vjp(
        &self,
        _: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        result.fill(T::ZERO);
        let channels = self.input[2];
        let each_in = call.inputs[0].0.elements();
        let each_out = call.output.elements();
        for r in 0..call.rows {
            let grads = &cotangent[r * each_out..(r + 1) * each_out];
            let into = &mut result[r * each_in..(r + 1) * each_in];
            for ((members, count), g) in self.members.iter().zip(grads.chunks_exact(channels)) {
                let share = T::ONE / T::of(*count);
                for &m in members {
                    for (x, &g) in into[m * channels..][..channels].iter_mut().zip(g) {
                        *x += g * share;
                    }
                }
            }
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let range = &boxes.inputs[0];
        self.average(boxes.samples, range.lower.data, lower);
        self.average(boxes.samples, range.upper.data, upper);
        widen_means(
            &self.members,
            self.input,
            range.lower.data,
            range.upper.data,
            lower,
            upper,
        );
    }
}

/// Adds what rounding can do to a mean: gamma times the mean of magnitudes.
fn widen_means<T: Scalar>(
    members: &[(Vec<usize>, f64)],
    [h, w, channels]: [usize; 3],
    low: &[T],
    high: &[T],
    lower: &mut [T],
    upper: &mut [T],
) {
    let (each_in, each_out) = (h * w * channels, members.len() * channels);
    for (e, (l, u)) in lower.iter_mut().zip(upper).enumerate() {
        let (sample, rest) = (e / each_out, e % each_out);
        let (members, count) = &members[rest / channels];
        let magnitude: T = members
            .iter()
            .map(|m| {
                let at = sample * each_in + m * channels + rest % channels;
                low[at].abs().max(high[at].abs())
            })
            .sum();
        let slack = gamma::<T>(members.len()) * magnitude / T::of(*count);
        *l = (*l - slack).next_down();
        *u = (*u + slack).next_up();
    }
}

impl Operator for AveragePool {
    fn kind(&self) -> &'static str {
        "AveragePool"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        pooled_shape(inputs[0], self.input, self.output)
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        let channels = self.input[2];
        let members = |&e: &usize| {
            let pixels = self.members[e / channels].0.iter();
            pixels.map(move |m| m * channels + e % channels)
        };
        elements.iter().flat_map(members).collect()
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
        let channels = self.input[2];
        let (members, count) = &self.members[element / channels];
        let places = members.iter().map(|m| m * channels + element % channels);
        let term = |place: usize| (0, place as u32, 1.0 / count);
        row.terms.extend(places.map(term));
        true
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let mut window = Window::new([3, 2]);
        for (seed, count_padding) in [(1, false), (2, true)] {
            let pool = AveragePool::new(&window, [5, 4, 3], count_padding).unwrap();
            laws.check(&pool, &[&[1, 5, 4, 3]], &[None], (-1.0, 1.0), seed);
            window.strides = [2, 2];
            window.before = [1, 0];
            window.after = [1, 1];
            window.ceil = true;
        }
    }
}
