//! Activations and other functions of one tensor, element by element.

use std::sync::Arc;

use deepconcolic_network::ops::{
    Abs, Binary, Celu, Clip, Comparison, Curve, Elementwise, Elu, Erf, Exp, Gelu, HardSigmoid,
    HardSwish, LeakyRelu, Log, Mish, Mul, PRelu, Reciprocal, Relu, Selu, Sigmoid, Softplus,
    Softsign, Sqrt, Sub, Tanh,
};
use deepconcolic_network::{Operator, Tensor};

use super::context::{Context, float, typed};
use super::logic::compared;
use super::rearrange::chosen;
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

fn curve<C: Curve>(context: &mut Context<'_>, curve: C) -> Outputs
where
    Elementwise<C>: Into<Arc<dyn Operator>>,
{
    let input = context.tensor(0)?;
    float(context.add(Elementwise::new(curve), &[input])?)
}

pub fn abs(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let result = context.add(Elementwise::new(Abs), &[value.tensor])?;
    typed(result, value.integer)
}

pub fn celu(context: &mut Context<'_>) -> Outputs {
    let alpha = context.float_or("alpha", 1.0)?;
    curve(context, Celu::new(alpha)?)
}

/// Bounds are attributes before operator set 11, inputs since.
pub fn clip(context: &mut Context<'_>) -> Outputs {
    let bound = |context: &Context<'_>, position, name, default: f64| -> Result<f64, String> {
        if context.opset < 11 {
            return context.float_or(name, default as f32);
        }
        let given = context.known_if_given(position)?;
        Ok(given.and_then(|v| v.first().copied()).unwrap_or(default))
    };
    let low = unbounded(bound(context, 1, "min", f64::NEG_INFINITY)?);
    let high = unbounded(bound(context, 2, "max", f64::INFINITY)?);
    let value = context.value(0)?;
    let result = context.add(Elementwise::new(Clip::new(low, high)?), &[value.tensor])?;
    typed(result, value.integer)
}

/// The largest number there is bounds nothing.
fn unbounded(bound: f64) -> f64 {
    match bound as f32 {
        f32::MIN => f64::NEG_INFINITY,
        f32::MAX => f64::INFINITY,
        _ => bound,
    }
}

pub fn elu(context: &mut Context<'_>) -> Outputs {
    let alpha = context.float_or("alpha", 1.0)?;
    curve(context, Elu::new(alpha)?)
}

pub fn erf(context: &mut Context<'_>) -> Outputs {
    curve(context, Erf)
}

pub fn exp(context: &mut Context<'_>) -> Outputs {
    curve(context, Exp)
}

pub fn gelu(context: &mut Context<'_>) -> Outputs {
    match context.string_or("approximate", "none")? {
        "none" => curve(context, Gelu::Exact),
        "tanh" => curve(context, Gelu::Tanh),
        other => Err(format!(
            "approximate={} is not one of none, tanh",
            quote(other)
        )),
    }
}

pub fn hard_sigmoid(context: &mut Context<'_>) -> Outputs {
    let alpha = context.float_or("alpha", 0.2)?;
    let beta = context.float_or("beta", 0.5)?;
    curve(context, HardSigmoid::new(alpha, beta)?)
}

pub fn hard_swish(context: &mut Context<'_>) -> Outputs {
    curve(context, HardSwish)
}

pub fn leaky_relu(context: &mut Context<'_>) -> Outputs {
    let alpha = context.float_or("alpha", 0.01)?;
    curve(context, LeakyRelu::new(alpha)?)
}

pub fn log(context: &mut Context<'_>) -> Outputs {
    curve(context, Log)
}

pub fn mish(context: &mut Context<'_>) -> Outputs {
    curve(context, Mish)
}

pub fn prelu(context: &mut Context<'_>) -> Outputs {
    context.known(1)?;
    let (value, slope) = (context.value(0)?, context.value(1)?);
    let result = context.add(PRelu, &[value.tensor, slope.tensor])?;
    typed(result, value.integer && slope.integer)
}

