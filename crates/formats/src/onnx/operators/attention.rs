//! Attention: queries against keys, a Softmax, and the values weighed by it, as products of computed tensors.

use deepconcolic_network::ops::{
    Add, Binary, Concat, Div, Elementwise, MatMul, Mul, Softmax, Tanh, Transpose, View,
};
use deepconcolic_network::{Order, Shape, Tensor};

use super::context::{Context, float};
use super::selection::{select, whole};
use crate::onnx::import::Value;
use crate::onnx::masking::MASKED;

type Outputs = Result<Vec<Value>, String>;

/// Batch, heads, positions, size of a head.
type Extents = [usize; 4];

pub fn attention(context: &mut Context<'_>) -> Outputs {
    let flat = context.shape(0)?.rank() == 3;
    let query = by_heads(context, 0, "q_num_heads")?;
    let key = by_heads(context, 1, "kv_num_heads")?;
    let value = by_heads(context, 2, "kv_num_heads")?;
    let past = context.optional(4).map(|past| past.tensor);
    let earlier = past.map_or(0, |past| {
        context
            .builder
            .shape(past)
            .dims()
            .get(2)
            .copied()
            .unwrap_or(0)
    });
    let key = after(context, past, key)?;
    let past = context.optional(5).map(|past| past.tensor);
    let value = after(context, past, value)?;
    let [batch, heads, rows, size] = extents(context, query)?;
    let [_, key_heads, columns, _] = extents(context, key)?;
    let mut outputs = vec![query, key, value];

    let key = repeated(context, key, heads, key_heads)?;
    let value = repeated(context, value, heads, key_heads)?;
    let default = (1.0 / (size as f64).sqrt()) as f32;
    let scale = context.float_or("scale", default)?.sqrt();
    let scale = context.constant(&[], vec![scale])?;
    let query = context.add(Binary::new(Mul), &[query, scale])?;
    let turned = Transpose::new(Order::new(vec![0, 1, 3, 2])?);
    let key = context.add(turned, &[key])?;
    let key = context.add(Binary::new(Mul), &[key, scale])?;
    let raw = context.add(MatMul, &[query, key])?;

    let capped = soft_cap(context, raw)?;
    let bias = Bias::new(context, [batch, heads, rows, columns], earlier)?;
    let scores = bias.added(context, capped)?;
    let weights = context.add(Softmax::new(3), &[scores])?;
    let weights = bias.without_masked_rows(context, weights)?;
    let mut answer = context.add(MatMul, &[weights, value])?;
    if flat {
        let swapped = Transpose::new(Order::new(vec![0, 2, 1, 3])?);
        answer = context.add(swapped, &[answer])?;
        let [_, _, _, size] = extents(context, answer)?;
        let joined = Shape::new([batch, rows, heads * size])?;
        answer = context.add(View::new(joined), &[answer])?;
    }
    outputs[0] = answer;
    match context.int_or("qk_matmul_output_mode", 0)? {
        0 => outputs.push(raw),
        1 => outputs.push(capped),
        // Where something is masked this holds minus infinity, which is no answer to compute with.
        2 if !bias.masks() => outputs.push(scores),
        3 => outputs.push(weights),
        _ => {}
    }
    let outputs: Result<Vec<Vec<Value>>, String> = outputs.into_iter().map(float).collect();
    Ok(outputs?.concat())
}

fn extents(context: &Context<'_>, tensor: Tensor) -> Result<Extents, String> {
    let shape = context.builder.shape(tensor);
    <[usize; 4]>::try_from(shape.dims().to_vec())
        .map_err(|_| format!("shape {shape} where four axes are needed"))
}

/// An input with an axis of its own for heads.
fn by_heads(context: &mut Context<'_>, position: usize, heads: &str) -> Result<Tensor, String> {
    let input = context.tensor(position)?;
    let shape = context.builder.shape(input);
    let &[batch, positions, hidden] = shape.dims() else {
        extents(context, input)?;
        return Ok(input);
    };
    let heads = usize::try_from(context.int(heads)?.ok_or(format!("{heads} is missing"))?);
    match heads {
        Ok(heads) if heads > 0 && hidden % heads == 0 => {
            let split = Shape::new([batch, positions, heads, hidden / heads])?;
            let split = context.add(View::new(split), &[input])?;
            context.add(Transpose::new(Order::new(vec![0, 2, 1, 3])?), &[split])
        }
        _ => Err(format!("heads that do not divide shape {shape}")),
    }
}

/// What came before, then the new positions.
fn after(context: &mut Context<'_>, past: Option<Tensor>, new: Tensor) -> Result<Tensor, String> {
    match past {
        None => Ok(new),
        Some(past) => {
            extents(context, past)?;
            context.add(Concat::new(2), &[past, new])
        }
    }
}

/// Each head as often as queries share it.
fn repeated(
    context: &mut Context<'_>,
    tensor: Tensor,
    heads: usize,
    own: usize,
) -> Result<Tensor, String> {
    if own == heads {
        return Ok(tensor);
    }
    if own == 0 || !heads.is_multiple_of(own) {
        return Err(format!("{heads} heads of queries for {own} heads of keys"));
    }
    let mut along = whole(&context.builder.shape(tensor));
    along[1] = (0..heads).map(|head| Some(head / (heads / own))).collect();
    select(context, "Attention", tensor, &along, 0.0)
}

