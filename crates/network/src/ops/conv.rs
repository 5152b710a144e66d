//! Convolution of a channels-last image with stored weights.
//!
//! Channels last makes the pixels under one kernel row neighbours in memory, so a kernel row is
//! one run of the tile routine and nothing is copied but padding (see [`crate::kernels`]).

mod depthwise;
mod pull_back;

use std::sync::Arc;

use crate::kernels::{Packed, Piece, PieceCache, multiply};
use crate::numbers::Numbers;
use crate::operator::{Backward, Batch, Boxes, Evaluate, Nature, Operator, Scratch};
use crate::plain::AffineRow;
use crate::{Scalar, Shape};

use super::affine;
use super::window::{Window, image};
use depthwise::ChannelWeights;

/// A convolution for images of one size.
#[derive(Debug)]
pub struct Conv {
    window: Window,
    groups: usize,
    input: [usize; 3],
    output: [usize; 3],
    /// As ONNX has them (output channel, input channel of the group, kernel row, kernel column), shared with
    /// whoever read them from a file.
    weights: Numbers,
    /// What the weights of each output channel are to be multiplied with.
    factor: Option<Vec<f64>>,
    bias: Vec<f64>,
    forward: PieceCache,
    transposed: PieceCache,
    spread: PieceCache,
    magnitude: PieceCache,
    /// Instead of products, where every channel is a group of its own.
    channels: Option<ChannelWeights>,
}

/// Which convolution to build pieces for.
#[derive(Clone, Copy)]
enum Form {
    Weights,
    Magnitudes,
}

/// Zeros around an image: rows above and below, columns left and right.
#[derive(Clone, Copy)]
struct Margin {
    before: [usize; 2],
    after: [usize; 2],
}

impl Margin {
    fn is_none(self) -> bool {
        self.before == [0; 2] && self.after == [0; 2]
    }

    fn around(self, [h, w, _]: [usize; 3]) -> [usize; 2] {
        [
            h + self.before[0] + self.after[0],
            w + self.before[1] + self.after[1],
        ]
    }
}

impl Conv {
    /// `weights` in ONNX order with `outputs` output channels; `input` is height, width, channels.
    pub fn new(
        window: Window,
        groups: usize,
        input: [usize; 3],
        outputs: usize,
        weights: impl Into<Numbers>,
        bias: Vec<f64>,
    ) -> Result<Self, String> {
        let weights = weights.into();
        let [h, w, channels] = input;
        let [oh, ow] = window.output([h, w])?;
        if groups == 0 || channels % groups != 0 || !outputs.is_multiple_of(groups) {
            return Err(format!(
                "{groups} groups do not divide {channels} input and {outputs} output channels"
            ));
        }
        let expected = outputs * (channels / groups) * window.kernel[0] * window.kernel[1];
        if weights.len() != expected || bias.len() != outputs {
            return Err(format!(
                "{} weights where {outputs}x{}x{}x{} need {expected}, {} biases for {outputs} channels",
                weights.len(),
                channels / groups,
                window.kernel[0],
                window.kernel[1],
                bias.len()
            ));
        }
        affine::all_finite("weights", &weights)?;
        affine::finite("biases", &bias)?;
        let output = [oh, ow, outputs];
        Ok(Self::plain(
            window,
            groups,
            input,
            output,
            (weights, None),
            bias,
        ))
    }

    fn plain(
        window: Window,
        groups: usize,
        input: [usize; 3],
        output: [usize; 3],
        weights: (Numbers, Option<Vec<f64>>),
        bias: Vec<f64>,
    ) -> Self {
        let mut conv = Self {
            window,
            groups,
            input,
            output,
            weights: weights.0,
            factor: weights.1,
            bias,
            forward: PieceCache::default(),
            transposed: PieceCache::default(),
            spread: PieceCache::default(),
            magnitude: PieceCache::default(),
            channels: None,
        };
        conv.channels = ChannelWeights::of(&conv);
        conv
    }

