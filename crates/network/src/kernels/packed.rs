//! Weights rearranged once into the panels that the tile routines stream through.

use crate::Scalar;

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
        weight: impl Fn(usize, usize) -> T,
    ) -> Self {
        let width = T::kernel().columns;
        let count = columns.div_ceil(width);
        let mut panels = vec![T::ZERO; count * depth * width];
        let mut padded_bias = vec![T::ZERO; count * width];
        for (c, start) in padded_bias.iter_mut().enumerate().take(columns) {
            *start = bias(c);
            let (panel, lane) = (c / width, c % width);
            for k in 0..depth {
                panels[(panel * depth + k) * width + lane] = weight(k, c);
            }
        }
        Self {
            depth,
            columns,
            panels,
            bias: padded_bias,
        }
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
