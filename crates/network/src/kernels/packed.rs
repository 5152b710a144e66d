//! Weights rearranged once into the panels that the tile routines stream through.

use rayon::prelude::*;

use crate::Scalar;

/// Numbers of a panel from which on panels are packed side by side.
const LARGE: usize = 1 << 16;

/// Rows and columns that are turned at a time.
const BLOCK: usize = 8;

/// Bytes that memory is read in.
const CACHE_LINE: usize = 64;

/// A matrix of `depth` rows and `columns` columns in panels, with the vector its product starts
/// from.
#[derive(Debug, Clone)]
pub struct Packed<T> {
    depth: usize,
    columns: usize,
    /// The panels, after as many numbers as it takes for the first to begin with a cache line: a vector that
    /// lies across two costs two reads.
    panels: Vec<T>,
    before: usize,
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
        // Row by row, so that stored weights are read in order whichever way round they lie.
        Self::filled(depth, columns, bias, |first, numbers| {
            for (k, row) in numbers.chunks_exact_mut(width).enumerate() {
                for (lane, number) in row.iter_mut().enumerate().take(columns - first) {
                    *number = weight(k, first + lane);
                }
            }
        })
    }

    /// Packs numbers that lie column after column, `depth` of each.
    ///
    /// # Panics
    /// When there are not `depth` x `columns` of them.
    pub fn of_columns(
        depth: usize,
        columns: usize,
        bias: impl Fn(usize) -> T,
        numbers: &[T],
    ) -> Self {
        assert_eq!(numbers.len(), depth * columns);
        let width = T::kernel().columns;
        Self::filled(depth, columns, bias, |first, panel| {
            let present = width.min(columns - first);
            // Whole blocks are turned in registers. One number after the other, columns that lie a power of two
            // apart would push each other out of the cache.
            let (rows, lanes) = (depth / BLOCK * BLOCK, present / BLOCK * BLOCK);
            for k in (0..rows).step_by(BLOCK) {
                for lane in (0..lanes).step_by(BLOCK) {
                    let from = &numbers[(first + lane) * depth + k..];
                    let to = &mut panel[k * width + lane..];
                    T::kernel().transpose_block((from, depth), (to, width));
                }
            }
            for (k, row) in panel.chunks_exact_mut(width).enumerate() {
                let turned = if k < rows { lanes } else { 0 };
                for (lane, number) in row.iter_mut().enumerate().take(present).skip(turned) {
                    *number = numbers[(first + lane) * depth + k];
                }
            }
        })
    }

    /// Panels filled one by one, given the first column of each.
    fn filled(
        depth: usize,
        columns: usize,
        bias: impl Fn(usize) -> T,
        fill: impl Fn(usize, &mut [T]) + Sync,
    ) -> Self {
        let width = T::kernel().columns;
        let count = columns.div_ceil(width);
        let mut panels = vec![T::ZERO; count * depth * width + CACHE_LINE / size_of::<T>()];
        let before = panels.as_ptr().align_offset(CACHE_LINE);
        let before = before.min(CACHE_LINE / size_of::<T>());
        let mut padded_bias = vec![T::ZERO; count * width];
        for (c, start) in padded_bias.iter_mut().enumerate().take(columns) {
            *start = bias(c);
        }
        let pack = |(panel, numbers): (usize, &mut [T])| fill(panel * width, numbers);
        let each = (depth * width).max(1);
        let numbers = &mut panels[before..before + count * depth * width];
        if each >= LARGE {
            numbers.par_chunks_mut(each).enumerate().for_each(pack);
        } else {
            numbers.chunks_mut(each).enumerate().for_each(pack);
        }
        Self {
            depth,
            columns,
            panels,
            before,
            bias: padded_bias,
        }
    }

    /// One of the numbers that were packed.
    pub fn at(&self, k: usize, column: usize) -> T {
        let width = T::kernel().columns;
        self.panels[self.before + (column / width * self.depth + k) * width + column % width]
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
        let (length, panels) = (self.depth * width, &self.panels[self.before..]);
        (0..self.columns.div_ceil(width)).map(move |p| {
            (
                p * width,
                width.min(self.columns - p * width),
                &panels[p * length..(p + 1) * length],
                &self.bias[p * width..(p + 1) * width],
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Packed;

    #[test]
    fn numbers_packed_by_columns_are_those_packed_by_place() {
        for (depth, columns) in [(1, 1), (8, 8), (7, 40), (40, 7), (16, 33), (100, 72)] {
            let numbers: Vec<f32> = (0..depth * columns).map(|i| i as f32).collect();
            let weight = |k: usize, c: usize| numbers[c * depth + k];
            let by_columns = Packed::of_columns(depth, columns, |c| c as f32, &numbers);
            let by_place = Packed::new(depth, columns, |c| c as f32, weight);
            for (a, b) in by_columns.panels().zip(by_place.panels()) {
                assert_eq!(a, b, "{depth} x {columns}");
            }
            assert!(
                (by_columns.at(depth - 1, columns - 1) - numbers[depth * columns - 1]).abs() < 0.5
            );
        }
    }
}
