//! Small networks, layer by layer.

use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Shape, Tensor};

/// A network that grows; its layers are called `layer1` and so on.
pub struct Layers {
    builder: NetworkBuilder,
    last: Tensor,
    names: usize,
}

impl Layers {
    pub fn of(inputs: usize) -> Self {
        let (builder, last) = NetworkBuilder::new("x", Shape::new([1, inputs]).unwrap());
        Self {
            builder,
            last,
            names: 0,
        }
    }

    /// Whatever is added to the last layer under the next name.
    pub fn then(
        mut self,
        add: impl FnOnce(&mut NetworkBuilder, Tensor, &str) -> Result<Tensor, String>,
    ) -> Self {
        self.names += 1;
        let name = format!("layer{}", self.names);
        self.last = add(&mut self.builder, self.last, &name).unwrap();
        self
    }

    /// Sums with these weights, input by input, and one bias for all.
    pub fn dense(self, outputs: usize, weights: &[f64], bias: f64) -> Self {
        let inputs = weights.len() / outputs;
        let dense = Dense::new(inputs, outputs, weights.to_vec(), vec![bias; outputs]).unwrap();
        self.then(|builder, x, name| builder.add(dense, &[x], name))
    }

    pub fn relu(self) -> Self {
        self.then(|builder, x, name| builder.add(Elementwise::new(Relu), &[x], name))
    }

    pub fn finish(self) -> Network {
        self.builder.finish(&[("y", self.last)], 0).unwrap()
    }
}
