//! Matrix kernels: one tile routine that serves dense layers, convolutions, and the transposed
//! forms of both.
//!
//! A *tile* is a few rows times one panel of columns. Row `r` of the left operand is not stored as
//! a row: it is `taps` runs of `run` consecutive numbers, run `t` starting at `row[r] + tap[t]`. A
//! dense layer has one tap; a channels-last convolution has one tap per kernel row, since the
//! pixels under a kernel row are neighbours in memory. So no patch is ever copied out (im2col).
//!
//! Every output number is one chain of multiply-adds in the order of the weights, whatever the
//! tile height, the batch or the thread: the same bits for any split of the work. (The `gemm`
//! family of crates is faster on large square products but picks other summation orders for
//! other shapes.)

mod packed;
mod portable;
mod product;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

pub use packed::Packed;
pub use product::{Piece, PieceCache, multiply, multiply_rows};

/// Arguments of one tile: `c[r][..columns] = bias + sum over taps and run of a * panel`.
pub(crate) struct Tile<'a, T> {
    /// Start of each row in the left operand; at most [`Kernel::rows`] of them.
    pub rows: &'a [*const T],
    /// Start of each output row.
    pub outputs: &'a [*mut T],
    /// Offset of each run from the row's start.
    pub taps: &'a [usize],
    /// Numbers in each run.
    pub run: usize,
    /// The packed weights: `taps * run` groups of [`Kernel::columns`].
    pub panel: *const T,
    /// What the sums start from, [`Kernel::columns`] of them.
    pub bias: *const T,
    /// How many columns are really there.
    pub columns: usize,
}

/// A tile routine for one instruction set.
pub struct Kernel<T: 'static> {
    /// Name of the instruction set, for reports.
    pub name: &'static str,
    /// Columns of a panel.
    pub columns: usize,
    /// Rows of the tallest tile.
    pub rows: usize,
    /// Safety: pointers valid for what [`Tile`] describes; the CPU has the instructions.
    tile: unsafe fn(&Tile<'_, T>),
    /// Transposes eight by eight numbers; strides are those of eight rows in and eight rows out.
    /// Safety: both pointers valid for what that touches; the CPU has the instructions.
    transpose: Option<unsafe fn(*const T, usize, *mut T, usize)>,
}

impl<T: Copy> Kernel<T> {
    /// `to[r * to_stride + c] = from[c * from_stride + r]` for r and c below 8.
    ///
    /// # Panics
    /// When a slice is too short.
    #[inline]
    pub(crate) fn transpose_block(
        &self,
        (from, from_stride): (&[T], usize),
        (to, to_stride): (&mut [T], usize),
    ) {
        assert!(from.len() >= 7 * from_stride + 8 && to.len() >= 7 * to_stride + 8);
        if let Some(transpose) = self.transpose {
            // Safety: by the assert; and a kernel is only handed out where its instructions are.
            unsafe { transpose(from.as_ptr(), from_stride, to.as_mut_ptr(), to_stride) };
            return;
        }
        for r in 0..8 {
            for c in 0..8 {
                to[r * to_stride + c] = from[c * from_stride + r];
            }
        }
    }
}

pub(crate) fn f32_kernel() -> &'static Kernel<f32> {
    static CHOICE: OnceLock<&'static Kernel<f32>> = OnceLock::new();
    CHOICE.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = x86::best_f32() {
            return kernel;
        }
        &portable::F32
    })
}

pub(crate) fn f64_kernel() -> &'static Kernel<f64> {
    static CHOICE: OnceLock<&'static Kernel<f64>> = OnceLock::new();
    CHOICE.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = x86::best_f64() {
            return kernel;
        }
        &portable::F64
    })
}
