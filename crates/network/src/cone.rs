//! The cone of influence: which neurons of one layer can reach a neuron of a later one, and which
//! layers follow each other.

use std::collections::BTreeMap;

use crate::Shape;
use crate::network::{Network, Source, ValueId};

impl Network {
    /// The hidden layers that reach layer `layer` with no activation between, first to last.
    pub fn layers_before(&self, layer: usize) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut pending = vec![self.layers[layer].pre.value];
        let mut seen = vec![false; self.values.len()];
        while let Some(value) = pending.pop() {
            if std::mem::replace(&mut seen[value], true) {
                continue;
            }
            if let Some(before) = self.activation_of(value) {
                found.push(before);
            } else if let Source::Node(node) = self.values[value].source {
                pending.extend(self.nodes[node].inputs.iter().map(|(value, _)| *value));
            }
        }
        found.sort_unstable();
        found
    }

    /// The neurons of hidden layer `before` that neuron `neuron` of hidden layer `layer` depends on
    /// through the operators between the two, in ascending order.
    pub fn conditions(&self, before: usize, layer: usize, neuron: usize) -> Vec<usize> {
        let pre = &self.layers[layer].pre;
        let place = &self.layers[before].post;
        // Stored tensors still to be traced back, latest first, with the elements that matter.
        let mut pending: BTreeMap<ValueId, Vec<usize>> = BTreeMap::new();
        pending.insert(pre.value, vec![pre.stored_index(neuron)]);
        while let Some((value, mut elements)) = pending.pop_last() {
            elements.sort_unstable();
            elements.dedup();
            if value == place.value {
                let mut cone: Vec<usize> = elements.iter().map(|&e| place.file_index(e)).collect();
                cone.sort_unstable();
                return cone;
            }
            if self.activation_of(value).is_some() {
                continue;
            }
            if let Source::Node(node) = self.values[value].source {
                let node = &self.nodes[node];
                let shapes: Vec<&Shape> = node.inputs.iter().map(|(_, shape)| shape).collect();
                for (position, (input, _)) in node.inputs.iter().enumerate() {
                    if self.values[*input].constant().is_none() {
                        let cone = node.op.cone(position, &shapes, &node.shape, &elements);
                        pending.entry(*input).or_default().extend(cone);
                    }
                }
            }
        }
        Vec::new()
    }

    /// The hidden layer whose activations a stored tensor holds.
    fn activation_of(&self, value: ValueId) -> Option<usize> {
        self.layers
            .iter()
            .position(|layer| layer.post.value == value)
    }
}
