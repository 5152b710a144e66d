//! Activations and other functions of one tensor, element by element.

use deepconcolic_network::Tensor;
use deepconcolic_network::ops::{
    Abs, Celu, Clip, Curve, Elementwise, Elu, Erf, Exp, Gelu, HardSigmoid, HardSwish, LeakyRelu,
    Log, Mish, PRelu, Power, Reciprocal, Relu, Selu, Sigmoid, Softplus, Softsign, Sqrt, Tanh,
};

use super::context::{Context, float, typed};
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

fn curve(context: &mut Context<'_>, curve: impl Curve + 'static) -> Outputs {
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

pub fn pow(context: &mut Context<'_>) -> Outputs {
    let (_, exponent) = context.known(1)?;
    let value = context.value(0)?;
    let [exponent] = *exponent.as_slice() else {
        return Err("only a single exponent is supported".into());
    };
    let result = context.add(Elementwise::new(Power::new(exponent)?), &[value.tensor])?;
    if value.integer && (exponent < 0.0 || exponent.fract() != 0.0) {
        return context.truncated(result, "such a power");
    }
    typed(result, value.integer)
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
