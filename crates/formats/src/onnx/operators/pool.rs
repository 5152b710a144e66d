//! Pooling, and the window attributes it shares with convolution.

use std::sync::Arc;

use deepconcolic_network::ops::{
    Abs, AveragePool, Binary, Elementwise, MaxPool, Mul, Power, Reduce, Transpose, View, Window,
};
use deepconcolic_network::{Operator, Order, Shape, Tensor};

use super::context::{Context, float, typed};
use super::conv::on_image;
use super::reduce::largest_over;
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

pub fn max_pool(context: &mut Context<'_>) -> Outputs {
    if context.int_or("storage_order", 0)? != 0 {
        return Err("storage_order=1 is not supported; re-export with storage_order=0".into());
    }
    let value = context.value(0)?;
    let result = pooled(context, value.tensor, |window, size| {
        MaxPool::new(&window, size)
    })?;
    typed(result, value.integer)
}

pub fn average_pool(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let count_padding = context.flag("count_include_pad")?;
    let result = pooled(context, input, |window, size| {
        AveragePool::new(&window, size, count_padding)
    })?;
    float(result)
}

/// The p-norm of what is under the window, from the mean of the powers there, padding counted as zeros.
pub fn lp_pool(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let order = context.int_or("p", 2)? as f64;
    let dims = context.shape(0)?.dims().to_vec();
    let spans = Spans::new(context, dims.get(2..).unwrap_or_default(), None)?;
    let powers = powers(context, input, order)?;
    let means = pooled(context, powers, |window, size| {
        AveragePool::new(&window, size, true)
    })?;
    let count = context.constant(&[], vec![spans.size() as f64])?;
    let sums = context.add(Binary::new(Mul), &[means, count])?;
    float(root(context, sums, order)?)
}

pub fn global_lp_pool(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let rank = context.shape(0)?.rank();
    let order = context.int_or("p", 2)? as f64;
    let powers = powers(context, input, order)?;
    let sums = context.add(Reduce::sum((2..rank).collect()), &[powers])?;
    float(root(context, sums, order)?)
}

fn powers(context: &mut Context<'_>, input: Tensor, order: f64) -> Result<Tensor, String> {
    if order < 1.0 {
        return Err(format!("p={order} is not a norm"));
    }
    let sizes = context.add(Elementwise::new(Abs), &[input])?;
    context.add(Elementwise::new(Power::new(order)?), &[sizes])
}

fn root(context: &mut Context<'_>, sums: Tensor, order: f64) -> Result<Tensor, String> {
    context.add(Elementwise::new(Power::new(1.0 / order)?), &[sums])
}

/// Pools along one to three spatial axes. Samples count as channels, since windows never join those; a volume is
/// pooled plane by plane, then along its depth.
fn pooled<O: Into<Arc<dyn Operator>>>(
    context: &mut Context<'_>,
    input: Tensor,
    pool: impl Fn(Window, [usize; 3]) -> Result<O, String>,
) -> Result<Tensor, String> {
    let shape = context.builder.shape(input);
    let &[samples, channels, ref extents @ ..] = shape.dims() else {
        return Err(format!("shape {shape} has no spatial axes"));
    };
    let spans = Spans::new(context, extents, None)?;
    if spans.count() != extents.len() || !(1..=3).contains(&spans.count()) {
        return Err(format!(
            "a window of {} axes for shape {shape}; one to three are supported",
            spans.count()
        ));
    }
    let along = |context: &mut Context<'_>, image: Tensor, axes: std::ops::Range<usize>| {
        on_image(context, image, |context, image, size| {
            context.add(pool(spans.window(axes.clone()), size)?, &[image])
        })
    };
    let lines = samples * channels;
    let viewed = |context: &mut Context<'_>, tensor: Tensor, dims: &[usize]| {
        context.add(View::new(Shape::new(dims)?), &[tensor])
    };
    if let &[depth, height, width] = extents {
        let planes = viewed(context, input, &[1, lines * depth, height, width])?;
        let planes = along(context, planes, 1..3)?;
        let dims = context.builder.shape(planes).dims().to_vec();
        let size = dims[2] * dims[3];
        let columns = viewed(context, planes, &[lines, depth, size])?;
        // The depth goes last, where a window along one axis lies.
        let swap = || Ok::<_, String>(Transpose::new(Order::new(vec![0, 2, 1])?));
        let columns = context.add(swap()?, &[columns])?;
        let columns = viewed(context, columns, &[1, lines * size, depth])?;
        let pooled = along(context, columns, 0..1)?;
        let depth = context.builder.shape(pooled).dims()[2];
        let pooled = viewed(context, pooled, &[lines, size, depth])?;
        let pooled = context.add(swap()?, &[pooled])?;
        let dims = [samples, channels, depth, dims[2], dims[3]];
        return viewed(context, pooled, &dims);
    }
    if samples == 1 {
        return along(context, input, 0..extents.len());
    }
    let joined = viewed(context, input, &[&[1, lines], extents].concat())?;
    let pooled = along(context, joined, 0..extents.len())?;
    let dims = context.builder.shape(pooled).dims().to_vec();
    viewed(
        context,
        pooled,
        &[&[samples, channels], &dims[2..]].concat(),
    )
}

pub fn global_max_pool(context: &mut Context<'_>) -> Outputs {
    let value = context.value(0)?;
    let rank = context.shape(0)?.rank();
    if rank < 3 {
        return Err("there is no spatial axis to pool over".into());
    }
    let axes: Vec<usize> = (2..rank).collect();
    let result = largest_over(context, value.tensor, &axes, true)?;
    typed(result, value.integer)
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
    let spans = Spans::new(context, &[height, width], weights)?;
    match spans.count() {
        1 | 2 => Ok(spans.window(0..spans.count())),
        count => Err(format!("a window of {count} axes for an image")),
    }
}

