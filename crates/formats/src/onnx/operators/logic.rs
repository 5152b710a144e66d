//! Comparisons, logic, counting, and the functions that jump.

use deepconcolic_network::ops::{AxisMap, Binary, Comparison, Mul, Remainder, Select, Step, View};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, typed};
use super::discrete::wrapped;
use super::rearrange::chosen;
use super::selection::{select, whole};
use crate::onnx::dtype::DType;
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

/// Most numbers that Range or `OneHot` may make.
const MAX: usize = 1 << 24;

/// 1 where it holds of two tensors, else 0.
fn compare(context: &mut Context<'_>, comparison: Comparison) -> Outputs {
    let (a, b) = (context.tensor(0)?, context.tensor(1)?);
    typed(context.add(Binary::new(comparison), &[a, b])?, true)
}

pub fn equal(context: &mut Context<'_>) -> Outputs {
    compare(context, Comparison::Equal)
}

pub fn greater(context: &mut Context<'_>) -> Outputs {
    compare(context, Comparison::Greater)
}

pub fn greater_or_equal(context: &mut Context<'_>) -> Outputs {
    compare(context, Comparison::GreaterOrEqual)
}

pub fn less(context: &mut Context<'_>) -> Outputs {
    compare(context, Comparison::Less)
}

pub fn less_or_equal(context: &mut Context<'_>) -> Outputs {
    compare(context, Comparison::LessOrEqual)
}

pub fn and(context: &mut Context<'_>) -> Outputs {
    compare(context, Comparison::And)
}

pub fn or(context: &mut Context<'_>) -> Outputs {
    compare(context, Comparison::Or)
}

pub fn xor(context: &mut Context<'_>) -> Outputs {
    compare(context, Comparison::Xor)
}

/// Whether a tensor compares so with one number.
pub fn compared(
    context: &mut Context<'_>,
    tensor: Tensor,
    comparison: Comparison,
    number: f64,
) -> Result<Tensor, String> {
    let number = context.constant(&[], vec![number])?;
    context.add(Binary::new(comparison), &[tensor, number])
}

pub fn not(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    typed(compared(context, input, Comparison::Equal, 0.0)?, true)
}

/// Nothing but NaN differs from itself.
pub fn is_nan(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let same = context.add(Binary::new(Comparison::Equal), &[input, input])?;
    typed(compared(context, same, Comparison::Equal, 0.0)?, true)
}

/// Only infinity is beyond the largest number.
pub fn is_infinite(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let largest = f64::from(f32::MAX);
    let sides = [
        ("detect_positive", Comparison::Greater, largest),
        ("detect_negative", Comparison::Less, -largest),
    ];
    let mut found = compared(context, input, Comparison::And, 0.0)?;
    for (attribute, comparison, bound) in sides {
        if context.int_or(attribute, 1)? != 0 {
            let beyond = compared(context, input, comparison, bound)?;
            found = context.add(Binary::new(Comparison::Or), &[found, beyond])?;
        }
    }
    typed(found, true)
}

/// The remainder, with the sign of the divisor, or of the dividend where `fmod` is set.
pub fn modulo(context: &mut Context<'_>) -> Outputs {
    let (a, b) = (context.value(0)?, context.value(1)?);
    let integer = a.integer && b.integer;
    let divisors = context.builder.known(b.tensor).unwrap_or_default();
    if divisors.contains(&0.0) && (integer || !context.builder.is_constant(a.tensor)) {
        return Err("the remainder of a division by 0".into());
    }
    let remainder = if context.flag("fmod")? {
        Remainder::OfDividend
    } else {
        Remainder::OfDivisor
    };
    let result = context.add(Binary::new(remainder), &[a.tensor, b.tensor])?;
    typed(result, integer)
}

