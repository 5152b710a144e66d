//! Comparisons, logic and counting between constants, as exporters write them round shapes; and the functions
//! that jump, which also run on computed numbers.

use deepconcolic_network::Shape;
use deepconcolic_network::ops::{AxisMap, Step};

use super::context::{Context, typed};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// Most numbers that Range or `OneHot` may make.
const MAX: usize = 1 << 24;

/// Combines two constants element by element.
fn between(
    context: &mut Context<'_>,
    integer: bool,
    combine: impl Fn(f64, f64) -> Result<f64, String>,
) -> Outputs {
    let ((shape_a, a), (shape_b, b)) = (context.known(0)?, context.known(1)?);
    let to = shape_a.broadcast(&shape_b)?;
    context.builder.affordable(&to)?;
    let at = |e: usize| {
        (
            shape_a.broadcast_element(&to, e),
            shape_b.broadcast_element(&to, e),
        )
    };
    let numbers: Result<Vec<f64>, String> = (0..to.elements())
        .map(|e| {
            let (i, j) = at(e);
            combine(a[i], b[j])
        })
        .collect();
    typed(context.constant(to.dims(), numbers?)?, integer)
}

fn compare(context: &mut Context<'_>, holds: fn(f64, f64) -> bool) -> Outputs {
    between(context, true, |a, b| Ok(f64::from(holds(a, b))))
}

#[expect(clippy::float_cmp, reason = "equality is what is asked for")]
pub fn equal(context: &mut Context<'_>) -> Outputs {
    compare(context, |a, b| a == b)
}

pub fn greater(context: &mut Context<'_>) -> Outputs {
    compare(context, |a, b| a > b)
}

pub fn greater_or_equal(context: &mut Context<'_>) -> Outputs {
    compare(context, |a, b| a >= b)
}

pub fn less(context: &mut Context<'_>) -> Outputs {
    compare(context, |a, b| a < b)
}

pub fn less_or_equal(context: &mut Context<'_>) -> Outputs {
    compare(context, |a, b| a <= b)
}

pub fn and(context: &mut Context<'_>) -> Outputs {
    compare(context, |a, b| a != 0.0 && b != 0.0)
}

pub fn or(context: &mut Context<'_>) -> Outputs {
    compare(context, |a, b| a != 0.0 || b != 0.0)
}

pub fn xor(context: &mut Context<'_>) -> Outputs {
    compare(context, |a, b| (a != 0.0) != (b != 0.0))
}

pub fn not(context: &mut Context<'_>) -> Outputs {
    let (shape, numbers) = context.known(0)?;
    let turned = numbers.iter().map(|&n| f64::from(n == 0.0)).collect();
    typed(context.constant(shape.dims(), turned)?, true)
}

/// The remainder, with the sign of the divisor for integers, of the dividend where `fmod` is set.
pub fn modulo(context: &mut Context<'_>) -> Outputs {
    let integer = context.value(0)?.integer && context.value(1)?.integer;
    let of_dividend = context.flag("fmod")?;
    between(context, integer, |a, b| {
        if b == 0.0 && integer {
            return Err("the remainder of a division by 0".into());
        }
        let remainder = a % b;
        let turned = !of_dividend && remainder != 0.0 && (remainder < 0.0) != (b < 0.0);
        Ok(if turned { remainder + b } else { remainder })
    })
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

pub fn one_hot(context: &mut Context<'_>) -> Outputs {
    let (shape, indices) = context.known(0)?;
    let (_, depth) = context.known(1)?;
    let (_, values) = context.known(2)?;
    let integer = context.value(2)?.integer;
    let (&[depth], &[off, on]) = (&depth[..], &values[..]) else {
        return Err("one depth and two values are needed".into());
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
    dims.insert(axis, depth as usize);
    let to = Shape::new(dims)?;
    context.builder.affordable(&to)?;
    let (_, extent, inner) = to.around(axis);
    let number = |e: usize| {
        let (outer, at, within) = (e / (extent * inner), e / inner % extent, e % inner);
        let index = indices[outer * inner + within];
        let index = if index < 0.0 { index + depth } else { index };
        // Indices are whole numbers.
        if index as i64 == at as i64 { on } else { off }
    };
    let numbers = (0..to.elements()).map(number).collect();
    typed(context.constant(to.dims(), numbers)?, integer)
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
