//! Operators that move single elements: `DepthToSpace`, `GatherND`, `ScatterElements`, Where and their like, each
//! as one table of which element goes where. The tables must not depend on the network's input, except Where's.

use std::collections::BTreeMap;

use deepconcolic_network::ops::{Add, Binary, Choose, Concat, FILL, Max, Min, Mul, Select, View};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, typed};
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

/// How often a scatter that sums or multiplies may name one element.
const MAX_ROUNDS: usize = 64;

/// The position along every axis of an element.
pub fn position(shape: &Shape, element: usize) -> Vec<usize> {
    let strides = shape.strides();
    let along = strides.iter().zip(shape.dims());
    along
        .map(|(stride, extent)| element / stride % extent)
        .collect()
}

/// The element at a position along every axis.
pub fn element(shape: &Shape, position: &[usize]) -> usize {
    let along = shape.strides().into_iter().zip(position);
    along.map(|(stride, at)| stride * at).sum()
}

pub fn is_inside(shape: &Shape, position: &[usize]) -> bool {
    let mut along = position.iter().zip(shape.dims());
    along.all(|(at, extent)| at < extent)
}

/// An index that may count from the end.
pub fn index(index: i64, extent: usize) -> Result<usize, String> {
    let extent = extent as i64;
    if (-extent..extent).contains(&index) {
        Ok(index.rem_euclid(extent) as usize)
    } else {
        Err(format!("index {index} is outside an axis of {extent}"))
    }
}

/// The output whose every element copies the input's element that `source` names, or is 0.
pub fn moved(
    context: &mut Context<'_>,
    kind: &'static str,
    input: Tensor,
    output: Shape,
    source: impl Fn(usize) -> Result<Option<usize>, String>,
) -> Result<Tensor, String> {
    context.builder.affordable(&output)?;
    let shape = context.builder.shape(input);
    let table: Result<Vec<u32>, String> = (0..output.elements())
        .map(|e| Ok(source(e)?.map_or(FILL, |from| from as u32)))
        .collect();
    context.add(Select::new(kind, shape, output, table?, 0.0)?, &[input])
}

/// Channels, height, width and block size of what a block operator works on.
fn blocks(context: &Context<'_>) -> Result<([usize; 4], usize), String> {
    let shape = context.shape(0)?;
    let &[n, c, h, w] = shape.dims() else {
        return Err(format!("shape {shape} is not an image"));
    };
    let block = context.int("blocksize")?.ok_or("blocksize is missing")?;
    match usize::try_from(block) {
        Ok(block) if (1..=1 << 16).contains(&block) => Ok(([n, c, h, w], block)),
        _ => Err(format!("blocksize={block} is not supported")),
    }
}

/// Whether positions in a block change more slowly than channels.
fn rows_first(context: &Context<'_>) -> Result<bool, String> {
    match context.string_or("mode", "DCR")? {
        "DCR" => Ok(true),
        "CRD" => Ok(false),
        other => Err(format!("mode {} is not known", quote(other))),
    }
}

pub fn depth_to_space(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let ([n, c, h, w], b) = blocks(context)?;
    let rows_first = rows_first(context)?;
    if c % (b * b) != 0 {
        return Err(format!("{c} channels in blocks of {b} x {b}"));
    }
    let (from, fewer) = (context.shape(0)?, c / (b * b));
    let to = Shape::new([n, fewer, h * b, w * b])?;
    let source = |e: usize| {
        let p = position(&to, e);
        let within = p[2] % b * b + p[3] % b;
        let channel = if rows_first {
            within * fewer + p[1]
        } else {
            p[1] * b * b + within
        };
        Ok(Some(element(&from, &[p[0], channel, p[2] / b, p[3] / b])))
    };
    let result = moved(context, "DepthToSpace", value.tensor, to.clone(), source)?;
    typed(result, value.integer)
}

pub fn space_to_depth(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let ([n, c, h, w], b) = blocks(context)?;
    if h % b != 0 || w % b != 0 {
        return Err(format!("an image of {h} x {w} in blocks of {b} x {b}"));
    }
    let from = context.shape(0)?;
    let to = Shape::new([n, c * b * b, h / b, w / b])?;
    let rows_first = rows_first(context)?;
    let source = |e: usize| {
        let p = position(&to, e);
        let (within, channel) = if rows_first {
            (p[1] / c, p[1] % c)
        } else {
            (p[1] % (b * b), p[1] / (b * b))
        };
        let (row, column) = (p[2] * b + within / b, p[3] * b + within % b);
        Ok(Some(element(&from, &[p[0], channel, row, column])))
    };
    let result = moved(context, "SpaceToDepth", value.tensor, to.clone(), source)?;
    typed(result, value.integer)
}