pub fn range(context: &mut Context<'_>) -> Outputs {
    let integer = (0..3).all(|i| context.value(i).is_ok_and(|v| v.integer));
    let number = |i: usize| -> Result<f64, String> {
        let (_, numbers) = context.known(i)?;
        numbers
            .first()
            .copied()
            .ok_or_else(|| format!("input {i} is empty"))
    };
    let (start, limit, delta) = (number(0)?, number(1)?, number(2)?);
    let count = ((limit - start) / delta).ceil().max(0.0);
    if !(delta != 0.0 && count <= MAX as f64) {
        return Err(format!(
            "a range from {start} to {limit} in steps of {delta}"
        ));
    }
    let numbers: Vec<f64> = (0..count as usize)
        .map(|i| start + i as f64 * delta)
        .collect();
    typed(context.constant(&[numbers.len()], numbers)?, integer)
}

/// One of two values at each position of a new axis: the second where the position is the index.
pub fn one_hot(context: &mut Context<'_>) -> Outputs {
    let (indices, values) = (context.value(0)?, context.value(2)?);
    let shape = context.shape(0)?;
    let (_, depth) = context.known(1)?;
    let &[depth] = &depth[..] else {
        return Err("one depth is needed".into());
    };
    if !(0.0..=MAX as f64).contains(&depth) {
        return Err(format!("a depth of {depth}"));
    }
    let axis = context.int_or("axis", -1)?;
    let rank = shape.rank() as i64 + 1;
    if !(-rank..rank).contains(&axis) {
        return Err(format!("axis {axis} is outside a tensor of rank {rank}"));
    }
    let axis = axis.rem_euclid(rank) as usize;
    let mut dims = shape.dims().to_vec();
    dims.insert(axis, 1);
    let unit = Shape::new(dims.clone())?;
    dims[axis] = depth as usize;
    context.builder.affordable(&Shape::new(dims)?)?;
    let mut spread = vec![1; unit.rank()];
    spread[axis] = depth as usize;
    let at = context.add(View::new(unit), &[indices.tensor])?;
    // Indices below zero count from the end; the remainder says the same of both.
    let length = context.constant(&[], vec![depth])?;
    let inside = context.add(Binary::new(Remainder::OfDivisor), &[at, length])?;
    let positions = (0..depth as usize).map(|p| p as f64).collect();
    let positions = context.constant(&spread, positions)?;
    let mut hit = context.add(Binary::new(Comparison::Equal), &[inside, positions])?;
    for (number, comparison) in [
        (-depth, Comparison::GreaterOrEqual),
        (depth, Comparison::Less),
    ] {
        let within = compared(context, at, comparison, number)?;
        hit = context.add(Binary::new(Comparison::And), &[hit, within])?;
    }
    let (off, on) = (
        part(context, values.tensor, 0)?,
        part(context, values.tensor, 1)?,
    );
    typed(chosen(context, hit, on, off)?, values.integer)
}

/// One number of a list of two.
fn part(context: &mut Context<'_>, values: Tensor, at: usize) -> Result<Tensor, String> {
    let shape = context.builder.shape(values);
    if shape.elements() != 2 {
        return Err("two values are needed".into());
    }
    let number = Select::new(
        "OneHot",
        shape,
        Shape::new(Vec::new())?,
        vec![at as u32],
        0.0,
    )?;
    context.add(number, &[values])
}

pub fn size(context: &mut Context<'_>) -> Outputs {
    let elements = context.shape(0)?.elements();
    typed(context.constant(&[], vec![elements as f64])?, true)
}

/// Sums of all positions up to each, along an axis.
pub fn cumulative_sum(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let axis = context.integers(1)?.and_then(|a| a.first().copied());
    let axis = shape.axis(axis.ok_or("the axis is missing")?)?;
    let (without_own, from_end) = (context.flag("exclusive")?, context.flag("reverse")?);
    let extent = shape.dims()[axis];
    if extent > 1 << 12 {
        return Err(format!("sums along an axis of {extent} are not supported"));
    }
    let row = |p: usize| {
        let own = usize::from(!without_own);
        let positions = if from_end {
            p + 1 - own..extent
        } else {
            0..p + own
        };
        (positions.map(|i| (i, 1.0)).collect(), 0.0)
    };
    let rows = (0..extent).map(row).collect();
    let sums = AxisMap::new("CumSum", axis, shape, rows)?;
    typed(context.add(sums, &[value.tensor])?, value.integer)
}

