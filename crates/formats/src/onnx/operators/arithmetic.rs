//! Arithmetic of two or more tensors.

use deepconcolic_network::ops::{Add, Binary, Div, Max, Min, Mul, Sub};
use deepconcolic_network::{Operator, Tensor};

use super::context::{Context, float, typed};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

fn binary(context: &mut Context<'_>, op: impl Operator + 'static) -> Outputs {
    let (a, b) = (context.value(0)?, context.value(1)?);
    let result = context.add(op, &[a.tensor, b.tensor])?;
    typed(result, a.integer && b.integer)
}

/// Any number of tensors, two at a time.
fn variadic(
    context: &mut Context<'_>,
    op: &(impl Operator + Clone + 'static),
) -> Result<Tensor, String> {
    let tensors = context.tensors()?;
    let Some((first, rest)) = tensors.split_first() else {
        return Err("it has no inputs".into());
    };
    rest.iter()
        .try_fold(*first, |a, &b| context.add(op.clone(), &[a, b]))
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
    let values = binary(context, Binary::new(Div))?;
    let value = values[0];
    if !value.integer {
        return Ok(values);
    }
    let shape = context.builder.shape(value.tensor);
    match context.builder.known(value.tensor) {
        Some(quotients) if quotients.iter().all(|q| q.is_finite()) => {
            let whole = quotients.iter().map(|q| q.trunc()).collect();
            typed(context.constant(shape.dims(), whole)?, true)
        }
        _ => Err("division of integers is supported between constants other than zero only".into()),
    }
}

pub fn neg(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let minus = context.constant(&[], vec![-1.0])?;
    let result = context.add(Binary::new(Mul), &[value.tensor, minus])?;
    typed(result, value.integer)
}

pub fn max(context: &mut Context<'_>) -> Outputs {
    float(variadic(context, &Binary::new(Max))?)
}

pub fn min(context: &mut Context<'_>) -> Outputs {
    float(variadic(context, &Binary::new(Min))?)
}

pub fn sum(context: &mut Context<'_>) -> Outputs {
    float(variadic(context, &Binary::new(Add))?)
}

pub fn mean(context: &mut Context<'_>) -> Outputs {
    let total = variadic(context, &Binary::new(Add))?;
    let count = context.constant(&[], vec![context.inputs.len() as f64])?;
    float(context.add(Binary::new(Div), &[total, count])?)
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
