//! Convolutions in which every channel is a group of its own. As products each would have one column; here a
//! kernel element is one multiplication and one addition for all channels of a pixel, which lie side by side.

use std::ops::Range;

use crate::network::Constant;
use crate::operator::Scratch;
use crate::{Scalar, vectorised};

use super::{Conv, Form, affine, padded};

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
        scratch: &mut Scratch<T>,
    ) {
        let [oh, ow, channels] = self.output;
        let (samples, [_, width]) = (
            output.len() / (oh * ow * channels),
            self.margin().around(self.input),
        );
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
        let offsets = self.offsets(width);
        let ([sy, sx], kw) = (self.window.strides, self.window.kernel[1]);
        let (data, stride) = padded(input, self.input, self.margin(), scratch);
        for sample in 0..samples {
            let image = &data[sample * stride..(sample + 1) * stride];
            for y in 0..oh {
                let row = (sample * oh + y) * ow * channels;
                let row = &mut output[row..row + ow * channels];
                // Kernel rows that lie in the margin add nothing.
                let inside = self.rows_inside(y);
                let offsets = &offsets[inside.start * kw..inside.end * kw];
                let taps = &taps[inside.start * kw * channels..inside.end * kw * channels];
                vectorised(
                    #[inline(always)]
                    || {
                        for (x, pixel) in row.chunks_exact_mut(channels).enumerate() {
                            let start = (y * sy * width + x * sx) * channels;
                            sum(&image[start..], offsets, &bias, taps, pixel);
                        }
                    },
                );
            }
        }
    }

    /// The kernel rows that an output row meets within the image.
    fn rows_inside(&self, y: usize) -> Range<usize> {
        let (kh, dy) = (self.window.kernel[0], self.window.dilations[0]);
        let (top, height) = (self.window.before[0], self.input[0]);
        let inside =
            |ky: &usize| (top..top + height).contains(&(y * self.window.strides[0] + ky * dy));
        let first = (0..kh).find(inside).unwrap_or(0);
        first..(0..kh).rfind(inside).map_or(first, |last| last + 1)
    }

    /// Where each kernel element lies from a window's first pixel.
    fn offsets(&self, width: usize) -> Vec<usize> {
        let ([kh, kw], [dy, dx]) = (self.window.kernel, self.window.dilations);
        let elements = (0..kh).flat_map(|ky| (0..kw).map(move |kx| (ky, kx)));
        elements
            .map(|(ky, kx)| (ky * dy * width + kx * dx) * self.input[2])
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
fn sum<T: Scalar>(image: &[T], offsets: &[usize], bias: &[T], taps: &[T], pixel: &mut [T]) {
    let channels = pixel.len();
    let mut first = 0;
    while first + BLOCK <= channels {
        block::<T, BLOCK>(image, offsets, bias, taps, pixel, first);
        first += BLOCK;
    }
    while first + SMALL_BLOCK <= channels {
        block::<T, SMALL_BLOCK>(image, offsets, bias, taps, pixel, first);
        first += SMALL_BLOCK;
    }
    while first < channels {
        block::<T, 1>(image, offsets, bias, taps, pixel, first);
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
    offsets: &[usize],
    bias: &[T],
    taps: &[T],
    pixel: &mut [T],
    first: usize,
) {
    let channels = pixel.len();
    let mut sums = [T::ZERO; N];
    sums.copy_from_slice(&bias[first..first + N]);
    for (k, offset) in offsets.iter().enumerate() {
        let from = &image[offset + first..offset + first + N];
        let tap = &taps[k * channels + first..k * channels + first + N];
        for lane in 0..N {
            sums[lane] += from[lane] * tap[lane];
        }
    }
    pixel[first..first + N].copy_from_slice(&sums);
}
