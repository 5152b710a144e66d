//! The cone of influence: which neurons of one layer can reach a neuron of a later one, and which
//! layers follow each other.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::Shape;
use crate::network::{Network, Source, ValueId};

/// The cones of the neurons of a layer in an earlier one.
#[derive(Clone, Debug)]
pub struct Cones {
    /// The distinct ones, each in ascending order, the first neuron's first.
    pub sets: Vec<Arc<[usize]>>,
    /// Which one each neuron has.
    pub of: Vec<usize>,
}

impl Cones {
    /// The same, the sets numbered in the order in which neurons have them, without those that none has.
    fn in_order_of_neurons(mut self) -> Self {
        let mut number = vec![None; self.sets.len()];
        let mut sets = Vec::with_capacity(self.sets.len());
        for of in &mut self.of {
            *of = *number[*of].get_or_insert_with(|| {
                sets.push(Arc::clone(&self.sets[*of]));
                sets.len() - 1
            });
        }
        Self { sets, of: self.of }
    }
}

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
        let file_index = self.layers[before].post.file_indices();
        self.traced(before, (pre.value, pre.stored_index(neuron)), &file_index)
    }

    /// The [`Network::conditions`] of those neurons of a layer that are asked for. Neurons that look at the same window, as the
    /// channels of a pixel do, are traced once.
    pub fn cones(&self, before: usize, layer: usize, asked: impl Fn(usize) -> bool) -> Cones {
        let pre = &self.layers[layer].pre;
        let (file_index, neuron_of) = (self.layers[before].post.file_indices(), pre.file_indices());
        let place = self.layers[before].post.value;
        let mut places: HashMap<Arc<[usize]>, usize> = HashMap::new();
        let mut sets: Vec<Arc<[usize]>> = vec![Arc::default()];
        places.insert(Arc::default(), 0);
        let mut of = vec![0; pre.shape.elements()];
        let mut last = None;
        for element in 0..of.len() {
            let neuron = neuron_of(element);
            if !asked(neuron) {
                continue;
            }
            of[neuron] = match last {
                Some((like, set)) if self.share_cone(place, pre.value, like, element) => set,
                _ => {
                    let cone: Arc<[usize]> = self
                        .traced(before, (pre.value, element), &file_index)
                        .into();
                    *places.entry(cone).or_insert_with_key(|cone| {
                        sets.push(Arc::clone(cone));
                        sets.len() - 1
                    })
                }
            };
            last = Some((element, of[neuron]));
        }
        Cones { sets, of }.in_order_of_neurons()
    }

    /// Whether two elements of a stored tensor depend on the same elements of another, as far as operators tell without listing
    /// them; elements that a sum has from elsewhere are looked at one by one.
    fn share_cone(&self, before: ValueId, value: ValueId, a: usize, b: usize) -> bool {
        if a == b {
            return true;
        }
        if value == before {
            return false;
        }
        let Source::Node(node) = self.values[value].source else {
            return true;
        };
        if self.activation_of(value).is_some() {
            return true;
        }
        let node = &self.nodes[node];
        if node.op.shares_cone(a, b) {
            return true;
        }
        let shapes: Vec<&Shape> = node.inputs.iter().map(|(_, shape)| shape).collect();
        let mut inputs = node.inputs.iter().enumerate();
        inputs.all(|(position, (input, _))| {
            let cone = |element| node.op.cone(position, &shapes, &node.shape, &[element]);
            self.values[*input].constant().is_some()
                || match (&cone(a)[..], &cone(b)[..]) {
                    (&[a], &[b]) => self.share_cone(before, *input, a, b),
                    _ => false,
                }
        })
    }

    /// The elements of the activations of a layer, in the file's order, that an element of a later tensor depends on.
    fn traced(
        &self,
        before: usize,
        (value, element): (ValueId, usize),
        file_index: &dyn Fn(usize) -> usize,
    ) -> Vec<usize> {
        let place = &self.layers[before].post;
        // Stored tensors still to be traced back, latest first, with the elements that matter.
        let mut pending: BTreeMap<ValueId, Vec<usize>> = BTreeMap::new();
        pending.insert(value, vec![element]);
        while let Some((value, mut elements)) = pending.pop_last() {
            elements.sort_unstable();
            elements.dedup();
            if value == place.value {
                let mut cone: Vec<usize> = elements.into_iter().map(file_index).collect();
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
