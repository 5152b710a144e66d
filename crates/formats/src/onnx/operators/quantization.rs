//! Quantised operators, as arithmetic on numbers that happen to be integers.
//!
//! Products of 8-bit integers and their sums are exact in floating point until a sum passes 2^24, so
//! results equal an integer runtime's except, rarely, in a last place before rounding.

use deepconcolic_network::ops::{
    Binary, Dense, DynamicQuantize, FakeQuantize, Mul, QuantizedOutput, Sub,
};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, float, typed};
use super::conv;
use crate::onnx::dtype::DType;
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// Scale and zero point, one for all or one per position along an axis.
pub struct Scheme {
    pub scale: Vec<f64>,
    pub zero: Vec<f64>,
}

impl Scheme {
    pub fn read(context: &Context<'_>, scale: usize, zero: usize) -> Result<Self, String> {
        let (_, scale) = context.known(scale)?;
        let zero = context
            .known_if_given(zero)?
            .unwrap_or_else(|| vec![0.0; scale.len()]);
        if zero.len() != scale.len() || scale.is_empty() {
            return Err("scale and zero point differ in length".into());
        }
        if scale.iter().any(|s| !s.is_finite() || *s <= 0.0) {
            return Err("a scale that is not a positive number".into());
        }
        Ok(Self { scale, zero })
    }

    /// Numbers in the shape that spreads them along an axis of a tensor of this rank.
    fn spread(
        context: &mut Context<'_>,
        numbers: &[f64],
        rank: usize,
        axis: usize,
    ) -> Result<Tensor, String> {
        let mut dims = vec![1; rank];
        if numbers.len() > 1 {
            *dims
                .get_mut(axis)
                .ok_or_else(|| format!("no axis {axis}"))? = numbers.len();
        }
        context.constant(&dims, numbers.to_vec())
    }
}

/// The range of the integers a node writes: those of its zero point's type, else of the type it names itself, else
/// unsigned bytes.
fn range(context: &Context<'_>, zero: usize) -> Result<(i64, i64), String> {
    let named = context.int_or("output_dtype", 0)?;
    let dtype = context
        .element_type(zero)
        .or_else(|| DType::from_code(named));
    match dtype.unwrap_or(DType::Uint8) {
        DType::Uint8 => Ok((0, 255)),
        DType::Int8 => Ok((-128, 127)),
        DType::Uint16 => Ok((0, 65_535)),
        DType::Int16 => Ok((-32_768, 32_767)),
        other => Err(format!("quantisation to {other} is not supported")),
    }
}

pub fn quantise(
    context: &mut Context<'_>,
    input: Tensor,
    scheme: &Scheme,
    zero: usize,
    axis: Option<usize>,
) -> Result<Tensor, String> {
    let (low, high) = range(context, zero)?;
    let op = FakeQuantize::new(
        scheme.scale.iter().map(|&s| s as f32).collect(),
        scheme.zero.iter().map(|&z| z as i64).collect(),
        axis.filter(|_| scheme.scale.len() > 1),
        low,
        high,
        QuantizedOutput::Quantised,
    )?;
    context.add(op, &[input])
}

pub fn quantize_linear(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let scheme = Scheme::read(context, 1, 2)?;
    let shape = context.shape(0)?;
    let axis = axis(context, &shape, &scheme)?;
    typed(quantise(context, input, &scheme, 2, Some(axis))?, true)
}

/// The axis matters only when there is more than one scale.
fn axis(context: &Context<'_>, shape: &Shape, scheme: &Scheme) -> Result<usize, String> {
    if scheme.scale.len() == 1 {
        return Ok(0);
    }
    if context.int_or("block_size", 0)? != 0 {
        return Err("quantisation in blocks is not supported".into());
    }
    shape.axis(context.int_or("axis", 1)?)
}

pub fn dequantize_linear(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let scheme = Scheme::read(context, 1, 2)?;
    let shape = context.shape(0)?;
    let axis = axis(context, &shape, &scheme)?;
    let zero = Scheme::spread(context, &scheme.zero, shape.rank(), axis)?;
    let scale = Scheme::spread(context, &scheme.scale, shape.rank(), axis)?;
    let centred = context.add(Binary::new(Sub), &[input, zero])?;
    float(context.add(Binary::new(Mul), &[centred, scale])?)
}

/// Quantises with the range found in the sample itself: quantised tensor, scale, zero point.
pub fn dynamic_quantize_linear(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let mut part = |part, integer| -> Result<Value, String> {
        let tensor = context.add(part, &[input])?;
        Ok(Value { tensor, integer })
    };
    Ok(vec![
        part(DynamicQuantize::Quantised, true)?,
        part(DynamicQuantize::Scale, false)?,
        part(DynamicQuantize::ZeroPoint, true)?,
    ])
}

/// (A - a0) (B - b0) with B constant.
pub fn mat_mul_integer(context: &mut Context<'_>) -> Outputs {
    let mut a = context.tensor(0)?;
    if let Some(zero) = context.optional(2) {
        a = context.add(Binary::new(Sub), &[a, zero.tensor])?;
    }
    let zero = context.known_if_given(3)?.unwrap_or_else(|| vec![0.0]);
    let (rows, columns, weights) = integer_weights(context, 1, &zero, false)?;
    let product = Dense::new(rows, columns, weights, vec![0.0; columns])?;
    typed(context.add(product, &[a])?, true)
}

