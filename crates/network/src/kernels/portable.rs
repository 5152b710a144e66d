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