/// How a window moves along spatial axes.
pub struct Spans {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    before: Vec<usize>,
    after: Vec<usize>,
    ceil: bool,
}

impl Spans {
    /// By a node's attributes, for these extents; of more extents than the window has axes the last ones count.
    pub fn new(
        context: &Context<'_>,
        extents: &[usize],
        weights: Option<&[i64]>,
    ) -> Result<Self, String> {
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
        let count = kernel.len();
        if count == 0 || count > extents.len() {
            return Err(format!(
                "kernel_shape={kernel:?} for {} spatial axes",
                extents.len()
            ));
        }
        let list = |name: &str, default: usize, length: usize| match context.ints(name)? {
            Some(numbers) => numbers_of(name, &numbers, length),
            None => Ok(vec![default; length]),
        };
        let mut spans = Self {
            kernel: numbers_of("kernel_shape", &kernel, count)?,
            strides: list("strides", 1, count)?,
            dilations: list("dilations", 1, count)?,
            before: vec![0; count],
            after: vec![0; count],
            ceil: context.flag("ceil_mode")?,
        };
        match context.string_or("auto_pad", "NOTSET")? {
            "NOTSET" => {
                let pads = list("pads", 0, 2 * count)?;
                spans.before.copy_from_slice(&pads[..count]);
                spans.after.copy_from_slice(&pads[count..]);
            }
            "VALID" => {}
            same @ ("SAME_UPPER" | "SAME_LOWER") => {
                spans.keep_size(&extents[extents.len() - count..], same == "SAME_LOWER")?;
            }
            other => return Err(format!("auto_pad={} is not known", quote(other))),
        }
        Ok(spans)
    }

    /// A window that moves by one, over what is padded already.
    pub fn dilated(kernel: Vec<usize>, dilations: Vec<usize>) -> Self {
        let count = kernel.len();
        Self {
            kernel,
            strides: vec![1; count],
            dilations,
            before: vec![0; count],
            after: vec![0; count],
            ceil: false,
        }
    }

    /// How many axes.
    pub fn count(&self) -> usize {
        self.kernel.len()
    }

    /// The window along one or two of the axes; a single one is the width of a signal.
    pub fn window(&self, axes: std::ops::Range<usize>) -> Window {
        let pair = |numbers: &[usize], alone: usize| match numbers[axes.clone()] {
            [height, width] => [height, width],
            [width, ..] => [alone, width],
            [] => [alone; 2],
        };
        let mut window = Window::new(pair(&self.kernel, 1));
        window.strides = pair(&self.strides, 1);
        window.dilations = pair(&self.dilations, 1);
        window.before = pair(&self.before, 0);
        window.after = pair(&self.after, 0);
        window.ceil = self.ceil;
        window
    }

    /// The positions of an axis under the window at each of its places, of which there may be so many; none where
    /// it reaches into the padding.
    pub fn positions(
        &self,
        axis: usize,
        extent: usize,
        most: usize,
    ) -> Result<Vec<Vec<Option<usize>>>, String> {
        let (kernel, stride) = (self.kernel[axis], self.strides[axis]);
        let padded = extent + self.before[axis] + self.after[axis];
        let reach = (kernel.max(1) - 1) * self.dilations[axis] + 1;
        if kernel == 0 || stride == 0 || reach > padded {
            return Err(format!("a window of {reach} along an axis of {padded}"));
        }
        let places = (padded - reach) / stride + 1;
        if places > most {
            return Err(format!(
                "{places} places of a window along an axis; at most {most} are supported"
            ));
        }
        let place = |start: usize| {
            let under = (0..kernel).map(|k| start + k * self.dilations[axis]);
            under
                .map(|at| at.checked_sub(self.before[axis]).filter(|&at| at < extent))
                .collect()
        };
        Ok((0..places).map(|n| place(n * stride)).collect())
    }

    /// Elements under the window.
    pub fn size(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Pads so that the output is the input's extent over the stride, rounded up.
    fn keep_size(&mut self, extents: &[usize], odd_before: bool) -> Result<(), String> {
        for (axis, &extent) in extents.iter().enumerate() {
            let stride = self.strides[axis];
            if self.kernel[axis] == 0 || stride == 0 {
                return Err("kernel and strides must be at least 1".into());
            }
            let reach = (self.kernel[axis] - 1) * self.dilations[axis];
            let covered = (extent.div_ceil(stride).max(1) - 1) * stride + reach + 1;
            let total = covered.saturating_sub(extent);
            let (small, large) = (total / 2, total.div_ceil(2));
            (self.before[axis], self.after[axis]) = if odd_before {
                (large, small)
            } else {
                (small, large)
            };
        }
        Ok(())
    }
}

/// So many numbers, none below 0 and none absurd.
fn numbers_of(name: &str, numbers: &[i64], count: usize) -> Result<Vec<usize>, String> {
    let small = |&n: &i64| usize::try_from(n).ok().filter(|&n| n <= 1 << 20);
    let checked: Option<Vec<usize>> = numbers.iter().map(small).collect();
    match checked {
        Some(checked) if checked.len() == count => Ok(checked),
        _ => Err(format!(
            "{name}={numbers:?} where {count} numbers of at least 0 are needed"
        )),
    }
}
