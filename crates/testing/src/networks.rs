//! Small random networks.

use deepconcolic_network::ops::{
    Abs, Add, AveragePool, Binary, Clip, Concat, Conv, Dense, Elementwise, LeakyRelu, Max, MaxPool,
    Mul, Reduce, Relu, Sigmoid, Softmax, Tanh, Transpose, View, Window,
};
use deepconcolic_network::{Network, NetworkBuilder, Order, Shape, Tensor};

use crate::Random;

/// A kind of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Dense layers with Relu: the simplest case.
    Relu,
    /// Dense layers with every piecewise-linear activation in turn, and a maximum of two branches.
    PiecewiseLinear,
    /// Dense layers with smooth activations and a product of two branches.
    Smooth,
    /// Channels-first convolutions with pooling, a residual sum, a concatenation, and reorderings
    /// that do not all cancel.
    Image,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 4] = [Self::Relu, Self::PiecewiseLinear, Self::Smooth, Self::Image];
}

/// A random network of a family; the same for the same seed.
///
/// # Panics
/// Never for the shapes built here.
pub fn network(family: Family, seed: u64) -> Network {
    let built = match family {
        Family::Image => image(&mut Random::new(seed)),
        _ => dense(family, &mut Random::new(seed)),
    };
    built.expect("the shapes of a test network fit")
}

fn layer(
    builder: &mut NetworkBuilder,
    random: &mut Random,
    input: Tensor,
    outputs: usize,
    name: &str,
) -> Result<Tensor, String> {
    let inputs = builder.shape(input).dims().last().copied().unwrap_or(1);
    let spread = (2.0 / inputs as f64).sqrt();
    let weights = random.list(inputs * outputs, -spread, spread);
    let bias = random.list(outputs, -0.3, 0.3);
    builder.add(Dense::new(inputs, outputs, weights, bias)?, &[input], name)
}

fn dense(family: Family, random: &mut Random) -> Result<Network, String> {
    let inputs = 2 + random.below(5);
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, inputs])?);
    for depth in 0..2 + random.below(2) {
        let width = 3 + random.below(6);
        let u = layer(&mut builder, random, x, width, "dense")?;
        let name = format!("act{depth}");
        x = match (family, depth) {
            (Family::Smooth, 0) => builder.add(Elementwise::new(Tanh), &[u], &name)?,
            (Family::Smooth, _) => {
                let gate = builder.add(Elementwise::new(Sigmoid), &[u], &name)?;
                builder.add(Binary::new(Mul), &[u, gate], "product")?
            }
            (Family::PiecewiseLinear, 0) => {
                let leaky = builder.add(Elementwise::new(LeakyRelu::new(0.1)?), &[u], &name)?;
                let clipped = builder.add(Elementwise::new(Clip::new(-0.4, 0.6)?), &[u], "clip")?;
                builder.add(Binary::new(Max), &[leaky, clipped], "max")?
            }
            (Family::PiecewiseLinear, 1) => builder.add(Elementwise::new(Abs), &[u], &name)?,
            _ => builder.add(Elementwise::new(Relu), &[u], &name)?,
        };
    }
    let logits = layer(&mut builder, random, x, 3, "logits")?;
    let answer = builder.add(Softmax::new(1), &[logits], "softmax")?;
    builder.finish(&[("y", answer)], 0)
}

/// A convolution of a channels-first tensor, as a model file has it.
fn conv(
    builder: &mut NetworkBuilder,
    random: &mut Random,
    input: Tensor,
    outputs: usize,
    window: Window,
) -> Result<Tensor, String> {
    let to_last = Order::channels_last(4);
    let image = builder.add(Transpose::new(to_last.clone()), &[input], "")?;
    let dims = builder.shape(image).dims().to_vec();
    let size = [dims[1], dims[2], dims[3]];
    let depth = size[2] * window.kernel[0] * window.kernel[1];
    let spread = (2.0 / depth as f64).sqrt();
    let weights = random.list(outputs * depth, -spread, spread);
    let bias = random.list(outputs, -0.3, 0.3);
    let op = Conv::new(window, 1, size, outputs, weights, bias)?;
    let result = builder.add(op, &[image], "")?;
    builder.add(Transpose::new(to_last.inverse()), &[result], "")
}

fn pool(builder: &mut NetworkBuilder, input: Tensor, average: bool) -> Result<Tensor, String> {
    let to_last = Order::channels_last(4);
    let image = builder.add(Transpose::new(to_last.clone()), &[input], "")?;
    let dims = builder.shape(image).dims().to_vec();
    let size = [dims[1], dims[2], dims[3]];
    let mut window = Window::new([2, 2]);
    window.strides = [2, 2];
    let result = if average {
        builder.add(AveragePool::new(&window, size, false)?, &[image], "")?
    } else {
        builder.add(MaxPool::new(&window, size)?, &[image], "")?
    };
    builder.add(Transpose::new(to_last.inverse()), &[result], "")
}

fn image(random: &mut Random) -> Result<Network, String> {
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2, 7, 6])?);
    let same = Window {
        before: [1, 1],
        after: [1, 1],
        ..Window::new([3, 3])
    };
    let channels = 2 + random.below(2);
    let u = conv(&mut builder, random, x, channels, same.clone())?;
    let a = builder.add(Elementwise::new(Relu), &[u], "relu0")?;
    let u = conv(&mut builder, random, a, channels, same.clone())?;
    let u = builder.add(Binary::new(Add), &[u, a], "residual")?;
    let b = builder.add(Elementwise::new(Relu), &[u], "relu1")?;
    let pooled = pool(&mut builder, b, false)?;
    let strided = Window {
        strides: [2, 2],
        before: [0, 1],
        after: [0, 0],
        ..Window::new([2, 2])
    };
    let side = conv(&mut builder, random, a, 2, strided)?;
    let joined = builder.add(Concat::new(1), &[pooled, side], "concat")?;
    let u = conv(&mut builder, random, joined, 3, same)?;
    let c = builder.add(Elementwise::new(Relu), &[u], "relu2")?;
    // A channel's scale, as batch normalisation leaves it, and a turn that nothing cancels.
    let scale = builder.constant(Shape::new([3, 1, 1])?, random.list(3, 0.5, 1.5))?;
    let c = builder.add(Binary::new(Mul), &[c, scale], "scale")?;
    let turned = builder.add(Transpose::new(Order::new(vec![0, 3, 1, 2])?), &[c], "")?;
    let turned = builder.add(Elementwise::new(Relu), &[turned], "relu3")?;
    let means = builder.add(Reduce::mean(vec![2]), &[turned], "mean")?;
    let means_flat = flat(&mut builder, means)?;
    let averaged = pool(&mut builder, c, true)?;
    let averaged = flat(&mut builder, averaged)?;
    let all = builder.add(Concat::new(1), &[means_flat, averaged], "features")?;
    let u = layer(&mut builder, random, all, 5, "dense")?;
    let v = builder.add(Elementwise::new(Relu), &[u], "relu4")?;
    let logits = layer(&mut builder, random, v, 3, "logits")?;
    builder.finish(&[("y", logits)], 0)
}

fn flat(builder: &mut NetworkBuilder, tensor: Tensor) -> Result<Tensor, String> {
    let elements = builder.shape(tensor).elements();
    builder.add(View::new(Shape::new([1, elements])?), &[tensor], "")
}
