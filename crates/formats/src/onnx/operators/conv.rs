//! Convolution, by way of channels last.

use std::cell::OnceCell;
use std::sync::Arc;

use deepconcolic_network::ops::{Add, Binary, Concat, Conv, Select, Transpose, View, Window};
use deepconcolic_network::{Numbers, Operator, Order, Shape, Tensor};

use super::activation;
use super::context::{Context, float};
use super::pool::{Spans, window};
use super::selection::{select, whole};
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
    let groups = context.int_or("group", 1)?;
    let groups = usize::try_from(groups).map_err(|_| format!("group={groups}"))?;
    let extents: Vec<i64> = kernel.iter().map(|&k| k as i64).collect();
    let kernel = Kernel::new(*outputs, groups, weights, bias);
    if let &[_, _, depth, height, width] = context.builder.shape(input).dims() {
        let spans = Spans::new(context, &[depth, height, width], Some(&extents))?;
        return kernel.over_volume(context, input, &spans);
    }
    on_image(context, input, |context, image, size| {
        let window = window(context, size, Some(&extents))?;
        kernel.over(context, image, size, window)
    })
}

/// What a convolution multiplies with.
pub struct Kernel {
    outputs: usize,
    groups: usize,
    weights: Numbers,
    bias: Vec<f64>,
    /// The operator, once it is made: samples and planes of one size share it.
    packed: OnceCell<Arc<dyn Operator>>,
}

impl Kernel {
    /// Weights in ONNX order, for so many outputs in groups; without a bias if none is given.
    pub fn new(
        outputs: usize,
        groups: usize,
        weights: impl Into<Numbers>,
        bias: Option<Vec<f64>>,
    ) -> Self {
        Self {
            outputs,
            groups,
            weights: weights.into(),
            bias: bias.unwrap_or_else(|| vec![0.0; outputs]),
            packed: OnceCell::new(),
        }
    }

    /// The convolution of an image of that height, width and channels, which must always be the same.
    pub fn over(
        &self,
        context: &mut Context<'_>,
        image: Tensor,
        size: [usize; 3],
        mut window: Window,
    ) -> Result<Tensor, String> {
        // Only pools have that attribute; a convolution that carries it all the same does not round up.
        window.ceil = false;
        let op = if let Some(op) = self.packed.get() {
            Arc::clone(op)
        } else {
            let (weights, bias) = (self.weights.clone(), self.bias.clone());
            let op = Conv::new(window, self.groups, size, self.outputs, weights, bias)?;
            Arc::clone(self.packed.get_or_init(|| op.into()))
        };
        let name = context.name.to_owned();
        context.builder.add(op, &[image], &name)
    }

    /// Each plane of the output is a convolution of the planes it sees, laid side by side as channels.
    pub fn over_volume(
        &self,
        context: &mut Context<'_>,
        input: Tensor,
        spans: &Spans,
    ) -> Result<Tensor, String> {
        let shape = context.builder.shape(input);
        let &[samples, channels, depth, height, width] = shape.dims() else {
            return Err(format!("shape {shape} is not a volume"));
        };
        if spans.count() != 3 {
            return Err(format!("weights of {} spatial axes", spans.count()));
        }
        let planes = spans.positions(0, depth, MAX_PARTS)?;
        let mut results = Vec::new();
        for seen in planes {
            let along = [
                (0..samples).map(Some).collect(),
                (0..channels).map(Some).collect(),
                seen.clone(),
                (0..height).map(Some).collect(),
                (0..width).map(Some).collect(),
            ];
            let own = Select::by_axes("Conv", shape.clone(), &along, 0.0)?;
            let own = context.add(own, &[input])?;
            let side_by_side = Shape::new([samples, channels * seen.len(), height, width])?;
            let own = context.add(View::new(side_by_side), &[own])?;
            let plane = on_image(context, own, |context, image, size| {
                self.over(context, image, size, spans.window(1..3))
            })?;
            let dims = context.builder.shape(plane).dims().to_vec();
            let dims = Shape::new([dims[0], dims[1], 1, dims[2], dims[3]])?;
            results.push(context.add(View::new(dims), &[plane])?);
        }
        context.add(Concat::new(2), &results)
    }
}

/// How many samples of one tensor, or planes of a volume, are worked on one after the other.
const MAX_PARTS: usize = 256;

/// Runs `work` on a channels-first image tensor as channels last: the tensor and its height, width
/// and channels. A signal with one spatial axis is an image of one row. Several samples along the first axis are
/// worked on one after the other.
pub fn on_image(
    context: &mut Context<'_>,
    input: Tensor,
    work: impl Fn(&mut Context<'_>, Tensor, [usize; 3]) -> Result<Tensor, String>,
) -> Result<Tensor, String> {
    let shape = context.builder.shape(input);
    let ([samples, _, _] | [samples, _, _, _]) = *shape.dims() else {
        return Err(format!(
            "shape {shape} is not an image or signal; \
             only one and two spatial axes are supported"
        ));
    };
    if samples == 1 {
        return on_one_image(context, input, &work);
    }
    if samples == 0 || samples > MAX_PARTS {
        return Err(format!(
            "shape {shape} has {samples} samples along its first axis; \
             re-export the model with a batch of one or a dynamic batch"
        ));
    }
    let mut results = Vec::new();
    for sample in 0..samples {
        let mut along = whole(&shape);
        along[0] = vec![Some(sample)];
        let own = select(context, "Slice", input, &along, 0.0)?;
        results.push(on_one_image(context, own, &work)?);
    }
    context.add(Concat::new(0), &results)
}

fn on_one_image(
    context: &mut Context<'_>,
    input: Tensor,
    work: &impl Fn(&mut Context<'_>, Tensor, [usize; 3]) -> Result<Tensor, String>,
) -> Result<Tensor, String> {
    let shape = context.builder.shape(input);
    let image = match *shape.dims() {
        [n, c, w] => context.add(View::new(Shape::new([n, c, 1, w])?), &[input])?,
        _ => input,
    };
    let to_last = Order::channels_last(4);
    let image = context.add(Transpose::new(to_last.clone()), &[image])?;
    let dims = context.builder.shape(image).dims().to_vec();
    let size = [dims[1], dims[2], dims[3]];
    let result = work(context, image, size)?;
    let result = context.add(Transpose::new(to_last.inverse()), &[result])?;
    if shape.rank() == 4 {
        return Ok(result);
    }
    let dims = context.builder.shape(result).dims().to_vec();
    context.add(View::new(Shape::new([1, dims[1], dims[3]])?), &[result])
}
