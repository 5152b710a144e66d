//! Outputs that are copies of chosen input elements or a fixed number: Slice, Gather, Pad, Expand,
//! Tile, nearest-neighbour Resize are all this operator with another table.

use std::sync::Arc;

use super::reorder;
use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Reordered, Scratch};
use crate::plain::AffineRow;
use crate::{Order, Scalar, Shape};

/// Each output element is an input element or the fill value.
#[derive(Debug, Clone)]
pub struct Select {
    kind: &'static str,
    input: Shape,
    output: Shape,
    table: Vec<u32>,
    fill: f64,
    /// Outputs that copy neighbours, in order: where they begin and how many; none where they are short.
    runs: Option<Vec<(u32, u32)>>,
}

/// Runs shorter than this on average are copied element by element.
const SHORT_RUN: usize = 4;

/// Larger tensors are put back in order instead: the tables of a hostile file would take gigabytes.
const LARGEST_REORDERED: usize = 1 << 24;

/// Table entry of an output that is the fill value.
pub const FILL: u32 = u32::MAX;

impl Select {
    /// `table[e]` is the input element that output `e` copies, or [`FILL`].
    pub fn new(
        kind: &'static str,
        input: Shape,
        output: Shape,
        table: Vec<u32>,
        fill: f64,
    ) -> Result<Self, String> {
        let maximum = input.elements();
        if table.len() != output.elements()
            || table.iter().any(|&i| i != FILL && i as usize >= maximum)
        {
            return Err(format!("a table that does not map {input} to {output}"));
        }
        Ok(Self {
            runs: runs(&table),
            kind,
            input,
            output,
            table,
            fill,
        })
    }

    /// The table for outputs whose position along each axis picks a position of the input's same
    /// axis: `along[axis][position]`, `None` for fill.
    pub fn by_axes(
        kind: &'static str,
        input: Shape,
        along: &[Vec<Option<usize>>],
        fill: f64,
    ) -> Result<Self, String> {
        let output = Shape::new(along.iter().map(Vec::len).collect::<Vec<_>>())?;
        let strides = input.strides();
        let mut table = vec![Some(0usize)];
        for (axis, positions) in along.iter().enumerate() {
            if positions.iter().flatten().any(|&p| p >= input.dims()[axis]) {
                return Err(format!("a position outside axis {axis} of shape {input}"));
            }
            table = table
                .iter()
                .flat_map(|base| {
                    positions
                        .iter()
                        .map(|p| Some((*base)? + (*p)? * strides[axis]))
                })
                .collect();
        }
        let table = table.iter().map(|t| t.map_or(FILL, |t| t as u32)).collect();
        Self::new(kind, input, output, table, fill)
    }

    fn copy<T: Scalar>(&self, input: &[T], output: &mut [T]) {
        let (n, m) = (self.input.elements().max(1), self.table.len().max(1));
        for (x, y) in input.chunks_exact(n).zip(output.chunks_exact_mut(m)) {
            if let Some(runs) = &self.runs {
                copy_runs(runs, T::of(self.fill), x, y);
                continue;
            }
            for (y, &i) in y.iter_mut().zip(&self.table) {
                *y = x.get(i as usize).copied().unwrap_or(T::of(self.fill));
            }
        }
    }
}

/// Neighbours that are copied together, if they are many.
fn runs(table: &[u32]) -> Option<Vec<(u32, u32)>> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &place in table {
        match runs.last_mut() {
            Some((FILL, count)) if place == FILL => *count += 1,
            Some((start, count)) if *start != FILL && place != FILL && *start + *count == place => {
                *count += 1;
            }
            _ => runs.push((place, 1)),
        }
    }
    (runs.len() * SHORT_RUN <= table.len()).then_some(runs)
}

fn copy_runs<T: Scalar>(runs: &[(u32, u32)], fill: T, input: &[T], output: &mut [T]) {
    let mut rest = output;
    for &(start, count) in runs {
        let (run, others) = rest.split_at_mut(count as usize);
        if start == FILL {
            run.fill(fill);
        } else {
            run.copy_from_slice(&input[start as usize..(start + count) as usize]);
        }
        rest = others;
    }
}

impl<T: Scalar> Evaluate<T> for Select {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        self.copy(batch.inputs[0].data, output);
    }

    fn vjp(
        &self,
        _: usize,
        _: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        result.fill(T::ZERO);
        let (n, m) = (self.input.elements().max(1), self.table.len().max(1));
        for (g, x) in cotangent.chunks_exact(m).zip(result.chunks_exact_mut(n)) {
            for (&g, &i) in g.iter().zip(&self.table) {
                if let Some(x) = x.get_mut(i as usize) {
                    *x += g;
                }
            }
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        self.copy(boxes.inputs[0].lower.data, lower);
        self.copy(boxes.inputs[0].upper.data, upper);
    }
}

impl Operator for Select {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        if *inputs[0] == self.input {
            Ok(self.output.clone())
        } else {
            Err(format!(
                "shape {} where {} was built for {}",
                inputs[0], self.kind, self.input
            ))
        }
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        let sources = elements.iter().map(|&e| self.table[e]);
        sources.filter(|&i| i != FILL).map(|i| i as usize).collect()
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Affine
    }

    /// The same copies between tensors whose axes are in another order.
    fn reordered(&self, order: &Order) -> Reordered {
        let rank = order.axes().len();
        let small = self.input.elements().max(self.table.len()) <= LARGEST_REORDERED;
        if self.input.rank() != rank || self.output.rank() != rank || !small {
            return Reordered::No;
        }
        let [input, output] = [&self.input, &self.output].map(|s| s.permuted(&order.inverse()));
        // As numbers, which reorderings move; every place is exact among them.
        let file: Vec<f64> = (0..input.elements()).map(|place| place as f64).collect();
        let mut places = vec![0.0; file.len()];
        reorder(order, &input, &file, &mut places);
        let stored = |&place: &u32| match place {
            FILL => f64::from(FILL),
            place => places[place as usize],
        };
        let stored: Vec<f64> = self.table.iter().map(stored).collect();
        let mut table = vec![0.0; stored.len()];
        reorder(&order.inverse(), &self.output, &stored, &mut table);
        let table = table.into_iter().map(|place| place as u32).collect();
        match Self::new(self.kind, input, output, table, self.fill) {
            Ok(select) => Reordered::By(Arc::new(select)),
            Err(_) => Reordered::No,
        }
    }

    fn affine_row(
        &self,
        element: usize,
        _: &[(&Shape, Option<&[f64]>)],
        _: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        match self.table[element] {
            FILL => row.constant = self.fill,
            place => row.terms.push((0, place, 1.0)),
        }
        true
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let input = Shape::new([2, 3, 4]).unwrap();
        let along = [
            vec![Some(1), Some(0), Some(1)],
            vec![None, Some(2)],
            vec![Some(0), Some(3), None],
        ];
        let select = Select::by_axes("Slice", input, &along, 0.5).unwrap();
        laws.check(&select, &[&[2, 3, 4]], &[None], (-1.0, 1.0), 1);
    }

    #[test]
    fn positions_outside_are_refused() {
        let input = Shape::new([3]).unwrap();
        assert!(Select::by_axes("Slice", input, &[vec![Some(3)]], 0.0).is_err());
    }
}
