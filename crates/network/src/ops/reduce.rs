//! Sum and mean over whole axes, which stay with extent 1.

use std::sync::Arc;

use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Reordered, Scratch};
use crate::plain::AffineRow;
use crate::{Order, Scalar, Shape, vectorised};

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

    /// Elements before, over and after the reduced axes, if these lie side by side: each output is then the sum of
    /// what lies in a column.
    fn columns(&self, input: &Shape) -> Option<[usize; 3]> {
        let reduced = |axis: usize| self.axes.contains(&axis) || input.dims()[axis] == 1;
        let kept: Vec<usize> = (0..input.rank()).filter(|&axis| !reduced(axis)).collect();
        let first = self.axes.iter().copied().min()?;
        let last = self.axes.iter().copied().max()?;
        if kept.iter().any(|axis| (first..=last).contains(axis)) {
            return None;
        }
        let product = |axes: std::ops::Range<usize>| input.dims()[axes].iter().product();
        Some([
            product(0..first),
            product(first..last + 1),
            product(last + 1..input.rank()),
        ])
    }

    /// Sums down columns, each in the order of the elements.
    fn sum_columns<T: Scalar>(
        [before, over, after]: [usize; 3],
        divisor: f64,
        input: &[T],
        output: &mut [T],
    ) {
        let blocks = input.chunks_exact((over * after).max(1));
        debug_assert_eq!(blocks.len() % before.max(1), 0);
        for (block, sums) in blocks.zip(output.chunks_exact_mut(after.max(1))) {
            vectorised(
                #[inline(always)]
                || {
                    sums.fill(T::ZERO);
                    for row in block.chunks_exact(after.max(1)) {
                        for (sum, &x) in sums.iter_mut().zip(row) {
                            *sum += x;
                        }
                    }
                    for sum in sums.iter_mut() {
                        *sum = *sum / T::of(divisor);
                    }
                },
            );
        }
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
        let input = batch.inputs[0];
        let empty = input.shape.elements() == 0 || output.is_empty();
        if let Some(columns) = self.columns(input.shape).filter(|_| !empty) {
            let divisor = if self.mean { columns[1] as f64 } else { 1.0 };
            return Self::sum_columns(columns, divisor, input.data, output);
        }
        let targets = self.targets(input.shape, batch.output);
        Self::total(&targets, input.data, output, |x| x);
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

    #[test]
    fn columns_are_summed_in_the_order_of_the_elements() {
        let input = Shape::new([2, 3, 5, 4]).unwrap();
        let x: Vec<f32> = (0..240u16).map(|i| f32::from(i * 37 % 101) / 7.0).collect();
        for axes in [vec![1, 2], vec![3], vec![0], vec![0, 1, 2, 3], vec![2]] {
            let reduce = Reduce::mean(axes.clone());
            let output = reduce.output_shape(&[&input]).unwrap();
            let targets = reduce.targets(&input, &output);
            let columns = reduce.columns(&input).unwrap();
            let mut by_columns = vec![0.0; 2 * output.elements()];
            let mut by_targets = by_columns.clone();
            Reduce::sum_columns(columns, targets.1, &x, &mut by_columns);
            Reduce::total(&targets, &x, &mut by_targets, |x| x);
            assert_eq!(by_columns, by_targets, "{axes:?}");
        }
        assert_eq!(Reduce::sum(vec![0, 2]).columns(&input), None);
    }
}
