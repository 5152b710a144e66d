//! Normalisation of batches, layers, groups and instances, Softmax.

use deepconcolic_network::ops::{
    Abs, Add, AxisMap, Binary, Div, Elementwise, LayerNorm, Max, Mul, Power, Reciprocal, Reduce,
    Softmax, Sqrt, Sub, View,
};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, float};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// With the stored statistics, one multiplication and one addition a channel: part of the convolution before
/// them if there is one.
pub fn batch_normalization(context: &mut Context<'_>) -> Outputs {
    if context.flag("training_mode")? || context.int_or("spatial", 1)? == 0 {
        return Err(
            "only inference with statistics per channel is supported; export in evaluation mode"
                .into(),
        );
    }
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let epsilon = context.float_or("epsilon", 1e-5)?;
    let statistics: Result<Vec<Vec<f64>>, String> =
        (1..5).map(|i| Ok(context.known(i)?.1)).collect();
    let [scale, bias, mean, variance] = <[Vec<f64>; 4]>::try_from(statistics?)
        .map_err(|_| "it needs scale, bias, mean and variance")?;
    let channels = scale.len();
    if [&bias, &mean, &variance]
        .iter()
        .any(|s| s.len() != channels)
    {
        return Err("scale, bias, mean and variance differ in length".into());
    }
    if variance.iter().any(|v| v + epsilon <= 0.0) {
        return Err("a variance is negative".into());
    }
    let factor: Vec<f64> = (0..channels)
        .map(|c| scale[c] / (variance[c] + epsilon).sqrt())
        .collect();
    let shift: Vec<f64> = (0..channels)
        .map(|c| bias[c] - mean[c] * factor[c])
        .collect();
    if let Some(scaled) = context.builder.scaled(input, &factor, &shift, context.name) {
        return float(scaled);
    }
    // One number a channel, spread over the axes that follow.
    let mut spread = vec![1; shape.rank().saturating_sub(1)];
    if let Some(first) = spread.first_mut() {
        *first = channels;
    }
    let factor = context.constant(&spread, factor)?;
    let shift = context.constant(&spread, shift)?;
    let scaled = context.add(Binary::new(Mul), &[input, factor])?;
    float(context.add(Binary::new(Add), &[scaled, shift])?)
}

pub fn layer_normalization(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let axis = shape.axis(context.int_or("axis", -1)?)?;
    let epsilon = context.float_or("epsilon", 1e-5)?;
    let size: usize = shape.dims()[axis..].iter().product();
    let spread = |numbers: Option<Vec<f64>>, default: f64| match numbers {
        Some(n) if n.len() == 1 => Ok(vec![n[0]; size]),
        Some(n) if n.len() == size => Ok(n),
        Some(n) => Err(format!("{} numbers for {size} elements", n.len())),
        None => Ok(vec![default; size]),
    };
    let scale = spread(context.known_if_given(1)?, 1.0)?;
    let bias = spread(context.known_if_given(2)?, 0.0)?;
    let mut outputs =
        float(context.add(LayerNorm::new(axis, epsilon, scale, Some(bias))?, &[input])?)?;
    if context.node.outputs.len() > 1 {
        let (mean, inverse) = statistics(context, input, axis, epsilon)?;
        outputs.extend(float(mean)?);
        outputs.extend(float(inverse)?);
    }
    Ok(outputs)
}

/// The mean over the last axes, and the inverse of the standard deviation: side outputs for training.
fn statistics(
    context: &mut Context<'_>,
    input: Tensor,
    axis: usize,
    epsilon: f64,
) -> Result<(Tensor, Tensor), String> {
    let axes: Vec<usize> = (axis..context.builder.shape(input).rank()).collect();
    let mean = context.add(Reduce::mean(axes.clone()), &[input])?;
    let moved = context.add(Binary::new(Sub), &[input, mean])?;
    let squares = context.add(Binary::new(Mul), &[moved, moved])?;
    let variance = context.add(Reduce::mean(axes), &[squares])?;
    let epsilon = context.constant(&[], vec![epsilon])?;
    let above = context.add(Binary::new(Add), &[variance, epsilon])?;
    let deviation = context.add(Elementwise::new(Sqrt), &[above])?;
    Ok((
        mean,
        context.add(Elementwise::new(Reciprocal), &[deviation])?,
    ))
}

