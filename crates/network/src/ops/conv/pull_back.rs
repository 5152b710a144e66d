//! Pulling cotangents back through a convolution: collecting, for each pixel, from the windows that meet
//! it; spreading each window's share over the pixels under it; or, where few windows have a share, those.

use std::ops::Range;

use crate::Scalar;
use crate::kernels::{Packed, Piece, multiply, multiply_rows};
use crate::operator::Scratch;

use super::{Conv, Margin, padded};

/// A cotangent that is zero but for one window in so many is pulled back window by window.
const FEW: usize = 16;

/// Along one axis: kernel elements with the shift of their window, and pixels with their first
/// window.
struct Class {
    taps: Vec<(usize, usize)>,
    pixels: Vec<(usize, usize)>,
}

impl Conv {
    /// Pulls back all rows of a batch.
    pub(super) fn pull_back<T: Scalar>(
        &self,
        cotangent: &[T],
        result: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        // A neuron of a convolution sees a few windows of the layer before: most of its cotangent is
        // zero. Which way is taken depends on the row alone, so a row's bits do not depend on the batch.
        let (each, each_out): (usize, usize) =
            (self.input.iter().product(), self.output.iter().product());
        let mut dense = 0..0;
        for (at, cotangent_row) in cotangent.chunks_exact(each_out).enumerate() {
            let Some(windows) = self.few_windows(cotangent_row) else {
                dense.end = at + 1;
                continue;
            };
            self.vjp_of_all(&dense, cotangent, result, scratch);
            dense = at + 1..at + 1;
            let result = &mut result[at * each..(at + 1) * each];
            self.vjp_of_windows(&windows, cotangent_row, result, scratch);
        }
        self.vjp_of_all(&dense, cotangent, result, scratch);
    }

    /// Zeros needed round the output's cotangent so that every input pixel finds its windows.
    fn transposed_margin(&self) -> Margin {
        let mut margin = Margin {
            before: [0; 2],
            after: [0; 2],
        };
        for a in 0..2 {
            // Input position i meets window o where o * stride = i + before - k * dilation.
            let stride = self.window.strides[a];
            let (lowest, highest) = (
                self.window.before[a] as isize - self.window.reach(a) as isize,
                self.input[a] - 1 + self.window.before[a],
            );
            margin.before[a] = lowest.min(0).unsigned_abs().div_ceil(stride);
            margin.after[a] = (highest / stride + 1).saturating_sub(self.output[a]);
        }
        margin
    }

    /// Input pixels whose windows are met by the same kernel elements form a class; a stride of
    /// `s` makes `s` classes along an axis. One piece a group and class.
    fn transposed_pieces<T: Scalar>(&self) -> Vec<Piece<T>> {
        let margin = self.transposed_margin();
        let mut pieces = Vec::new();
        for g in 0..self.groups {
            for class_y in 0..self.window.strides[0] {
                for class_x in 0..self.window.strides[1] {
                    let along = [self.class(0, class_y), self.class(1, class_x)];
                    if along
                        .iter()
                        .all(|c| !c.taps.is_empty() && !c.pixels.is_empty())
                    {
                        pieces.push(self.transposed_piece(g, &along, margin));
                    }
                }
            }
        }
        pieces
    }

    /// Pixels and kernel elements of one class along an axis.
    fn class(&self, axis: usize, class: usize) -> Class {
        let (stride, before) = (self.window.strides[axis], self.window.before[axis]);
        let dilation = self.window.dilations[axis];
        let mut taps: Vec<(usize, usize)> = (0..self.window.kernel[axis])
            .filter(|k| (k * dilation) % stride == class)
            .map(|k| (k, (k * dilation - class) / stride))
            .collect();
        // Windows in ascending order, so that neighbouring kernel elements are neighbouring runs.
        taps.reverse();
        let pixels = (0..self.input[axis])
            .filter(|i| (i + before) % stride == class)
            .map(|i| (i, (i + before - class) / stride))
            .collect();
        Class { taps, pixels }
    }

