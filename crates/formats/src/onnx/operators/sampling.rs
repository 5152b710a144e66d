//! `GridSample`: a picture or volume read at places that the model holds. Each place is a sum of a few elements.

use deepconcolic_network::Shape;
use deepconcolic_network::ops::SparseMap;

use super::context::{Context, float};
use super::rearrange::{element, position};
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    Zeros,
    Border,
    Reflection,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nearest,
    Linear,
    Cubic,
}

/// How places become elements.
struct Sampler {
    between: Between,
    beyond: Beyond,
    corners: bool,
}

pub fn grid_sample(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let shape = context.shape(0)?;
    let (grid_shape, grid) = context.known(1)?;
    let sampler = Sampler::new(context)?;
    let &[samples, channels, ref extents @ ..] = shape.dims() else {
        return Err(format!("shape {shape} has no spatial axes"));
    };
    let (Some((&count, places)), true) = (grid_shape.dims().split_last(), !extents.is_empty())
    else {
        return Err(format!("a grid of shape {grid_shape}"));
    };
    let fits = places.first() == Some(&samples) && count == extents.len();
    if !fits || places.len() != count + 1 || extents.contains(&0) {
        return Err(format!("a grid of shape {grid_shape} for shape {shape}"));
    }
    let output = Shape::new([&[samples, channels], &places[1..]].concat())?;
    context.builder.affordable(&output)?;
    let lines = Shape::new(places)?;
    let rows = (0..output.elements()).map(|e| {
        let mut at = position(&output, e);
        let channel = at.remove(1);
        let sample = at[0];
        let start = element(&lines, &at) * count;
        let mut terms = vec![(vec![sample, channel], 1.0)];
        // The grid names the last axis first.
        for (axis, &extent) in extents.iter().enumerate() {
            let along = sampler.along(grid[start + count - 1 - axis], extent);
            terms = terms
                .iter()
                .flat_map(|(at, weight)| {
                    along.iter().map(move |&(p, own)| {
                        let at = at.iter().copied().chain([p]).collect();
                        (at, weight * own)
                    })
                })
                .collect();
        }
        let term = |(at, weight): (Vec<usize>, f64)| (element(&shape, &at), weight);
        terms.into_iter().map(term).collect()
    });
    let map = SparseMap::new("GridSample", shape.clone(), output.clone(), rows)?;
    float(context.add(map, &[input])?)
}

impl Sampler {
    fn new(context: &Context<'_>) -> Result<Self, String> {
        let between = match context.string_or("mode", "linear")? {
            "nearest" => Between::Nearest,
            "linear" | "bilinear" => Between::Linear,
            "cubic" | "bicubic" => Between::Cubic,
            other => return Err(format!("mode={} is not known", quote(other))),
        };
        let beyond = match context.string_or("padding_mode", "zeros")? {
            "zeros" => Beyond::Zeros,
            "border" => Beyond::Border,
            "reflection" => Beyond::Reflection,
            other => return Err(format!("padding_mode={} is not known", quote(other))),
        };
        let corners = context.flag("align_corners")?;
        Ok(Self {
            between,
            beyond,
            corners,
        })
    }

    /// Positions of an axis and their weights, for a place between -1 and 1.
    fn along(&self, place: f64, extent: usize) -> Vec<(usize, f64)> {
        let length = extent as f64;
        let mut x = if self.corners {
            f64::midpoint(place, 1.0) * (length - 1.0)
        } else {
            ((place + 1.0) * length - 1.0) / 2.0
        };
        if self.between == Between::Nearest {
            x = x.round_ties_even();
        }
        let (low, high) = self.limits(length);
        if !(low..=high).contains(&x) {
            x = match self.beyond {
                // A cubic runs on beyond the border, where each element it reads is brought back; so do PyTorch and
                // onnxruntime.
                Beyond::Border if self.between != Between::Cubic => x.clamp(0.0, length - 1.0),
                Beyond::Zeros | Beyond::Border => x,
                Beyond::Reflection => reflected(x, low, high),
            };
        }
        let start = x.floor();
        let part = x - start;
        let weights = match self.between {
            Between::Nearest => vec![(0.0, 1.0)],
            Between::Linear => vec![(0.0, 1.0 - part), (1.0, part)],
            Between::Cubic => cubic(part).to_vec(),
        };
        let position = |(offset, weight): (f64, f64)| {
            let at = start + offset;
            let inside = (0.0..length).contains(&at);
            let at = match self.beyond {
                _ if inside => at,
                Beyond::Zeros => return None,
                Beyond::Border => at.clamp(0.0, length - 1.0),
                Beyond::Reflection => reflected(at, low, high).clamp(0.0, length - 1.0),
            };
            at.is_finite().then_some((at as usize, weight))
        };
        weights.into_iter().filter_map(position).collect()
    }

    /// Where the picture ends: in the middle of its outermost elements, or at their far sides.
    fn limits(&self, length: f64) -> (f64, f64) {
        if self.corners {
            (0.0, length - 1.0)
        } else {
            (-0.5, length - 0.5)
        }
    }
}

/// Thrown back at both ends until it is between them.
fn reflected(x: f64, low: f64, high: f64) -> f64 {
    let range = high - low;
    if range <= 0.0 {
        return low;
    }
    let distance = if x < low { low - x } else { x - high };
    if distance <= 0.0 {
        return x;
    }
    let (turns, rest) = ((distance / range).floor(), distance % range);
    let from_low = (x < low) == (turns % 2.0 == 0.0);
    if from_low { low + rest } else { high - rest }
}

/// Keys' cubic convolution with -0.75.
fn cubic(part: f64) -> [(f64, f64); 4] {
    let a = -0.75;
    let far = |x: f64| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    let near = |x: f64| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    [
        (-1.0, far(part + 1.0)),
        (0.0, near(part)),
        (1.0, near(1.0 - part)),
        (2.0, far(2.0 - part)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_thrown_back_stays_inside() {
        let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-12, "{x} {y}");
        near(reflected(-0.25, 0.0, 2.0), 0.25);
        near(reflected(2.5, 0.0, 2.0), 1.5);
        near(reflected(4.5, 0.0, 2.0), 0.5);
        near(reflected(1.0, 0.0, 2.0), 1.0);
        near(reflected(5.0, 0.0, 0.0), 0.0);
    }

    #[test]
    fn weights_sum_to_one_inside() {
        for between in [Between::Nearest, Between::Linear, Between::Cubic] {
            let sampler = Sampler {
                between,
                beyond: Beyond::Border,
                corners: true,
            };
            for place in [-1.0, -0.3, 0.0, 0.77, 1.0, 3.0] {
                let sum: f64 = sampler.along(place, 7).iter().map(|(_, w)| w).sum();
                assert!((sum - 1.0).abs() < 1e-12);
            }
        }
    }
}