fn soft_cap(context: &mut Context<'_>, scores: Tensor) -> Result<Tensor, String> {
    let cap = context.float_or("softcap", 0.0)?;
    if cap == 0.0 {
        return Ok(scores);
    }
    let cap = context.constant(&[], vec![cap])?;
    let small = context.add(Binary::new(Div), &[scores, cap])?;
    let bent = context.add(Elementwise::new(Tanh), &[small])?;
    context.add(Binary::new(Mul), &[bent, cap])
}

/// What is added to the scores: numbers that are known, minus infinity where a key is hidden, and a computed
/// mask.
struct Bias {
    shape: Shape,
    known: Vec<f64>,
    computed: Option<Tensor>,
}

impl Bias {
    fn new(context: &mut Context<'_>, full: Extents, earlier: usize) -> Result<Self, String> {
        let [batch, _, rows, columns] = full;
        let mut shape = Shape::new([rows, columns])?;
        let mut mask = None;
        let mut computed = None;
        if let Some(value) = context.optional(3) {
            let (padded, of) = as_wide_as(context, value, columns)?;
            match context.builder.known(padded) {
                Some(numbers) => {
                    shape = shape.broadcast(&of)?;
                    mask = Some((of, numbers));
                }
                None => computed = Some(padded),
            }
        }
        let lengths = context.integers(6)?;
        if let Some(lengths) = &lengths {
            if lengths.len() != batch {
                return Err(format!("{} lengths for {batch} samples", lengths.len()));
            }
            shape = shape.broadcast(&Shape::new([batch, 1, 1, 1])?)?;
        }
        shape.broadcast(&Shape::new(full)?)?;
        context.builder.affordable(&shape)?;
        let causal = context.flag("is_causal")?;
        let left = context.int_or("left_window_size", -1)?;
        let right = context.int_or("right_window_size", -1)?;
        let wide = shape.widened(4);
        let hidden = |e: usize| {
            let sample = e / wide.strides()[0].max(1);
            let (row, column) = ((e / columns % rows) as i64, (e % columns) as i64);
            let length = lengths.as_ref().map(|all| all[sample.min(batch - 1)]);
            let first = match length {
                Some(length) => length - rows as i64,
                None => earlier as i64,
            };
            let at = row + first;
            causal && column > at
                || left >= 0 && column < at - left
                || right >= 0 && column > at + right
                || length.is_some_and(|length| column >= length)
        };
        let number = |e: usize| {
            let own = mask.as_ref().map_or(0.0, |(of, numbers)| {
                numbers[of.broadcast_element(&shape, e)]
            });
            if hidden(e) || own < MASKED {
                f64::NEG_INFINITY
            } else {
                own
            }
        };
        let known = (0..shape.elements()).map(number).collect();
        Ok(Self {
            shape,
            known,
            computed,
        })
    }

    fn masks(&self) -> bool {
        self.known.contains(&f64::NEG_INFINITY)
    }

    fn added(&self, context: &mut Context<'_>, scores: Tensor) -> Result<Tensor, String> {
        let mut scores = scores;
        if let Some(computed) = self.computed {
            scores = context.add(Binary::new(Add), &[scores, computed])?;
        }
        if self.known.iter().all(|&n| n == 0.0) {
            return Ok(scores);
        }
        let numbers = self.known.iter().map(|n| n.max(MASKED)).collect();
        let bias = context.constant(self.shape.dims(), numbers)?;
        context.add(Binary::new(Add), &[scores, bias])
    }

    /// A query that sees no key has no weights.
    fn without_masked_rows(
        &self,
        context: &mut Context<'_>,
        weights: Tensor,
    ) -> Result<Tensor, String> {
        let Some((&columns, before)) = self.shape.dims().split_last() else {
            return Ok(weights);
        };
        let seen = |row: &[f64]| row.iter().any(|&n| n > f64::NEG_INFINITY);
        let seen: Vec<f64> = (self.known.chunks(columns.max(1)))
            .map(|row| f64::from(u8::from(seen(row))))
            .collect();
        if !seen.contains(&0.0) {
            return Ok(weights);
        }
        let seen = context.constant(&[before, &[1]].concat(), seen)?;
        context.add(Binary::new(Mul), &[weights, seen])
    }
}

/// The mask as numbers to add, with as many columns as there are keys: those that it does not name are hidden.
fn as_wide_as(
    context: &mut Context<'_>,
    mask: Value,
    columns: usize,
) -> Result<(Tensor, Shape), String> {
    let shape = context.builder.shape(mask.tensor);
    let mut tensor = mask.tensor;
    if mask.integer {
        // True where a key is seen.
        let known = context.builder.known(tensor);
        let known = known.ok_or("a computed mask of booleans is not supported")?;
        let hidden = |&seen: &f64| if seen == 0.0 { 2.0 * MASKED } else { 0.0 };
        tensor = context.constant(shape.dims(), known.iter().map(hidden).collect())?;
    } else if let Some(known) = context.builder.known(tensor) {
        if known.iter().any(|&n| n.is_nan() || n == f64::INFINITY) {
            return Err("the mask holds infinity or a number that is none".into());
        }
        let finite = |n: &f64| n.max(2.0 * MASKED);
        tensor = context.constant(shape.dims(), known.iter().map(finite).collect())?;
    }
    let Some(axis) = shape.rank().checked_sub(1) else {
        return Err("a mask without axes".into());
    };
    let own = shape.dims()[axis];
    if own < columns && own != 1 || own == 1 && columns > 1 && context.opset >= 24 {
        let mut along = whole(&shape);
        along[axis] = (0..columns).map(|c| Some(c).filter(|&c| c < own)).collect();
        tensor = select(context, "Attention", tensor, &along, 2.0 * MASKED)?;
    }
    let shape = context.builder.shape(tensor);
    Ok((tensor, shape))
}
