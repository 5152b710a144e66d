//! Matrix products: Gemm, and `MatMul` of constants and of computed tensors, which may be vectors.

use deepconcolic_network::ops::{Add, Binary, Dense, Lie, MatMul, Mul, Transpose, View};
use deepconcolic_network::{Numbers, Order, Shape, Tensor};

use super::activation;
use super::context::{Context, float, typed};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// alpha A' B' + beta C, where A is the variable.
pub fn gemm(context: &mut Context<'_>) -> Outputs {
    let result = product(context)?;
    typed(result, context.all_integers())
}

/// onnxruntime's Gemm with an activation inside.
pub fn fused_gemm(context: &mut Context<'_>) -> Outputs {
    let result = product(context)?;
    let activation = context.string_or("activation", "")?.to_owned();
    let parameters = [context.float_or("activation_alpha", 0.01)?];
    float(activation::fused(
        context,
        &activation,
        &parameters,
        result,
    )?)
}

fn product(context: &mut Context<'_>) -> Result<Tensor, String> {
    let (alpha, beta) = (
        context.float_or("alpha", 1.0)?,
        context.float_or("beta", 1.0)?,
    );
    let (turned_a, turned_b) = (context.flag("transA")?, context.flag("transB")?);
    let (a, b) = (context.tensor(0)?, context.tensor(1)?);
    if !context.builder.is_constant(b) && context.builder.is_constant(a) {
        // A B = (B' A')', so that the weights are on the right.
        let (shape, weights) = context.weights(0)?;
        let b = if turned_b { b } else { turn(context, b)? };
        let product = dense(&shape, &scaled(weights, alpha), !turned_a, None)?;
        let product = context.add(product, &[b])?;
        let product = turn(context, product)?;
        return plus(context, product, beta);
    }
    let a = if turned_a { turn(context, a)? } else { a };
    let (shape, weights) = context.weights(1)?;
    let weights = scaled(weights, alpha);
    let columns = sides(&shape, turned_b)?.0[1];
    if let Some(mut bias) = bias(context, columns) {
        for b in &mut bias {
            *b *= beta;
        }
        context.add(dense(&shape, &weights, turned_b, Some(bias))?, &[a])
    } else {
        let product = context.add(dense(&shape, &weights, turned_b, None)?, &[a])?;
        plus(context, product, beta)
    }
}

/// Weights times a factor.
fn scaled(weights: Numbers, factor: f64) -> Numbers {
    if factor.to_bits() == 1.0f64.to_bits() {
        return weights;
    }
    let products = weights.to_double().into_iter().map(|w| w * factor);
    products.collect::<Vec<f64>>().into()
}

/// The layer of a matrix of weights, transposed if asked, without a bias if none is given.
fn dense(
    shape: &Shape,
    weights: &Numbers,
    transposed: bool,
    bias: Option<Vec<f64>>,
) -> Result<Dense, String> {
    let (sides, lie) = sides(shape, transposed)?;
    Dense::of(
        sides,
        weights,
        lie,
        bias.unwrap_or_else(|| vec![0.0; sides[1]]),
    )
}

/// Inputs and outputs of a layer whose weights have a shape, and which way round they lie.
fn sides(shape: &Shape, transposed: bool) -> Result<([usize; 2], Lie), String> {
    let &[rows, columns] = shape.dims() else {
        return Err(format!("weights of shape {shape} are not a matrix"));
    };
    Ok(if transposed {
        ([columns, rows], Lie::OutputsByInputs)
    } else {
        ([rows, columns], Lie::InputsByOutputs)
    })
}

fn turn(context: &mut Context<'_>, tensor: Tensor) -> Result<Tensor, String> {
    context.add(Transpose::new(Order::new(vec![1, 0])?), &[tensor])
}

/// Input C times beta, added as a tensor of its own.
fn plus(context: &mut Context<'_>, product: Tensor, beta: f64) -> Result<Tensor, String> {
    let Some(c) = context.optional(2) else {
        return Ok(product);
    };
    let beta = context.constant(&[], vec![beta])?;
    let scaled = context.add(Binary::new(Mul), &[c.tensor, beta])?;
    context.add(Binary::new(Add), &[product, scaled])
}

/// Input C as one row for all, if it is that.
fn bias(context: &Context<'_>, columns: usize) -> Option<Vec<f64>> {
    let Some(c) = context.optional(2) else {
        return Some(vec![0.0; columns]);
    };
    let row = context.builder.known(c.tensor)?;
    match *context.builder.shape(c.tensor).dims() {
        [] | [1] | [1, 1] => Some(vec![row[0]; columns]),
        [n] | [1, n] if n == columns => Some(row),
        _ => None,
    }
}