pub fn gather_elements(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let (from, to) = (context.shape(0)?, context.shape(1)?);
    let axis = from.axis(context.int_or("axis", 0)?)?;
    let indices = context.integers(1)?.unwrap_or_default();
    if from.rank() != to.rank() {
        return Err(format!("indices of shape {to} for shape {from}"));
    }
    let source = |e: usize| {
        let mut p = position(&to, e);
        p[axis] = index(indices[e], from.dims()[axis])?;
        if !is_inside(&from, &p) {
            return Err(format!("indices of shape {to} reach outside shape {from}"));
        }
        Ok(Some(element(&from, &p)))
    };
    let result = moved(context, "GatherElements", value.tensor, to.clone(), source)?;
    typed(result, value.integer)
}

/// Where the last axis of some indices points to: the element that a slice of the data starts at.
fn pointed(data: &Shape, before: &[usize], indices: &[i64]) -> Result<usize, String> {
    let mut start = before.to_vec();
    for &i in indices {
        let extent = data.dims()[start.len()];
        start.push(index(i, extent)?);
    }
    start.resize(data.rank(), 0);
    Ok(element(data, &start))
}

pub fn gather_nd(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let (data, shape) = (context.shape(0)?, context.shape(1)?);
    let batch = usize::try_from(context.int_or("batch_dims", 0)?).unwrap_or(usize::MAX);
    let indices = context.integers(1)?.unwrap_or_default();
    let [before @ .., depth] = shape.dims() else {
        return Err("indices without an axis".into());
    };
    if batch > before.len() || batch.saturating_add(*depth) > data.rank() {
        return Err(format!("indices of shape {shape} for shape {data}"));
    }
    let rest = &data.dims()[batch + depth..];
    let slice: usize = rest.iter().product();
    let to = Shape::new([before, rest].concat())?;
    let lines = Shape::new(before)?;
    let source = |e: usize| {
        let (line, within) = (e / slice, e % slice);
        let at = &position(&lines, line)[..batch];
        let start = pointed(&data, at, &indices[line * depth..(line + 1) * depth])?;
        Ok(Some(start + within))
    };
    let result = moved(context, "GatherND", value.tensor, to.clone(), source)?;
    typed(result, value.integer)
}

/// The first tensor with some elements replaced by ones of the second, or combined with them: `replaced` pairs an
/// element of the first with one of the second.
fn overwritten(
    context: &mut Context<'_>,
    kind: &'static str,
    [first, second]: [Tensor; 2],
    replaced: impl Iterator<Item = Result<(usize, usize), String>>,
) -> Result<Tensor, String> {
    let reduction = context.string_or("reduction", "none")?.to_owned();
    let shape = context.builder.shape(first);
    let mut rounds: Vec<BTreeMap<usize, usize>> = Vec::new();
    for pair in replaced {
        let (to, with) = pair?;
        if reduction == "none" {
            // Where an element is named more than once, the last counts.
            rounds.resize_with(1, BTreeMap::new);
            rounds[0].insert(to, with);
            continue;
        }
        let free = rounds.iter().position(|round| !round.contains_key(&to));
        let free = free.unwrap_or_else(|| {
            rounds.push(BTreeMap::new());
            rounds.len() - 1
        });
        rounds[free].insert(to, with);
        if rounds.len() > MAX_ROUNDS {
            return Err(format!(
                "reduction={} names one element more than {MAX_ROUNDS} times",
                quote(&reduction)
            ));
        }
    }
    rounds.into_iter().try_fold(first, |sum, round| {
        let both = joined(context, sum, second)?;
        let own = |e: usize| {
            Ok(Some(
                round.get(&e).map_or(e, |&with| shape.elements() + with),
            ))
        };
        let update = moved(context, kind, both, shape.clone(), own)?;
        let touched = || (0..shape.elements()).map(|e| f64::from(u8::from(round.contains_key(&e))));
        let combined = match reduction.as_str() {
            "none" => return Ok(update),
            "add" => context.add(Binary::new(Add), &[sum, update])?,
            "mul" => context.add(Binary::new(Mul), &[sum, update])?,
            // Of equal ones either.
            "max" => return context.add(Binary::new(Max), &[sum, update]),
            "min" => return context.add(Binary::new(Min), &[sum, update]),
            other => return Err(format!("reduction={} is not known", quote(other))),
        };
        let touched = context.constant(shape.dims(), touched().collect())?;
        chosen(context, touched, combined, sum)
    })
}

/// The elements of one tensor after those of another.
pub fn joined(context: &mut Context<'_>, first: Tensor, second: Tensor) -> Result<Tensor, String> {
    let flat = |context: &mut Context<'_>, tensor: Tensor| {
        let elements = context.builder.shape(tensor).elements();
        context.add(View::new(Shape::new([elements])?), &[tensor])
    };
    let parts = [flat(context, first)?, flat(context, second)?];
    context.add(Concat::new(0), &parts)
}

