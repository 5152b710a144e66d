//! Convolutions in which every channel is a group of its own. As products each would have one column; here a
//! kernel element is one multiplication and one addition for all channels of a pixel, which lie side by side.

use std::ops::Range;

use crate::network::Constant;
use crate::{Scalar, vectorised};

use super::{Conv, Form, affine};

/// Channels whose sums are kept in registers while all kernel elements are added.
const BLOCK: usize = 32;
/// The same for those that are left over: one vector.
const SMALL_BLOCK: usize = 8;

/// One number a channel: the biases, and the kernel elements one after the other.
#[derive(Debug)]
pub(super) struct ChannelWeights {
    bias: Constant,
    taps: Constant,
    magnitudes: Constant,
}

impl ChannelWeights {
    /// Those of a convolution, if it is one of this kind.
    pub fn of(conv: &Conv) -> Option<Self> {
        let (channels, [kh, kw]) = (conv.groups, conv.window.kernel);
        if channels == 1 || channels != conv.input[2] || channels != conv.output[2] {
            return None;
        }
        let elements = (0..kh).flat_map(|ky| (0..kw).map(move |kx| [ky, kx]));
        let taps = elements.flat_map(|k| (0..channels).map(move |c| conv.weight(c, 0, k)));
        let taps: Vec<f64> = taps.collect();
        let magnitudes: Vec<f64> = taps.iter().map(|w| w.abs()).collect();
        Some(Self {
            bias: Constant::new(conv.bias.clone().into()),
            taps: Constant::new(taps.into()),
            magnitudes: Constant::new(magnitudes.into()),
        })
    }
}

impl Conv {
    /// Every sum is one chain in the order of the kernel elements, whatever the block.
    pub(super) fn run_channels<T: Scalar>(
        &self,
        weights: &ChannelWeights,
        form: Form,
        input: &[T],
        output: &mut [T],
    ) {
        let ([h, w, channels], [oh, ow, _]) = (self.input, self.output);
        let two_gamma = T::of(2.0 * affine::gamma::<T>(self.depth()).f64());
        let bias: Vec<T> = match form {
            Form::Weights => T::constant(&weights.bias).to_vec(),
            Form::Magnitudes => (T::constant(&weights.bias).iter())
                .map(|b| two_gamma * b.abs())
                .collect(),
        };
        let taps = T::constant(match form {
            Form::Weights => &weights.taps,
            Form::Magnitudes => &weights.magnitudes,
        });
        let alike = self.alike();
        let images = input.chunks_exact(h * w * channels);
        for (image, output) in images.zip(output.chunks_exact_mut(oh * ow * channels)) {
            for (y, row) in output.chunks_exact_mut(ow * channels).enumerate() {
                let rows = self.inside(0, y);
                for pixels in alike.iter().cloned() {
                    let elements = self.elements(rows.clone(), self.inside(1, pixels.start));
                    let row = &mut row[pixels.start * channels..pixels.end * channels];
                    vectorised(
                        #[inline(always)]
                        || {
                            for (x, pixel) in pixels.zip(row.chunks_exact_mut(channels)) {
                                let origin = self.origin([y, x]);
                                sum(image, origin, &elements, &bias, taps, pixel);
                            }
                        },
                    );
                }
            }
        }
    }

    /// The pixels of an output row, in runs for which the same columns of the kernel meet the image.
    fn alike(&self) -> Vec<Range<usize>> {
        let pixels: Vec<usize> = (0..self.output[1]).collect();
        let runs = pixels.chunk_by(|&a, &b| self.inside(1, a) == self.inside(1, b));
        runs.map(|run| run[0]..run[0] + run.len()).collect()
    }

    /// The kernel elements along an axis that meet the image, for an output position. Others meet the margin and
    /// add nothing.
    fn inside(&self, axis: usize, position: usize) -> Range<usize> {
        let (kernel, dilation) = (self.window.kernel[axis], self.window.dilations[axis]);
        let (before, extent) = (self.window.before[axis], self.input[axis]);
        let start = position * self.window.strides[axis];
        let first = before.saturating_sub(start).div_ceil(dilation).min(kernel);
        let last = (before + extent).saturating_sub(start).div_ceil(dilation);
        first..last.clamp(first, kernel)
    }

