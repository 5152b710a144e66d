//! Parts of axes: `CenterCropPad`, Compress, `ReverseSequence`.

use deepconcolic_network::Shape;
use deepconcolic_network::ops::View;

use super::context::{Context, typed};
use super::rearrange::{element, moved, position};
use super::selection::{select, whole};
use super::shape::extents;
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// Axes cut or filled with zeros on both sides to given extents.
pub fn center_crop_pad(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let target = extents(&context.integers(1)?.ok_or("the shape is missing")?)?;
    let axes: Vec<usize> = match context.ints("axes")? {
        Some(axes) => {
            let axes: Result<Vec<usize>, String> = axes.iter().map(|&a| shape.axis(a)).collect();
            axes?
        }
        None => (0..shape.rank()).collect(),
    };
    if target.len() != axes.len() {
        return Err(format!("{} extents for {} axes", target.len(), axes.len()));
    }
    let mut dims = shape.dims().to_vec();
    for (&axis, &extent) in axes.iter().zip(&target) {
        dims[axis] = extent;
    }
    context.builder.affordable(&Shape::new(dims)?)?;
    let mut along = whole(&shape);
    for (&axis, &to) in axes.iter().zip(&target) {
        let from = shape.dims()[axis];
        let (cut, fill) = (from.saturating_sub(to) / 2, to.saturating_sub(from) / 2);
        let source = |p: usize| p.checked_sub(fill).map(|p| p + cut).filter(|&p| p < from);
        along[axis] = (0..to).map(source).collect();
    }
    let result = select(context, "CenterCropPad", value.tensor, &along, 0.0)?;
    typed(result, value.integer)
}

/// The positions along an axis whose condition is not 0.
pub fn compress(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let (_, condition) = context.known(1)?;
    let (tensor, axis) = if let Some(axis) = context.int("axis")? {
        (value.tensor, context.shape(0)?.axis(axis)?)
    } else {
        let flat = Shape::new([context.shape(0)?.elements()])?;
        (context.add(View::new(flat), &[value.tensor])?, 0)
    };
    let mut along = whole(&context.builder.shape(tensor));
    if condition.len() > along[axis].len() {
        return Err(format!(
            "{} conditions along an axis of {}",
            condition.len(),
            along[axis].len()
        ));
    }
    let kept = |p: &usize| condition.get(*p).is_some_and(|&c| c != 0.0);
    along[axis] = (0..along[axis].len()).filter(kept).map(Some).collect();
    typed(
        select(context, "Compress", tensor, &along, 0.0)?,
        value.integer,
    )
}

/// The first positions of each sequence, so many as its length, from the last to the first.
pub fn reverse_sequence(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let lengths = extents(&context.integers(1)?.ok_or("the lengths are missing")?)?;
    let time = shape.axis(context.int_or("time_axis", 0)?)?;
    let batch = shape.axis(context.int_or("batch_axis", 1)?)?;
    let fits = lengths.iter().all(|&length| length <= shape.dims()[time]);
    if lengths.len() != shape.dims()[batch] || !fits || time == batch {
        return Err(format!("lengths {lengths:?} for shape {shape}"));
    }
    let source = |e: usize| {
        let mut p = position(&shape, e);
        let length = lengths[p[batch]];
        if p[time] < length {
            p[time] = length - 1 - p[time];
        }
        Ok(Some(element(&shape, &p)))
    };
    let result = moved(
        context,
        "ReverseSequence",
        value.tensor,
        shape.clone(),
        source,
    )?;
    typed(result, value.integer)
}