    fn transposed_piece<T: Scalar>(
        &self,
        g: usize,
        [rows, columns]: &[Class; 2],
        margin: Margin,
    ) -> Piece<T> {
        let [_, width_in, channels] = self.input;
        let outputs = self.output[2];
        let [_, width] = margin.around(self.output);
        let (each_in, each_out) = (channels / self.groups, outputs / self.groups);
        let unit = self.window.strides[1] == 1 && self.window.dilations[1] == 1;
        let joined = if self.groups == 1 && unit {
            columns.taps.len()
        } else {
            1
        };
        // A window index may be as low as pixel - largest shift; the margin makes it positive.
        let (deepest_y, deepest_x) = (rows.taps[0].1, columns.taps[0].1);
        let pixels = rows
            .pixels
            .iter()
            .flat_map(|y| columns.pixels.iter().map(move |x| (*y, *x)));
        let elements: Vec<[usize; 2]> = rows
            .taps
            .iter()
            .flat_map(|y| columns.taps.iter().map(move |x| [y.0, x.0]))
            .collect();
        Piece {
            rows: pixels
                .clone()
                .map(|((_, oy), (_, ox))| {
                    let y = oy + margin.before[0] - deepest_y;
                    let x = ox + margin.before[1] - deepest_x;
                    (y * width + x) * outputs + g * each_out
                })
                .collect(),
            outputs: pixels
                .map(|((iy, _), (ix, _))| (iy * width_in + ix) * channels + g * each_in)
                .collect(),
            taps: rows
                .taps
                .iter()
                .flat_map(|y| columns.taps.iter().step_by(joined).map(move |x| (y.1, x.1)))
                .map(|(dy, dx)| ((deepest_y - dy) * width + deepest_x - dx) * outputs)
                .collect(),
            run: joined * each_out,
            weights: Packed::new(
                elements.len() * each_out,
                each_in,
                |_| T::ZERO,
                |k, c| T::of(self.weight(g * each_out + k % each_out, c, elements[k / each_out])),
            ),
        }
    }

    /// Whether pulling back is cheaper by spreading each window's share over the pixels under it
    /// than by collecting, for each pixel, from the windows that meet it. A product costs whole
    /// panels of columns: collecting has the input channels for columns, few in a first layer,
    /// spreading has them for every kernel element.
    fn spreads<T: Scalar>(&self) -> bool {
        let [h, w, channels] = self.input;
        let [oh, ow, outputs] = self.output;
        let (each_in, each_out) = (channels / self.groups, outputs / self.groups);
        let elements = self.window.kernel[0] * self.window.kernel[1];
        let panels = |columns: usize| columns.next_multiple_of(T::kernel().columns);
        let [sy, sx] = self.window.strides;
        let collecting = h * w * elements * each_out * panels(each_in) / (sy * sx);
        // Adding a share costs about four products, and finding its place sixteen.
        let adding = elements * (4 * each_in + 16);
        let spreading = oh * ow * (each_out * panels(elements * each_in) + adding);
        spreading < collecting
    }

    /// Output rows that are spread at once: their shares should stay in the second-level cache.
    fn spread_rows(&self) -> usize {
        const NUMBERS: usize = 48 << 10;
        let shares = self.depth() * self.output[1];
        (NUMBERS / shares.max(1)).clamp(1, self.output[0])
    }

    /// One piece a group: rows are the windows of some output rows, columns the elements under the
    /// kernel.
    fn spread_pieces<T: Scalar>(&self) -> Vec<Piece<T>> {
        let [_, ow, outputs] = self.output;
        let [_, kw] = self.window.kernel;
        let (each_in, each_out) = (self.input[2] / self.groups, outputs / self.groups);
        let windows = self.spread_rows() * ow;
        (0..self.groups)
            .map(|g| Piece {
                rows: (0..windows).map(|p| p * outputs + g * each_out).collect(),
                outputs: (0..windows).map(|p| p * self.depth()).collect(),
                taps: vec![0],
                run: each_out,
                weights: Packed::new(
                    each_out,
                    self.depth(),
                    |_| T::ZERO,
                    |k, c| {
                        let (element, i) = (c / each_in, c % each_in);
                        T::of(self.weight(g * each_out + k, i, [element / kw, element % kw]))
                    },
                ),
            })
            .collect()
    }

