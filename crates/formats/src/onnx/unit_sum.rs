//! scikit-learn's exporter divides the answer of a Softmax by the sum of its elements, which is 1. Left out, the
//! Softmax is the last operator, and what is asked about the answer can be asked about the logits.

use std::collections::{BTreeMap, HashMap};

use super::attributes::Attributes;
use super::graph::Graph;
use super::node::Node;

/// For each node that divides a Softmax by its sum, the node that leaves it as it is.
pub(super) fn already(graph: &Graph) -> BTreeMap<usize, Node> {
    let mut producers = HashMap::new();
    for node in &graph.nodes {
        for output in &node.outputs {
            producers.insert(output.as_str(), node);
        }
    }
    let nodes = graph.nodes.iter().enumerate();
    let divides = |node: &Node| {
        node.domain == "ai.onnx.ml"
            && node.op_type == "Normalizer"
            && matches!(node.string_or("norm", "MAX"), Ok("L1"))
            && node
                .inputs
                .first()
                .and_then(|input| producers.get(input.as_str()))
                .is_some_and(|producer| adds_up_to_one(producer))
    };
    nodes
        .filter(|(_, node)| divides(node))
        .map(|(index, node)| (index, left_alone(node)))
        .collect()
}

/// Whether the last axis of what a node computes adds up to 1.
fn adds_up_to_one(node: &Node) -> bool {
    node.domain == "ai.onnx.ml"
        && node.op_type == "LinearClassifier"
        && matches!(node.string_or("post_transform", "NONE"), Ok("SOFTMAX"))
}

fn left_alone(node: &Node) -> Node {
    Node {
        op_type: "Identity".into(),
        domain: String::new(),
        attributes: Attributes::default(),
        ..node.clone()
    }
}