/// Products of all positions up to each, along an axis: every position times the one before it, then times the
/// product that ends two before, four before and so on.
pub fn cumulative_product(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let axis = context.integers(1)?.and_then(|a| a.first().copied());
    let axis = shape.axis(axis.ok_or("the axis is missing")?)?;
    let (without_own, from_end) = (context.flag("exclusive")?, context.flag("reverse")?);
    let extent = shape.dims()[axis];
    let before = |context: &mut Context<'_>, tensor: Tensor, distance: usize| {
        let position = |p: usize| {
            if from_end {
                Some(p + distance).filter(|&p| p < extent)
            } else {
                p.checked_sub(distance)
            }
        };
        let mut along = whole(&shape);
        along[axis] = (0..extent).map(position).collect();
        select(context, "CumProd", tensor, &along, 1.0)
    };
    let mut products = value.tensor;
    if without_own {
        products = before(context, products, 1)?;
    }
    let mut distance = 1;
    while distance < extent {
        let earlier = before(context, products, distance)?;
        products = context.add(Binary::new(Mul), &[products, earlier])?;
        distance *= 2;
    }
    typed(products, value.integer)
}

/// Times or over a power of two; what leaves the type on the left is lost.
pub fn bit_shift(context: &mut Context<'_>) -> Outputs {
    let (value, (shape, by)) = (context.tensor(0)?, context.known(1)?);
    let left = match context.string_or("direction", "")? {
        "LEFT" => true,
        "RIGHT" => false,
        other => return Err(format!("direction={} is not known", quote(other))),
    };
    if by.iter().any(|&n| n < 0.0) {
        return Err("a shift by fewer than no bits".into());
    }
    let dtype = context.element_type(1);
    let bits = dtype
        .and_then(DType::width)
        .map_or(64.0, |width| 8.0 * width as f64);
    let factor = |&n: &f64| {
        if !left {
            (-n.min(64.0)).exp2()
        } else if n < bits {
            n.exp2()
        } else {
            // Nothing is left of a number that is moved out of its type.
            0.0
        }
    };
    let factors = by.iter().map(factor).collect();
    let factors = context.constant(shape.dims(), factors)?;
    let moved = context.add(Binary::new(Mul), &[value, factors])?;
    if !left {
        return typed(context.add(Step::Floor, &[moved])?, true);
    }
    let dtype = dtype.ok_or("the type of the numbers is not known")?;
    match (dtype.name().starts_with('u'), dtype.width()) {
        (true, Some(width)) => {
            let around = context.constant(&[], vec![2_f64.powi(8 * width as i32)])?;
            let inside = context.add(Binary::new(Remainder::OfDivisor), &[moved, around])?;
            typed(inside, true)
        }
        (false, Some(1 | 2)) => typed(wrapped(context, moved, dtype)?, true),
        // Single precision cannot tell the last bits of what wraps round.
        _ => Err(format!("shifts of {dtype} to the left are not supported")),
    }
}

fn step(context: &mut Context<'_>, step: Step) -> Outputs {
    let value = context.value(0)?;
    typed(context.add(step, &[value.tensor])?, value.integer)
}

pub fn floor(context: &mut Context<'_>) -> Outputs {
    step(context, Step::Floor)
}

pub fn ceil(context: &mut Context<'_>) -> Outputs {
    step(context, Step::Ceil)
}

pub fn round(context: &mut Context<'_>) -> Outputs {
    step(context, Step::Round)
}

pub fn sign(context: &mut Context<'_>) -> Outputs {
    step(context, Step::Sign)
}
