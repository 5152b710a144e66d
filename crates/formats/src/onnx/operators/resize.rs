//! Resize and Upsample: along each axis, every position of the output is a weighted sum of positions of the
//! input. Coordinates are computed in single precision, as runtimes do.

use deepconcolic_network::ops::{AxisMap, AxisRow, Select};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, float};
use super::shape::extents;
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

/// Most terms of one axis: hostile sizes are refused before memory is taken.
const MAX_TERMS: usize = 1 << 24;

/// How positions of the output are carried over to the input.
#[derive(Clone, Copy, PartialEq)]
enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    CropAndResize,
}

/// What is made of the positions round a coordinate.
#[derive(Clone, Copy, PartialEq)]
enum Filter {
    Nearest(Nearest),
    Linear,
    Cubic(f64),
}

#[derive(Clone, Copy, PartialEq)]
enum Nearest {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
    /// Of operator sets before 11: down where the image grows, up where it shrinks.
    Outward,
}

/// A node's attributes.
struct Resize {
    coordinates: Coordinates,
    filter: Filter,
    exclude_outside: bool,
    antialias: bool,
    extrapolation: f64,
}

/// One axis: its extent before, and after, by which factor, and what part of it is taken.
struct Axis {
    input: usize,
    output: usize,
    scale: f32,
    roi: (f32, f32),
}

impl Resize {
    fn read(context: &Context<'_>) -> Result<Self, String> {
        let unknown = |what: &str, name: &str| format!("{what}={} is not known", quote(name));
        // Before operator set 11 there was one rule.
        let default = if context.opset < 11 {
            "asymmetric"
        } else {
            "half_pixel"
        };
        let coordinates = match context.string_or("coordinate_transformation_mode", default)? {
            "half_pixel" => Coordinates::HalfPixel,
            "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
            "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
            "align_corners" => Coordinates::AlignCorners,
            "asymmetric" => Coordinates::Asymmetric,
            "tf_crop_and_resize" => Coordinates::CropAndResize,
            other => return Err(unknown("coordinate_transformation_mode", other)),
        };
        let default = if context.opset < 11 {
            "outward"
        } else {
            "round_prefer_floor"
        };
        let nearest = match context.string_or("nearest_mode", default)? {
            "round_prefer_floor" => Nearest::PreferFloor,
            "round_prefer_ceil" => Nearest::PreferCeil,
            "floor" => Nearest::Floor,
            "ceil" => Nearest::Ceil,
            "outward" if context.opset < 11 => Nearest::Outward,
            other => return Err(unknown("nearest_mode", other)),
        };
        let filter = match context.string_or("mode", "nearest")? {
            "nearest" => Filter::Nearest(nearest),
            "linear" => Filter::Linear,
            "cubic" => Filter::Cubic(context.float_or("cubic_coeff_a", -0.75)?),
            other => return Err(unknown("mode", other)),
        };
        Ok(Self {
            coordinates,
            filter,
            exclude_outside: context.flag("exclude_outside")?,
            antialias: context.flag("antialias")?,
            extrapolation: context.float_or("extrapolation_value", 0.0)?,
        })
    }

    /// Where a position of the output lies in the input; none outside of what is taken.
    fn coordinate(&self, axis: &Axis, position: usize) -> Option<f32> {
        let (x, input) = (position as f32, axis.input as f32);
        // The extent before it is rounded.
        let output = axis.scale * input;
        let half_pixel = (x + 0.5) / axis.scale - 0.5;
        Some(match self.coordinates {
            Coordinates::HalfPixelSymmetric => {
                let adjustment = axis.output as f32 / output;
                input / 2.0 * (1.0 - adjustment) + half_pixel
            }
            Coordinates::PytorchHalfPixel if axis.output == 1 => -0.5,
            Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => half_pixel,
            Coordinates::AlignCorners if output <= 1.0 => 0.0,
            Coordinates::AlignCorners => x * (input - 1.0) / (output - 1.0),
            Coordinates::Asymmetric => x / axis.scale,
            Coordinates::CropAndResize => {
                let (start, end) = axis.roi;
                let along = if axis.output == 1 {
                    (end - start) * (input - 1.0) / 2.0
                } else {
                    x * (end - start) * (input - 1.0) / (axis.output as f32 - 1.0)
                };
                let at = start * (input - 1.0) + along;
                return (0.0..=input - 1.0).contains(&at).then_some(at);
            }
        })
    }

