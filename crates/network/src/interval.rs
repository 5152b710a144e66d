//! Interval bounds of every tensor over boxes of inputs.

use crate::network::{Network, Point, Source};
use crate::operator::{Boxes, Operand, Range};
use crate::ops::reorder;
use crate::{Scalar, Shape};

/// Ranges of a network's tensors over a batch of input boxes.
///
/// They contain every float execution in `T` of every input in its box.
#[derive(Debug, Clone)]
pub struct Bounds<T> {
    samples: usize,
    pub(crate) lower: Vec<Vec<T>>,
    pub(crate) upper: Vec<Vec<T>>,
}

impl<T: Scalar> Bounds<T> {
    /// How many boxes.
    pub fn samples(&self) -> usize {
        self.samples
    }
}

impl Network {
    /// Interval bounds over boxes, whose ends are given like a batch of inputs.
    ///
    /// # Panics
    /// When the two ends are not equally many whole samples.
    pub fn intervals<T: Scalar>(&self, lower: &[T], upper: &[T]) -> Bounds<T> {
        let each = self.input_elements();
        assert_eq!(lower.len(), upper.len(), "a box has two ends");
        assert_eq!(lower.len() % each.max(1), 0, "boxes must be whole samples");
        let samples = lower.len() / each.max(1);
        let mut bounds = Bounds {
            samples,
            lower: vec![Vec::new(); self.values.len()],
            upper: vec![Vec::new(); self.values.len()],
        };
        bounds.lower[self.input.value] = lower.to_vec();
        bounds.upper[self.input.value] = upper.to_vec();
        let mut scratch = Vec::new();
        for node in &self.nodes {
            let length = samples * node.shape.elements();
            let (mut low, mut high) = (vec![T::ZERO; length], vec![T::ZERO; length]);
            let ranges = self.ranges(&bounds, &node.inputs);
            let boxes = Boxes {
                samples,
                inputs: &ranges,
                output: &node.shape,
            };
            T::evaluate(node.op.as_ref()).interval(&boxes, &mut low, &mut high, &mut scratch);
            bounds.lower[node.output] = low;
            bounds.upper[node.output] = high;
        }
        bounds
    }

    /// The ranges a node reads.
    pub(crate) fn ranges<'a, T: Scalar>(
        &'a self,
        bounds: &'a Bounds<T>,
        inputs: &'a [(usize, Shape)],
    ) -> Vec<Range<'a, T>> {
        inputs
            .iter()
            .map(|(value, shape)| {
                let operand = |ends: &'a [Vec<T>]| match &self.values[*value].source {
                    Source::Constant(constant) => Operand {
                        data: T::constant(constant),
                        shape,
                        constant: true,
                    },
                    Source::Input | Source::Node(_) => Operand {
                        data: &ends[*value],
                        shape,
                        constant: false,
                    },
                };
                Range {
                    lower: operand(&bounds.lower),
                    upper: operand(&bounds.upper),
                }
            })
            .collect()
    }

    /// The range of one tensor in the model file's order: lower and upper ends, box by box.
    pub fn range<T: Scalar>(&self, bounds: &Bounds<T>, point: Point) -> (Vec<T>, Vec<T>) {
        let place = self.place(point);
        let ordered = |data: &[T]| {
            let each = place.shape.elements().max(1);
            let mut out = vec![T::ZERO; data.len()];
            for (from, to) in data.chunks_exact(each).zip(out.chunks_exact_mut(each)) {
                reorder(&place.order, &place.shape, from, to);
            }
            out
        };
        if let Some(constant) = self.values[place.value].constant() {
            let all = ordered(&T::constant(constant).repeat(bounds.samples));
            return (all.clone(), all);
        }
        (
            ordered(&bounds.lower[place.value]),
            ordered(&bounds.upper[place.value]),
        )
    }
}