/// Rows, columns and numbers of a matrix, transposed if asked.
fn matrix(
    shape: &Shape,
    data: Vec<f64>,
    transposed: bool,
) -> Result<(usize, usize, Vec<f64>), String> {
    let &[rows, columns] = shape.dims() else {
        return Err(format!("weights of shape {shape} are not a matrix"));
    };
    if !transposed {
        return Ok((rows, columns, data));
    }
    let turned = (0..rows * columns)
        .map(|e| data[e % rows * columns + e / rows])
        .collect();
    Ok((columns, rows, turned))
}

/// A constant matrix minus its zero point, which may differ by column.
pub fn integer_weights(
    context: &Context<'_>,
    position: usize,
    zero: &[f64],
    transposed: bool,
) -> Result<(usize, usize, Vec<f64>), String> {
    let (shape, weights) = context.known(position)?;
    let (rows, columns, mut weights) = matrix(&shape, weights, transposed)?;
    if zero.len() != 1 && zero.len() != columns {
        return Err(format!("{} zero points for {columns} columns", zero.len()));
    }
    for (index, weight) in weights.iter_mut().enumerate() {
        *weight -= zero[index % columns % zero.len()];
    }
    Ok((rows, columns, weights))
}

/// What integer sums are multiplied with to be quantised again: one factor for each column.
fn factors(a: &Scheme, b: &Scheme, y: &Scheme, columns: usize) -> Vec<f64> {
    (0..columns)
        .map(|c| {
            let product = a.scale[0] as f32 * b.scale[c % b.scale.len()] as f32;
            f64::from(product / y.scale[0] as f32)
        })
        .collect()
}

/// Sums times factors along an axis, rounded into the output's range.
fn requantise(
    context: &mut Context<'_>,
    sums: Tensor,
    factors: &[f64],
    axis: usize,
    (y, zero): (&Scheme, usize),
) -> Result<Tensor, String> {
    let rank = context.builder.shape(sums).rank();
    let factor = Scheme::spread(context, factors, rank, axis)?;
    let scaled = context.add(Binary::new(Mul), &[sums, factor])?;
    let unit = Scheme {
        scale: vec![1.0],
        zero: y.zero.clone(),
    };
    quantise(context, scaled, &unit, zero, None)
}

pub fn q_linear_conv(context: &mut Context<'_>) -> Outputs {
    let (x, w, y) = (
        Scheme::read(context, 1, 2)?,
        Scheme::read(context, 4, 5)?,
        Scheme::read(context, 6, 7)?,
    );
    let zero = context.constant(&[], vec![x.zero[0]])?;
    let input = context.tensor(0)?;
    let centred = context.add(Binary::new(Sub), &[input, zero])?;
    let (shape, mut weights) = context.known(3)?;
    let outputs = shape.dims().first().copied().unwrap_or(0);
    let each = weights.len() / outputs.max(1);
    for (index, weight) in weights.iter_mut().enumerate() {
        *weight -= w.zero[index / each.max(1) % w.zero.len()];
    }
    let bias = context.known_if_given(8)?;
    if let Some(slot) = context.inputs.first_mut() {
        *slot = Some(Value {
            tensor: centred,
            integer: true,
        });
    }
    let sums = conv::convolve(context, &shape, weights, bias)?;
    let factors = factors(&x, &w, &y, w.scale.len());
    typed(requantise(context, sums, &factors, 1, (&y, 7))?, true)
}

pub fn q_linear_mat_mul(context: &mut Context<'_>) -> Outputs {
    let (a, b, y) = (
        Scheme::read(context, 1, 2)?,
        Scheme::read(context, 4, 5)?,
        Scheme::read(context, 6, 7)?,
    );
    let sums = integer_product(context, (0, &a), (3, &b), None, false)?;
    let axis = context.builder.shape(sums).rank() - 1;
    let factors = factors(&a, &b, &y, b.scale.len());
    typed(requantise(context, sums, &factors, axis, (&y, 7))?, true)
}

/// (A - a0) (B - b0) + bias, where the tensors are inputs of the node.
fn integer_product(
    context: &mut Context<'_>,
    (a_at, a): (usize, &Scheme),
    (b_at, b): (usize, &Scheme),
    bias: Option<Vec<f64>>,
    transposed: bool,
) -> Result<Tensor, String> {
    let zero = context.constant(&[], vec![a.zero[0]])?;
    let input = context.tensor(a_at)?;
    let centred = context.add(Binary::new(Sub), &[input, zero])?;
    let (rows, columns, weights) = integer_weights(context, b_at, &b.zero, transposed)?;
    let bias = bias.unwrap_or_else(|| vec![0.0; columns]);
    context.add(Dense::new(rows, columns, weights, bias)?, &[centred])
}

/// onnxruntime's quantised Gemm; its output is quantised only if it has a scale for it.
pub fn q_gemm(context: &mut Context<'_>) -> Outputs {
    if context.flag("transA")? {
        return Err("transA=1 is not supported".into());
    }
    let alpha = context.float_or("alpha", 1.0)?;
    let (mut a, b) = (Scheme::read(context, 1, 2)?, Scheme::read(context, 4, 5)?);
    let bias = context.known_if_given(6)?;
    let transposed = context.flag("transB")?;
    let sums = integer_product(context, (0, &a), (3, &b), bias, transposed)?;
    a.scale[0] *= alpha;
    let unit = Scheme {
        scale: vec![1.0],
        zero: vec![0.0],
    };
    if context.optional(7).is_none() {
        let factors = factors(&a, &b, &unit, b.scale.len());
        let factor = Scheme::spread(context, &factors, 2, 1)?;
        return float(context.add(Binary::new(Mul), &[sums, factor])?);
    }
    let y = Scheme::read(context, 7, 8)?;
    let factors = factors(&a, &b, &y, b.scale.len());
    typed(requantise(context, sums, &factors, 1, (&y, 8))?, true)
}
