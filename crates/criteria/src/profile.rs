//! What neurons did on profile data: the bounds that boundary criteria compare with, and the layer
//! means that scale ranking values.

use std::sync::Arc;

use deepconcolic_network::{Network, Point, Trace, vectorised};
use rayon::prelude::*;

/// Smallest and largest u of every neuron, and the mean of |u| in every layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    samples: usize,
    /// Shared by the criteria that compare with it: there are two numbers for every neuron.
    layers: Arc<Vec<LayerProfile>>,
}

/// One hidden layer's part of a [`Profile`].
#[derive(Clone, Debug, PartialEq)]
pub struct LayerProfile {
    /// l: smallest u of each neuron.
    pub low: Vec<f32>,
    /// h: largest u of each neuron.
    pub high: Vec<f32>,
    /// Sum of |u| over neurons and samples.
    total: f64,
}

impl Profile {
    /// The profile of no data.
    pub fn new(network: &Network) -> Self {
        let layers = network.layers().iter().map(|layer| LayerProfile {
            low: vec![f32::INFINITY; layer.neurons()],
            high: vec![f32::NEG_INFINITY; layer.neurons()],
            total: 0.0,
        });
        Self {
            samples: 0,
            layers: Arc::new(layers.collect()),
        }
    }

    /// A profile read back from its parts: samples, and for each layer lows, highs and mean |u|.
    pub fn from_parts(
        network: &Network,
        samples: usize,
        parts: Vec<(Vec<f32>, Vec<f32>, f64)>,
    ) -> Result<Self, String> {
        if parts.len() != network.layers().len() {
            return Err(format!(
                "the profile has {} layers and the network {}",
                parts.len(),
                network.layers().len()
            ));
        }
        let mut layers = Vec::new();
        for (layer, (low, high, mean)) in network.layers().iter().zip(parts) {
            let neurons = layer.neurons();
            if low.len() != neurons || high.len() != neurons {
                return Err(format!(
                    "the profile has {} neurons in layer `{}` and the network {neurons}",
                    low.len(),
                    layer.name()
                ));
            }
            let ordered = low.iter().zip(&high).all(|(l, h)| l <= h);
            if !ordered || !mean.is_finite() || mean < 0.0 {
                return Err(format!(
                    "the profile of layer `{}` is damaged",
                    layer.name()
                ));
            }
            layers.push(LayerProfile {
                low,
                high,
                total: total(mean, neurons, samples),
            });
        }
        Ok(Self {
            samples,
            layers: Arc::new(layers),
        })
    }

    /// Whether another profile is this one as it comes back from its parts: these have means, and the sums that means
    /// give are off by a rounding.
    pub fn comes_back_as(&self, read: &Self) -> bool {
        let same = |(layer, other): (usize, &LayerProfile)| {
            let LayerProfile { low, high, .. } = &self.layers[layer];
            let sum = total(self.mean(layer), low.len(), self.samples);
            *low == other.low && *high == other.high && sum.to_bits() == other.total.to_bits()
        };
        self.samples == read.samples
            && self.layers.len() == read.layers.len()
            && read.layers.iter().enumerate().all(same)
    }

    /// What must be kept of a run.
    pub fn points(network: &Network) -> impl Iterator<Item = Point> {
        (0..network.layers().len()).map(Point::Pre)
    }

    /// Adds the samples of a trace that kept [`Profile::points`].
    pub fn observe(&mut self, trace: &Trace<f32>) {
        self.samples += trace.samples();
        let layers = Arc::make_mut(&mut self.layers);
        for (index, layer) in layers.iter_mut().enumerate() {
            layer.observe(trace.get(Point::Pre(index)));
        }
    }

    /// How many samples it is of.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// One layer's part.
    pub fn layer(&self, layer: usize) -> &LayerProfile {
        &self.layers[layer]
    }

    /// The mean of |u| in a layer: the paper's `1 / c_k`.
    pub fn mean(&self, layer: usize) -> f64 {
        let count = self.samples * self.layers[layer].low.len();
        self.layers[layer].total / count.max(1) as f64
    }
}

/// The sum of |u| that a mean stands for.
fn total(mean: f64, neurons: usize, samples: usize) -> f64 {
    mean * (neurons * samples) as f64
}

/// Neurons handled at a time: their bounds stay in the nearest cache while samples stream past.
const BLOCK: usize = 2048;

/// Widens bounds by one sample; the sum of its |u|.
#[expect(
    clippy::inline_always,
    reason = "it must be compiled inside `vectorised`"
)]
#[inline(always)]
fn widen(low: &mut [f32], high: &mut [f32], u: &[f32]) -> f64 {
    // Eight sums at a time, always in the same order.
    let mut sums = [0.0f32; 8];
    for ((low, high), u) in low.chunks_mut(8).zip(high.chunks_mut(8)).zip(u.chunks(8)) {
        for (((l, h), &x), sum) in low.iter_mut().zip(high).zip(u).zip(&mut sums) {
            *l = if x < *l { x } else { *l };
            *h = if x > *h { x } else { *h };
            *sum += x.abs();
        }
    }
    sums.iter().map(|&s| f64::from(s)).sum()
}

impl LayerProfile {
    fn observe(&mut self, u: &[f32]) {
        let neurons = self.low.len();
        // Sums of blocks in a fixed order: the same total on any number of threads.
        let totals: Vec<f64> = self
            .low
            .par_chunks_mut(BLOCK)
            .zip(self.high.par_chunks_mut(BLOCK))
            .enumerate()
            .map(|(block, (low, high))| {
                vectorised(
                    #[inline(always)]
                    || {
                        let count = low.len();
                        let rows = u.chunks_exact(neurons.max(1));
                        let parts = rows.map(|row| &row[block * BLOCK..][..count]);
                        parts.map(|part| widen(low, high, part)).sum::<f64>()
                    },
                )
            })
            .collect();
        self.total += totals.iter().sum::<f64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_comes_back_as_itself_whatever_rounding_does_to_its_sums() {
        let of = |total: f64| Profile {
            samples: 7,
            layers: Arc::new(vec![LayerProfile {
                low: vec![-1.0, 0.5, 0.0],
                high: vec![1.0, 0.5, 2.0],
                total,
            }]),
        };
        let mut rounded = 0;
        for number in 1..200 {
            let profile = of(f64::from(number) / 3.0);
            let read = of(total(profile.mean(0), 3, 7));
            assert!(profile.comes_back_as(&read));
            rounded += usize::from(profile != read);
            assert!(!profile.comes_back_as(&of(f64::from(number + 1) / 3.0)));
        }
        assert!(rounded > 0, "no sum was off");
    }
}
