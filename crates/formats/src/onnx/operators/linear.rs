//! Linear models of scikit-learn: `LinearRegressor`, `LinearClassifier`, and the `Normalizer` behind it.

use deepconcolic_network::ops::{ArgMax, Dense, Elementwise, Lie, Lookup, Sigmoid, Softmax, View};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, float};
use super::normalization::over_norm;
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

/// Quantities, each a weighted sum of the features.
pub fn linear_regressor(context: &mut Context<'_>) -> Outputs {
    let targets = usize::try_from(context.int_or("targets", 1)?).unwrap_or(0);
    let sums = weighted_sums(context, targets)?;
    float(transformed(context, sums)?)
}

/// The label with the largest score, and all scores. Classes that have names get their numbers as labels.
pub fn linear_classifier(context: &mut Context<'_>) -> Outputs {
    let labels: Vec<f64> = if let Some(labels) = context.ints("classlabels_ints")? {
        labels.into_iter().map(|label| label as f64).collect()
    } else {
        let names = context.strings("classlabels_strings")?;
        (0..names).map(|number| number as f64).collect()
    };
    let sums = weighted_sums(context, labels.len())?;
    let axis = context.builder.shape(sums).rank() - 1;
    let largest = context.add(ArgMax::new(axis), &[sums])?;
    let label = context.add(Lookup::list("LinearClassifier", labels)?, &[largest])?;
    let row = Shape::new([context.builder.shape(label).elements()])?;
    let label = context.add(View::new(row), &[label])?;
    let scores = transformed(context, sums)?;
    Ok(vec![
        Value {
            tensor: label,
            integer: true,
        },
        Value {
            tensor: scores,
            integer: false,
        },
    ])
}

/// Each row over its norm.
pub fn normalizer(context: &mut Context<'_>) -> Outputs {
    let p = match context.string_or("norm", "MAX")? {
        "L1" => 1,
        "L2" => 2,
        other => return Err(format!("norm {} is not one of L1, L2", quote(other))),
    };
    let input = context.tensor(0)?;
    let axis = context.shape(0)?.axis(-1)?;
    float(over_norm(context, input, axis, p)?)
}

/// So many weighted sums of the features, each with its intercept.
fn weighted_sums(context: &mut Context<'_>, sums: usize) -> Result<Tensor, String> {
    let input = context.tensor(0)?;
    let shape = context.builder.shape(input);
    let features = *shape.dims().last().ok_or("the input has no features")?;
    let weights = context
        .floats("coefficients")?
        .ok_or("coefficients are missing")?;
    if sums == 0 || weights.len() != sums * features {
        return Err(format!(
            "{} coefficients for {sums} outputs of {features} features; export with a row of coefficients for each \
             output",
            weights.len()
        ));
    }
    let intercepts = context.floats("intercepts")?;
    let intercepts = intercepts.unwrap_or_else(|| vec![0.0; sums]);
    if intercepts.len() != sums {
        return Err(format!(
            "{} intercepts for {sums} outputs",
            intercepts.len()
        ));
    }
    let layer = Dense::of(
        [features, sums],
        &weights.into(),
        Lie::OutputsByInputs,
        intercepts,
    )?;
    context.add(layer, &[input])
}

/// What `post_transform` makes of the sums.
fn transformed(context: &mut Context<'_>, sums: Tensor) -> Result<Tensor, String> {
    match context.string_or("post_transform", "NONE")? {
        "NONE" => Ok(sums),
        "LOGISTIC" => context.add(Elementwise::new(Sigmoid), &[sums]),
        "SOFTMAX" => {
            let axis = context.builder.shape(sums).rank() - 1;
            context.add(Softmax::new(axis), &[sums])
        }
        other => Err(format!(
            "post_transform {} is not supported; export one of NONE, LOGISTIC, SOFTMAX",
            quote(other)
        )),
    }
}