pub fn scatter_elements(context: &mut Context<'_>) -> Outputs {
    let (data, updates) = (context.value(0)?, context.value(2)?);
    let (to, shape) = (context.shape(0)?, context.shape(1)?);
    let axis = to.axis(context.int_or("axis", 0)?)?;
    let indices = context.integers(1)?.unwrap_or_default();
    if shape.rank() != to.rank() || context.shape(2)? != shape {
        return Err(format!("indices of shape {shape} for shape {to}"));
    }
    let replaced = (0..shape.elements()).map(|e| {
        let mut p = position(&shape, e);
        p[axis] = index(indices[e], to.dims()[axis])?;
        if !is_inside(&to, &p) {
            return Err(format!("indices of shape {shape} reach outside shape {to}"));
        }
        Ok((element(&to, &p), e))
    });
    let both = [data.tensor, updates.tensor];
    let result = overwritten(context, "ScatterElements", both, replaced)?;
    typed(result, data.integer)
}

pub fn scatter_nd(context: &mut Context<'_>) -> Outputs {
    let (data, updates) = (context.value(0)?, context.value(2)?);
    let (to, shape) = (context.shape(0)?, context.shape(1)?);
    let indices = context.integers(1)?.unwrap_or_default();
    let [before @ .., depth] = shape.dims() else {
        return Err("indices without an axis".into());
    };
    if *depth > to.rank() {
        return Err(format!("indices of shape {shape} for shape {to}"));
    }
    let rest = &to.dims()[*depth..];
    if context.shape(2)?.dims() != [before, rest].concat() {
        return Err(format!("updates that do not fit indices of shape {shape}"));
    }
    let slice: usize = rest.iter().product();
    let lines: usize = before.iter().product();
    let replaced = (0..lines * slice).map(|e| {
        let line = e / slice;
        let start = pointed(&to, &[], &indices[line * depth..(line + 1) * depth])?;
        Ok((start + e % slice, e))
    });
    let both = [data.tensor, updates.tensor];
    let result = overwritten(context, "ScatterND", both, replaced)?;
    typed(result, data.integer)
}

/// Picks from one tensor or the other.
pub fn select_where(context: &mut Context<'_>) -> Outputs {
    let (condition, x, y) = (context.tensor(0)?, context.value(1)?, context.value(2)?);
    let result = chosen(context, condition, x.tensor, y.tensor)?;
    typed(result, x.integer && y.integer)
}

/// The elements of `x` where the condition is not 0, elsewhere those of `y`. A constant condition is a table of
/// which element goes where.
pub fn chosen(
    context: &mut Context<'_>,
    condition: Tensor,
    x: Tensor,
    y: Tensor,
) -> Result<Tensor, String> {
    let [shape, from_x, from_y] = [condition, x, y].map(|t| context.builder.shape(t));
    let to = shape.broadcast(&from_x)?.broadcast(&from_y)?;
    let Some(numbers) = context.builder.known(condition) else {
        let condition = spread(context, condition, &to)?;
        let (x, y) = (spread(context, x, &to)?, spread(context, y, &to)?);
        return context.add(Choose, &[condition, x, y]);
    };
    let both = joined(context, x, y)?;
    let source = |e: usize| {
        let is_false = numbers[shape.broadcast_element(&to, e)] == 0.0;
        Ok(Some(if is_false {
            from_x.elements() + from_y.broadcast_element(&to, e)
        } else {
            from_x.broadcast_element(&to, e)
        }))
    };
    moved(context, "Where", both, to.clone(), source)
}

/// A tensor broadcast to a shape.
pub fn spread(context: &mut Context<'_>, tensor: Tensor, to: &Shape) -> Result<Tensor, String> {
    let shape = context.builder.shape(tensor);
    if shape == *to {
        return Ok(tensor);
    }
    let source = |e: usize| Ok(Some(shape.broadcast_element(to, e)));
    moved(context, "Expand", tensor, to.clone(), source)
}

pub fn trilu(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let shape = context.shape(0)?;
    let upper = context.int_or("upper", 1)? != 0;
    let diagonal = context.integers(1)?.and_then(|k| k.first().copied());
    let diagonal = diagonal.unwrap_or(0);
    let &[.., _, columns] = shape.dims() else {
        return Err(format!("shape {shape} has no matrices"));
    };
    let rows = shape.dims()[shape.rank() - 2];
    let source = |e: usize| {
        let (row, column) = ((e / columns % rows) as i64, (e % columns) as i64);
        let above = (column - row).cmp(&diagonal);
        let kept = if upper { above.is_ge() } else { above.is_le() };
        Ok(kept.then_some(e))
    };
    let result = moved(context, "Trilu", value.tensor, shape.clone(), source)?;
    typed(result, value.integer)
}
