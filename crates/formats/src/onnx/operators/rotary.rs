//! `RotaryEmbedding`: pairs of numbers turned by angles that depend on the position.

use std::sync::Arc;

use deepconcolic_network::ops::{Add, Binary, Concat, Mul, Select, Sub, Transpose, View};
use deepconcolic_network::{Operator, Order, Shape, Tensor};

use super::context::{Context, float};
use super::selection::{select, whole};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

pub fn rotary_embedding(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let swap = || Ok::<_, String>(Transpose::new(Order::new(vec![0, 2, 1, 3])?));
    let by_position = match *shape.dims() {
        [batch, positions, hidden] => {
            let heads = usize::try_from(context.int_or("num_heads", 0)?).unwrap_or(0);
            if heads == 0 || hidden % heads != 0 {
                return Err(format!("{heads} heads for shape {shape}"));
            }
            let split = Shape::new([batch, positions, heads, hidden / heads])?;
            context.add(View::new(split), &[input])?
        }
        [_, _, _, _] => context.add(swap()?, &[input])?,
        _ => return Err(format!("shape {shape} where three or four axes are needed")),
    };
    let dims = context.builder.shape(by_position).dims().to_vec();
    let size = dims[3];
    let turned = match usize::try_from(context.int_or("rotary_embedding_dim", 0)?) {
        Ok(0) => size,
        Ok(turned) if turned <= size => turned,
        _ => return Err(format!("rotary_embedding_dim for heads of {size}")),
    };
    let half = turned / 2;
    let pairs = context.flag("interleaved")?;
    let places = |second: usize| -> Vec<usize> {
        (0..half)
            .map(|i| {
                if pairs {
                    2 * i + second
                } else {
                    second * half + i
                }
            })
            .collect()
    };
    let x = columns(context, by_position, &places(0))?;
    let y = columns(context, by_position, &places(1))?;
    let cosine = angles(context, 1, &dims, half)?;
    let sine = angles(context, 2, &dims, half)?;
    let real = combined(context, Binary::new(Sub), [cosine, x], [sine, y])?;
    let imaginary = combined(context, Binary::new(Add), [sine, x], [cosine, y])?;
    let rest: Vec<usize> = (2 * half..size).collect();
    let rest = columns(context, by_position, &rest)?;
    let all = context.add(Concat::new(3), &[real, imaginary, rest])?;
    // From halves to where each number was.
    let mut from: Vec<Option<usize>> = (0..size).map(Some).collect();
    for (second, start) in [(0, 0), (1, half)] {
        for (i, place) in places(second).into_iter().enumerate() {
            from[place] = Some(start + i);
        }
    }
    let mut along = whole(&context.builder.shape(all));
    along[3] = from;
    let result = select(context, "RotaryEmbedding", all, &along, 0.0)?;
    let result = if shape.rank() == 4 {
        context.add(swap()?, &[result])?
    } else {
        context.add(View::new(shape), &[result])?
    };
    float(result)
}

/// `operation(a[0] * a[1], b[0] * b[1])`.
fn combined(
    context: &mut Context<'_>,
    operation: impl Into<Arc<dyn Operator>>,
    a: [Tensor; 2],
    b: [Tensor; 2],
) -> Result<Tensor, String> {
    let first = context.add(Binary::new(Mul), &a)?;
    let second = context.add(Binary::new(Mul), &b)?;
    context.add(operation, &[first, second])
}

fn columns(context: &mut Context<'_>, tensor: Tensor, places: &[usize]) -> Result<Tensor, String> {
    let mut along = whole(&context.builder.shape(tensor));
    along[3] = places.iter().copied().map(Some).collect();
    select(context, "RotaryEmbedding", tensor, &along, 0.0)
}

/// A table of sines or cosines at every position, with an axis for heads.
fn angles(
    context: &mut Context<'_>,
    input: usize,
    dims: &[usize],
    half: usize,
) -> Result<Tensor, String> {
    let table = context.tensor(input)?;
    let shape = context.builder.shape(table);
    let (batch, positions) = (dims[0], dims[1]);
    let to = Shape::new([batch, positions, 1, half])?;
    let Some(ids) = context.integers(3)? else {
        if shape.dims() != [batch, positions, half] {
            return Err(format!("angles of shape {shape} for {positions} positions"));
        }
        return context.add(View::new(to), &[table]);
    };
    let &[rows, columns] = shape.dims() else {
        return Err(format!("angles of shape {shape}"));
    };
    if ids.len() != batch * positions || columns != half {
        return Err(format!(
            "{} positions for angles of shape {shape}",
            ids.len()
        ));
    }
    let row = |&id: &i64| usize::try_from(id).ok().filter(|&id| id < rows);
    let ids: Option<Vec<usize>> = ids.iter().map(row).collect();
    let ids = ids.ok_or_else(|| format!("a position outside {rows} angles"))?;
    let entries = ids
        .iter()
        .flat_map(|&id| (0..half).map(move |c| (id * half + c) as u32));
    let picked = Select::new("RotaryEmbedding", shape, to, entries.collect(), 0.0)?;
    context.add(picked, &[table])
}
