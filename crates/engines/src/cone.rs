//! Which neurons of earlier layers can reach the neurons that a goal speaks of.

use deepconcolic_network::{Network, Point};

/// Neurons of one layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Neurons {
    None,
    /// Membership by neuron.
    Some(Vec<bool>),
    All,
}

impl Neurons {
    pub fn has(&self, neuron: usize) -> bool {
        match self {
            Self::None => false,
            Self::Some(members) => members[neuron],
            Self::All => true,
        }
    }
}

/// Tracing more neurons than this back costs more than holding a few signs too many.
const MAX: usize = 2048;

/// For each hidden layer, the neurons whose phase matters to these values. Holding more is never
/// wrong: a cell is the smaller for it.
pub(crate) fn influence(network: &Network, values: &[(Point, usize)]) -> Vec<Neurons> {
    let mut cone = vec![Neurons::None; network.layers().len()];
    for &(point, element) in values {
        match point {
            Point::Input => {}
            Point::Pre(layer) => add_conditions(network, layer, element, &mut cone),
            Point::Post(layer) => add(network, layer, element, &mut cone),
            Point::Logits | Point::Answer | Point::Output(_) => {
                return vec![Neurons::All; cone.len()];
            }
        }
    }
    for layer in (0..cone.len()).rev() {
        let members: Vec<usize> = match &cone[layer] {
            Neurons::None => continue,
            Neurons::Some(members) => (0..members.len()).filter(|&n| members[n]).collect(),
            Neurons::All => Vec::new(),
        };
        if members.is_empty() || members.len() > MAX {
            cone[..layer].fill(Neurons::All);
            break;
        }
        for neuron in members {
            add_conditions(network, layer, neuron, &mut cone);
        }
    }
    cone
}

fn add_conditions(network: &Network, layer: usize, neuron: usize, cone: &mut [Neurons]) {
    for before in network.layers_before(layer) {
        for condition in network.conditions(before, layer, neuron) {
            add(network, before, condition, cone);
        }
    }
}

fn add(network: &Network, layer: usize, neuron: usize, cone: &mut [Neurons]) {
    if cone[layer] == Neurons::None {
        cone[layer] = Neurons::Some(vec![false; network.layers()[layer].neurons()]);
    }
    if let Neurons::Some(members) = &mut cone[layer] {
        members[neuron] = true;
    }
}