    /// This convolution followed by one multiplication and one addition a channel, in one: the product of
    /// weight and factor is rounded in double precision, and once more when it is run in single precision.
    fn scaled(&self, factor: &[f64], shift: &[f64]) -> Result<Self, String> {
        let outputs = self.output[2];
        if factor.len() != outputs || shift.len() != outputs {
            return Err(format!(
                "{} factors and {} shifts for {outputs} channels",
                factor.len(),
                shift.len()
            ));
        }
        let bias = (0..outputs).map(|c| self.bias[c] * factor[c] + shift[c]);
        let bias: Vec<f64> = bias.collect();
        let factor: Vec<f64> = match &self.factor {
            Some(before) => before.iter().zip(factor).map(|(a, b)| a * b).collect(),
            None => factor.to_vec(),
        };
        affine::finite("biases", &bias)?;
        let each = self.depth();
        let mut products =
            (0..self.weights.len()).map(|at| self.weights.at(at) * factor[at / each]);
        if products.any(|weight| !(weight as f32).is_finite()) {
            return Err("its weights times the factors are not finite in single precision".into());
        }
        Ok(Self::plain(
            self.window.clone(),
            self.groups,
            self.input,
            self.output,
            (self.weights.clone(), Some(factor)),
            bias,
        ))
    }

    /// Products in one output number.
    fn depth(&self) -> usize {
        self.input[2] / self.groups * self.window.kernel[0] * self.window.kernel[1]
    }

    fn weight(&self, output: usize, input: usize, [ky, kx]: [usize; 2]) -> f64 {
        let [kh, kw] = self.window.kernel;
        let each_in = self.input[2] / self.groups;
        let weight = (self.weights).at(((output * each_in + input) * kh + ky) * kw + kx);
        match &self.factor {
            Some(factor) => weight * factor[output],
            None => weight,
        }
    }

    fn margin(&self) -> Margin {
        let [h, w, _] = self.input;
        // A window of `ceil` mode does not occur in a convolution, so padding as given suffices.
        debug_assert!(!self.window.ceil && h > 0 && w > 0);
        Margin {
            before: self.window.before,
            after: self.window.after,
        }
    }

    /// One piece a group: rows are output pixels, a run is one kernel row where its pixels are
    /// neighbours (one group, no dilation along the width), else one kernel element.
    fn forward_pieces<T: Scalar>(&self, form: Form) -> Vec<Piece<T>> {
        let gamma = affine::gamma::<T>(self.depth()).f64();
        let [_, _, channels] = self.input;
        let [oh, ow, outputs] = self.output;
        let [kh, kw] = self.window.kernel;
        let [_, width] = self.margin().around(self.input);
        let (each_in, each_out) = (channels / self.groups, outputs / self.groups);
        let whole_rows = self.groups == 1 && self.window.dilations[1] == 1;
        let joined = if whole_rows { kw } else { 1 };
        let offset = |ky: usize, kx: usize| {
            (ky * self.window.dilations[0] * width + kx * self.window.dilations[1]) * channels
        };
        (0..self.groups)
            .map(|g| {
                let pixels = (0..oh).flat_map(|y| (0..ow).map(move |x| (y, x)));
                let [sy, sx] = self.window.strides;
                Piece {
                    rows: pixels
                        .clone()
                        .map(|(y, x)| (y * sy * width + x * sx) * channels + g * each_in)
                        .collect(),
                    outputs: pixels
                        .map(|(y, x)| (y * ow + x) * outputs + g * each_out)
                        .collect(),
                    taps: (0..kh)
                        .flat_map(|ky| (0..kw).step_by(joined).map(move |kx| (ky, kx)))
                        .map(|(ky, kx)| offset(ky, kx))
                        .collect(),
                    run: joined * each_in,
                    weights: Packed::new(
                        kh * kw * each_in,
                        each_out,
                        |c| {
                            let bias = self.bias[g * each_out + c];
                            T::of(match form {
                                Form::Weights => bias,
                                Form::Magnitudes => 2.0 * gamma * bias.abs(),
                            })
                        },
                        |k, c| {
                            let (element, i) = (k / each_in, k % each_in);
                            let w = self.weight(g * each_out + c, i, [element / kw, element % kw]);
                            T::of(match form {
                                Form::Weights => w,
                                Form::Magnitudes => w.abs(),
                            })
                        },
                    ),
                }
            })
            .collect()
    }

