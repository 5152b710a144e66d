//! A table read at computed positions: class labels by class index, rows of an embedding by token.

use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Reordered, Scratch};
use crate::{Order, Scalar, Shape};

/// Each element is replaced by what the table holds at that position of one of its axes. Positions below zero count
/// from the end. A position outside the table gives NaN, which no run takes for an answer.
#[derive(Debug, Clone)]
pub struct Lookup {
    kind: &'static str,
    table: Vec<f64>,
    shape: Shape,
    axis: usize,
    /// The smallest and the largest number along the axis, for each place beside it.
    extremes: Vec<(f64, f64)>,
}

impl Lookup {
    /// From a table with entries, read along an axis, under an operator's name.
    pub fn new(
        kind: &'static str,
        table: Vec<f64>,
        shape: Shape,
        axis: usize,
    ) -> Result<Self, String> {
        if table.is_empty() || table.len() != shape.elements() || axis >= shape.rank() {
            return Err(format!(
                "no table of shape {shape} to be read along axis {axis}"
            ));
        }
        let (outer, extent, inner) = shape.around(axis);
        let column = |place: usize| {
            let start = place / inner * extent * inner + place % inner;
            let numbers = (0..extent).map(|position| table[start + position * inner]);
            numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| {
                (low.min(n), high.max(n))
            })
        };
        Ok(Self {
            extremes: (0..outer * inner).map(column).collect(),
            kind,
            table,
            shape,
            axis,
        })
    }

    /// A list of numbers.
    pub fn list(kind: &'static str, table: Vec<f64>) -> Result<Self, String> {
        let shape = Shape::new([table.len()])?;
        Self::new(kind, table, shape, 0)
    }

    /// The position that a number means, if it is in the table.
    fn position(&self, x: f64) -> Option<usize> {
        let extent = self.shape.dims()[self.axis] as f64;
        let whole = x.trunc();
        let position = if whole < 0.0 { whole + extent } else { whole };
        (0.0..extent)
            .contains(&position)
            .then_some(position as usize)
    }
}

impl<T: Scalar> Evaluate<T> for Lookup {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        let (outer, extent, inner) = self.shape.around(self.axis);
        let mut places = output.chunks_exact_mut(inner.max(1));
        for s in 0..batch.samples {
            for o in 0..outer {
                for x in batch.inputs[0].sample(s) {
                    let Some(out) = places.next() else { return };
                    match self.position(x.f64()) {
                        Some(position) => {
                            let start = (o * extent + position) * inner;
                            let row = &self.table[start..start + inner];
                            for (y, &entry) in out.iter_mut().zip(row) {
                                *y = T::of(entry);
                            }
                        }
                        None => out.fill(T::of(f64::NAN)),
                    }
                }
            }
        }
    }

    fn vjp(&self, _: usize, _: &Backward<'_, T>, _: &[T], result: &mut [T], _: &mut Scratch<T>) {
        result.fill(T::ZERO);
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let (_, _, inner) = self.shape.around(self.axis);
        let read = boxes.inputs[0].lower.shape.elements();
        let each = (self.extremes.len() * read).max(1);
        for (at, (low, high)) in lower.iter_mut().zip(upper).enumerate() {
            let element = at % each;
            let place = element / (read * inner) * inner + element % inner;
            (*low, *high) = (T::of(self.extremes[place].0), T::of(self.extremes[place].1));
        }
    }
}

impl Operator for Lookup {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let dims = self.shape.dims();
        Shape::new([&dims[..self.axis], inputs[0].dims(), &dims[self.axis + 1..]].concat())
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Discrete
    }

    fn cone(&self, _: usize, inputs: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        let (_, _, inner) = self.shape.around(self.axis);
        let read = inputs[0].elements().max(1);
        let mut cone: Vec<usize> = elements.iter().map(|e| e / inner % read).collect();
        cone.sort_unstable();
        cone.dedup();
        cone
    }

    fn reordered(&self, _: &Order) -> Reordered {
        if self.shape.rank() == 1 {
            Reordered::Same
        } else {
            Reordered::No
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::operator::Operand;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let list = Lookup::list("ArrayFeatureExtractor", vec![3.0, -1.0, 7.0]).unwrap();
        laws.check(&list, &[&[2, 3]], &[None], (0.0, 2.0), 1);
        let table: Vec<f64> = (0..24).map(|n| f64::from(n * 7 % 24) - 9.0).collect();
        for axis in 0..3 {
            let shape = Shape::new([2, 3, 4]).unwrap();
            let lookup = Lookup::new("Gather", table.clone(), shape, axis).unwrap();
            laws.check(&lookup, &[&[1, 5]], &[None], (-0.9, 0.9), 1);
        }
    }

    #[test]
    fn positions_count_from_the_end_too_and_none_is_made_up() {
        let shape = Shape::new([3, 2]).unwrap();
        let table = vec![0.0, 1.0, 10.0, 11.0, 20.0, 21.0];
        let lookup = Lookup::new("Gather", table, shape, 0).unwrap();
        let indices = Shape::new([1, 4]).unwrap();
        let operand = Operand {
            data: &[2.0f32, -3.0, 3.0, -4.0],
            shape: &indices,
            constant: false,
        };
        let mut output = [0.0f32; 8];
        let shape = lookup.output_shape(&[&indices]).unwrap();
        assert_eq!(shape.dims(), [1, 4, 2]);
        let batch = Batch {
            samples: 1,
            inputs: &[operand],
            output: &shape,
        };
        lookup.forward(&batch, &mut output, &mut Vec::new());
        assert_eq!(output[..4], [20.0, 21.0, 0.0, 1.0]);
        assert!(output[4..].iter().all(|y| y.is_nan()));
    }
}
