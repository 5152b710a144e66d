//! `TopK`: the largest or smallest elements along an axis, in order, and their positions.

use std::cmp::Ordering;

use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Scratch,
};
use crate::{Scalar, Shape};

/// Which of the two outputs of `TopK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranked {
    /// The elements.
    Values,
    /// Their positions along the axis.
    Positions,
}

/// The first elements along an axis, sorted.
#[derive(Clone, Debug)]
pub struct TopK {
    axis: usize,
    count: usize,
    largest: bool,
    part: Ranked,
}

impl TopK {
    /// So many along this axis: the largest from the largest on, or the smallest from the smallest on.
    pub fn new(axis: usize, count: usize, largest: bool, part: Ranked) -> Self {
        Self {
            axis,
            count,
            largest,
            part,
        }
    }

    /// The order of two elements: of equal ones the first comes first, NaN comes last.
    fn before<T: Scalar>(&self, a: T, b: T) -> Ordering {
        let order = if self.largest {
            b.partial_cmp(&a)
        } else {
            a.partial_cmp(&b)
        };
        let is_nan = |x: T| x.partial_cmp(&x).is_none();
        order.unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
    }

    /// Calls `visit(output element, input element, position)` for one sample.
    fn each<T: Scalar>(&self, shape: &Shape, x: &[T], mut visit: impl FnMut(usize, usize, usize)) {
        let (outer, extent, inner) = shape.around(self.axis);
        let mut order: Vec<usize> = Vec::with_capacity(extent);
        for line in 0..outer * inner {
            let (o, i) = (line / inner.max(1), line % inner.max(1));
            let element = |p: usize| (o * extent + p) * inner + i;
            order.clear();
            order.extend(0..extent);
            order.sort_by(|&p, &q| self.before(x[element(p)], x[element(q)]));
            for (rank, &p) in order.iter().take(self.count).enumerate() {
                visit((o * self.count + rank) * inner + i, element(p), p);
            }
        }
    }

    fn sorted<T: Scalar>(&self, shape: &Shape, x: &[T], y: &mut [T]) {
        self.each(shape, x, |to, from, _| y[to] = x[from]);
    }
}

impl<T: Scalar> Evaluate<T> for TopK {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        let (input, each) = (&batch.inputs[0], batch.output.elements());
        for s in 0..batch.samples {
            let (x, y) = (input.sample(s), &mut output[s * each..(s + 1) * each]);
            match self.part {
                Ranked::Values => self.sorted(input.shape, x, y),
                Ranked::Positions => {
                    self.each(input.shape, x, |to, _, p| y[to] = T::of(p as f64));
                }
            }
        }
    }

    fn phase(&self, batch: &Batch<'_, T>, _: &[T]) -> Phase<T> {
        if self.part == Ranked::Positions {
            return Phase::Fixed;
        }
        let (input, each) = (&batch.inputs[0], batch.output.elements());
        let mut index = vec![0; batch.samples * each];
        for s in 0..batch.samples {
            let index = &mut index[s * each..(s + 1) * each];
            self.each(input.shape, input.sample(s), |to, from, _| {
                index[to] = from as u32;
            });
        }
        Phase::Choice { index, each }
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
        let (each, size) = (call.output.elements(), call.inputs[0].0.elements());
        for (row, phase) in call.phases.iter().enumerate() {
            if let PhaseRow::Choice(index) = phase {
                let g = &cotangent[row * each..(row + 1) * each];
                for (&g, &from) in g.iter().zip(*index) {
                    result[row * size + from as usize] += g;
                }
            }
        }
    }

    /// The element of a rank grows with every element, so the ends have it at the ends.
    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let input = &boxes.inputs[0];
        let (shape, each) = (input.lower.shape, boxes.output.elements());
        if self.part == Ranked::Positions {
            let last = shape.dims()[self.axis].saturating_sub(1);
            lower.fill(T::ZERO);
            upper.fill(T::of(last as f64));
            return;
        }
        for s in 0..boxes.samples {
            let span = s * each..(s + 1) * each;
            self.sorted(shape, input.lower.sample(s), &mut lower[span.clone()]);
            self.sorted(shape, input.upper.sample(s), &mut upper[span]);
        }
    }
}

impl Operator for TopK {
    fn kind(&self) -> &'static str {
        "TopK"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let [input] = inputs else {
            return Err(format!("TopK takes one input, not {}", inputs.len()));
        };
        let mut dims = input.dims().to_vec();
        match dims.get_mut(self.axis) {
            Some(extent) if *extent >= self.count => *extent = self.count,
            _ => {
                return Err(format!(
                    "{} elements along axis {} of shape {input}",
                    self.count, self.axis
                ));
            }
        }
        Shape::new(dims)
    }

    /// Values are piecewise linear, but which piece an input lies in takes as many conditions as there are
    /// elements, and no analysis writes them down: so they are told to be smooth.
    fn nature(&self, _: &[bool]) -> Nature {
        match self.part {
            Ranked::Values => Nature::Smooth,
            Ranked::Positions => Nature::Discrete,
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
pub(super) mod tests {
    use super::super::laws::Laws;
    use super::*;
    use crate::operator::Operand;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for part in [Ranked::Values, Ranked::Positions] {
            for (axis, largest) in [(1, true), (2, false), (0, true)] {
                let op = TopK::new(axis, 2, largest, part);
                laws.check(&op, &[&[2, 4, 3]], &[], (-1.0, 1.0), axis as u64 + 1);
            }
        }
    }

    #[test]
    fn of_equal_elements_the_first_comes_first() {
        let shape = Shape::new([4]).unwrap();
        let output = Shape::new([3]).unwrap();
        let run = |largest: bool, part: Ranked| {
            let mut y = [9.0f32; 3];
            let input = Operand {
                data: &[1.0, 3.0, 3.0, 2.0],
                shape: &shape,
                constant: false,
            };
            let batch = Batch {
                samples: 1,
                inputs: &[input],
                output: &output,
            };
            TopK::new(0, 3, largest, part).forward(&batch, &mut y, &mut Vec::new());
            y
        };
        assert_eq!(run(true, Ranked::Values), [3.0, 3.0, 2.0]);
        assert_eq!(run(true, Ranked::Positions), [1.0, 2.0, 3.0]);
        assert_eq!(run(false, Ranked::Values), [1.0, 2.0, 3.0]);
        assert_eq!(run(false, Ranked::Positions), [0.0, 3.0, 1.0]);
    }
}
