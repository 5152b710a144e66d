//! Weights rearranged once into the panels that the tile routines stream through.

use rayon::prelude::*;

use crate::Scalar;

/// Numbers of a panel from which on panels are packed side by side.
const LARGE: usize = 1 << 16;

/// A matrix of `depth` rows and `columns` columns in panels, with the vector its product starts
/// from.
#[derive(Debug, Clone)]
pub struct Packed<T> {
    depth: usize,
    columns: usize,
    panels: Vec<T>,
    bias: Vec<T>,
}

impl<T: Scalar> Packed<T> {
    /// Packs `depth` x `columns` numbers given by position, and the bias given by column.
    pub fn new(
        depth: usize,
        columns: usize,
        bias: impl Fn(usize) -> T,
        weight: impl Fn(usize, usize) -> T + Sync,
    ) -> Self {
        let width = T::kernel().columns;
        let count = columns.div_ceil(width);
        let mut panels = vec![T::ZERO; count * depth * width];
        let mut padded_bias = vec![T::ZERO; count * width];
        for (c, start) in padded_bias.iter_mut().enumerate().take(columns) {
            *start = bias(c);
        }
        // Row by row, so that stored weights are read in order whichever way round they lie.
        let pack = |(panel, numbers): (usize, &mut [T])| {
            let first = panel * width;
            for (k, row) in numbers.chunks_exact_mut(width).enumerate() {
                for (lane, number) in row.iter_mut().enumerate().take(columns - first) {
                    *number = weight(k, first + lane);
                }
            }
        };
        let each = (depth * width).max(1);
        if each >= LARGE {
            panels.par_chunks_mut(each).enumerate().for_each(pack);
        } else {
            panels.chunks_mut(each).enumerate().for_each(pack);
        }
        Self {
            depth,
            columns,
            panels,
            bias: padded_bias,
        }
    }

    /// One of the numbers that were packed.
    pub fn at(&self, k: usize, column: usize) -> T {
        let width = T::kernel().columns;
        self.panels[(column / width * self.depth + k) * width + column % width]
    }

    /// Rows of the matrix: numbers in one row of the left operand.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Columns of the matrix: numbers in one row of the product.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The panels in order: first column, columns really there, weights, bias.
    pub(super) fn panels(&self) -> impl Iterator<Item = (usize, usize, &[T], &[T])> {
        let width = T::kernel().columns;
        let length = self.depth * width;
        (0..self.columns.div_ceil(width)).map(move |p| {
            (
                p * width,
                width.min(self.columns - p * width),
                &self.panels[p * length..(p + 1) * length],
                &self.bias[p * width..(p + 1) * width],
            )
        })
    }
}