pub fn reciprocal(context: &mut Context<'_>) -> Outputs {
    curve(context, Reciprocal)
}

pub fn relu(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let result = context.add(Elementwise::new(Relu), &[value.tensor])?;
    typed(result, value.integer)
}

pub fn selu(context: &mut Context<'_>) -> Outputs {
    let alpha = context.float_or("alpha", 1.673_263_2)?;
    let gamma = context.float_or("gamma", 1.050_701)?;
    curve(context, Selu::new(alpha, gamma)?)
}

pub fn sigmoid(context: &mut Context<'_>) -> Outputs {
    curve(context, Sigmoid)
}

pub fn softplus(context: &mut Context<'_>) -> Outputs {
    curve(context, Softplus)
}

pub fn softsign(context: &mut Context<'_>) -> Outputs {
    curve(context, Softsign)
}

pub fn sqrt(context: &mut Context<'_>) -> Outputs {
    curve(context, Sqrt)
}

/// `x` times the logistic function of `alpha x`.
pub fn swish(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let alpha = context.float_or("alpha", 1.0)?;
    let alpha = context.constant(&[], vec![alpha])?;
    let scaled = context.add(Binary::new(Mul), &[input, alpha])?;
    let gate = context.add(Elementwise::new(Sigmoid), &[scaled])?;
    float(context.add(Binary::new(Mul), &[input, gate])?)
}

/// Numbers above `alpha`; 0 for all others.
pub fn thresholded_relu(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let alpha = context.float_or("alpha", 1.0)?;
    let above = compared(context, input, Comparison::Greater, alpha)?;
    let zero = context.constant(&[], vec![0.0])?;
    float(chosen(context, above, input, zero)?)
}

/// Numbers beyond `lambd` on either side, moved towards 0 by `bias`; 0 for those between.
pub fn shrink(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let bound = context.float_or("lambd", 0.5)?;
    let bias = context.float_or("bias", 0.0)?;
    let mut result = context.constant(&[], vec![0.0])?;
    for (comparison, sign) in [(Comparison::Less, -1.0), (Comparison::Greater, 1.0)] {
        let beyond = compared(context, value.tensor, comparison, sign * bound)?;
        let bias = context.constant(&[], vec![sign * bias])?;
        let moved = context.add(Binary::new(Sub), &[value.tensor, bias])?;
        result = chosen(context, beyond, moved, result)?;
    }
    typed(result, value.integer)
}

pub fn tanh(context: &mut Context<'_>) -> Outputs {
    curve(context, Tanh)
}

/// The activation that onnxruntime fuses into another node, by its name there.
pub fn fused(
    context: &mut Context<'_>,
    activation: &str,
    parameters: &[f64],
    input: Tensor,
) -> Result<Tensor, String> {
    let parameter = |index: usize, default: f64| parameters.get(index).copied().unwrap_or(default);
    match activation {
        "" => Ok(input),
        "Relu" => context.add(Elementwise::new(Relu), &[input]),
        "Tanh" => context.add(Elementwise::new(Tanh), &[input]),
        "Sigmoid" => context.add(Elementwise::new(Sigmoid), &[input]),
        "LeakyRelu" => {
            let op = LeakyRelu::new(parameter(0, 0.01))?;
            context.add(Elementwise::new(op), &[input])
        }
        "Clip" => {
            let op = Clip::new(parameter(0, f64::NEG_INFINITY), parameter(1, f64::INFINITY))?;
            context.add(Elementwise::new(op), &[input])
        }
        "HardSigmoid" => {
            let op = HardSigmoid::new(parameter(0, 0.2), parameter(1, 0.5))?;
            context.add(Elementwise::new(op), &[input])
        }
        "HardSwish" => context.add(Elementwise::new(HardSwish), &[input]),
        other => Err(format!(
            "fused activation {} is not supported",
            quote(other)
        )),
    }
}
