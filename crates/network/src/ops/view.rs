//! The same numbers under another shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout.

use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Scratch};
use crate::plain::AffineRow;
use crate::{Scalar, Shape};

/// Gives a tensor another shape with as many elements. It never runs inside a network, where a
/// view is the same memory; it does run when constants are folded.
#[derive(Debug, Clone)]
pub struct View {
    shape: Shape,
}

impl View {
    /// To this shape.
    pub fn new(shape: Shape) -> Self {
        Self { shape }
    }
}

impl<T: Scalar> Evaluate<T> for View {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        output.copy_from_slice(batch.inputs[0].data);
    }

    fn vjp(
        &self,
        _: usize,
        _: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        result.copy_from_slice(cotangent);
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        lower.copy_from_slice(boxes.inputs[0].lower.data);
        upper.copy_from_slice(boxes.inputs[0].upper.data);
    }
}

impl Operator for View {
    fn kind(&self) -> &'static str {
        "Reshape"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        if inputs[0].elements() == self.shape.elements() {
            Ok(self.shape.clone())
        } else {
            Err(format!(
                "shape {} has {} elements and cannot become {}",
                inputs[0],
                inputs[0].elements(),
                self.shape
            ))
        }
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
        row.terms.push((0, element as u32, 1.0));
        true
    }

    fn is_view(&self) -> bool {
        true
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let view = View::new(Shape::new([6, 2]).unwrap());
        laws.check(&view, &[&[1, 3, 4]], &[None], (-1.0, 1.0), 1);
    }
}