    /// Weights of the positions round a coordinate: the first of them relative to the position before the
    /// coordinate, which it exceeds by `ratio`, more than 0 and at most 1.
    fn weights(&self, ratio: f64, scale: f64) -> (i64, Vec<f64>) {
        let full = scale;
        let scale = if self.antialias { full.min(1.0) } else { 1.0 };
        match self.filter {
            Filter::Nearest(nearest) => {
                let after = match nearest {
                    _ if ratio >= 1.0 => true,
                    Nearest::PreferFloor => ratio > 0.5,
                    Nearest::PreferCeil => ratio >= 0.5,
                    Nearest::Floor => false,
                    Nearest::Ceil => true,
                    Nearest::Outward => full < 1.0,
                };
                (i64::from(after), vec![1.0])
            }
            Filter::Linear => {
                let first = (-1.0 / scale).floor() as i64 + 1;
                let weight = |x: f64| (1.0 - x.abs()).clamp(0.0, 1.0);
                (first, spread(first, ratio, scale, weight))
            }
            Filter::Cubic(a) => {
                let first = (-2.0 / scale).floor() as i64 + 1;
                (first, spread(first, ratio, scale, |x| cubic(a, x.abs())))
            }
        }
    }

    /// How one position of the output is made.
    fn row(&self, axis: &Axis, position: usize) -> AxisRow {
        let Some(at) = self.coordinate(axis, position) else {
            return (Vec::new(), self.extrapolation);
        };
        // The position on the left, so that a whole number is the one on the right of it.
        let left = at.ceil() - 1.0;
        let (first, weights) = self.weights(f64::from(at - left), f64::from(axis.scale));
        let last = axis.input as i64 - 1;
        let mut terms: Vec<(usize, f64)> = Vec::with_capacity(weights.len());
        let mut total = 0.0;
        for (i, weight) in weights.iter().enumerate() {
            let place = left as i64 + first + i as i64;
            if self.exclude_outside && !(0..=last).contains(&place) {
                continue;
            }
            total += weight;
            let place = place.clamp(0, last) as usize;
            match terms.last_mut() {
                Some((before, sum)) if *before == place => *sum += weight,
                _ => terms.push((place, *weight)),
            }
        }
        if self.exclude_outside {
            for (_, weight) in &mut terms {
                *weight /= total;
            }
        }
        terms.retain(|(_, weight)| *weight != 0.0);
        (terms, 0.0)
    }
}

