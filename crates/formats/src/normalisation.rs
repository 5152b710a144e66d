//! A normalisation in front of the model, so that data, domain and distances stay in the units of the data.

use deepconcolic_network::{NetworkBuilder, Shape, Tensor, ops};

use crate::LoadOptions;

/// The input as the first node sees it: minus the mean, over the standard deviation.
pub(crate) fn normalise(
    builder: &mut NetworkBuilder,
    input: Tensor,
    options: &LoadOptions,
) -> Result<Tensor, String> {
    let mut tensor = input;
    if let Some(mean) = &options.mean {
        if mean.iter().any(|m| !(*m as f32).is_finite()) {
            return Err("a mean must be a finite number".into());
        }
        let mean = per_channel(builder, input, "mean", mean)?;
        tensor = builder.add(ops::Binary::new(ops::Sub), &[tensor, mean], "mean")?;
    }
    if let Some(std) = &options.std {
        // As the network will hold it: what is too small for single precision is zero there.
        let usable = |s: &f64| (*s as f32).is_finite() && *s as f32 > 0.0;
        if !std.iter().all(usable) {
            return Err("a standard deviation must be a positive number".into());
        }
        let std = per_channel(builder, input, "standard deviation", std)?;
        tensor = builder.add(ops::Binary::new(ops::Div), &[tensor, std], "std")?;
    }
    Ok(tensor)
}

/// One number for all elements, for each channel, or for each element of the input.
fn per_channel(
    builder: &mut NetworkBuilder,
    input: Tensor,
    what: &str,
    numbers: &[f64],
) -> Result<Tensor, String> {
    let shape = builder.shape(input);
    let count = numbers.len();
    if count == shape.elements() && count > 1 {
        return builder.constant(shape, numbers.to_vec());
    }
    let dims = shape.dims();
    let candidates: Vec<usize> = match dims.len() {
        4 => vec![1, 3],
        rank => vec![rank.saturating_sub(1)],
    };
    let axes: Vec<usize> = candidates
        .into_iter()
        .filter(|&axis| dims.get(axis) == Some(&count))
        .collect();
    let mut spread = vec![1; dims.len()];
    match axes.as_slice() {
        _ if count == 1 => {}
        [axis] => spread[*axis] = count,
        _ => {
            return Err(format!(
                "{count} numbers of {what} fit neither the channels nor the elements of an input \
                 of shape {shape}; give one number, or one for each channel"
            ));
        }
    }
    builder.constant(Shape::new(spread)?, numbers.to_vec())
}
