//! Operators that copy elements: Slice, Gather, Split, Pad, Expand, Tile, Concat.

use deepconcolic_network::ops::{Concat, Lookup, Select, View};
use deepconcolic_network::{Operator, Shape, Tensor};

use super::context::{Context, typed};
use super::shape::extents;
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

/// For each axis, the position of the input that each position of the output copies.
pub type Along = Vec<Vec<Option<usize>>>;

pub fn whole(shape: &Shape) -> Along {
    shape
        .dims()
        .iter()
        .map(|&d| (0..d).map(Some).collect())
        .collect()
}

pub fn select(
    context: &mut Context<'_>,
    kind: &'static str,
    input: Tensor,
    along: &Along,
    fill: f64,
) -> Result<Tensor, String> {
    let shape = context.builder.shape(input);
    let output = Shape::new(along.iter().map(Vec::len).collect::<Vec<_>>())?;
    context.builder.affordable(&output)?;
    context.add(Select::by_axes(kind, shape, along, fill)?, &[input])
}

pub fn concat(context: &mut Context<'_>) -> Outputs {
    let axis = context.int("axis")?.ok_or("axis is missing")?;
    let integer = (0..context.inputs.len()).all(|i| context.value(i).is_ok_and(|v| v.integer));
    let axis = context.shape(0)?.axis(axis)?;
    let tensors = context.tensors()?;
    typed(context.add(Concat::new(axis), &tensors)?, integer)
}

/// Starts, ends, axes and steps are attributes before operator set 10, inputs since.
pub fn slice(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let starts = context
        .integers_or_attribute(1, "starts")?
        .ok_or("starts are missing")?;
    let ends = context
        .integers_or_attribute(2, "ends")?
        .ok_or("ends are missing")?;
    let axes = context
        .integers_or_attribute(3, "axes")?
        .unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = context
        .integers(4)?
        .unwrap_or_else(|| vec![1; starts.len()]);
    if [&ends, &axes, &steps]
        .iter()
        .any(|v| v.len() != starts.len())
    {
        return Err("starts, ends, axes and steps differ in length".into());
    }
    let mut along = whole(&shape);
    for (((start, end), axis), step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
        let axis = shape.axis(*axis)?;
        along[axis] = positions(shape.dims()[axis] as i64, *start, *end, *step)?;
    }
    typed(
        select(context, "Slice", value.tensor, &along, 0.0)?,
        value.integer,
    )
}

/// Python's slice rule.
fn positions(extent: i64, start: i64, end: i64, step: i64) -> Result<Vec<Option<usize>>, String> {
    if step == 0 {
        return Err("a step of 0".into());
    }
    let from_end = |at: i64| {
        if at < 0 {
            at.saturating_add(extent)
        } else {
            at
        }
    };
    let (low, high) = if step > 0 {
        (0, extent)
    } else {
        (-1, extent - 1)
    };
    let mut at = from_end(start).clamp(low, high);
    let end = from_end(end).clamp(low, high);
    let mut positions = Vec::new();
    while if step > 0 { at < end } else { at > end } {
        positions.push(Some(at as usize));
        at = at.saturating_add(step);
    }
    Ok(positions)
}

/// Rows of a table that the model holds, at positions that it computes: an embedding of tokens.
fn looked_up(context: &mut Context<'_>, axis: usize) -> Outputs {
    let integer = context.value(0)?.integer;
    let (shape, table) = context.known(0)?;
    let rows = Lookup::new("Gather", table, shape, axis)?;
    let indices = context.tensor(1)?;
    let output = rows.output_shape(&[&context.builder.shape(indices)])?;
    context.builder.affordable(&output)?;
    typed(context.add(rows, &[indices])?, integer)
}

pub fn gather(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let axis = shape.axis(context.int_or("axis", 0)?)?;
    let index_shape = context.shape(1)?;
    let extent = shape.dims()[axis] as i64;
    if context.builder.is_constant(value.tensor) && !context.builder.is_constant(context.tensor(1)?)
    {
        return looked_up(context, axis);
    }
    let indices = context.integers(1)?.unwrap_or_default();
    let mut along = whole(&shape);
    along[axis] = indices
        .iter()
        .map(|&i| usize::try_from(if i < 0 { i + extent } else { i }).map(Some))
        .collect::<Result<_, _>>()
        .map_err(|_| format!("indices {indices:?} for shape {shape}"))?;
    let gathered = select(context, "Gather", value.tensor, &along, 0.0)?;
    let dims = shape.dims();
    let dims = [&dims[..axis], index_shape.dims(), &dims[axis + 1..]].concat();
    typed(
        context.add(View::new(Shape::new(dims)?), &[gathered])?,
        value.integer,
    )
}

/// The positions along an axis from the last to the first.
pub fn reversed(context: &mut Context<'_>, input: Tensor, axis: usize) -> Result<Tensor, String> {
    let mut along = whole(&context.builder.shape(input));
    along[axis].reverse();
    select(context, "Slice", input, &along, 0.0)
}