    /// Where the window of an output pixel begins: before the image, modulo 2^64, if that is in the margin.
    fn origin(&self, [y, x]: [usize; 2]) -> usize {
        let ([sy, sx], [top, left]) = (self.window.strides, self.window.before);
        let row = (y * sy).wrapping_sub(top).wrapping_mul(self.input[1]);
        row.wrapping_add(x * sx)
            .wrapping_sub(left)
            .wrapping_mul(self.input[2])
    }

    /// Some kernel elements: how far the pixel under each is from the window's origin, and where its weights begin.
    fn elements(&self, rows: Range<usize>, columns: Range<usize>) -> Vec<(usize, usize)> {
        let ([_, w, channels], [_, kw]) = (self.input, self.window.kernel);
        let [dy, dx] = self.window.dilations;
        let elements = rows.flat_map(|ky| columns.clone().map(move |kx| (ky, kx)));
        elements
            .map(|(ky, kx)| {
                (
                    (ky * dy * w + kx * dx) * channels,
                    (ky * kw + kx) * channels,
                )
            })
            .collect()
    }

    /// Spreads the share of each window over the pixels under it; windows without a share are passed over.
    pub(super) fn pull_channels_back<T: Scalar>(
        &self,
        weights: &ChannelWeights,
        cotangent: &[T],
        result: &mut [T],
    ) {
        let ([h, w, channels], [oh, ow, _]) = (self.input, self.output);
        let kw = self.window.kernel[1];
        let taps = T::constant(&weights.taps);
        result.fill(T::ZERO);
        let rows = cotangent.chunks_exact(oh * ow * channels);
        for (cotangent, result) in rows.zip(result.chunks_exact_mut(h * w * channels)) {
            for (window, share) in cotangent.chunks_exact(channels).enumerate() {
                if share.iter().all(|&g| g == T::ZERO) {
                    continue;
                }
                for (ky, y) in self.window.positions(0, window / ow, h) {
                    for (kx, x) in self.window.positions(1, window % ow, w) {
                        let into = (y * w + x) * channels;
                        let from = (ky * kw + kx) * channels;
                        let pixel = &mut result[into..into + channels];
                        let tap = &taps[from..from + channels];
                        vectorised(
                            #[inline(always)]
                            || {
                                for ((sum, &g), &t) in pixel.iter_mut().zip(share).zip(tap) {
                                    *sum += g * t;
                                }
                            },
                        );
                    }
                }
            }
        }
    }
}

/// One pixel: for every channel the bias and the kernel elements times what lies under them.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
fn sum<T: Scalar>(
    image: &[T],
    origin: usize,
    elements: &[(usize, usize)],
    bias: &[T],
    taps: &[T],
    pixel: &mut [T],
) {
    let channels = pixel.len();
    let mut first = 0;
    while first + BLOCK <= channels {
        block::<T, BLOCK>(image, origin, elements, bias, taps, pixel, first);
        first += BLOCK;
    }
    while first + SMALL_BLOCK <= channels {
        block::<T, SMALL_BLOCK>(image, origin, elements, bias, taps, pixel, first);
        first += SMALL_BLOCK;
    }
    while first < channels {
        block::<T, 1>(image, origin, elements, bias, taps, pixel, first);
        first += 1;
    }
}

/// Some channels of a pixel, side by side from the first.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
fn block<T: Scalar, const N: usize>(
    image: &[T],
    origin: usize,
    elements: &[(usize, usize)],
    bias: &[T],
    taps: &[T],
    pixel: &mut [T],
    first: usize,
) {
    let mut sums = [T::ZERO; N];
    sums.copy_from_slice(&bias[first..first + N]);
    for &(place, weights) in elements {
        let from = &image[origin.wrapping_add(place + first)..][..N];
        let tap = &taps[weights + first..][..N];
        for lane in 0..N {
            sums[lane] += from[lane] * tap[lane];
        }
    }
    pixel[first..first + N].copy_from_slice(&sums);
}