    /// The convolution, or that of magnitudes.
    fn apply<T: Scalar>(
        &self,
        form: Form,
        input: &[T],
        output: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        if let Some(channels) = &self.channels {
            return self.run_channels(channels, form, input, output);
        }
        let cache = match form {
            Form::Weights => &self.forward,
            Form::Magnitudes => &self.magnitude,
        };
        let pieces = cache.get(|| self.forward_pieces(form));
        self.run(pieces, input, output, scratch);
    }

    fn run<T: Scalar>(
        &self,
        pieces: &[Piece<T>],
        input: &[T],
        output: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let each = self.input.iter().product::<usize>();
        let each_out = self.output.iter().product::<usize>();
        let samples = input.len() / each;
        let (data, stride) = padded(input, self.input, self.margin(), scratch);
        for piece in pieces {
            multiply(piece, samples, (data, stride), (output, each_out));
        }
    }
}

/// The images with zeros round them, in `scratch` if any are needed; and the stride of a sample.
fn padded<'a, T: Scalar>(
    data: &'a [T],
    size: [usize; 3],
    margin: Margin,
    scratch: &'a mut Scratch<T>,
) -> (&'a [T], usize) {
    let [h, w, c] = size;
    if margin.is_none() {
        return (data, h * w * c);
    }
    let [height, width] = margin.around(size);
    let (row, stride) = (width * c, height * width * c);
    let samples = data.len() / (h * w * c);
    let needed = samples * stride;
    if scratch.len() < needed {
        // Fresh memory rather than a copy of numbers that nobody reads.
        *scratch = vec![T::ZERO; needed];
    }
    let framed = &mut scratch[..needed];
    let (above, left) = (margin.before[0] * row, margin.before[1] * c);
    for (framed, image) in framed
        .chunks_exact_mut(stride)
        .zip(data.chunks_exact(h * w * c))
    {
        framed[..above].fill(T::ZERO);
        let lines = framed[above..].chunks_exact_mut(row);
        for (to, line) in lines.zip(image.chunks_exact(w * c)) {
            to[..left].fill(T::ZERO);
            to[left..left + w * c].copy_from_slice(line);
            to[left + w * c..].fill(T::ZERO);
        }
        framed[above + h * row..].fill(T::ZERO);
    }
    (&scratch[..needed], stride)
}

impl<T: Scalar> Evaluate<T> for Conv {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], scratch: &mut Scratch<T>) {
        self.apply(Form::Weights, batch.inputs[0].data, output, scratch);
    }

    fn vjp(
        &self,
        _: usize,
        _: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        if let Some(channels) = &self.channels {
            self.pull_channels_back(channels, cotangent, result);
        } else {
            self.pull_back(cotangent, result, scratch);
        }
    }

    fn interval(
        &self,
        boxes: &Boxes<'_, T>,
        lower: &mut [T],
        upper: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        affine::interval(boxes, self.depth(), lower, upper, |magnitudes, x, y| {
            let form = if magnitudes {
                Form::Magnitudes
            } else {
                Form::Weights
            };
            self.apply(form, x, y, scratch);
        });
    }
}

