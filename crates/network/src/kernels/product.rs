//! A whole product out of tiles.

use std::sync::{Arc, OnceLock};

use super::{Packed, Tile};
use crate::Scalar;

/// Where the rows of a product lie: for one sample, the start of each row in the left operand and
/// in the output, and the runs that make up a row.
#[derive(Debug, Clone)]
pub struct Piece<T> {
    /// Start of each row of the left operand, within a sample.
    pub rows: Vec<usize>,
    /// Start of each output row, within a sample.
    pub outputs: Vec<usize>,
    /// Offset of each run from the row's start.
    pub taps: Vec<usize>,
    /// Numbers in each run.
    pub run: usize,
    /// The right operand; its depth is `taps * run`.
    pub weights: Packed<T>,
}

impl<T: Scalar> Piece<T> {
    /// Dense rows: one row a sample.
    pub fn dense(weights: Packed<T>) -> Self {
        Self {
            rows: vec![0],
            outputs: vec![0],
            taps: vec![0],
            run: weights.depth(),
            weights,
        }
    }

    fn last_read(&self, rows: &[usize]) -> usize {
        let row = rows.iter().max().copied().unwrap_or(0);
        let tap = self.taps.iter().max().copied().unwrap_or(0);
        row + tap + self.run
    }

    fn last_written(&self, outputs: &[usize]) -> usize {
        outputs.iter().max().copied().unwrap_or(0) + self.weights.columns()
    }
}

/// Highest tile of any kernel, for the pointer arrays on the stack.
const MAX_ROWS: usize = 16;

/// Multiplies `samples` samples: `input` holds one every `input_stride` numbers, `output` one
/// every `output_stride`. Output numbers that no row of the piece covers are left alone.
///
/// # Panics
/// When the piece reaches outside a sample: an error in the operator that built it.
pub fn multiply<T: Scalar>(
    piece: &Piece<T>,
    samples: usize,
    (input, input_stride): (&[T], usize),
    (output, output_stride): (&mut [T], usize),
) {
    let rows = piece.rows.len();
    product(
        piece,
        samples,
        rows,
        (input, input_stride),
        (output, output_stride),
    );
}

/// Multiplies the first so many rows of one sample.
///
/// # Panics
/// As [`multiply`].
pub fn multiply_rows<T: Scalar>(piece: &Piece<T>, rows: usize, input: &[T], output: &mut [T]) {
    product(piece, 1, rows, (input, 0), (output, 0));
}

fn product<T: Scalar>(
    piece: &Piece<T>,
    samples: usize,
    rows: usize,
    (input, input_stride): (&[T], usize),
    (output, output_stride): (&mut [T], usize),
) {
    if samples == 0 || rows == 0 || piece.weights.columns() == 0 {
        return;
    }
    let (starts, targets) = (&piece.rows[..rows], &piece.outputs[..rows]);
    assert_eq!(piece.weights.depth(), piece.taps.len() * piece.run);
    assert!((samples - 1) * input_stride + piece.last_read(starts) <= input.len());
    assert!((samples - 1) * output_stride + piece.last_written(targets) <= output.len());
    let source = input.as_ptr();
    let target = output.as_mut_ptr();
    let height = tile_height(samples * rows, T::kernel().rows);
    for (first, columns, panel, bias) in piece.weights.panels() {
        let run_tile = |rows: &[*const T], outputs: &[*mut T]| {
            // Safety: every pointer is in bounds by the asserts above, and the output rows of a
            // panel do not overlap because a piece names each output row once.
            unsafe {
                (T::kernel().tile)(&Tile {
                    rows,
                    outputs,
                    taps: &piece.taps,
                    run: piece.run,
                    panel: panel.as_ptr(),
                    bias: bias.as_ptr(),
                    columns,
                });
            }
        };
        let mut rows = [source; MAX_ROWS];
        let mut outputs = [target; MAX_ROWS];
        let mut filled = 0;
        for sample in 0..samples {
            for (&row, &out) in starts.iter().zip(targets) {
                rows[filled] = source.wrapping_add(sample * input_stride + row);
                outputs[filled] = target.wrapping_add(sample * output_stride + out + first);
                filled += 1;
                if filled == height {
                    run_tile(&rows[..filled], &outputs[..filled]);
                    filled = 0;
                }
            }
        }
        if filled > 0 {
            run_tile(&rows[..filled], &outputs[..filled]);
        }
    }
}

/// Rows of a tile when so many are to be multiplied: as few tiles as can be, of about the same height, since a low
/// one waits for its sums and for its weights.
fn tile_height(rows: usize, highest: usize) -> usize {
    rows.div_ceil(rows.div_ceil(highest))
}

/// Pieces in both number types, built when first used.
#[derive(Debug, Default)]
pub struct PieceCache {
    single: OnceLock<Arc<[Piece<f32>]>>,
    double: OnceLock<Arc<[Piece<f64>]>>,
}

impl PieceCache {
    /// The pieces for one number type.
    pub fn get<T: Scalar>(&self, build: impl FnOnce() -> Vec<Piece<T>>) -> &[Piece<T>] {
        T::pieces(self).get_or_init(|| build().into())
    }

    /// A cache that has the pieces in single precision already.
    pub fn holding(single: Arc<[Piece<f32>]>) -> Self {
        Self {
            single: OnceLock::from(single),
            double: OnceLock::new(),
        }
    }

    pub(crate) fn single(&self) -> &OnceLock<Arc<[Piece<f32>]>> {
        &self.single
    }

    pub(crate) fn double(&self) -> &OnceLock<Arc<[Piece<f64>]>> {
        &self.double
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tile_is_much_lower_than_another() {
        for (rows, height) in [(1, 1), (12, 12), (13, 7), (16, 8), (49, 10), (196, 12)] {
            assert_eq!(tile_height(rows, 12), height);
        }
    }

    /// Numbers of rows and columns decide which routines run, and none of them may change a bit.
    #[test]
    fn a_row_has_the_same_bits_in_every_company() {
        let (depth, all) = (37, 29);
        let weight = |k: usize, c: usize| ((k * 37 + c * 11) % 101) as f32 * 0.013 - 0.6;
        let input: Vec<f32> = (0..all * depth)
            .map(|i| ((i * 53) % 97) as f32 * 0.02 - 1.0)
            .collect();
        for columns in [1, 5, 8, 15, 16, 17, 24, 31, 32, 33, 48, 70] {
            let piece = Piece::dense(Packed::new(depth, columns, |c| c as f32 * 0.1, weight));
            let product = |first: usize, rows: usize| {
                let mut sums = vec![f32::NAN; rows * columns];
                let input = &input[first * depth..(first + rows) * depth];
                multiply(&piece, rows, (input, depth), (&mut sums, columns));
                sums.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            };
            let alone: Vec<u32> = (0..all).flat_map(|row| product(row, 1)).collect();
            for rows in 2..=all {
                assert_eq!(product(0, rows), alone[..rows * columns], "{rows} rows");
            }
        }
    }
}
