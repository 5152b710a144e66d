//! Pooling, and the window attributes it shares with convolution.

use deepconcolic_network::ops::{AveragePool, MaxPool, Reduce, Window};

use super::context::{Context, float};
use super::conv::on_image;
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

pub fn max_pool(context: &mut Context<'_>) -> Outputs {
    if context.int_or("storage_order", 0)? != 0 {
        return Err("storage_order=1 is not supported; re-export with storage_order=0".into());
    }
    let value = context.value(0)?;
    let result = on_image(context, value.tensor, |context, image, size| {
        let window = window(context, size, None)?;
        context.add(MaxPool::new(&window, size)?, &[image])
    })?;
    super::context::typed(result, value.integer)
}

pub fn average_pool(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let count_padding = context.flag("count_include_pad")?;
    let result = on_image(context, input, |context, image, size| {
        let window = window(context, size, None)?;
        context.add(AveragePool::new(&window, size, count_padding)?, &[image])
    })?;
    float(result)
}

pub fn global_max_pool(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let result = on_image(context, input, |context, image, size| {
        let window = Window::new([size[0], size[1]]);
        context.add(MaxPool::new(&window, size)?, &[image])
    })?;
    float(result)
}

pub fn global_average_pool(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let rank = context.shape(0)?.rank();
    if rank < 3 {
        return Err("there is no spatial axis to average over".into());
    }
    float(context.add(Reduce::mean((2..rank).collect()), &[input])?)
}

/// The window a node's attributes describe, for an image of that height and width. The kernel is
/// the weights' where there are weights.
pub fn window(
    context: &Context<'_>,
    [height, width, _]: [usize; 3],
    weights: Option<&[i64]>,
) -> Result<Window, String> {
    let declared = context.ints("kernel_shape")?;
    if let (Some(declared), Some(weights)) = (&declared, weights)
        && declared != weights
    {
        return Err(format!(
            "kernel_shape={declared:?} where the weights have {weights:?}"
        ));
    }
    let kernel = declared
        .or_else(|| weights.map(<[i64]>::to_vec))
        .ok_or("kernel_shape is missing")?;
    let mut window = Window::new(pair("kernel_shape", &kernel, 1)?);
    if let Some(strides) = context.ints("strides")? {
        window.strides = pair("strides", &strides, 1)?;
    }
    if let Some(dilations) = context.ints("dilations")? {
        window.dilations = pair("dilations", &dilations, 1)?;
    }
    window.ceil = context.flag("ceil_mode")?;
    match context.string_or("auto_pad", "NOTSET")? {
        "NOTSET" => {
            if let Some(pads) = context.ints("pads")? {
                let (before, after) = pads.split_at(pads.len() / 2);
                window.before = pair("pads", before, 0)?;
                window.after = pair("pads", after, 0)?;
            }
        }
        "VALID" => {}
        same @ ("SAME_UPPER" | "SAME_LOWER") => {
            keep_size(&mut window, [height, width], same == "SAME_LOWER")?;
        }
        other => return Err(format!("auto_pad={} is not known", quote(other))),
    }
    Ok(window)
}

/// Pads so that the output is the input's extent over the stride, rounded up.
fn keep_size(window: &mut Window, input: [usize; 2], odd_before: bool) -> Result<(), String> {
    for (axis, &extent) in input.iter().enumerate() {
        let stride = window.strides[axis];
        if window.kernel[axis] == 0 || stride == 0 {
            return Err("kernel and strides must be at least 1".into());
        }
        let covered = (extent.div_ceil(stride).max(1) - 1) * stride + window.reach(axis) + 1;
        let total = covered.saturating_sub(extent);
        let (small, large) = (total / 2, total.div_ceil(2));
        (window.before[axis], window.after[axis]) = if odd_before {
            (large, small)
        } else {
            (small, large)
        };
    }
    Ok(())
}

/// Height and width; a single number is the width of a signal, whose height gets `alone`.
fn pair(name: &str, numbers: &[i64], alone: usize) -> Result<[usize; 2], String> {
    let checked: Option<Vec<usize>> = numbers.iter().map(|&n| usize::try_from(n).ok()).collect();
    match checked.as_deref() {
        Some(&[w]) => Ok([alone, w]),
        Some(&[h, w]) => Ok([h, w]),
        _ => Err(format!(
            "{name}={numbers:?}; one or two numbers of at least 0 are supported"
        )),
    }
}
