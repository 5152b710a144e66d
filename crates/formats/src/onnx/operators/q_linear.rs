//! Quantised operators that onnxruntime computes in floating point: integers to the numbers they stand for, the plain
//! operator, and back to integers. Also its products of a computed tensor that is quantised on the way.

use deepconcolic_network::ops::{Add, Binary, Dense, DynamicQuantize, Mul, Sub};
use deepconcolic_network::{Numbers, Tensor};

use super::context::{Build, Context, float, typed};
use super::quantization::{Scheme, integer_weights, quantise};
use super::{activation, arithmetic, conv, normalization, pool, selection};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

pub fn add(context: &mut Context<'_>) -> Outputs {
    between(context, &[0, 3], 6, arithmetic::add)
}

pub fn mul(context: &mut Context<'_>) -> Outputs {
    between(context, &[0, 3], 6, arithmetic::mul)
}

pub fn sigmoid(context: &mut Context<'_>) -> Outputs {
    between(context, &[0], 3, activation::sigmoid)
}

pub fn leaky_relu(context: &mut Context<'_>) -> Outputs {
    between(context, &[0], 3, activation::leaky_relu)
}

pub fn softmax(context: &mut Context<'_>) -> Outputs {
    between(context, &[0], 3, normalization::softmax)
}

pub fn average_pool(context: &mut Context<'_>) -> Outputs {
    channels_first(context)?;
    between(context, &[0], 3, pool::average_pool)
}

pub fn global_average_pool(context: &mut Context<'_>) -> Outputs {
    channels_first(context)?;
    between(context, &[0], 3, pool::global_average_pool)
}

pub fn concat(context: &mut Context<'_>) -> Outputs {
    let inputs: Vec<usize> = (2..context.inputs.len()).step_by(3).collect();
    between(context, &inputs, 0, selection::concat)
}

fn channels_first(context: &Context<'_>) -> Result<(), String> {
    if context.flag("channels_last")? {
        return Err("channels_last=1 is not supported".into());
    }
    Ok(())
}

/// An operator between the numbers that integers stand for. Scale and zero point follow each input; `output` is where
/// those of the output are.
fn between(context: &mut Context<'_>, inputs: &[usize], output: usize, operator: Build) -> Outputs {
    let scheme = Scheme::read(context, output, output + 1)?;
    let mut numbers = Vec::new();
    for &at in inputs {
        let tensor = dequantised(context, at)?;
        numbers.push(Some(Value {
            tensor,
            integer: false,
        }));
    }
    let whole = std::mem::replace(&mut context.inputs, numbers);
    let results = operator(context)?;
    context.inputs = whole;
    let result = results.first().ok_or("the operator has no output")?;
    let quantised = quantise(context, result.tensor, &scheme, output + 1, None)?;
    typed(quantised, true)
}

/// The numbers that an input of integers stands for.
fn dequantised(context: &mut Context<'_>, at: usize) -> Result<Tensor, String> {
    let scheme = Scheme::read(context, at + 1, at + 2)?;
    let ([scale], [zero]) = (scheme.scale.as_slice(), scheme.zero.as_slice()) else {
        return Err("one scale for each channel is not supported here".into());
    };
    let zero = context.constant(&[], vec![*zero])?;
    let scale = context.constant(&[], vec![*scale])?;
    let input = context.tensor(at)?;
    let centred = context.add(Binary::new(Sub), &[input, zero])?;
    context.add(Binary::new(Mul), &[centred, scale])
}

/// (X - x0) convolved with (W - w0), as integers.
pub fn conv_integer(context: &mut Context<'_>) -> Outputs {
    let (shape, mut weights) = context.known(1)?;
    let zero = context.known_if_given(3)?.unwrap_or_else(|| vec![0.0]);
    let outputs = shape.dims().first().copied().unwrap_or(0);
    if zero.len() != 1 && zero.len() != outputs {
        return Err(format!("{} zero points for {outputs} channels", zero.len()));
    }
    let each = (weights.len() / outputs.max(1)).max(1);
    for (index, weight) in weights.iter_mut().enumerate() {
        *weight -= zero[index / each % zero.len()];
    }
    if let Some(zero) = context.optional(2) {
        let input = context.tensor(0)?;
        let tensor = context.add(Binary::new(Sub), &[input, zero.tensor])?;
        context.inputs[0] = Some(Value {
            tensor,
            integer: true,
        });
    }
    typed(
        conv::convolve(context, &shape, Numbers::from(weights), None)?,
        true,
    )
}

/// A computed tensor, quantised by its own range, times a quantised matrix, as floating-point numbers.
pub fn dynamic_quantize_mat_mul(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let quantised = context.add(DynamicQuantize::Quantised, &[input])?;
    let scale = context.add(DynamicQuantize::Scale, &[input])?;
    let zero = context.add(DynamicQuantize::ZeroPoint, &[input])?;
    let centred = context.add(Binary::new(Sub), &[quantised, zero])?;
    product(context, centred, scale, [2, 3, 4])
}

/// A product of quantised matrices as floating-point numbers.
pub fn mat_mul_integer_to_float(context: &mut Context<'_>) -> Outputs {
    let mut centred = context.tensor(0)?;
    if let Some(zero) = context.optional(4) {
        centred = context.add(Binary::new(Sub), &[centred, zero.tensor])?;
    }
    let scale = context.tensor(2)?;
    product(context, centred, scale, [3, 5, 6])
}

/// A tensor of integers times the constant matrix that is input 1, times both scales, plus the bias: the last three are
/// inputs at the places given, scale, zero point and bias.
fn product(
    context: &mut Context<'_>,
    centred: Tensor,
    scale: Tensor,
    [scale_at, zero_at, bias_at]: [usize; 3],
) -> Outputs {
    let zero = context
        .known_if_given(zero_at)?
        .unwrap_or_else(|| vec![0.0]);
    let (rows, columns, weights) = integer_weights(context, 1, &zero, false)?;
    let dense = Dense::new(rows, columns, weights, vec![0.0; columns])?;
    let sums = context.add(dense, &[centred])?;
    let other = context.tensor(scale_at)?;
    let factor = context.add(Binary::new(Mul), &[scale, other])?;
    let mut result = context.add(Binary::new(Mul), &[sums, factor])?;
    if let Some(bias) = context.optional(bias_at) {
        result = context.add(Binary::new(Add), &[result, bias.tensor])?;
    }
    float(result)
}
