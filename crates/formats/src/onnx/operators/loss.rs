//! Losses against known classes: `NegativeLogLikelihoodLoss`, `SoftmaxCrossEntropyLoss`.

use deepconcolic_network::ops::{Binary, Div, Mul, Reduce, Softmax, View};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, float};
use super::rearrange::{element, moved, position};
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

pub fn negative_log_likelihood(context: &mut Context<'_>) -> Outputs {
    let logs = context.tensor(0)?;
    float(loss(context, logs)?)
}

/// The second output is the logarithm of the probabilities.
pub fn softmax_cross_entropy(context: &mut Context<'_>) -> Outputs {
    let scores = context.tensor(0)?;
    let logs = context.add(Softmax::log(1), &[scores])?;
    let mut outputs = float(loss(context, logs)?)?;
    outputs.extend(float(logs)?);
    Ok(outputs)
}

/// Minus the logarithm at the class of each place, weighed by class, then summed or averaged.
fn loss(context: &mut Context<'_>, logs: Tensor) -> Result<Tensor, String> {
    let shape = context.builder.shape(logs);
    let target = context.shape(1)?;
    let classes = context.integers(1)?.ok_or("the classes are missing")?;
    let &[samples, count, ref rest @ ..] = shape.dims() else {
        return Err(format!("shape {shape} has no axis of classes"));
    };
    if target.dims() != [&[samples], rest].concat() {
        return Err(format!("classes of shape {target} for shape {shape}"));
    }
    let ignored = context.int("ignore_index")?;
    let weights = context.known_if_given(2)?;
    let class = |e: usize| match usize::try_from(classes[e]) {
        _ if Some(classes[e]) == ignored => Ok(None),
        Ok(class) if class < count => Ok(Some(class)),
        _ => Err(format!("class {} of {count}", classes[e])),
    };
    let weight = |class: Option<usize>| match (class, &weights) {
        (None, _) => Ok(0.0),
        (Some(_), None) => Ok(1.0),
        (Some(class), Some(weights)) => {
            let weight = weights.get(class).copied();
            weight.ok_or_else(|| format!("{} weights for {count} classes", weights.len()))
        }
    };
    let weights: Result<Vec<f64>, String> = (0..classes.len()).map(|e| weight(class(e)?)).collect();
    let weights = weights?;
    let source = |e: usize| {
        let mut p = position(&target, e);
        let Some(class) = class(e)? else {
            return Ok(None);
        };
        p.insert(1, class);
        Ok(Some(element(&shape, &p)))
    };
    let kind = "NegativeLogLikelihoodLoss";
    let own = moved(context, kind, logs, target.clone(), source)?;
    let total: f64 = weights.iter().sum();
    let minus = weights.into_iter().map(|w| -w).collect();
    let minus = context.constant(target.dims(), minus)?;
    let each = context.add(Binary::new(Mul), &[own, minus])?;
    let reduction = context.string_or("reduction", "mean")?.to_owned();
    if reduction == "none" {
        return Ok(each);
    }
    let sum = context.add(Reduce::sum((0..target.rank()).collect()), &[each])?;
    let sum = context.add(View::new(Shape::new(Vec::new())?), &[sum])?;
    match reduction.as_str() {
        "sum" => Ok(sum),
        "mean" if total == 0.0 => Err("the mean over places that weigh nothing".into()),
        "mean" => {
            let total = context.constant(&[], vec![total])?;
            context.add(Binary::new(Div), &[sum, total])
        }
        other => Err(format!("reduction={} is not known", quote(other))),
    }
}
