//! Tensors joined along an axis.

use std::sync::Arc;

use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operand, Operator, Reordered, Scratch,
};
use crate::plain::AffineRow;
use crate::{Order, Scalar, Shape};

/// Joins any number of tensors along one axis.
#[derive(Debug, Clone)]
pub struct Concat {
    axis: usize,
}

impl Concat {
    /// Along this axis.
    pub fn new(axis: usize) -> Self {
        Self { axis }
    }

    fn join<'a, T: Scalar>(
        &self,
        samples: usize,
        inputs: &(impl Iterator<Item = Operand<'a, T>> + Clone),
        output: &mut [T],
    ) {
        let mut position = 0;
        for s in 0..samples {
            let outer = inputs
                .clone()
                .next()
                .map_or(0, |x| x.shape.around(self.axis).0);
            for o in 0..outer {
                for x in inputs.clone() {
                    let (_, extent, inner) = x.shape.around(self.axis);
                    let part = &x.sample(s)[o * extent * inner..(o + 1) * extent * inner];
                    output[position..position + part.len()].copy_from_slice(part);
                    position += part.len();
                }
            }
        }
    }
}

impl<T: Scalar> Evaluate<T> for Concat {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        self.join(batch.samples, &batch.inputs.iter().copied(), output);
    }

    fn vjp(
        &self,
        input: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        let (_, total, inner) = call.output.around(self.axis);
        let extent = |i: usize| call.inputs[i].0.dims()[self.axis];
        let start: usize = (0..input).map(extent).sum::<usize>() * inner;
        let length = extent(input) * inner;
        for (g, x) in cotangent
            .chunks_exact((total * inner).max(1))
            .zip(result.chunks_exact_mut(length.max(1)))
        {
            x.copy_from_slice(&g[start..start + length]);
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        self.join(boxes.samples, &boxes.inputs.iter().map(|r| r.lower), lower);
        self.join(boxes.samples, &boxes.inputs.iter().map(|r| r.upper), upper);
    }
}

impl Operator for Concat {
    fn kind(&self) -> &'static str {
        "Concat"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let Some(first) = inputs.first() else {
            return Err("nothing to join".into());
        };
        let mut dims = first.dims().to_vec();
        if self.axis >= dims.len() {
            return Err(format!("no axis {} in shape {first}", self.axis));
        }
        dims[self.axis] = 0;
        for shape in inputs {
            let agrees = shape.rank() == dims.len()
                && (0..dims.len()).all(|a| a == self.axis || shape.dims()[a] == dims[a]);
            if !agrees {
                return Err(format!(
                    "shapes {first} and {shape} cannot be joined along axis {}",
                    self.axis
                ));
            }
            dims[self.axis] += shape.dims()[self.axis];
        }
        Shape::new(dims)
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Affine
    }

    fn cone(
        &self,
        input: usize,
        inputs: &[&Shape],
        output: &Shape,
        elements: &[usize],
    ) -> Vec<usize> {
        let (_, total, inner) = output.around(self.axis);
        let extent = inputs[input].dims()[self.axis];
        let start: usize = inputs[..input].iter().map(|s| s.dims()[self.axis]).sum();
        let place = |&e: &usize| {
            let (outer, at, rest) = (e / (total * inner), e / inner % total, e % inner);
            let at = at.checked_sub(start).filter(|at| *at < extent)?;
            Some((outer * extent + at) * inner + rest)
        };
        elements.iter().filter_map(place).collect()
    }

    fn affine_row(
        &self,
        element: usize,
        inputs: &[(&Shape, Option<&[f64]>)],
        output: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let (_, total, inner) = output.around(self.axis);
        let (outer, mut at, rest) = (
            element / (total * inner),
            element / inner % total,
            element % inner,
        );
        for (input, (shape, known)) in inputs.iter().enumerate() {
            let extent = shape.dims()[self.axis];
            if at >= extent {
                at -= extent;
                continue;
            }
            let place = (outer * extent + at) * inner + rest;
            match known {
                Some(numbers) => row.constant = numbers[place],
                None => row.terms.push((input as u32, place as u32, 1.0)),
            }
            return true;
        }
        false
    }

    fn reordered(&self, order: &Order) -> Reordered {
        Reordered::By(Arc::new(Self::new(order.axes()[self.axis])))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let shapes: [&[usize]; 2] = [&[2, 3, 4], &[2, 1, 4]];
        laws.check(&Concat::new(1), &shapes, &[None, None], (-1.0, 1.0), 1);
        let constant = (0..8).map(f64::from).collect();
        laws.check(
            &Concat::new(1),
            &shapes,
            &[None, Some(constant)],
            (-1.0, 1.0),
            2,
        );
    }
}