/// Each channel by its own mean and variance.
pub fn instance_normalization(context: &mut Context<'_>) -> Outputs {
    let channels = context.shape(0)?.dims().get(1).copied().unwrap_or(0);
    float(by_groups(context, channels)?)
}

pub fn group_normalization(context: &mut Context<'_>) -> Outputs {
    let groups = context.int("num_groups")?.ok_or("num_groups is missing")?;
    float(by_groups(context, usize::try_from(groups).unwrap_or(0))?)
}

/// Equal groups of channels, each by its own mean and variance; then scale and bias.
fn by_groups(context: &mut Context<'_>, groups: usize) -> Result<Tensor, String> {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let &[n, channels, ..] = shape.dims() else {
        return Err(format!("shape {shape} has no channels"));
    };
    if groups == 0 || channels % groups != 0 || shape.elements() == 0 {
        return Err(format!("{groups} groups of {channels} channels"));
    }
    let epsilon = context.float_or("epsilon", 1e-5)?;
    let size = shape.elements() / (n * groups);
    let lines = context.add(View::new(Shape::new([n * groups, size])?), &[input])?;
    let norm = LayerNorm::new(1, epsilon, vec![1.0; size], None)?;
    let normal = context.add(norm, &[lines])?;
    let mut result = context.add(View::new(shape.clone()), &[normal])?;
    let mut spread = vec![1; shape.rank() - 1];
    spread[0] = channels;
    let (scale, bias) = (context.known(1)?.1, context.known(2)?.1);
    for (numbers, is_scale) in [(scale, true), (bias, false)] {
        // Operator set 18 of GroupNormalization has one number a group.
        let each = match numbers.len() {
            count if count == channels => numbers,
            count if count == groups => (0..channels)
                .map(|c| numbers[c / (channels / groups)])
                .collect(),
            count => return Err(format!("{count} numbers for {channels} channels")),
        };
        let each = context.constant(&spread, each)?;
        result = if is_scale {
            context.add(Binary::new(Mul), &[result, each])?
        } else {
            context.add(Binary::new(Add), &[result, each])?
        };
    }
    Ok(result)
}

/// Divided by the root of the mean square over the last axes.
pub fn rms_normalization(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let axis = shape.axis(context.int_or("axis", -1)?)?;
    let epsilon = context.float_or("epsilon", 1e-5)?;
    let squares = context.add(Binary::new(Mul), &[input, input])?;
    let mean = context.add(Reduce::mean((axis..shape.rank()).collect()), &[squares])?;
    let epsilon = context.constant(&[], vec![epsilon])?;
    let mean = context.add(Binary::new(Add), &[mean, epsilon])?;
    let root = context.add(Elementwise::new(Sqrt), &[mean])?;
    let normal = context.add(Binary::new(Div), &[input, root])?;
    let scale = context.tensor(1)?;
    float(context.add(Binary::new(Mul), &[normal, scale])?)
}

/// Divided by the sum of magnitudes or the root of the sum of squares along an axis.
pub fn lp_normalization(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let axis = context.shape(0)?.axis(context.int_or("axis", -1)?)?;
    let p = context.int_or("p", 2)?;
    float(over_norm(context, input, axis, p)?)
}

