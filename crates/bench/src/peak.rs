//! Products alone, without the network around them: what our tile routine can reach.

use std::hint::black_box;
use std::time::Instant;

use deepconcolic_network::Scalar;
use deepconcolic_network::kernels::{Packed, Piece, multiply};

use crate::reference::NodeShape;

/// A product to run again and again.
pub struct Product {
    piece: Piece<f32>,
    samples: usize,
    /// Numbers of one sample: read, written.
    strides: (usize, usize),
    /// How often one run does it.
    repeats: usize,
    /// Floating-point operations of one run.
    pub flops: usize,
}

/// What a product reads and what it writes.
pub type Numbers = (Vec<f32>, Vec<f32>);

impl Product {
    fn new(piece: Piece<f32>, samples: usize, strides: (usize, usize), flops: usize) -> Self {
        Self {
            piece,
            samples,
            strides,
            repeats: 1,
            flops,
        }
    }

    /// Repeated so often that a run has about so many operations: runs of one length are disturbed
    /// alike by what else the machine does.
    #[must_use]
    pub fn lasting(mut self, flops: usize) -> Self {
        let once = self.flops / self.repeats;
        self.repeats = (flops / once.max(1)).max(1);
        self.flops = once * self.repeats;
        self
    }

    /// The fastest dense product of those whose operands stay in the first-level cache (32 KiB).
    pub fn in_first_cache() -> Self {
        let kernel = f32::kernel();
        let dense = |(depth, tiles): (usize, usize)| {
            let rows = kernel.rows * tiles;
            let piece = Piece::dense(Packed::new(depth, kernel.columns, |_| 0.1, weight));
            let flops = 2 * depth * kernel.columns * rows;
            Self::new(piece, rows, (depth, kernel.columns), flops).lasting(4_000_000)
        };
        let timed = [(64, 4), (128, 3), (192, 2), (256, 1), (288, 1)].map(|size| {
            let product = dense(size);
            let rate = product.tried_rate();
            (product, rate)
        });
        let [first, others @ ..] = timed;
        let faster =
            |best: (Self, f64), next: (Self, f64)| if next.1 > best.1 { next } else { best };
        others.into_iter().fold(first, faster).0
    }

    /// The product of a convolution with a square kernel, no stride and no padding; `None` for any
    /// other node.
    pub fn of_convolution(node: &NodeShape, samples: usize) -> Option<Self> {
        let (&[_, channels, height, width], &[_, maps, rows, columns]) =
            (node.input.as_slice(), node.output.as_slice())
        else {
            return None;
        };
        let side = height.checked_sub(rows)? + 1;
        let depth = side * side * channels;
        if node.operator != "Conv" || node.flops != 2 * maps * rows * columns * depth {
            return None;
        }
        let pixels = (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x)));
        let piece = Piece {
            rows: pixels
                .clone()
                .map(|(y, x)| (y * width + x) * channels)
                .collect(),
            outputs: pixels.map(|(y, x)| (y * columns + x) * maps).collect(),
            taps: (0..side).map(|tap| tap * width * channels).collect(),
            run: side * channels,
            weights: Packed::new(depth, maps, |_| 0.1, weight),
        };
        let strides = (height * width * channels, rows * columns * maps);
        Some(Self::new(piece, samples, strides, node.flops * samples))
    }

    /// Runs it on the same numbers every time.
    pub fn run(&self, numbers: &mut Numbers) {
        let (input, output) = numbers;
        input.resize(self.samples * self.strides.0, 0.3);
        output.resize(self.samples * self.strides.1, 0.0);
        for _ in 0..self.repeats {
            multiply(
                black_box(&self.piece),
                self.samples,
                (input, self.strides.0),
                (output, self.strides.1),
            );
        }
        black_box(output);
    }

    fn tried_rate(&self) -> f64 {
        let mut numbers = Numbers::default();
        let seconds = (0..200).map(|_| {
            let start = Instant::now();
            self.run(&mut numbers);
            start.elapsed().as_secs_f64()
        });
        self.flops as f64 / seconds.fold(f64::INFINITY, f64::min)
    }
}

fn weight(row: usize, column: usize) -> f32 {
    ((row * 7 + column * 3) % 11) as f32 * 0.1 - 0.5
}
