//! Arithmetic of two or more tensors.

use std::sync::Arc;

use deepconcolic_network::ops::{Add, Binary, Div, Max, Min, Mul, Sub};
use deepconcolic_network::{Operator, Tensor};

use super::context::{Context, float, typed};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

fn binary(context: &mut Context<'_>, op: impl Into<Arc<dyn Operator>>) -> Outputs {
    let (a, b) = (context.value(0)?, context.value(1)?);
    let result = context.add(op, &[a.tensor, b.tensor])?;
    typed(result, a.integer && b.integer)
}

/// Any number of tensors, two at a time.
fn variadic(context: &mut Context<'_>, op: &Arc<dyn Operator>, tensors: &[Tensor]) -> Outputs {
    let Some((first, rest)) = tensors.split_first() else {
        return Err("it has no inputs".into());
    };
    let result = rest
        .iter()
        .try_fold(*first, |a, &b| context.add(Arc::clone(op), &[a, b]))?;
    typed(result, context.all_integers())
}

/// The largest or smallest of tensors, without single numbers that bound nothing.
fn extreme(context: &mut Context<'_>, op: &Arc<dyn Operator>, neutral: f64) -> Outputs {
    let mut tensors = context.tensors()?;
    let bounds = |tensor: &Tensor| {
        let nothing = context.builder.shape(*tensor).rank() == 0
            && context.builder.known(*tensor) == Some(vec![neutral]);
        !nothing
    };
    if tensors.len() > 1 && tensors.iter().any(bounds) {
        tensors.retain(bounds);
    }
    variadic(context, op, &tensors)
}

pub fn add(context: &mut Context<'_>) -> Outputs {
    binary(context, Binary::new(Add))
}

pub fn sub(context: &mut Context<'_>) -> Outputs {
    binary(context, Binary::new(Sub))
}

pub fn mul(context: &mut Context<'_>) -> Outputs {
    binary(context, Binary::new(Mul))
}

/// Between integers, as in shape arithmetic, division drops the fraction.
pub fn div(context: &mut Context<'_>) -> Outputs {
    let dividend = context.tensor(0)?;
    let zero = context.known(1).ok().and_then(|(_, divisors)| {
        let zero = divisors.iter().position(|&d| d == 0.0);
        zero.filter(|_| !context.builder.is_constant(dividend))
    });
    if let Some(place) = zero {
        return Err(format!(
            "it divides by a constant whose element {place} is 0; export a model that does not"
        ));
    }
    let values = binary(context, Binary::new(Div))?;
    if values[0].integer {
        return context.truncated(values[0].tensor, "division");
    }
    Ok(values)
}

pub fn neg(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let minus = context.constant(&[], vec![-1.0])?;
    let result = context.add(Binary::new(Mul), &[value.tensor, minus])?;
    typed(result, value.integer)
}

pub fn max(context: &mut Context<'_>) -> Outputs {
    extreme(context, &Binary::new(Max).into(), f64::NEG_INFINITY)
}

pub fn min(context: &mut Context<'_>) -> Outputs {
    extreme(context, &Binary::new(Min).into(), f64::INFINITY)
}

pub fn sum(context: &mut Context<'_>) -> Outputs {
    let tensors = context.tensors()?;
    variadic(context, &Binary::new(Add).into(), &tensors)
}

pub fn mean(context: &mut Context<'_>) -> Outputs {
    let total = sum(context)?[0];
    let count = context.constant(&[], vec![context.inputs.len() as f64])?;
    let mean = context.add(Binary::new(Div), &[total.tensor, count])?;
    if total.integer {
        return context.truncated(mean, "the mean");
    }
    float(mean)
}

/// scikit-learn's `StandardScaler`: (x - offset) * scale.
pub fn scaler(context: &mut Context<'_>) -> Outputs {
    let mut tensor = context.tensor(0)?;
    if let Some(offset) = context.floats("offset")? {
        let offset = context.constant(&[offset.len()], offset)?;
        tensor = context.add(Binary::new(Sub), &[tensor, offset])?;
    }
    if let Some(scale) = context.floats("scale")? {
        let scale = context.constant(&[scale.len()], scale)?;
        tensor = context.add(Binary::new(Mul), &[tensor, scale])?;
    }
    float(tensor)
}
