//! Operators that give integers or labels: they run, no analysis sees through them.

use deepconcolic_network::ops::{
    Add, ArgMax, Binary, Comparison, Lookup, Mul, Ranked, Remainder, Step, Sub, TopK, View,
};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, typed};
use super::logic::compared;
use super::selection;
use crate::onnx::dtype::DType;
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// Numbers keep their value; integers lose the fraction and wrap round where the type is narrow.
pub fn cast(context: &mut Context<'_>) -> Outputs {
    let code = context.int("to")?.ok_or("the target type is missing")?;
    let target = DType::from_code(code).ok_or_else(|| format!("unknown element type {code}"))?;
    let value = context.value(0)?;
    converted_to(context, value, target)
}

fn converted_to(context: &mut Context<'_>, value: Value, target: DType) -> Outputs {
    if target.is_float() {
        return typed(value.tensor, false);
    }
    if !target.is_integer() && target != DType::Bool {
        return Err(format!("conversion to {target} is not supported"));
    }
    let shape = context.builder.shape(value.tensor);
    if let Some(numbers) = context.builder.known(value.tensor) {
        let whole: Option<Vec<f64>> = numbers.iter().map(|&n| converted(n, target)).collect();
        let whole = whole.ok_or_else(|| format!("a number that is none as {target}"))?;
        return typed(context.constant(shape.dims(), whole)?, true);
    }
    if target == DType::Bool {
        let truth = compared(context, value.tensor, Comparison::Or, 0.0)?;
        return typed(truth, true);
    }
    let whole = if value.integer {
        value.tensor
    } else {
        context.add(Step::Truncate, &[value.tensor])?
    };
    typed(wrapped(context, whole, target)?, true)
}

/// Computed whole numbers as a type of one or two bytes has them.
pub fn wrapped(context: &mut Context<'_>, whole: Tensor, target: DType) -> Result<Tensor, String> {
    let Some(width @ 1..4) = target.width() else {
        return Ok(whole);
    };
    let around = 2_f64.powi(8 * i32::try_from(width).unwrap_or(0));
    let lowest = if target.name().starts_with('u') {
        0.0
    } else {
        -around / 2.0
    };
    let lowest = context.constant(&[], vec![lowest])?;
    let around = context.constant(&[], vec![around])?;
    let above = context.add(Binary::new(Sub), &[whole, lowest])?;
    let inside = context.add(Binary::new(Remainder::OfDivisor), &[above, around])?;
    context.add(Binary::new(Add), &[inside, lowest])
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
    match context.element_type(1) {
        Some(target) => converted_to(context, value, target),
        // What is computed has the widest type of its kind.
        None if like.integer && !value.integer => converted_to(context, value, DType::Int64),
        None => typed(value.tensor, like.integer),
    }
}

pub fn arg_max(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    position_of_largest(context, input)
}

pub fn arg_min(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let minus = context.constant(&[], vec![-1.0])?;
    let turned = context.add(Binary::new(Mul), &[input, minus])?;
    position_of_largest(context, turned)
}

fn position_of_largest(context: &mut Context<'_>, input: Tensor) -> Outputs {
    let shape = context.builder.shape(input);
    let axis = shape.axis(context.int_or("axis", 0)?)?;
    let result = if context.flag("select_last_index")? {
        let turned = selection::reversed(context, input, axis)?;
        let from_end = context.add(ArgMax::new(axis), &[turned])?;
        let last = context.constant(&[], vec![shape.dims()[axis] as f64 - 1.0])?;
        context.add(Binary::new(Sub), &[last, from_end])?
    } else {
        context.add(ArgMax::new(axis), &[input])?
    };
    if context.int_or("keepdims", 1)? != 0 {
        return typed(result, true);
    }
    let mut dims = shape.dims().to_vec();
    dims.remove(axis);
    typed(context.add(View::new(Shape::new(dims)?), &[result])?, true)
}

/// 1 at the first largest element along an axis, 0 elsewhere. Before operator set 13 the axis means: flatten
/// to a matrix there, then go along the rows.
pub fn hard_max(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let (input, axis) = if context.opset >= 13 {
        (input, shape.axis(context.int_or("axis", -1)?)?)
    } else {
        let axis = shape.axis(context.int_or("axis", 1)?)?;
        let (rows, columns) = shape.dims().split_at(axis);
        let matrix = Shape::new([rows.iter().product(), columns.iter().product::<usize>()])?;
        (context.add(View::new(matrix), &[input])?, 1)
    };
    let lines = context.builder.shape(input);
    let extent = lines.dims()[axis];
    let mut spread = vec![1; lines.rank()];
    spread[axis] = extent;
    let positions = context.constant(&spread, (0..extent).map(|p| p as f64).collect())?;
    let largest = context.add(ArgMax::new(axis), &[input])?;
    let hit = context.add(Binary::new(Comparison::Equal), &[positions, largest])?;
    typed(context.add(View::new(shape), &[hit])?, false)
}

/// The count is an attribute before operator set 10, an input since.
pub fn top_k(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let axis = shape.axis(context.int_or("axis", -1)?)?;
    let count = match context.integers(1)? {
        Some(count) => count.first().copied(),
        None => context.int("k")?,
    };
    let count = count.and_then(|k| usize::try_from(k).ok());
    let count = count.ok_or("the count is missing or below 0")?;
    let largest = context.int_or("largest", 1)? != 0;
    let values = TopK::new(axis, count, largest, Ranked::Values);
    let positions = TopK::new(axis, count, largest, Ranked::Positions);
    let outputs = [
        (context.add(values, &[value.tensor])?, value.integer),
        (context.add(positions, &[value.tensor])?, true),
    ];
    let value = |(tensor, integer)| Value { tensor, integer };
    Ok(outputs.map(value).to_vec())
}

/// scikit-learn picks a class label by the index of the largest score.
pub fn array_feature_extractor(context: &mut Context<'_>) -> Outputs {
    let integer = context.value(0)?.integer;
    let (_, table) = context.known(0)?;
    let index = context.value(1)?;
    if !index.integer {
        return Err("indices must be integers".into());
    }
    let result = context.add(
        Lookup::list("ArrayFeatureExtractor", table)?,
        &[index.tensor],
    )?;
    let shape = context.builder.shape(result);
    let row = Shape::new([1, shape.elements()])?;
    typed(context.add(View::new(row), &[result])?, integer)
}
