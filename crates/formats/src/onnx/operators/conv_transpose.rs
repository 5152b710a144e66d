//! `ConvTranspose`, as a plain convolution: zeros are put between the pixels, then the kernel is applied turned
//! round, one step at a time.

use deepconcolic_network::ops::{Select, Window};
use deepconcolic_network::{Shape, Tensor};

use super::context::{Context, float};
use super::conv::{Kernel, on_image};
use super::pool::Spans;
use super::selection::select;
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

/// Most that a stride, a pad or a dilation may be.
const MAX: i64 = 1 << 12;

/// One spatial axis.
#[derive(Clone, Copy)]
struct Axis {
    input: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    /// Rows cut off the full result, before and after; fewer than none adds zeros.
    before: i64,
    after: i64,
}

impl Axis {
    /// What the kernel reaches beyond its first element.
    fn reach(&self) -> i64 {
        ((self.kernel - 1) * self.dilation) as i64
    }

    /// The extent before anything is cut off.
    fn full(&self) -> i64 {
        (self.input as i64 - 1) * self.stride as i64 + self.reach() + 1
    }

    /// For each row that the convolution sees, the input's row, or none for a row of zeros.
    fn rows(&self) -> Vec<Option<usize>> {
        let (stride, last) = (self.stride as i64, self.input as i64 - 1);
        let start = self.before - self.reach();
        let end = start + self.full() - self.before - self.after + self.reach();
        (start..end)
            .map(|at| {
                (at >= 0 && at % stride == 0 && at / stride <= last)
                    .then_some((at / stride) as usize)
            })
            .collect()
    }
}

pub fn conv_transpose(context: &mut Context<'_>) -> Outputs {
    let (shape, weights) = context.known(1)?;
    let bias = context.known_if_given(2)?;
    let groups = context.int_or("group", 1)?;
    let groups = usize::try_from(groups).unwrap_or(0);
    let [channels, each, kernel @ ..] = shape.dims() else {
        return Err(format!("weights of shape {shape} are not a convolution's"));
    };
    if groups == 0 || channels % groups != 0 || !(1..=3).contains(&kernel.len()) {
        return Err(format!(
            "weights of shape {shape} in {groups} groups; one to three spatial axes are supported"
        ));
    }
    if kernel.contains(&0) {
        return Err("a kernel without elements".into());
    }
    let (each, kernel) = (*each, kernel.to_vec());
    let outputs = each * groups;
    let turned = turn(&weights, *channels, each, groups, kernel.iter().product());
    let input = context.tensor(0)?;
    let plain = Kernel::new(outputs, groups, turned, bias);
    if kernel.len() == 3 {
        return float(over_volume(context, input, &plain, &kernel)?);
    }
    let result = on_image(context, input, |context, image, [height, width, c]| {
        let extents = if kernel.len() == 1 {
            vec![width]
        } else {
            vec![height, width]
        };
        let axes = axes(context, &extents, &kernel)?;
        let (tall, wide) = match axes[..] {
            [wide] => (None, wide),
            [tall, wide] => (Some(tall), wide),
            _ => return Err("one and two spatial axes are supported".into()),
        };
        let rows = tall.map_or_else(|| vec![Some(0)], |axis| axis.rows());
        let along = [vec![Some(0)], rows, wide.rows(), (0..c).map(Some).collect()];
        let size = [along[1].len(), along[2].len(), c];
        context.builder.affordable(&Shape::new(size)?)?;
        let from = Shape::new([1, height, width, c])?;
        let spread = Select::by_axes("ConvTranspose", from, &along, 0.0)?;
        let spread = context.add(spread, &[image])?;
        let mut window = Window::new([tall.map_or(1, |axis| axis.kernel), wide.kernel]);
        window.dilations = [tall.map_or(1, |axis| axis.dilation), wide.dilation];
        plain.over(context, spread, size, window)
    })?;
    float(result)
}

