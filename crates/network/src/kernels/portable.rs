//! The tile routine in plain Rust, for machines without a routine of their own and as the
//! reference the others are tested against. Multiplies and adds round separately here, so its
//! last bits differ from those of the fused routines.

use super::{Kernel, Tile};
use crate::Scalar;

const ROWS: usize = 4;
const COLUMNS: usize = 16;

pub(super) static F32: Kernel<f32> = Kernel {
    name: "portable",
    columns: COLUMNS,
    rows: ROWS,
    tile: tile::<f32>,
    transpose: None,
};
pub(super) static F64: Kernel<f64> = Kernel {
    name: "portable",
    columns: COLUMNS,
    rows: ROWS,
    tile: tile::<f64>,
    transpose: None,
};

unsafe fn tile<T: Scalar>(tile: &Tile<'_, T>) {
    for (&row, &output) in tile.rows.iter().zip(tile.outputs) {
        // Safety: the caller promises what `Tile` describes.
        unsafe {
            let mut sums = [T::ZERO; COLUMNS];
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = *tile.bias.add(c);
            }
            let mut weights = tile.panel;
            for &tap in tile.taps {
                for k in 0..tile.run {
                    let a = *row.add(tap + k);
                    for (c, sum) in sums.iter_mut().enumerate() {
                        *sum += a * *weights.add(c);
                    }
                    weights = weights.add(COLUMNS);
                }
            }
            std::ptr::copy_nonoverlapping(sums.as_ptr(), output, tile.columns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_the_sum_of_its_products() {
        let (taps, run, rows, columns) = ([0, 7], 3, 3, 11);
        let numbers = |n: usize, k: usize| (0..n).map(|i| (i * k % 13) as f32 - 6.0).collect();
        let input: Vec<f32> = numbers(40, 5);
        let panel: Vec<f32> = numbers(taps.len() * run * COLUMNS, 7);
        let bias: Vec<f32> = numbers(COLUMNS, 3);
        let mut output = vec![f32::NAN; rows * columns];
        let starts: Vec<*const f32> = (0..rows).map(|r| &raw const input[r * 5]).collect();
        let targets: Vec<*mut f32> = (0..rows).map(|r| &raw mut output[r * columns]).collect();
        // Safety: rows start at 0, 5 and 10 and read at most ten numbers; columns fit the output.
        unsafe {
            (F32.tile)(&Tile {
                rows: &starts,
                outputs: &targets,
                taps: &taps,
                run,
                panel: panel.as_ptr(),
                bias: bias.as_ptr(),
                columns,
            });
        }
        for r in 0..rows {
            for c in 0..columns {
                let mut sum = bias[c];
                for (t, &tap) in taps.iter().enumerate() {
                    for k in 0..run {
                        sum += input[r * 5 + tap + k] * panel[(t * run + k) * COLUMNS + c];
                    }
                }
                // Small whole numbers: exact in any order.
                assert_eq!(output[r * columns + c].to_bits(), sum.to_bits());
            }
        }
    }
}