impl Operator for Conv {
    fn kind(&self) -> &'static str {
        "Conv"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let found = image(inputs[0])?;
        if found != self.input {
            return Err(format!(
                "image of {found:?} where the convolution was built for {:?}",
                self.input
            ));
        }
        let [h, w, c] = self.output;
        Shape::new([1, h, w, c])
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        let [h, w, channels] = self.input;
        let [_, ow, outputs] = self.output;
        let (each_in, each_out) = (channels / self.groups, outputs / self.groups);
        let mut windows: Vec<(usize, usize)> = elements
            .iter()
            .map(|e| (e / outputs, e % outputs / each_out))
            .collect();
        windows.dedup();
        let mut cone = Vec::new();
        for (pixel, group) in windows {
            for (_, y) in self.window.positions(0, pixel / ow, h) {
                for (_, x) in self.window.positions(1, pixel % ow, w) {
                    let start = (y * w + x) * channels + group * each_in;
                    cone.extend(start..start + each_in);
                }
            }
        }
        cone
    }

    /// Outputs of one pixel and one group look at the same window.
    fn shares_cone(&self, a: usize, b: usize) -> bool {
        let outputs = self.output[2];
        let each = outputs / self.groups;
        a / outputs == b / outputs && a % outputs / each == b % outputs / each
    }

    fn affine_row(
        &self,
        element: usize,
        _: &[(&Shape, Option<&[f64]>)],
        _: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let [h, w, channels] = self.input;
        let [_, ow, outputs] = self.output;
        let (each_in, each_out) = (channels / self.groups, outputs / self.groups);
        let (pixel, output) = (element / outputs, element % outputs);
        let first = output / each_out * each_in;
        row.constant = self.bias[output];
        for (ky, y) in self.window.positions(0, pixel / ow, h) {
            for (kx, x) in self.window.positions(1, pixel % ow, w) {
                row.terms.extend((0..each_in).map(|input| {
                    let place = ((y * w + x) * channels + first + input) as u32;
                    (0, place, self.weight(output, input, [ky, kx]))
                }));
            }
        }
        true
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Affine
    }

    fn then(&self, factor: &[f64], shift: &[f64]) -> Option<Arc<dyn Operator>> {
        let scaled = self.scaled(factor, shift).ok()?;
        Some(Arc::new(scaled))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::{Laws, Random};

    fn random_conv(window: Window, groups: usize, input: [usize; 3], outputs: usize) -> Conv {
        let mut random = Random(9);
        let count = outputs * input[2] / groups * window.kernel[0] * window.kernel[1];
        let weights = random.numbers(count);
        let bias = random.numbers(outputs);
        Conv::new(window, groups, input, outputs, weights, bias).unwrap()
    }

    /// Sums over the definition, for every combination that the pieces treat differently.
    fn check(laws: &mut Laws, window: &Window, groups: usize, input: [usize; 3], outputs: usize) {
        let conv = random_conv(window.clone(), groups, input, outputs);
        let [h, w, c] = input;
        let [oh, ow, _] = conv.output;
        let x = Random(3).numbers(h * w * c);
        let mut y = vec![0.0; oh * ow * outputs];
        conv.apply(Form::Weights, &x, &mut y, &mut Vec::new());
        let (each_in, each_out) = (c / groups, outputs / groups);
        for oy in 0..oh {
            for ox in 0..ow {
                for o in 0..outputs {
                    let mut sum = conv.bias[o];
                    for (ky, iy) in window.positions(0, oy, h) {
                        for (kx, ix) in window.positions(1, ox, w) {
                            for i in 0..each_in {
                                let at = (iy * w + ix) * c + o / each_out * each_in + i;
                                sum += conv.weight(o, i, [ky, kx]) * x[at];
                            }
                        }
                    }
                    let found = y[(oy * ow + ox) * outputs + o];
                    assert!(
                        (found - sum).abs() < 1e-12,
                        "{window:?} {groups}: {found} {sum}"
                    );
                }
            }
        }
        laws.check(&conv, &[&[1, h, w, c]], &[None], (-1.0, 1.0), 4);
        channel_by_channel_is_the_same_as_by_products(&conv);
        a_factor_and_a_shift_come_after(&conv);
        both_ways_of_pulling_back_agree(&conv);
    }

    fn channel_by_channel_is_the_same_as_by_products(conv: &Conv) {
        let Some(channels) = &conv.channels else {
            return;
        };
        let mut random = Random(12);
        let x = random.numbers(2 * conv.input.iter().product::<usize>());
        let g = random.numbers(2 * conv.output.iter().product::<usize>());
        let (mut a, mut b) = (vec![0.0; g.len()], vec![0.0; g.len()]);
        conv.apply(Form::Weights, &x, &mut a, &mut Vec::new());
        let pieces = conv.forward_pieces::<f64>(Form::Weights);
        conv.run(&pieces, &x, &mut b, &mut Vec::new());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12));
        let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        conv.pull_channels_back(channels, &g, &mut a);
        conv.pull_back(&g, &mut b, &mut Vec::new());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    fn a_factor_and_a_shift_come_after(conv: &Conv) {
        let mut random = Random(13);
        let outputs = conv.output[2];
        let x = random.numbers(conv.input.iter().product());
        let (factor, shift) = (random.numbers(outputs), random.numbers(outputs));
        let mut plain = vec![0.0; conv.output.iter().product()];
        let mut both = plain.clone();
        conv.apply(Form::Weights, &x, &mut plain, &mut Vec::new());
        let then = conv.scaled(&factor, &shift).unwrap();
        let twice = then.scaled(&factor, &shift).unwrap();
        then.apply(Form::Weights, &x, &mut both, &mut Vec::new());
        for (at, (plain, both)) in plain.iter().zip(&both).enumerate() {
            let c = at % outputs;
            assert!((plain * factor[c] + shift[c] - both).abs() < 1e-12);
        }
        let once = both.clone();
        twice.apply(Form::Weights, &x, &mut both, &mut Vec::new());
        for (at, (once, both)) in once.iter().zip(&both).enumerate() {
            let c = at % outputs;
            assert!((once * factor[c] + shift[c] - both).abs() < 1e-12);
        }
        assert!(conv.scaled(&factor[1..], &shift).is_err());
        assert!(conv.scaled(&vec![1e300; outputs], &shift).is_err());
    }

    fn both_ways_of_pulling_back_agree(conv: &Conv) {
        let g = Random(8).numbers(conv.output.iter().product());
        let mut collected = vec![0.0; conv.input.iter().product()];
        let mut spread = collected.clone();
        conv.vjp_collecting(&g, &mut collected, &mut Vec::new());
        conv.vjp_spreading(&g, &mut spread, &mut Vec::new());
        for (a, b) in collected.iter().zip(&spread) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
        let windows = [conv.output[0] * conv.output[1] / 2];
        let mut g = g;
        for (at, g) in g.iter_mut().enumerate() {
            *g *= f64::from(u8::from(at / conv.output[2] == windows[0]));
        }
        let mut few = spread.clone();
        conv.vjp_of_windows(&windows, &g, &mut few, &mut Vec::new());
        conv.vjp_collecting(&g, &mut collected, &mut Vec::new());
        for (a, b) in collected.iter().zip(&few) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }

    /// Also equals its definition.
    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let plain = Window::new([3, 3]);
        check(laws, &plain, 1, [6, 5, 2], 3);
        check(laws, &plain, 2, [6, 5, 4], 6);
        check(laws, &plain, 4, [5, 5, 4], 4);
        let padded = Window {
            before: [1, 2],
            after: [2, 0],
            ..plain.clone()
        };
        check(laws, &padded, 1, [5, 4, 2], 17);
        // Channels in blocks of every size, and kernel rows that lie wholly outside.
        let tall = Window {
            before: [2, 1],
            after: [2, 1],
            ..Window::new([5, 3])
        };
        check(laws, &tall, 41, [2, 3, 41], 41);
        for strides in [[2, 2], [3, 1], [1, 2], [4, 5]] {
            check(
                laws,
                &Window {
                    strides,
                    ..padded.clone()
                },
                1,
                [7, 6, 2],
                3,
            );
            check(
                laws,
                &Window {
                    strides,
                    ..padded.clone()
                },
                2,
                [7, 6, 2],
                4,
            );
        }
        for dilations in [[2, 1], [1, 2], [2, 2]] {
            let dilated = Window {
                dilations,
                ..padded.clone()
            };
            check(laws, &dilated, 1, [7, 7, 2], 3);
            check(
                laws,
                &Window {
                    strides: [2, 2],
                    ..dilated
                },
                2,
                [7, 7, 2],
                2,
            );
        }
        check(
            laws,
            &Window {
                strides: [2, 2],
                ..Window::new([1, 1])
            },
            1,
            [5, 5, 3],
            2,
        );
    }
}