fn over_volume(
    context: &mut Context<'_>,
    input: Tensor,
    plain: &Kernel,
    kernel: &[usize],
) -> Result<Tensor, String> {
    let shape = context.builder.shape(input);
    let &[samples, channels, ref extents @ ..] = shape.dims() else {
        return Err(format!("shape {shape} is not a volume"));
    };
    if extents.len() != 3 {
        return Err(format!("shape {shape} is not a volume"));
    }
    let axes = axes(context, extents, kernel)?;
    let mut along = vec![
        (0..samples).map(Some).collect(),
        (0..channels).map(Some).collect(),
    ];
    along.extend(axes.iter().map(Axis::rows));
    let spread = select(context, "ConvTranspose", input, &along, 0.0)?;
    let dilations = axes.iter().map(|axis| axis.dilation).collect();
    plain.over_volume(context, spread, &Spans::dilated(kernel.to_vec(), dilations))
}

/// Weights of the plain convolution: outputs before inputs in each group, kernels turned round.
fn turn(weights: &[f64], channels: usize, each: usize, groups: usize, kernel: usize) -> Vec<f64> {
    let inputs = channels / groups;
    let mut turned = Vec::with_capacity(weights.len());
    for output in 0..groups * each {
        let (group, own) = (output / each, output % each);
        for input in group * inputs..(group + 1) * inputs {
            let start = (input * each + own) * kernel;
            turned.extend(weights[start..start + kernel].iter().rev());
        }
    }
    turned
}

fn axes(context: &Context<'_>, extents: &[usize], kernel: &[usize]) -> Result<Vec<Axis>, String> {
    let count = kernel.len();
    let list = |name: &str, default: i64, length: usize| -> Result<Vec<i64>, String> {
        let list = context.ints(name)?.unwrap_or_else(|| vec![default; length]);
        if list.len() == length && list.iter().all(|n| (0..=MAX).contains(n)) {
            Ok(list)
        } else {
            Err(format!("{name}={list:?} for {count} spatial axes"))
        }
    };
    let (strides, dilations) = (list("strides", 1, count)?, list("dilations", 1, count)?);
    let (pads, extra) = (
        list("pads", 0, 2 * count)?,
        list("output_padding", 0, count)?,
    );
    if strides.contains(&0) || dilations.contains(&0) {
        return Err("strides and dilations must be at least 1".into());
    }
    let wanted = match context.ints("output_shape")? {
        None => None,
        // Some exporters write the batch and the channels too.
        Some(all) if all.len() >= count => Some(all[all.len() - count..].to_vec()),
        Some(few) => return Err(format!("output_shape={few:?} for {count} spatial axes")),
    };
    let auto = context.string_or("auto_pad", "NOTSET")?.to_owned();
    let axis = |n: usize| {
        let mut axis = Axis {
            input: extents[n],
            kernel: kernel[n],
            stride: strides[n] as usize,
            dilation: dilations[n] as usize,
            before: pads[n],
            after: pads[count + n] - extra[n],
        };
        let same = (axis.input * axis.stride) as i64;
        let wanted = match (&wanted, auto.as_str()) {
            (Some(wanted), _) => Some(wanted[n]),
            (None, "SAME_UPPER" | "SAME_LOWER") => Some(same),
            (None, "VALID") => {
                (axis.before, axis.after) = (0, -extra[n]);
                None
            }
            (None, "NOTSET") => None,
            (None, other) => return Err(format!("auto_pad={} is not known", quote(other))),
        };
        if let Some(wanted) = wanted {
            let total = axis.full() + extra[n] - wanted;
            // The odd row goes to the end with SAME_UPPER, to the start otherwise.
            let half = total.div_euclid(2);
            axis.before = if auto == "SAME_UPPER" {
                half
            } else {
                total - half
            };
            axis.after = total - axis.before - extra[n];
        }
        let extent = axis.full() - axis.before - axis.after;
        if !(1..=1 << 24).contains(&extent) || axis.input == 0 {
            return Err(format!("an extent of {extent} comes out"));
        }
        Ok(axis)
    };
    (0..count).map(axis).collect()
}
