//! Position of the largest element along an axis, which stays with extent 1.

use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Scratch};
use crate::{Scalar, Shape};

/// The first largest element's position.
#[derive(Debug, Clone)]
pub struct ArgMax {
    axis: usize,
}

impl ArgMax {
    /// Along this axis.
    pub fn new(axis: usize) -> Self {
        Self { axis }
    }
}

impl<T: Scalar> Evaluate<T> for ArgMax {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        let (_, extent, inner) = batch.inputs[0].shape.around(self.axis);
        for s in 0..batch.samples {
            let x = batch.inputs[0].sample(s);
            let each = x.len() / extent.max(1);
            for (e, y) in output[s * each..(s + 1) * each].iter_mut().enumerate() {
                let start = e / inner * extent * inner + e % inner;
                let largest = (1..extent).fold(0, |best, i| {
                    if x[start + i * inner] > x[start + best * inner] {
                        i
                    } else {
                        best
                    }
                });
                *y = T::of(largest as f64);
            }
        }
    }

    fn vjp(&self, _: usize, _: &Backward<'_, T>, _: &[T], result: &mut [T], _: &mut Scratch<T>) {
        result.fill(T::ZERO);
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let extent = boxes.inputs[0].lower.shape.dims()[self.axis];
        lower.fill(T::ZERO);
        upper.fill(T::of(extent.saturating_sub(1) as f64));
    }
}

impl Operator for ArgMax {
    fn kind(&self) -> &'static str {
        "ArgMax"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let mut dims = inputs[0].dims().to_vec();
        match dims.get_mut(self.axis) {
            Some(extent) if *extent > 0 => *extent = 1,
            _ => return Err(format!("no axis {} in shape {}", self.axis, inputs[0])),
        }
        Shape::new(dims)
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
        laws.check(&ArgMax::new(1), &[&[2, 5, 3]], &[None], (-1.0, 1.0), 1);
    }
}
