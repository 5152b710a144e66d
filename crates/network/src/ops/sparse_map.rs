//! Outputs that are sums of multiples of a few chosen input elements each: sampling a picture at fixed places,
//! Fourier transforms, scattered sums.

use super::affine::gamma;
use super::outward::{hull, product, sum_down, sum_up};
use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Scratch};
use crate::plain::AffineRow;
use crate::{Scalar, Shape};

/// A sparse matrix applied to all elements of a tensor at once.
#[derive(Clone, Debug)]
pub struct SparseMap {
    kind: &'static str,
    input: Shape,
    output: Shape,
    /// Terms of output `e` are `starts[e]..starts[e + 1]`.
    starts: Vec<u32>,
    terms: Vec<(u32, f64)>,
}

impl SparseMap {
    /// `rows` yields, for every element of the output, input elements with their weights.
    pub fn new(
        kind: &'static str,
        input: Shape,
        output: Shape,
        rows: impl IntoIterator<Item = Vec<(usize, f64)>>,
    ) -> Result<Self, String> {
        /// Far above what real models hold, far below what would exhaust memory.
        const MAX_TERMS: usize = 1 << 24;
        let (mut starts, mut terms) = (vec![0], Vec::new());
        for mut row in rows.into_iter().take(output.elements()) {
            // An analysis reads each element of a row once.
            row.sort_unstable_by_key(|&(element, _)| element);
            for (element, weight) in row {
                if element >= input.elements() {
                    return Err(format!("an element outside shape {input}"));
                }
                let own = starts.last().is_some_and(|&s| terms.len() > s as usize);
                match terms.last_mut() {
                    Some((last, sum)) if own && *last == element as u32 => *sum += weight,
                    _ => terms.push((element as u32, weight)),
                }
            }
            if terms.len() > MAX_TERMS {
                return Err(format!(
                    "{kind} of shape {output} from shape {input} is beyond the limit of {MAX_TERMS} terms"
                ));
            }
            starts.push(terms.len() as u32);
        }
        if starts.len() != output.elements() + 1 {
            return Err(format!("rows that do not make shape {output}"));
        }
        Ok(Self {
            kind,
            input,
            output,
            starts,
            terms,
        })
    }

    fn row(&self, element: usize) -> &[(u32, f64)] {
        &self.terms[self.starts[element] as usize..self.starts[element + 1] as usize]
    }
}

impl<T: Scalar> Evaluate<T> for SparseMap {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        let each = self.output.elements();
        for s in 0..batch.samples {
            let x = batch.inputs[0].sample(s);
            for (e, y) in output[s * each..(s + 1) * each].iter_mut().enumerate() {
                *y = self.row(e).iter().fold(T::ZERO, |sum, &(from, weight)| {
                    sum + T::of(weight) * x[from as usize]
                });
            }
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
        let (size, each) = (self.input.elements(), self.output.elements());
        for row in 0..call.rows {
            let x = &mut result[row * size..(row + 1) * size];
            for (e, &g) in cotangent[row * each..(row + 1) * each].iter().enumerate() {
                for &(from, weight) in self.row(e) {
                    x[from as usize] += T::of(weight) * g;
                }
            }
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let each = self.output.elements();
        for s in 0..boxes.samples {
            let input = &boxes.inputs[0];
            let (low, high) = (input.lower.sample(s), input.upper.sample(s));
            for e in 0..each {
                let row = self.row(e);
                let (mut least, mut most, mut magnitude) = (T::ZERO, T::ZERO, T::ZERO);
                for &(from, weight) in row {
                    let (at, weight) = (from as usize, T::of(weight));
                    let [l, u] = hull([product(weight, low[at]), product(weight, high[at])]);
                    least = sum_down(least, l);
                    most = sum_up(most, u);
                    magnitude = sum_up(magnitude, l.abs().max(u.abs()));
                }
                // Rounding errs by at most gamma times the sum of magnitudes.
                let error = match row {
                    [] => T::ZERO,
                    _ => ((T::ONE + T::ONE) * gamma::<T>(row.len()) * magnitude).next_up(),
                };
                lower[s * each + e] = sum_down(least, -error);
                upper[s * each + e] = sum_up(most, error);
            }
        }
    }
}

impl Operator for SparseMap {
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
        let read = elements.iter().flat_map(|&e| self.row(e));
        let read: std::collections::BTreeSet<usize> =
            read.map(|&(from, _)| from as usize).collect();
        read.into_iter().collect()
    }

    fn affine_row(
        &self,
        element: usize,
        _: &[(&Shape, Option<&[f64]>)],
        _: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let terms = self.row(element).iter();
        row.terms
            .extend(terms.map(|&(from, weight)| (0, from, weight)));
        true
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::laws::Laws;
    use super::*;

    fn rows() -> Vec<Vec<(usize, f64)>> {
        vec![
            vec![(0, 0.25), (5, 0.75)],
            vec![],
            vec![(3, -2.0), (3, 0.5), (1, 1.0)],
            vec![(2, 1.0)],
        ]
    }

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let shapes = ([1, 2, 3], [2, 2]);
        let [input, output] = [Shape::new(shapes.0).unwrap(), Shape::new(shapes.1).unwrap()];
        let map = SparseMap::new("GridSample", input, output, rows()).unwrap();
        laws.check(&map, &[&shapes.0], &[], (-2.0, 2.0), 3);
    }

    #[test]
    fn rows_outside_the_shapes_are_refused() {
        let map = |input: usize, output: usize| {
            let shapes = [input, output].map(|n| Shape::new([n]).unwrap());
            let [input, output] = shapes;
            SparseMap::new("GridSample", input, output, rows())
        };
        assert!(map(6, 4).is_ok());
        assert!(map(5, 4).is_err());
        assert!(map(6, 5).is_err());
    }
}
