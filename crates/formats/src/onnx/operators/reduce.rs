//! Sums, means, norms and extremes over axes.

use deepconcolic_network::ops::{
    Abs, Binary, Elementwise, Exp, Log, MaxPool, Mul, Reduce, Select, Sqrt, Transpose, View, Window,
};
use deepconcolic_network::{Order, Shape, Tensor};

use super::context::{Context, float, typed};
use super::conv::on_image;
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

/// Halves are multiplied with each other until one element is left of every line.
pub fn product(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let (axes, keep) = axes(context, &context.shape(0)?)?;
    let (mut lines, count, shape) = lines(context, value.tensor, &axes, keep)?;
    let mut left = count.1;
    while left > 1 {
        let half = left.div_ceil(2);
        let [first, second] = [0, half].map(|start| {
            let position = |p: usize| Some(start + p).filter(|&p| p < left);
            let along = [
                (0..count.0).map(Some).collect(),
                (0..half).map(position).collect(),
            ];
            let from = Shape::new([count.0, left])?;
            // What is missing in the second half multiplies by 1.
            context.add(Select::by_axes("ReduceProd", from, &along, 1.0)?, &[lines])
        });
        lines = context.add(Binary::new(Mul), &[first?, second?])?;
        left = half;
    }
    if left == 0 {
        lines = context.constant(&[count.0], vec![1.0; count.0])?;
    }
    typed(context.add(View::new(shape), &[lines])?, value.integer)
}

/// The elements to reduce side by side, as a matrix: how many lines of how many; and the shape of what is left.
fn lines(
    context: &mut Context<'_>,
    input: Tensor,
    axes: &[usize],
    keep: bool,
) -> Result<(Tensor, (usize, usize), Shape), String> {
    let shape = context.builder.shape(input);
    let (gone, kept): (Vec<usize>, Vec<usize>) =
        (0..shape.rank()).partition(|axis| axes.contains(axis));
    let extents = |axes: &[usize]| axes.iter().map(|&a| shape.dims()[a]).collect::<Vec<_>>();
    let count = (
        extents(&kept).iter().product(),
        extents(&gone).iter().product(),
    );
    let order = Order::new([&kept[..], &gone[..]].concat())?;
    let sorted = context.add(Transpose::new(order), &[input])?;
    let matrix = context.add(View::new(Shape::new([count.0, count.1])?), &[sorted])?;
    let dims = if keep {
        let left = |axis: usize| {
            if axes.contains(&axis) {
                1
            } else {
                shape.dims()[axis]
            }
        };
        (0..shape.rank()).map(left).collect()
    } else {
        extents(&kept)
    };
    Ok((matrix, count, Shape::new(dims)?))
}

/// The sum of magnitudes.
pub fn l1(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let magnitudes = context.add(Elementwise::new(Abs), &[input])?;
    float(reduced(context, magnitudes, Reduce::sum)?)
}

pub fn l2(context: &mut Context<'_>) -> Outputs {
    let total = squares(context)?;
    float(context.add(Elementwise::new(Sqrt), &[total])?)
}

pub fn sum_of_squares(context: &mut Context<'_>) -> Outputs {
    float(squares(context)?)
}

fn squares(context: &mut Context<'_>) -> Result<Tensor, String> {
    let input = context.tensor(0)?;
    let squares = context.add(Binary::new(Mul), &[input, input])?;
    reduced(context, squares, Reduce::sum)
}

pub fn log_sum(context: &mut Context<'_>) -> Outputs {
    let total = over_axes(context, Reduce::sum)?;
    float(context.add(Elementwise::new(Log), &[total])?)
}

pub fn log_sum_exp(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let exponentials = context.add(Elementwise::new(Exp), &[input])?;
    let total = reduced(context, exponentials, Reduce::sum)?;
    float(context.add(Elementwise::new(Log), &[total])?)
}

pub fn max(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    typed(largest(context, value.tensor)?, value.integer)
}

pub fn min(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let turned = negated(context, value.tensor)?;
    let largest = largest(context, turned)?;
    typed(negated(context, largest)?, value.integer)
}

fn negated(context: &mut Context<'_>, tensor: Tensor) -> Result<Tensor, String> {
    let minus = context.constant(&[], vec![-1.0])?;
    context.add(Binary::new(Mul), &[tensor, minus])
}

fn largest(context: &mut Context<'_>, input: Tensor) -> Result<Tensor, String> {
    let (axes, keep) = axes(context, &context.builder.shape(input))?;
    largest_over(context, input, &axes, keep)
}

/// The largest element over axes: a pooling window over all of them at once.
pub fn largest_over(
    context: &mut Context<'_>,
    input: Tensor,
    axes: &[usize],
    keep: bool,
) -> Result<Tensor, String> {
    let (matrix, (count, each), shape) = lines(context, input, axes, keep)?;
    if each == 0 {
        return Err("the largest of no elements".into());
    }
    let image = Shape::new([1, count, each, 1])?;
    let image = context.add(View::new(image), &[matrix])?;
    let result = on_image(context, image, |context, image, size| {
        context.add(MaxPool::new(&Window::new([each, 1]), size)?, &[image])
    })?;
    context.add(View::new(shape), &[result])
}

fn over_axes(
    context: &mut Context<'_>,
    reduce: fn(Vec<usize>) -> Reduce,
) -> Result<Tensor, String> {
    let input = context.tensor(0)?;
    reduced(context, input, reduce)
}

/// A tensor of the input's shape, reduced over the node's axes.
fn reduced(
    context: &mut Context<'_>,
    input: Tensor,
    reduce: fn(Vec<usize>) -> Reduce,
) -> Result<Tensor, String> {
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
