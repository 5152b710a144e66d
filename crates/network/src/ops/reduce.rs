//! Sum and mean over whole axes, which stay with extent 1.

use std::sync::Arc;

use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Reordered, Scratch};
use crate::plain::AffineRow;
use crate::{Order, Scalar, Shape};

use super::affine::gamma;

/// Sum or mean over some axes.
#[derive(Debug, Clone)]
pub struct Reduce {
    axes: Vec<usize>,
    mean: bool,
}

impl Reduce {
    /// The mean over these axes.
    pub fn mean(axes: Vec<usize>) -> Self {
        Self { axes, mean: true }
    }

    /// The sum over these axes.
    pub fn sum(axes: Vec<usize>) -> Self {
        Self { axes, mean: false }
    }

    /// For each input element, the output element it adds to; and the divisor.
    fn targets(&self, input: &Shape, output: &Shape) -> (Vec<usize>, f64) {
        let strides = output.strides();
        let mut targets = vec![0];
        for (axis, &extent) in input.dims().iter().enumerate() {
            let step = if self.axes.contains(&axis) {
                0
            } else {
                strides[axis]
            };
            targets = targets
                .iter()
                .flat_map(|t| (0..extent).map(move |i| t + i * step))
                .collect();
        }
        let count = input.elements() / output.elements().max(1);
        (targets, if self.mean { count.max(1) as f64 } else { 1.0 })
    }

    fn total<T: Scalar>(
        (targets, divisor): &(Vec<usize>, f64),
        input: &[T],
        output: &mut [T],
        value: impl Fn(T) -> T,
    ) {
        let each_out = output.len() / (input.len() / targets.len().max(1)).max(1);
        output.fill(T::ZERO);
        for (x, y) in input
            .chunks_exact(targets.len().max(1))
            .zip(output.chunks_exact_mut(each_out.max(1)))
        {
            for (&x, &t) in x.iter().zip(targets) {
                y[t] += value(x);
            }
        }
        for y in output {
            *y = *y / T::of(*divisor);
        }
    }
}

impl<T: Scalar> Evaluate<T> for Reduce {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        let targets = self.targets(batch.inputs[0].shape, batch.output);
        Self::total(&targets, batch.inputs[0].data, output, |x| x);
    }

    fn vjp(
        &self,
        _: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        let (targets, divisor) = self.targets(call.inputs[0].0, call.output);
        let each_out = call.output.elements();
        let share = T::ONE / T::of(divisor);
        for (g, x) in cotangent
            .chunks_exact(each_out.max(1))
            .zip(result.chunks_exact_mut(targets.len().max(1)))
        {
            for (x, &t) in x.iter_mut().zip(&targets) {
                *x = g[t] * share;
            }
        }
    }

    fn interval(
        &self,
        boxes: &Boxes<'_, T>,
        lower: &mut [T],
        upper: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let range = &boxes.inputs[0];
        let targets = self.targets(range.lower.shape, boxes.output);
        let count = targets.0.len() / boxes.output.elements().max(1);
        Self::total(&targets, range.lower.data, lower, T::abs);
        scratch.clear();
        scratch.extend_from_slice(lower);
        Self::total(&targets, range.upper.data, upper, T::abs);
        for (s, &u) in scratch.iter_mut().zip(upper.iter()) {
            // Rounding errs by at most gamma times the sum of magnitudes, at either end.
            *s = s.max(u) * gamma::<T>(count) * (T::ONE + T::ONE);
        }
        Self::total(&targets, range.lower.data, lower, |x| x);
        Self::total(&targets, range.upper.data, upper, |x| x);
        for ((l, u), &slack) in lower.iter_mut().zip(upper).zip(scratch.iter()) {
            *l = (*l - slack).next_down();
            *u = (*u + slack).next_up();
        }
    }
}

impl Operator for Reduce {
    fn kind(&self) -> &'static str {
        if self.mean { "ReduceMean" } else { "ReduceSum" }
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let mut dims = inputs[0].dims().to_vec();
        for &axis in &self.axes {
            match dims.get_mut(axis) {
                Some(extent) => *extent = 1,
                None => return Err(format!("no axis {axis} in shape {}", inputs[0])),
            }
        }
        Shape::new(dims)
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Affine
    }

    fn cone(&self, _: usize, inputs: &[&Shape], output: &Shape, elements: &[usize]) -> Vec<usize> {
        let (targets, _) = self.targets(inputs[0], output);
        let inside = |&i: &usize| elements.binary_search(&targets[i]).is_ok();
        (0..targets.len()).filter(inside).collect()
    }

    fn affine_row(
        &self,
        element: usize,
        inputs: &[(&Shape, Option<&[f64]>)],
        output: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let (shape, from) = (inputs[0].0, inputs[0].0.strides());
        let to = output.strides();
        let mut places = vec![0];
        for (axis, &extent) in shape.dims().iter().enumerate() {
            if self.axes.contains(&axis) {
                let step = from[axis];
                let spread = |p: usize| (0..extent).map(move |i| p + i * step);
                places = places.into_iter().flat_map(spread).collect();
            } else {
                let at = element / to[axis] % extent;
                for place in &mut places {
                    *place += at * from[axis];
                }
            }
        }
        let share = if self.mean {
            1.0 / places.len().max(1) as f64
        } else {
            1.0
        };
        let term = |&place: &usize| (0, place as u32, share);
        row.terms.extend(places.iter().map(term));
        true
    }

    fn reordered(&self, order: &Order) -> Reordered {
        let axes = self.axes.iter().map(|&a| order.axes()[a]).collect();
        Reordered::By(Arc::new(Self {
            axes,
            mean: self.mean,
        }))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.check(
            &Reduce::mean(vec![1, 2]),
            &[&[1, 3, 4, 5]],
            &[None],
            (-1.0, 1.0),
            1,
        );
        laws.check(
            &Reduce::sum(vec![3]),
            &[&[1, 3, 4, 5]],
            &[None],
            (-1.0, 1.0),
            2,
        );
        laws.check(
            &Reduce::sum(vec![0, 1, 2]),
            &[&[2, 3, 4]],
            &[None],
            (0.0, 1.0),
            3,
        );
    }
}
