//! Operators that give integers or labels: they run, no analysis sees through them.

use deepconcolic_network::Shape;
use deepconcolic_network::ops::{ArgMax, Lookup, View};

use super::context::{Context, typed};
use crate::onnx::dtype::DType;
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// Numbers keep their value; what would be rounded away is refused unless it is a constant.
pub fn cast(context: &mut Context<'_>) -> Outputs {
    let code = context.int("to")?.ok_or("the target type is missing")?;
    let target = DType::from_code(code).ok_or_else(|| format!("unknown element type {code}"))?;
    let value = context.value(0)?;
    if target.is_float() {
        return typed(value.tensor, false);
    }
    if !target.is_integer() && target != DType::Bool {
        return Err(format!("conversion to {target} is not supported"));
    }
    let shape = context.builder.shape(value.tensor);
    match context.builder.known(value.tensor) {
        Some(numbers) => {
            let whole: Option<Vec<f64>> = numbers.iter().map(|&n| converted(n, target)).collect();
            let whole = whole.ok_or_else(|| format!("a number that is none as {target}"))?;
            typed(context.constant(shape.dims(), whole)?, true)
        }
        // Labels fit the wide types; the narrow ones could wrap.
        None if value.integer && target.width() >= Some(4) => typed(value.tensor, true),
        None => Err(format!(
            "conversion of computed numbers to {target} is not supported; \
             export the model without it"
        )),
    }
}

/// A number as an integer type has it: without its fraction, wrapped round where the type is narrow;
/// as a boolean, whether it is not zero.
fn converted(number: f64, target: DType) -> Option<f64> {
    if target == DType::Bool {
        return Some(f64::from(u8::from(number != 0.0)));
    }
    // Beyond 64 bits nothing is defined.
    let whole = number.trunc();
    if whole.is_nan() || whole.abs() > 2_f64.powi(64) {
        return None;
    }
    let Some(width @ 1..4) = target.width() else {
        return Some(whole);
    };
    let around = 2_f64.powi(8 * i32::try_from(width).ok()?);
    let wrapped = whole.rem_euclid(around);
    let signed = !target.name().starts_with('u') && wrapped >= around / 2.0;
    Some(if signed { wrapped - around } else { wrapped })
}

pub fn cast_like(context: &mut Context<'_>) -> Outputs {
    let (value, like) = (context.value(0)?, context.value(1)?);
    let boolean = context.element_type(1) == Some(DType::Bool);
    if like.integer && (boolean || !value.integer) {
        return Err("conversion to integers or booleans is not supported".into());
    }
    typed(value.tensor, like.integer)
}

pub fn arg_max(context: &mut Context<'_>) -> Outputs {
    if context.flag("select_last_index")? {
        return Err("select_last_index=1 is not supported".into());
    }
    let input = context.tensor(0)?;
    let shape = context.shape(0)?;
    let axis = shape.axis(context.int_or("axis", 0)?)?;
    let result = context.add(ArgMax::new(axis), &[input])?;
    if context.int_or("keepdims", 1)? != 0 {
        return typed(result, true);
    }
    let mut dims = shape.dims().to_vec();
    dims.remove(axis);
    typed(context.add(View::new(Shape::new(dims)?), &[result])?, true)
}

/// scikit-learn picks a class label by the index of the largest score.
pub fn array_feature_extractor(context: &mut Context<'_>) -> Outputs {
    let integer = context.value(0)?.integer;
    let (_, table) = context.known(0)?;
    let index = context.value(1)?;
    if !index.integer {
        return Err("indices must be integers".into());
    }
    let result = context.add(Lookup::new(table)?, &[index.tensor])?;
    let shape = context.builder.shape(result);
    let row = Shape::new([1, shape.elements()])?;
    typed(context.add(View::new(row), &[result])?, integer)
}
