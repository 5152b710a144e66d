//! Pow: constant exponents, one for all elements or one for each; computed exponents of a constant base.

use std::collections::BTreeMap;

use deepconcolic_network::ops::{Binary, Concat, Elementwise, Exp, Mul, Power, Select, View};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, typed};
use super::rearrange::spread;
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// How many different exponents one tensor may have.
const MAX_EXPONENTS: usize = 64;

pub fn pow(context: &mut Context<'_>) -> Outputs {
    let (base, exponent) = (context.value(0)?, context.value(1)?);
    let Some(exponents) = context.builder.known(exponent.tensor) else {
        return of_constant(context, exponent.tensor);
    };
    let result = match exponents[..] {
        [exponent] => {
            let powers = context.add(Elementwise::new(Power::new(exponent)?), &[base.tensor])?;
            let to = context.shape(0)?.broadcast(&context.shape(1)?)?;
            context.add(View::new(to), &[powers])?
        }
        _ => by_element(context, base.tensor, &exponents)?,
    };
    let whole = |e: &f64| *e >= 0.0 && e.fract() == 0.0;
    if base.integer && !exponents.iter().all(whole) {
        return context.truncated(result, "such a power");
    }
    typed(result, base.integer)
}

/// `a^y = exp(y ln a)` for positive numbers `a`.
fn of_constant(context: &mut Context<'_>, exponent: Tensor) -> Outputs {
    let (shape, bases) = context.known(0).map_err(|_| {
        "both base and exponent depend on the network's input; one of them must be a constant"
            .to_owned()
    })?;
    if bases.iter().any(|&a| a <= 0.0) {
        return Err("a computed power of a number that is not positive".into());
    }
    let logarithms = bases.iter().map(|a| a.ln()).collect();
    let logarithms = context.constant(shape.dims(), logarithms)?;
    let product = context.add(Binary::new(Mul), &[exponent, logarithms])?;
    typed(context.add(Elementwise::new(Exp), &[product])?, false)
}

/// All elements to the power of each exponent that occurs, and of these the one that each element asks for.
fn by_element(
    context: &mut Context<'_>,
    base: Tensor,
    exponents: &[f64],
) -> Result<Tensor, String> {
    let of = context.shape(1)?;
    let to = context.shape(0)?.broadcast(&of)?;
    context.builder.affordable(&to)?;
    let base = spread(context, base, &to)?;
    let mut order = BTreeMap::new();
    for exponent in exponents {
        let next = order.len();
        order.entry(exponent.to_bits()).or_insert(next);
    }
    if order.len() > MAX_EXPONENTS {
        return Err(format!("more than {MAX_EXPONENTS} different exponents"));
    }
    let mut by_rank: Vec<(usize, u64)> = order.iter().map(|(&bits, &rank)| (rank, bits)).collect();
    by_rank.sort_unstable();
    let flat = Shape::new([to.elements()])?;
    let mut powers = Vec::new();
    for (_, bits) in by_rank {
        let power = Elementwise::new(Power::new(f64::from_bits(bits))?);
        let power = context.add(power, &[base])?;
        powers.push(context.add(View::new(flat.clone()), &[power])?);
    }
    let all = context.add(Concat::new(0), &powers)?;
    let source = |e: usize| {
        let exponent = exponents[of.broadcast_element(&to, e)];
        (order[&exponent.to_bits()] * to.elements() + e) as u32
    };
    let table = (0..to.elements()).map(source).collect();
    let from = Shape::new([powers.len() * to.elements()])?;
    context.add(Select::new("Pow", from, to, table, 0.0)?, &[all])
}