    pub(super) fn vjp_collecting<T: Scalar>(
        &self,
        cotangent: &[T],
        result: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let pieces = self.transposed.get(|| self.transposed_pieces());
        let each = self.input.iter().product::<usize>();
        let samples = result.len() / each;
        let covered: usize = pieces
            .iter()
            .map(|p| p.rows.len() * p.weights.columns())
            .sum();
        if covered < each {
            // Pixels that no window meets.
            result.fill(T::ZERO);
        }
        let margin = self.transposed_margin();
        let (data, stride) = padded(cotangent, self.output, margin, scratch);
        for piece in pieces {
            multiply(piece, samples, (data, stride), (result, each));
        }
    }

    pub(super) fn vjp_spreading<T: Scalar>(
        &self,
        cotangent: &[T],
        result: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let [oh, ow, outputs] = self.output;
        let each = self.input.iter().product::<usize>();
        let all: Vec<usize> = (0..oh * ow).collect();
        result.fill(T::ZERO);
        for (cotangent, result) in cotangent
            .chunks_exact(oh * ow * outputs)
            .zip(result.chunks_exact_mut(each))
        {
            for windows in all.chunks(self.spread_rows() * ow) {
                let rows = &cotangent[windows[0] * outputs..][..windows.len() * outputs];
                self.spread(windows, rows, result, scratch);
            }
        }
    }

    /// Pulls back a cotangent that is zero but for these windows.
    pub(super) fn vjp_of_windows<T: Scalar>(
        &self,
        windows: &[usize],
        cotangent: &[T],
        result: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let [_, ow, outputs] = self.output;
        result.fill(T::ZERO);
        for windows in windows.chunks(self.spread_rows() * ow) {
            let of = |&window: &usize| &cotangent[window * outputs..(window + 1) * outputs];
            let rows: Vec<T> = windows.iter().flat_map(of).copied().collect();
            self.spread(windows, &rows, result, scratch);
        }
    }

    /// Spreads the shares of some windows, given the cotangents of all their channels.
    fn spread<T: Scalar>(
        &self,
        windows: &[usize],
        rows: &[T],
        result: &mut [T],
        shares: &mut Scratch<T>,
    ) {
        let pieces = self.spread.get(|| self.spread_pieces());
        shares.clear();
        shares.resize(windows.len() * self.depth(), T::ZERO);
        for (g, piece) in pieces.iter().enumerate() {
            multiply_rows(piece, windows.len(), rows, shares);
            for (&window, shares) in windows.iter().zip(shares.chunks_exact(self.depth())) {
                self.add_shares(g, window, shares, result);
            }
        }
    }

    /// The windows where a cotangent is not zero, if these are few.
    fn few_windows<T: Scalar>(&self, cotangent: &[T]) -> Option<Vec<usize>> {
        let [oh, ow, outputs] = self.output;
        let mut found = Vec::new();
        for (window, channels) in cotangent.chunks_exact(outputs).enumerate() {
            if channels.iter().any(|&g| g != T::ZERO) {
                if FEW * (found.len() + 1) > oh * ow {
                    return None;
                }
                found.push(window);
            }
        }
        Some(found)
    }

    /// Pulls back some rows of a batch, whatever is in them.
    fn vjp_of_all<T: Scalar>(
        &self,
        rows: &Range<usize>,
        cotangent: &[T],
        result: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let (each, each_out): (usize, usize) =
            (self.input.iter().product(), self.output.iter().product());
        let cotangent = &cotangent[rows.start * each_out..rows.end * each_out];
        let result = &mut result[rows.start * each..rows.end * each];
        if self.spreads::<T>() {
            self.vjp_spreading(cotangent, result, scratch);
        } else {
            self.vjp_collecting(cotangent, result, scratch);
        }
    }

    /// Adds one window's shares to the pixels under it.
    fn add_shares<T: Scalar>(&self, group: usize, window: usize, shares: &[T], result: &mut [T]) {
        let [h, w, channels] = self.input;
        let [_, ow, _] = self.output;
        let [_, kw] = self.window.kernel;
        let each_in = channels / self.groups;
        for (ky, y) in self.window.positions(0, window / ow, h) {
            for (kx, x) in self.window.positions(1, window % ow, w) {
                let into = (y * w + x) * channels + group * each_in;
                let from = (ky * kw + kx) * each_in;
                let sums = &mut result[into..into + each_in];
                for (sum, &share) in sums.iter_mut().zip(&shares[from..from + each_in]) {
                    *sum += share;
                }
            }
        }
    }
}