/// Weights of a filter that is widened where the image shrinks, adding up to one.
fn spread(first: i64, ratio: f64, scale: f64, weight: impl Fn(f64) -> f64) -> Vec<f64> {
    let weights = (first..2 - first).map(|i| weight(scale * (i as f64 - ratio)));
    let weights: Vec<f64> = weights.collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

fn cubic(a: f64, x: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

/// Scales are an attribute before operator set 9, input 1 up to 10, input 2 with sizes as input 3 since.
pub fn resize(context: &mut Context<'_>) -> Outputs {
    let rule = Resize::read(context)?;
    let shape = context.shape(0)?;
    let axes = axes(context, &rule, &shape)?;
    let mut tensor = context.tensor(0)?;
    for (number, axis) in axes {
        tensor = along(context, &rule, tensor, number, &axis)?;
    }
    float(tensor)
}

/// The axes that are resized, with what becomes of each.
fn axes(context: &Context<'_>, rule: &Resize, shape: &Shape) -> Result<Vec<(usize, Axis)>, String> {
    let numbers: Vec<usize> = match context.ints("axes")? {
        Some(axes) => axes
            .iter()
            .map(|&a| shape.axis(a))
            .collect::<Result<_, _>>()?,
        None => (0..shape.rank()).collect(),
    };
    let given = |position: usize| -> Result<Option<Vec<f64>>, String> {
        Ok(context
            .known_if_given(position)?
            .filter(|list| !list.is_empty()))
    };
    let since_11 = context.opset >= 11;
    let scales = match context.floats("scales")? {
        Some(scales) => Some(scales),
        None => given(if since_11 { 2 } else { 1 })?,
    };
    let sizes = if since_11 { given(3)? } else { None };
    let roi = if since_11 { given(1)? } else { None };
    let count = numbers.len();
    let fits = |list: &Option<Vec<f64>>, each: usize| {
        list.as_ref().is_none_or(|list| list.len() == each * count)
    };
    if !fits(&scales, 1) || !fits(&sizes, 1) || !fits(&roi, 2) {
        return Err(format!("scales, sizes or roi do not fit {count} axes"));
    }
    let dims = |n: usize| shape.dims()[numbers[n]];
    let pairs: Vec<(f32, usize)> = match (scales, sizes) {
        (Some(scales), None) => (0..count)
            .map(|n| {
                let output = (scales[n] * dims(n) as f64).floor();
                (scales[n] as f32, output as usize)
            })
            .collect(),
        (None, Some(sizes)) => {
            let sizes: Vec<i64> = sizes.iter().map(|&s| s as i64).collect();
            sized(context, &extents(&sizes)?, &dims)?
        }
        _ => return Err("exactly one of scales and sizes must be given".into()),
    };
    let roi = |n: usize| match &roi {
        Some(roi) => (roi[n] as f32, roi[count + n] as f32),
        None => (0.0, 1.0),
    };
    let axis = |(n, &(scale, output)): (usize, &(f32, usize))| {
        let axis = Axis {
            input: dims(n),
            output,
            scale,
            roi: roi(n),
        };
        // Whether the last pixel meets the last one of the rounded extent or of the wanted one, the standard
        // and its runtimes answer differently.
        let wanted = f64::from(scale) * axis.input as f64;
        let is_rounded = (wanted - output as f64).abs() > 1e-4;
        if rule.coordinates == Coordinates::AlignCorners && is_rounded {
            return Err(format!(
                "align_corners with {} times {scale} positions is read in two ways; export it with sizes \
                 instead of scales",
                axis.input
            ));
        }
        if axis.input > 0 && scale.is_finite() && scale > 0.0 && output <= MAX_TERMS {
            Ok((numbers[n], axis))
        } else {
            Err(format!(
                "an axis of {} cannot become one of {output}",
                axis.input
            ))
        }
    };
    pairs.iter().enumerate().map(axis).collect()
}

/// Scales and extents from wanted sizes, one scale for all axes if the aspect ratio is to stay.
fn sized(
    context: &Context<'_>,
    sizes: &[usize],
    dims: &dyn Fn(usize) -> usize,
) -> Result<Vec<(f32, usize)>, String> {
    let scales = (0..sizes.len()).map(|n| sizes[n] as f32 / dims(n) as f32);
    let least = scales.clone().fold(f32::INFINITY, f32::min);
    let maximum = scales.clone().fold(0.0, f32::max);
    let one = match context.string_or("keep_aspect_ratio_policy", "stretch")? {
        "stretch" => return Ok(scales.zip(sizes.iter().copied()).collect()),
        "not_larger" => least,
        "not_smaller" => maximum,
        other => {
            return Err(format!(
                "keep_aspect_ratio_policy={} is not known",
                quote(other)
            ));
        }
    };
    let extent = |n: usize| (one * dims(n) as f32 + 0.5).floor() as usize;
    Ok((0..sizes.len()).map(|n| (one, extent(n))).collect())
}

fn along(
    context: &mut Context<'_>,
    rule: &Resize,
    tensor: Tensor,
    number: usize,
    axis: &Axis,
) -> Result<Tensor, String> {
    let shape = context.builder.shape(tensor);
    let mut dims = shape.dims().to_vec();
    dims[number] = axis.output;
    context.builder.affordable(&Shape::new(dims)?)?;
    let mut rows = Vec::with_capacity(axis.output);
    let mut terms = 0;
    for position in 0..axis.output {
        let row = rule.row(axis, position);
        terms += row.0.len();
        if terms > MAX_TERMS {
            return Err("a filter as wide as that is not supported".into());
        }
        rows.push(row);
    }
    let copies = |row: &AxisRow| matches!(row.0[..], [(_, 1.0)]);
    if !rows.iter().all(copies) {
        return context.add(AxisMap::new("Resize", number, shape, rows)?, &[tensor]);
    }
    let positions: Vec<Option<usize>> = rows.iter().map(|row| Some(row.0[0].0)).collect();
    if positions.iter().enumerate().all(|(p, at)| *at == Some(p)) && axis.output == axis.input {
        return Ok(tensor);
    }
    let mut along: Vec<Vec<Option<usize>>> = shape
        .dims()
        .iter()
        .map(|&extent| (0..extent).map(Some).collect())
        .collect();
    along[number] = positions;
    context.add(Select::by_axes("Resize", shape, &along, 0.0)?, &[tensor])
}
