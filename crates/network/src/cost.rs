//! What a pass costs, told from the structure alone: the same number on every machine, so that work can be planned
//! by it without a clock.

use crate::network::{Network, Node};

/// What it costs to read and write an element, in multiplications.
const ELEMENT: usize = 16;

impl Network {
    /// About how many multiplications a pass of one input takes, with what it takes to read and write tensors.
    pub fn pass_cost(&self) -> usize {
        let each = |node: &Node| {
            let elements = node.shape.elements();
            if node.op.is_view() || elements == 0 {
                return 0;
            }
            // An element in the middle sees all of a window.
            let seen: usize = self.seen(node, elements / 2).sum();
            elements.saturating_mul(seen + ELEMENT)
        };
        let all = self.nodes.iter().map(each);
        all.fold(0, usize::saturating_add).max(1)
    }

    /// How many elements of each variable input an element of a node's output is made of.
    pub(crate) fn seen<'a>(
        &'a self,
        node: &'a Node,
        element: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        let shapes: Vec<_> = node.inputs.iter().map(|(_, shape)| shape).collect();
        let variable = (0..shapes.len())
            .filter(|&input| self.values[node.inputs[input].0].constant().is_none());
        variable.map(move |input| node.op.cone(input, &shapes, &node.shape, &[element]).len())
    }
}

#[cfg(test)]
mod tests {
    use crate::NetworkBuilder;
    use crate::ops::{Dense, Elementwise, Relu};
    use crate::shape::Shape;

    use super::ELEMENT;

    #[test]
    fn a_dense_layer_costs_its_weights() {
        let (mut builder, input) = NetworkBuilder::new("x", Shape::new([1, 3]).unwrap());
        let dense = Dense::new(3, 5, vec![1.0; 15], vec![0.0; 5]).unwrap();
        let hidden = builder.add(dense, &[input], "h").unwrap();
        let output = builder.add(Elementwise::new(Relu), &[hidden], "y").unwrap();
        let network = builder.finish(&[("y", output)], 0).unwrap();
        assert_eq!(network.pass_cost(), 5 * (3 + ELEMENT) + 5 * (1 + ELEMENT));
    }
}
