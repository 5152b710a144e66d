//! Where the time of a forward pass goes, operator by operator.

use std::time::Duration;

use crate::network::Network;
use crate::{Scalar, Shape};

/// What one operator of a network took.
#[derive(Debug, Clone)]
pub struct OperatorTime {
    /// Its kind, as ONNX spells it where ONNX has it.
    pub kind: &'static str,
    /// The tensor of the model file that it computes.
    pub tensor: String,
    /// Shape of its output, as it is stored.
    pub shape: Shape,
    /// Multiply-adds of one sample, for operators that sum products.
    pub products: usize,
    /// The time of all samples.
    pub time: Duration,
}

impl Network {
    /// Runs a batch on this thread up to the logits and says what each operator took. Operators that the logits do
    /// not need take nothing.
    ///
    /// # Panics
    /// When `inputs` is not a whole number of samples.
    pub fn operator_times<T: Scalar>(&self, inputs: &[T]) -> Vec<OperatorTime> {
        let mut times = vec![Duration::ZERO; self.nodes.len()];
        self.forward_timed(inputs, &mut times);
        let operators = self.nodes.iter().zip(times).map(|(node, time)| {
            let sums = matches!(node.op.kind(), "Conv" | "Gemm" | "MatMul");
            let middle = middle(&node.shape);
            let seen = self.seen(node, middle).max().filter(|_| sums).unwrap_or(0);
            OperatorTime {
                kind: node.op.kind(),
                tensor: node.label.name.clone(),
                shape: node.shape.clone(),
                products: seen * node.shape.elements(),
                time,
            }
        });
        operators.collect()
    }
}

/// The element in the middle of every axis, whose window lies within the image if any does.
fn middle(shape: &Shape) -> usize {
    let places = shape.dims().iter().zip(shape.strides());
    places.map(|(extent, stride)| extent / 2 * stride).sum()
}

#[cfg(test)]
mod tests {
    use super::middle;
    use crate::ops::{Dense, Elementwise, Relu};
    use crate::{NetworkBuilder, Shape};

    #[test]
    fn operators_are_told_in_order_with_their_products() {
        let (mut builder, input) = NetworkBuilder::new("x", Shape::new([1, 3]).unwrap());
        let dense = Dense::new(3, 5, vec![1.0; 15], vec![0.0; 5]).unwrap();
        let hidden = builder.add(dense, &[input], "h").unwrap();
        let output = builder.add(Elementwise::new(Relu), &[hidden], "y").unwrap();
        let network = builder.finish(&[("y", output)], 0).unwrap();
        let times = network.operator_times(&[0.5f32; 3 * 100]);
        let told: Vec<(&str, usize)> = times.iter().map(|t| (t.kind, t.products)).collect();
        assert_eq!(told, [("Gemm", 15), ("Relu", 0)]);
        assert!(times.iter().all(|operator| !operator.time.is_zero()));
    }

    #[test]
    fn the_middle_is_the_middle_of_every_axis() {
        assert_eq!(
            middle(&Shape::new([1, 4, 6, 2]).unwrap()),
            (2 * 6 + 3) * 2 + 1
        );
    }
}
