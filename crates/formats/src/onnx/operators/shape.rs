//! Operators that compute or change shapes, and those that change nothing.

use deepconcolic_network::ops::{Transpose, View};
use deepconcolic_network::{MAX_ELEMENTS, Order, Shape};

use super::context::{self, Context, typed};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// One of the attributes `value`, `value_float`, `value_ints` and so on.
pub fn constant(context: &mut Context<'_>) -> Outputs {
    let message = |e: crate::onnx::OnnxError| e.to_string();
    if let Some(array) = context.node.tensor("value").map_err(message)? {
        return Ok(vec![context::constant(context.builder, array)?]);
    }
    if let Some(value) = context.int("value_int")? {
        return typed(context.constant(&[], vec![value as f64])?, true);
    }
    if let Some(values) = context.ints("value_ints")? {
        let numbers = values.iter().map(|&v| v as f64).collect();
        return typed(context.constant(&[values.len()], numbers)?, true);
    }
    if let Some(values) = context.floats("value_floats")? {
        return typed(context.constant(&[values.len()], values)?, false);
    }
    match context.node.float("value_float").map_err(message)? {
        Some(value) => typed(context.constant(&[], vec![f64::from(value)])?, false),
        None => Err("a constant that is not a dense tensor of numbers is not supported".into()),
    }
}

pub fn constant_of_shape(context: &mut Context<'_>) -> Outputs {
    let dims = context.integers(0)?.unwrap_or_default();
    let shape = Shape::new(extents(&dims)?)?;
    let array = context.node.tensor("value").map_err(|e| e.to_string())?;
    let (value, integer) = match array {
        Some(array) => (
            array.scalar().map_err(|e| e.to_string())?,
            array.dtype.is_integer(),
        ),
        None => (0.0, false),
    };
    let elements = context.builder.affordable(&shape)?;
    typed(
        context.constant(shape.dims(), vec![value; elements])?,
        integer,
    )
}

pub fn identity(context: &mut Context<'_>) -> Outputs {
    Ok(vec![context.value(0)?])
}

/// At inference the identity, and a mask that keeps everything.
pub fn dropout(context: &mut Context<'_>) -> Outputs {
    if drops(context)? {
        return Err(
            "it is in training mode and drops elements at random, so the model gives no one answer; \
             export it in evaluation mode"
                .into(),
        );
    }
    let mut outputs = identity(context)?;
    if context.node.outputs.len() > 1 {
        let shape = context.shape(0)?;
        let elements = context.builder.affordable(&shape)?;
        outputs.extend(typed(
            context.constant(shape.dims(), vec![1.0; elements])?,
            true,
        )?);
    }
    Ok(outputs)
}

/// Training is an input since operator set 12; before that a Dropout never drops.
fn drops(context: &Context<'_>) -> Result<bool, String> {
    let training = context.opset >= 12
        && context
            .known_if_given(2)?
            .is_some_and(|mode| mode.iter().any(|&m| m != 0.0));
    if !training {
        return Ok(false);
    }
    let ratio = match context.known_if_given(1)? {
        Some(ratio) => ratio.first().copied().unwrap_or(0.5),
        None => context.float_or("ratio", 0.5)?,
    };
    Ok(ratio != 0.0)
}

pub fn shape(context: &mut Context<'_>) -> Outputs {
    let shape = context.shape(0)?;
    let rank = shape.rank() as i64;
    let bound = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let start = bound(context.int_or("start", 0)?);
    let end = bound(context.int_or("end", rank)?).max(start);
    let dims = &shape.dims()[start..end];
    let numbers = dims.iter().map(|&d| d as f64).collect();
    typed(context.constant(&[dims.len()], numbers)?, true)
}

fn view(context: &mut Context<'_>, dims: Vec<usize>) -> Outputs {
    let value = context.value(0)?;
    let result = context.add(View::new(Shape::new(dims)?), &[value.tensor])?;
    typed(result, value.integer)
}

