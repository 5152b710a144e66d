//! Structural similarity of two images: a measure of whether a person would take them for the same.
//!
//! The mean over all 7 x 7 windows and channels, with the usual constants, as image libraries compute
//! it by default (Wang, Bovik, Sheikh, Simoncelli, 2004): 1 for equal images, lower for less alike.

use crate::Pixels;

/// Side of a window.
const WINDOW: usize = 7;
/// The constants that keep quotients finite on flat windows, in units of the value range.
const K1: f64 = 0.01;
const K2: f64 = 0.03;

/// How the elements of an input make up an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Which elements are the channels of a pixel.
    pub pixels: Pixels,
}

impl ImageShape {
    /// The image that an input of this shape (without its batch axis) is, if it is one that
    /// windows fit into.
    pub fn of(shape: &[usize]) -> Option<Self> {
        let (height, width, pixels) = match *shape {
            [h, w, c] if c <= 4 => (h, w, Pixels::ChannelsLast(c)),
            [c, h, w] => (h, w, Pixels::ChannelsFirst(c)),
            [h, w] => (h, w, Pixels::Single),
            _ => return None,
        };
        (height >= WINDOW && width >= WINDOW).then_some(Self {
            height,
            width,
            pixels,
        })
    }

    /// Channels of a pixel.
    pub fn channels(&self) -> usize {
        match self.pixels {
            Pixels::Single => 1,
            Pixels::ChannelsFirst(c) | Pixels::ChannelsLast(c) => c,
        }
    }

    /// The element of a pixel's channel.
    pub fn element(&self, row: usize, column: usize, channel: usize) -> usize {
        let at = row * self.width + column;
        match self.pixels {
            Pixels::Single => at,
            Pixels::ChannelsFirst(_) => channel * self.height * self.width + at,
            Pixels::ChannelsLast(c) => at * c + channel,
        }
    }

    /// The similarity of two images whose values span `range`.
    pub fn similarity(&self, a: &[f32], b: &[f32], range: f64) -> f64 {
        let channels = self.channels();
        let sum: f64 = (0..channels)
            .map(|channel| self.channel_similarity(a, b, range, channel))
            .sum();
        sum / channels as f64
    }

    fn channel_similarity(&self, a: &[f32], b: &[f32], range: f64, channel: usize) -> f64 {
        let sums = [
            self.integral(channel, |e| f64::from(a[e])),
            self.integral(channel, |e| f64::from(b[e])),
            self.integral(channel, |e| f64::from(a[e]).powi(2)),
            self.integral(channel, |e| f64::from(b[e]).powi(2)),
            self.integral(channel, |e| f64::from(a[e]) * f64::from(b[e])),
        ];
        let (rows, columns) = (self.height - WINDOW + 1, self.width - WINDOW + 1);
        let mut total = 0.0;
        for row in 0..rows {
            for column in 0..columns {
                let [a, b, aa, bb, ab] =
                    [0, 1, 2, 3, 4].map(|i| self.window(&sums[i], row, column));
                total += window_similarity(a, b, aa, bb, ab, range);
            }
        }
        total / (rows * columns) as f64
    }

    /// Sums over all rectangles from the corner, so that a window's sum takes four numbers.
    fn integral(&self, channel: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let stride = self.width + 1;
        let mut sums = vec![0.0; (self.height + 1) * stride];
        for row in 0..self.height {
            let mut line = 0.0;
            for column in 0..self.width {
                line += value(self.element(row, column, channel));
                sums[(row + 1) * stride + column + 1] = sums[row * stride + column + 1] + line;
            }
        }
        sums
    }

    fn window(&self, sums: &[f64], row: usize, column: usize) -> f64 {
        let stride = self.width + 1;
        let at = |r: usize, c: usize| sums[r * stride + c];
        let (bottom, right) = (row + WINDOW, column + WINDOW);
        (at(bottom, right) - at(row, right) - at(bottom, column) + at(row, column))
            / (WINDOW * WINDOW) as f64
    }
}

/// From the means of a, b, a², b² and ab in a window.
fn window_similarity(a: f64, b: f64, aa: f64, bb: f64, ab: f64, range: f64) -> f64 {
    const COUNT: f64 = (WINDOW * WINDOW) as f64;
    const SAMPLE: f64 = COUNT / (COUNT - 1.0);
    let (c1, c2) = ((K1 * range).powi(2), (K2 * range).powi(2));
    let (va, vb, vab) = (
        SAMPLE * (aa - a * a),
        SAMPLE * (bb - b * b),
        SAMPLE * (ab - a * b),
    );
    ((2.0 * a * b + c1) * (2.0 * vab + c2)) / ((a * a + b * b + c1) * (va + vb + c2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(seed: u64, elements: usize) -> Vec<f32> {
        let mut random = deepconcolic_testing::Random::new(seed);
        (0..elements)
            .map(|_| random.between(0.0, 1.0) as f32)
            .collect()
    }

    /// The definition, window by window, pixel by pixel.
    fn obvious(shape: &ImageShape, a: &[f32], b: &[f32]) -> f64 {
        let mut all = Vec::new();
        for channel in 0..shape.channels() {
            for row in 0..=shape.height - 7 {
                for column in 0..=shape.width - 7 {
                    let cells: Vec<usize> = (0..49)
                        .map(|i| shape.element(row + i / 7, column + i % 7, channel))
                        .collect();
                    let mean =
                        |x: &[f32]| cells.iter().map(|&e| f64::from(x[e])).sum::<f64>() / 49.0;
                    let (ma, mb) = (mean(a), mean(b));
                    let covariance = |x: &[f32], mx: f64, y: &[f32], my: f64| {
                        let products = cells
                            .iter()
                            .map(|&e| (f64::from(x[e]) - mx) * (f64::from(y[e]) - my));
                        products.sum::<f64>() / 48.0
                    };
                    let luminance = (2.0 * ma * mb + 1e-4) / (ma * ma + mb * mb + 1e-4);
                    let structure = (2.0 * covariance(a, ma, b, mb) + 9e-4)
                        / (covariance(a, ma, a, ma) + covariance(b, mb, b, mb) + 9e-4);
                    all.push(luminance * structure);
                }
            }
        }
        all.iter().sum::<f64>() / all.len() as f64
    }

    #[test]
    fn it_is_the_mean_over_windows_and_channels() {
        for shape in [[9, 11, 3], [3, 8, 12], [1, 7, 7]] {
            let image_shape = ImageShape::of(&shape).unwrap();
            let elements = shape.iter().product();
            let (a, b) = (image(1, elements), image(2, elements));
            let (fast, slow) = (
                image_shape.similarity(&a, &b, 1.0),
                obvious(&image_shape, &a, &b),
            );
            assert!((fast - slow).abs() < 1e-9, "{fast} {slow}");
            assert!((image_shape.similarity(&a, &a, 1.0) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn what_is_too_small_for_a_window_is_no_image() {
        assert_eq!(ImageShape::of(&[6, 28, 1]), None);
        assert_eq!(ImageShape::of(&[13]), None);
    }
}