/// What lies along an axis, over its norm L1 or L2.
pub fn over_norm(
    context: &mut Context<'_>,
    input: Tensor,
    axis: usize,
    p: i64,
) -> Result<Tensor, String> {
    let norm = match p {
        1 => {
            let sizes = context.add(Elementwise::new(Abs), &[input])?;
            context.add(Reduce::sum(vec![axis]), &[sizes])?
        }
        2 => {
            let squares = context.add(Binary::new(Mul), &[input, input])?;
            let sum = context.add(Reduce::sum(vec![axis]), &[squares])?;
            context.add(Elementwise::new(Sqrt), &[sum])?
        }
        p => return Err(format!("p={p} is not one of 1, 2")),
    };
    // Where all is 0, 0 comes of it.
    let least = context.constant(&[], vec![f64::from(f32::MIN_POSITIVE)])?;
    let norm = context.add(Binary::new(Max), &[norm, least])?;
    context.add(Binary::new(Div), &[input, norm])
}

/// Mean 0 and variance 1 over axes.
pub fn mean_variance_normalization(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let axes = context.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let axes: Result<Vec<usize>, String> = axes.iter().map(|&a| shape.axis(a)).collect();
    let axes = axes?;
    let mean = context.add(Reduce::mean(axes.clone()), &[input])?;
    let moved = context.add(Binary::new(Sub), &[input, mean])?;
    let squares = context.add(Binary::new(Mul), &[moved, moved])?;
    let variance = context.add(Reduce::mean(axes), &[squares])?;
    let deviation = context.add(Elementwise::new(Sqrt), &[variance])?;
    let epsilon = context.constant(&[], vec![1e-9])?;
    let deviation = context.add(Binary::new(Add), &[deviation, epsilon])?;
    float(context.add(Binary::new(Div), &[moved, deviation])?)
}

/// Divided by a power of the mean square over neighbouring channels.
pub fn local_response_normalization(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let Some(&channels) = shape.dims().get(1) else {
        return Err(format!("shape {shape} has no channels"));
    };
    let size = context.int("size")?.ok_or("size is missing")?;
    let size = usize::try_from(size)
        .ok()
        .filter(|&s| s > 0 && s <= 1 << 16);
    let size = size.ok_or("size must be at least 1")?;
    let (alpha, beta) = (
        context.float_or("alpha", 1e-4)?,
        context.float_or("beta", 0.75)?,
    );
    let bias = context.float_or("bias", 1.0)?;
    let (before, after) = ((size - 1) / 2, size / 2);
    let row = |c: usize| {
        let last = (c + after).min(channels - 1);
        let near = (c.saturating_sub(before)..=last).map(|n| (n, alpha / size as f64));
        (near.collect(), bias)
    };
    let squares = context.add(Binary::new(Mul), &[input, input])?;
    let rows = (0..channels).map(row).collect();
    let sums = context.add(AxisMap::new("LRN", 1, shape.clone(), rows)?, &[squares])?;
    let power = context.add(Elementwise::new(Power::new(beta)?), &[sums])?;
    float(context.add(Binary::new(Div), &[input, power])?)
}

pub fn softmax(context: &mut Context<'_>) -> Outputs {
    float(along_axis(context, Softmax::new)?)
}

pub fn log_softmax(context: &mut Context<'_>) -> Outputs {
    float(along_axis(context, Softmax::log)?)
}

/// Before operator set 13 the axis means: flatten to a matrix there, then go along the rows.
fn along_axis(context: &mut Context<'_>, softmax: fn(usize) -> Softmax) -> Result<Tensor, String> {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    if context.opset >= 13 {
        let axis = shape.axis(context.int_or("axis", -1)?)?;
        return context.add(softmax(axis), &[input]);
    }
    let axis = shape.axis(context.int_or("axis", 1)?)?;
    if axis + 1 == shape.rank() {
        return context.add(softmax(axis), &[input]);
    }
    let (rows, columns) = shape.dims().split_at(axis);
    let matrix = Shape::new([rows.iter().product(), columns.iter().product::<usize>()])?;
    let flat = context.add(View::new(matrix), &[input])?;
    let result = context.add(softmax(1), &[flat])?;
    context.add(View::new(shape), &[result])
}