/// 0 keeps an extent (unless `allowzero`), -1 takes what is left.
pub fn reshape(context: &mut Context<'_>) -> Outputs {
    let input = context.shape(0)?;
    let target = context
        .integers_or_attribute(1, "shape")?
        .ok_or("the target shape is missing")?;
    let keep_zero = context.flag("allowzero")?;
    let mut dims = Vec::with_capacity(target.len());
    let mut open = None;
    for (axis, &extent) in target.iter().enumerate() {
        dims.push(match extent {
            0 if !keep_zero => *input
                .dims()
                .get(axis)
                .ok_or_else(|| format!("target {target:?} keeps axis {axis} of shape {input}"))?,
            -1 if open.is_none() => {
                open = Some(axis);
                1
            }
            e if e >= 0 => e as usize,
            _ => return Err(format!("target shape {target:?} is not one")),
        });
    }
    let fixed = Shape::new(dims.clone())?.elements();
    if let Some(axis) = open {
        if fixed == 0 || input.elements() % fixed != 0 {
            return Err(format!("shape {input} cannot become {target:?}"));
        }
        dims[axis] = input.elements() / fixed;
    }
    view(context, dims)
}

pub fn flatten(context: &mut Context<'_>) -> Outputs {
    let shape = context.shape(0)?;
    let rank = shape.rank() as i64;
    let axis = context.int_or("axis", 1)?;
    if !(-rank..=rank).contains(&axis) {
        return Err(format!("axis={axis} for shape {shape}"));
    }
    let axis = if axis < 0 { axis + rank } else { axis } as usize;
    let (rows, columns) = shape.dims().split_at(axis);
    view(
        context,
        vec![rows.iter().product(), columns.iter().product()],
    )
}

pub fn squeeze(context: &mut Context<'_>) -> Outputs {
    let shape = context.shape(0)?;
    let axes = context.integers_or_attribute(1, "axes")?;
    let axes: Vec<usize> = match axes {
        Some(axes) => axes
            .iter()
            .map(|&a| shape.axis(a))
            .collect::<Result<_, _>>()?,
        None => (0..shape.rank())
            .filter(|&a| shape.dims()[a] == 1)
            .collect(),
    };
    let kept = (0..shape.rank()).filter(|a| !axes.contains(a));
    let dims = kept.map(|a| shape.dims()[a]).collect();
    view(context, dims)
}

pub fn unsqueeze(context: &mut Context<'_>) -> Outputs {
    let shape = context.shape(0)?;
    let axes = context
        .integers_or_attribute(1, "axes")?
        .ok_or("the axes are missing")?;
    let rank = shape.rank() + axes.len();
    let mut dims = vec![0; rank];
    for &axis in &axes {
        let at = if axis < 0 { axis + rank as i64 } else { axis };
        match usize::try_from(at).ok().and_then(|at| dims.get_mut(at)) {
            Some(extent) if *extent == 0 => *extent = 1,
            _ => return Err(format!("axes={axes:?} for shape {shape}")),
        }
    }
    let mut rest = shape.dims().iter();
    for extent in &mut dims {
        if *extent == 0 {
            *extent = rest.next().copied().unwrap_or(1);
        }
    }
    view(context, dims)
}

pub fn transpose(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let rank = context.shape(0)?.rank();
    let order = match context.ints("perm")? {
        Some(perm) => perm
            .iter()
            .map(|&a| usize::try_from(a).unwrap_or(rank))
            .collect(),
        None => (0..rank).rev().collect(),
    };
    let result = context.add(Transpose::new(Order::new(order)?), &[value.tensor])?;
    typed(result, value.integer)
}

/// Extents from a constant of the model.
pub fn extents(numbers: &[i64]) -> Result<Vec<usize>, String> {
    numbers
        .iter()
        .map(|&n| usize::try_from(n).ok().filter(|&n| n <= MAX_ELEMENTS))
        .collect::<Option<Vec<usize>>>()
        .ok_or_else(|| format!("{numbers:?} is not a shape"))
}
