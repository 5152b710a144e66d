//! A sparse matrix applied along one axis: Resize by interpolation, `CumSum`.

use std::sync::Arc;

use super::affine::gamma;
use super::outward::{hull, product, sum_down, sum_up};
use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Reordered, Scratch};
use crate::plain::AffineRow;
use crate::{Order, Scalar, Shape};

/// How one position of the output is made: positions of the input with their weights, and what is added.
pub type AxisRow = (Vec<(usize, f64)>, f64);

/// Each position of the output along an axis is a sum of multiples of the input's positions, and a number.
#[derive(Debug, Clone)]
pub struct AxisMap {
    kind: &'static str,
    axis: usize,
    input: Shape,
    output: Shape,
    /// For each position of the output.
    rows: Arc<Vec<AxisRow>>,
}

impl AxisMap {
    /// `rows[p]` says how position `p` of the output is made.
    pub fn new(
        kind: &'static str,
        axis: usize,
        input: Shape,
        rows: Vec<AxisRow>,
    ) -> Result<Self, String> {
        let Some(&extent) = input.dims().get(axis) else {
            return Err(format!("no axis {axis} in shape {input}"));
        };
        let mut terms = rows.iter().flat_map(|(terms, _)| terms);
        if terms.any(|&(position, _)| position >= extent) {
            return Err(format!("a position outside axis {axis} of shape {input}"));
        }
        let mut dims = input.dims().to_vec();
        dims[axis] = rows.len();
        Ok(Self {
            kind,
            axis,
            output: Shape::new(dims)?,
            input,
            rows: Arc::new(rows),
        })
    }

    /// Calls `visit(output start, inner, row)` for every line of outputs of one sample, `inner` numbers that
    /// are made alike; positions of the row are starts in the input.
    fn lines(&self, mut visit: impl FnMut(usize, usize, usize, &AxisRow)) {
        let (outer, extent, inner) = self.input.around(self.axis);
        for o in 0..outer {
            for (p, row) in self.rows.iter().enumerate() {
                let to = (o * self.rows.len() + p) * inner;
                visit(to, o * extent * inner, inner, row);
            }
        }
    }

    fn longest(&self) -> usize {
        let lengths = self.rows.iter().map(|(terms, _)| terms.len());
        lengths.max().unwrap_or(0)
    }

    fn row_of(&self, element: usize) -> (usize, &AxisRow) {
        let (_, extent, inner) = self.input.around(self.axis);
        let line = element / inner;
        let (outer, p) = (line / self.rows.len(), line % self.rows.len());
        (outer * extent * inner + element % inner, &self.rows[p])
    }
}

impl<T: Scalar> Evaluate<T> for AxisMap {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        let each = self.output.elements();
        for s in 0..batch.samples {
            let x = batch.inputs[0].sample(s);
            let y = &mut output[s * each..(s + 1) * each];
            self.lines(|to, from, inner, (terms, constant)| {
                let y = &mut y[to..to + inner];
                y.fill(T::of(*constant));
                for &(position, weight) in terms {
                    let weight = T::of(weight);
                    let x = &x[from + position * inner..][..inner];
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y += weight * x;
                    }
                }
            });
        }
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
        let (n, m) = (self.input.elements(), self.output.elements());
        for row in 0..call.rows {
            let g = &cotangent[row * m..(row + 1) * m];
            let x = &mut result[row * n..(row + 1) * n];
            self.lines(|to, from, inner, (terms, _)| {
                for &(position, weight) in terms {
                    let weight = T::of(weight);
                    let x = &mut x[from + position * inner..][..inner];
                    for (x, &g) in x.iter_mut().zip(&g[to..to + inner]) {
                        *x += weight * g;
                    }
                }
            });
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let each = self.output.elements();
        let slack = (T::ONE + T::ONE) * gamma::<T>(self.longest());
        for s in 0..boxes.samples {
            let (low, high) = (
                boxes.inputs[0].lower.sample(s),
                boxes.inputs[0].upper.sample(s),
            );
            for e in 0..each {
                let (from, (terms, constant)) = self.row_of(e);
                let inner = self.input.around(self.axis).2;
                let constant = T::of(*constant);
                let (mut least, mut maximum, mut magnitude) = (constant, constant, constant.abs());
                for &(position, weight) in terms {
                    let at = from + position * inner;
                    let weight = T::of(weight);
                    let [l, u] = hull([product(weight, low[at]), product(weight, high[at])]);
                    least = sum_down(least, l);
                    maximum = sum_up(maximum, u);
                    magnitude = sum_up(magnitude, l.abs().max(u.abs()));
                }
                // Rounding errs by at most gamma times the sum of magnitudes.
                let error = (slack * magnitude).next_up();
                lower[s * each + e] = sum_down(least, -error);
                upper[s * each + e] = sum_up(maximum, error);
            }
        }
    }
}

impl Operator for AxisMap {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        match inputs {
            [input] if **input == self.input => Ok(self.output.clone()),
            _ => Err(format!("{} is made for shape {}", self.kind, self.input)),
        }
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Affine
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        let inner = self.input.around(self.axis).2;
        let read = elements.iter().flat_map(|&e| {
            let (from, (terms, _)) = self.row_of(e);
            terms
                .iter()
                .map(move |&(position, _)| from + position * inner)
        });
        let read: std::collections::BTreeSet<usize> = read.collect();
        read.into_iter().collect()
    }

    fn affine_row(
        &self,
        element: usize,
        _: &[(&Shape, Option<&[f64]>)],
        _: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let inner = self.input.around(self.axis).2;
        let (from, (terms, constant)) = self.row_of(element);
        row.constant = *constant;
        row.terms.extend(
            terms
                .iter()
                .map(|&(position, weight)| (0, (from + position * inner) as u32, weight)),
        );
        true
    }

    fn reordered(&self, order: &Order) -> Reordered {
        // Axis `a` of what this is made for is stored as axis `order[a]`.
        let back = order.inverse();
        let moved = Self {
            axis: order.axes()[self.axis],
            input: self.input.permuted(&back),
            output: self.output.permuted(&back),
            ..self.clone()
        };
        Reordered::By(Arc::new(moved))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::laws::Laws;
    use super::*;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let rows = vec![
            (vec![(0, 0.25), (1, 0.75)], 0.0),
            (vec![(2, 1.0)], 0.0),
            (vec![], 0.5),
            (vec![(1, -2.0), (0, 0.1), (2, 0.3)], 1.0),
        ];
        for (axis, dims) in [(1, [1, 3, 4, 2]), (2, [1, 2, 3, 5]), (3, [2, 1, 2, 3])] {
            let shape = Shape::new(dims).unwrap();
            let op = AxisMap::new("Resize", axis, shape, rows.clone()).unwrap();
            laws.check(&op, &[&dims], &[], (-2.0, 2.0), axis as u64);
        }
    }

    #[test]
    fn positions_outside_the_axis_are_refused() {
        let shape = Shape::new([1, 3]).unwrap();
        assert!(AxisMap::new("Resize", 1, shape.clone(), vec![(vec![(3, 1.0)], 0.0)]).is_err());
        assert!(AxisMap::new("Resize", 2, shape, vec![]).is_err());
    }
}
