//! Convolution, by way of channels last.

use deepconcolic_network::ops::{Add, Binary, Conv, Transpose, View};
use deepconcolic_network::{Numbers, Order, Shape, Tensor};

use super::activation;
use super::context::{Context, float};
use super::pool::window;
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

pub fn conv(context: &mut Context<'_>) -> Outputs {
    let (shape, weights) = context.weights(1)?;
    let bias = context.known_if_given(2)?;
    float(convolve(context, &shape, weights, bias)?)
}

/// onnxruntime's Conv with a residual sum and an activation inside.
pub fn fused_conv(context: &mut Context<'_>) -> Outputs {
    let (shape, weights) = context.weights(1)?;
    let bias = context.known_if_given(2)?;
    let mut result = convolve(context, &shape, weights, bias)?;
    if let Some(residual) = context.optional(3) {
        result = context.add(Binary::new(Add), &[result, residual.tensor])?;
    }
    let activation = context.string_or("activation", "")?.to_owned();
    let parameters = context.floats("activation_params")?.unwrap_or_default();
    float(activation::fused(
        context,
        &activation,
        &parameters,
        result,
    )?)
}

/// Convolves input 0 with weights in ONNX order.
pub fn convolve(
    context: &mut Context<'_>,
    shape: &Shape,
    weights: impl Into<Numbers>,
    bias: Option<Vec<f64>>,
) -> Result<Tensor, String> {
    let input = context.tensor(0)?;
    let [outputs, _, kernel @ ..] = shape.dims() else {
        return Err(format!("weights of shape {shape} are not a convolution's"));
    };
    let outputs = *outputs;
    let kernel: Vec<i64> = kernel.iter().map(|&k| k as i64).collect();
    let groups = context.int_or("group", 1)?;
    let groups = usize::try_from(groups).map_err(|_| format!("group={groups}"))?;
    on_image(context, input, |context, image, size| {
        let window = window(context, size, Some(&kernel))?;
        let bias = bias.unwrap_or_else(|| vec![0.0; outputs]);
        let op = Conv::new(window, groups, size, outputs, weights, bias)?;
        context.add(op, &[image])
    })
}

/// Runs `work` on a channels-first image tensor as channels last: the tensor and its height, width
/// and channels. A signal with one spatial axis is an image of one row.
pub fn on_image(
    context: &mut Context<'_>,
    input: Tensor,
    work: impl FnOnce(&mut Context<'_>, Tensor, [usize; 3]) -> Result<Tensor, String>,
) -> Result<Tensor, String> {
    let shape = context.builder.shape(input);
    let signal = shape.rank() == 3;
    let image = match *shape.dims() {
        [1, c, w] => context.add(View::new(Shape::new([1, c, 1, w])?), &[input])?,
        [1, _, _, _] => input,
        [_, _, _] | [_, _, _, _] => {
            return Err(format!(
                "shape {shape} has more than one sample along its first axis; \
                 re-export the model with a batch of one or a dynamic batch"
            ));
        }
        _ => {
            return Err(format!(
                "shape {shape} is not an image or signal; \
                 only one and two spatial axes are supported"
            ));
        }
    };
    let to_last = Order::channels_last(4);
    let image = context.add(Transpose::new(to_last.clone()), &[image])?;
    let dims = context.builder.shape(image).dims().to_vec();
    let size = [dims[1], dims[2], dims[3]];
    let result = work(context, image, size)?;
    let result = context.add(Transpose::new(to_last.inverse()), &[result])?;
    if !signal {
        return Ok(result);
    }
    let dims = context.builder.shape(result).dims().to_vec();
    context.add(View::new(Shape::new([1, dims[1], dims[3]])?), &[result])
}
