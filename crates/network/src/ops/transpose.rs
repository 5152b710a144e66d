//! Reordering of axes. The builder holds reorderings back and cancels them where it can; what is
//! left runs here.

use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Scratch};
use crate::plain::AffineRow;
use crate::{Order, Scalar, Shape};

/// Axis `a` of the output is axis `order[a]` of the input.
#[derive(Debug, Clone)]
pub struct Transpose {
    order: Order,
}

impl Transpose {
    /// By this order.
    pub fn new(order: Order) -> Self {
        Self { order }
    }

    /// Where each element of the output comes from.
    fn source(&self, input: &Shape, output: &Shape) -> impl Fn(usize) -> usize {
        let (from, to) = (output.strides(), input.strides());
        let axes: Vec<(usize, usize, usize)> = (0..output.rank())
            .map(|a| (from[a], output.dims()[a], to[self.order.axes()[a]]))
            .collect();
        move |e| {
            axes.iter()
                .map(|&(step, extent, to)| e / step % extent * to)
                .sum()
        }
    }
}

/// Copies one tensor into another order of axes.
pub fn reorder<T: Scalar>(order: &Order, shape: &Shape, from: &[T], to: &mut [T]) {
    let strides = shape.strides();
    // Outer to inner: extent and stride in the source, neighbouring axes joined where they stay
    // neighbours, so that most real reorderings become a plain matrix transpose.
    let mut axes: Vec<(usize, usize)> = Vec::new();
    for &a in order.axes() {
        let (extent, stride) = (shape.dims()[a], strides[a]);
        match axes.last_mut() {
            _ if extent == 1 => {}
            Some(last) if last.1 == extent * stride => *last = (last.0 * extent, stride),
            _ => axes.push((extent, stride)),
        }
    }
    match axes.as_slice() {
        [] | [(_, 1)] => to.copy_from_slice(from),
        [(rows, 1), (columns, stride)] => transpose_matrix(*rows, *columns, *stride, from, to),
        _ => {
            let mut position = 0;
            copy_axes(&axes, from, 0, to, &mut position);
        }
    }
}

/// `to[r][c] = from[c * stride + r]`, in blocks of eight by eight.
fn transpose_matrix<T: Scalar>(
    rows: usize,
    columns: usize,
    stride: usize,
    from: &[T],
    to: &mut [T],
) {
    let (whole_rows, whole_columns) = (rows / 8 * 8, columns / 8 * 8);
    for r in (0..whole_rows).step_by(8) {
        for c in (0..whole_columns).step_by(8) {
            let block = (&from[c * stride + r..], stride);
            T::kernel().transpose_block(block, (&mut to[r * columns + c..], columns));
        }
    }
    let rest = (0..rows).flat_map(|r| {
        let first = if r < whole_rows { whole_columns } else { 0 };
        (first..columns).map(move |c| (r, c))
    });
    for (r, c) in rest {
        to[r * columns + c] = from[c * stride + r];
    }
}

fn copy_axes<T: Scalar>(
    axes: &[(usize, usize)],
    from: &[T],
    start: usize,
    to: &mut [T],
    position: &mut usize,
) {
    let ((extent, stride), rest) = match axes {
        [axis, rest @ ..] => (*axis, rest),
        [] => return,
    };
    for i in 0..extent {
        let at = start + i * stride;
        if rest.is_empty() {
            to[*position] = from[at];
            *position += 1;
        } else {
            copy_axes(rest, from, at, to, position);
        }
    }
}

impl Transpose {
    fn each<T: Scalar>(order: &Order, shape: &Shape, from: &[T], to: &mut [T]) {
        let n = shape.elements().max(1);
        for (x, y) in from.chunks_exact(n).zip(to.chunks_exact_mut(n)) {
            reorder(order, shape, x, y);
        }
    }
}

impl<T: Scalar> Evaluate<T> for Transpose {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        Self::each(
            &self.order,
            batch.inputs[0].shape,
            batch.inputs[0].data,
            output,
        );
    }

    fn vjp(
        &self,
        _: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        Self::each(&self.order.inverse(), call.output, cotangent, result);
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let range = &boxes.inputs[0];
        Self::each(&self.order, range.lower.shape, range.lower.data, lower);
        Self::each(&self.order, range.upper.shape, range.upper.data, upper);
    }
}

impl Operator for Transpose {
    fn kind(&self) -> &'static str {
        "Transpose"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        if inputs[0].rank() != self.order.axes().len() {
            return Err(format!(
                "an order of {} axes for a tensor of shape {}",
                self.order.axes().len(),
                inputs[0]
            ));
        }
        Ok(inputs[0].permuted(&self.order))
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Affine
    }

    fn cone(&self, _: usize, inputs: &[&Shape], output: &Shape, elements: &[usize]) -> Vec<usize> {
        let place = self.source(inputs[0], output);
        elements.iter().map(|&e| place(e)).collect()
    }

    fn affine_row(
        &self,
        element: usize,
        inputs: &[(&Shape, Option<&[f64]>)],
        output: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let place = self.source(inputs[0].0, output);
        row.terms.push((0, place(element) as u32, 1.0));
        true
    }

    fn as_reordering(&self) -> Option<&Order> {
        Some(&self.order)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for (seed, order) in [[0, 2, 3, 1], [0, 3, 1, 2], [3, 1, 0, 2], [1, 0, 3, 2]]
            .into_iter()
            .enumerate()
        {
            let transpose = Transpose::new(Order::new(order.to_vec()).unwrap());
            laws.check(
                &transpose,
                &[&[2, 3, 4, 5]],
                &[None],
                (-1.0, 1.0),
                seed as u64,
            );
        }
    }

    #[test]
    fn agrees_with_index_arithmetic() {
        let shape = Shape::new([3, 20, 17]).unwrap();
        let x: Vec<f32> = (0..shape.elements()).map(|i| i as f32).collect();
        for order in [[0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let order = Order::new(order.to_vec()).unwrap();
            let mut y = vec![0.0; x.len()];
            reorder(&order, &shape, &x, &mut y);
            let out = shape.permuted(&order);
            let (si, so) = (shape.strides(), out.strides());
            for (e, &value) in y.iter().enumerate() {
                let from: usize = (0..3)
                    .map(|a| (e / so[a]) % out.dims()[a] * si[order.axes()[a]])
                    .sum();
                assert_eq!(value.to_bits(), x[from].to_bits());
            }
        }
    }
}