/// A product along the last axis. One constant matrix, on the right or the left, is a dense layer.
pub fn mat_mul(context: &mut Context<'_>) -> Outputs {
    let (a, b) = (context.tensor(0)?, context.tensor(1)?);
    let is_matrix = |context: &Context<'_>, t: Tensor| {
        let shape = context.builder.shape(t);
        let before = shape.rank().saturating_sub(2);
        context.builder.is_constant(t) && shape.dims()[..before].iter().all(|&d| d == 1)
    };
    let product = if is_matrix(context, b) {
        times_right(context, a)?
    } else if is_matrix(context, a) {
        times_left(context, b)?
    } else {
        stacks(context, a, b)?
    };
    typed(product, context.all_integers())
}

/// Stacks of matrices, computed or constant. A vector is a matrix of one row (on the left) or one column
/// (on the right) whose axis then vanishes.
fn stacks(context: &mut Context<'_>, a: Tensor, b: Tensor) -> Result<Tensor, String> {
    let dims = |context: &Context<'_>, t: Tensor| context.builder.shape(t).dims().to_vec();
    let (dims_a, dims_b) = (dims(context, a), dims(context, b));
    let a = match dims_a[..] {
        [n] => context.add(View::new(Shape::new([1, n])?), &[a])?,
        _ => a,
    };
    let b = match dims_b[..] {
        [n] => context.add(View::new(Shape::new([n, 1])?), &[b])?,
        _ => b,
    };
    let product = context.add(MatMul, &[a, b])?;
    let mut left = dims(context, product);
    if dims_b.len() == 1 {
        left.pop();
    }
    if dims_a.len() == 1 {
        left.remove(left.len() - if dims_b.len() == 1 { 1 } else { 2 });
    }
    if left.len() == context.builder.shape(product).rank() {
        return Ok(product);
    }
    context.add(View::new(Shape::new(left)?), &[product])
}

/// x W. A vector W is a matrix of one column whose axis then vanishes.
fn times_right(context: &mut Context<'_>, a: Tensor) -> Result<Tensor, String> {
    let (shape, weights) = context.weights(1)?;
    if let &[n] = shape.dims() {
        let column = dense(&Shape::new([n, 1])?, &weights, false, None)?;
        let column = context.add(column, &[a])?;
        return without_last_axis(context, column);
    }
    let product = dense(&flat(&shape)?, &weights, false, None)?;
    let product = context.add(product, &[a])?;
    // A vector brings no axis of its own.
    let vector = context.builder.shape(a).rank() == 1;
    widened(context, product, shape.rank() - usize::from(vector))
}

/// W x = (x' W')'. A vector x is a matrix of one row here, and so is its product; a vector W is a
/// matrix of one row whose axis then vanishes.
fn times_left(context: &mut Context<'_>, b: Tensor) -> Result<Tensor, String> {
    let (shape, weights) = context.weights(0)?;
    let rank = context.builder.shape(b).rank();
    let row = shape.rank() == 1;
    let wide = if row { shape.widened(2) } else { flat(&shape)? };
    let dense = dense(&wide, &weights, true, None)?;
    if rank < 2 {
        let product = context.add(dense, &[b])?;
        return if row {
            without_last_axis(context, product)
        } else {
            widened(context, product, shape.rank() - 1)
        };
    }
    let mut swap: Vec<usize> = (0..rank).collect();
    swap.swap(rank - 1, rank - 2);
    let order = Order::new(swap)?;
    let turned = context.add(Transpose::new(order.clone()), &[b])?;
    let product = context.add(dense, &[turned])?;
    if row {
        return without_last_axis(context, product);
    }
    let product = context.add(Transpose::new(order), &[product])?;
    widened(context, product, shape.rank())
}

/// A stack of one matrix as that matrix.
fn flat(shape: &Shape) -> Result<Shape, String> {
    match shape.dims() {
        [ones @ .., rows, columns] if ones.iter().all(|&d| d == 1) => Shape::new([*rows, *columns]),
        _ => Err(format!(
            "a stack of matrices of shape {shape} is not supported"
        )),
    }
}

/// The same numbers without a last axis of extent 1.
fn without_last_axis(context: &mut Context<'_>, tensor: Tensor) -> Result<Tensor, String> {
    let shape = context.builder.shape(tensor);
    let kept = shape.dims()[..shape.rank() - 1].to_vec();
    context.add(View::new(Shape::new(kept)?), &[tensor])
}

/// The same numbers with leading axes of extent 1, as a stack of one matrix leaves them.
fn widened(context: &mut Context<'_>, tensor: Tensor, rank: usize) -> Result<Tensor, String> {
    let shape = context.builder.shape(tensor);
    if shape.rank() >= rank {
        return Ok(tensor);
    }
    context.add(View::new(shape.widened(rank)), &[tensor])
}
