//! Sums and means over axes.

use deepconcolic_network::ops::{Reduce, View};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, float, typed};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

pub fn mean(context: &mut Context<'_>) -> Outputs {
    let integer = context.value(0)?.integer;
    let mean = over_axes(context, Reduce::mean)?;
    if integer {
        return context.truncated(mean, "the mean");
    }
    float(mean)
}

pub fn sum(context: &mut Context<'_>) -> Outputs {
    let integer = context.value(0)?.integer;
    typed(over_axes(context, Reduce::sum)?, integer)
}

/// Of constants only: exporters multiply extents with it.
pub fn product(context: &mut Context<'_>) -> Outputs {
    let integer = context.value(0)?.integer;
    let (shape, numbers) = context.known(0)?;
    let (axes, keep) = axes(context, &shape)?;
    if axes.len() != shape.rank() {
        return Err("a product over some of the axes is not supported".into());
    }
    let dims = if keep {
        vec![1; shape.rank()]
    } else {
        Vec::new()
    };
    typed(
        context.constant(&dims, vec![numbers.iter().product()])?,
        integer,
    )
}

fn over_axes(
    context: &mut Context<'_>,
    reduce: fn(Vec<usize>) -> Reduce,
) -> Result<Tensor, String> {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let (axes, keep) = axes(context, &shape)?;
    let reduced = context.add(reduce(axes.clone()), &[input])?;
    if keep {
        return Ok(reduced);
    }
    let dims: Vec<usize> = (0..shape.rank())
        .filter(|axis| !axes.contains(axis))
        .map(|axis| shape.dims()[axis])
        .collect();
    context.add(View::new(Shape::new(dims)?), &[reduced])
}

/// The axes to reduce (all if none are named and that is not a request for nothing), and whether
/// they stay with extent 1.
fn axes(context: &Context<'_>, shape: &Shape) -> Result<(Vec<usize>, bool), String> {
    let named = context
        .integers_or_attribute(1, "axes")?
        .filter(|axes| !axes.is_empty());
    let axes = match named {
        Some(axes) => {
            let axes: Result<Vec<usize>, String> = axes.iter().map(|&a| shape.axis(a)).collect();
            axes?
        }
        None if context.flag("noop_with_empty_axes")? => Vec::new(),
        None => (0..shape.rank()).collect(),
    };
    Ok((axes, context.int_or("keepdims", 1)? != 0))
}