/// Sizes are an attribute before operator set 13, an input since; without them, equal parts.
pub fn split(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let axis = shape.axis(context.int_or("axis", 0)?)?;
    let (extent, parts) = (shape.dims()[axis], context.node.outputs.len().max(1));
    let sizes = if let Some(sizes) = context.integers_or_attribute(1, "split")? {
        extents(&sizes)?
    } else {
        let each = extent.div_ceil(parts);
        (0..parts)
            .map(|p| each.min(extent - (p * each).min(extent)))
            .collect()
    };
    if sizes.iter().try_fold(0usize, |sum, &s| sum.checked_add(s)) != Some(extent) {
        return Err(format!("parts of {sizes:?} along an axis of {extent}"));
    }
    let mut start = 0;
    let mut outputs = Vec::new();
    for size in sizes {
        let mut along = whole(&shape);
        along[axis] = (start..start + size).map(Some).collect();
        start += size;
        let tensor = select(context, "Split", value.tensor, &along, 0.0)?;
        outputs.push(Value {
            tensor,
            integer: value.integer,
        });
    }
    Ok(outputs)
}

/// Pads are an attribute before operator set 11, an input since; they may be negative.
pub fn pad(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let mode = context.string_or("mode", "constant")?.to_owned();
    let pads = match context.integers_or_attribute(1, "pads")? {
        Some(pads) => pads,
        None => context.ints("paddings")?.ok_or("pads are missing")?,
    };
    let fill = match context.known_if_given(2)? {
        Some(fill) => fill.first().copied().unwrap_or(0.0),
        None => context.float_or("value", 0.0)?,
    };
    if !(fill as f32).is_finite() && !context.builder.is_constant(value.tensor) {
        return Err(format!(
            "padding with {fill} is not supported; let the pooling that follows pad, \
             or pad with the smallest number"
        ));
    }
    let axes = match context.integers(3)? {
        Some(axes) => axes
            .iter()
            .map(|&a| shape.axis(a))
            .collect::<Result<_, _>>()?,
        None => (0..shape.rank()).collect::<Vec<usize>>(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(format!("{} pads for {} axes", pads.len(), axes.len()));
    }
    let mut along = whole(&shape);
    for (index, &axis) in axes.iter().enumerate() {
        let (before, after) = (pads[index], pads[index + axes.len()]);
        along[axis] = padded(shape.dims()[axis] as i64, before, after, &mode)?;
    }
    typed(
        select(context, "Pad", value.tensor, &along, fill)?,
        value.integer,
    )
}

fn padded(extent: i64, before: i64, after: i64, mode: &str) -> Result<Vec<Option<usize>>, String> {
    const MAX: i64 = 1 << 20;
    if before.abs() > MAX || after.abs() > MAX {
        return Err(format!("padding of {before} and {after} is absurd"));
    }
    (-before..extent + after)
        .map(|at| {
            let inside = (0..extent).contains(&at);
            match mode {
                _ if inside => Ok(Some(at as usize)),
                "constant" => Ok(None),
                "edge" if extent > 0 => Ok(Some(at.clamp(0, extent - 1) as usize)),
                "reflect" if extent > 1 => {
                    let period = 2 * (extent - 1);
                    let at = at.rem_euclid(period);
                    Ok(Some(at.min(period - at) as usize))
                }
                "wrap" if extent > 0 => Ok(Some(at.rem_euclid(extent) as usize)),
                other => Err(format!(
                    "mode {} is not supported for this shape",
                    quote(other)
                )),
            }
        })
        .collect()
}

pub fn expand(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let target = extents(&context.integers(1)?.ok_or("the shape is missing")?)?;
    let shape = context.shape(0)?;
    let output = shape.broadcast(&Shape::new(target)?)?;
    let wide = shape.widened(output.rank());
    let viewed = context.add(View::new(wide.clone()), &[value.tensor])?;
    let along = wide
        .dims()
        .iter()
        .zip(output.dims())
        .map(|(&from, &to)| {
            (0..to)
                .map(|i| Some(if from == 1 { 0 } else { i }))
                .collect()
        })
        .collect();
    typed(
        select(context, "Expand", viewed, &along, 0.0)?,
        value.integer,
    )
}

pub fn tile(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let repeats = extents(&context.integers(1)?.ok_or("the repeats are missing")?)?;
    if repeats.len() != shape.rank() {
        return Err(format!("{} repeats for shape {shape}", repeats.len()));
    }
    let tiled: Vec<usize> = shape
        .dims()
        .iter()
        .zip(&repeats)
        .map(|(d, r)| d.saturating_mul(*r))
        .collect();
    context.builder.affordable(&Shape::new(tiled.clone())?)?;
    let along = shape
        .dims()
        .iter()
        .zip(&tiled)
        .map(|(&from, &to)| (0..to).map(|i| Some(i % from)).collect())
        .collect();
    typed(
        select(context, "Tile", value.tensor, &along, 0.0)?,
        value.integer,
    )
}
