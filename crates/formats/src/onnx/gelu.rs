//! The Gelu that exporters write out as `x/2 * (1 + erf(x / sqrt 2))`: recognised and put back
//! together, so that it is one activation and not a tangle of smooth operators.

use std::collections::{BTreeMap, HashMap};

use super::array::Array;
use super::attributes::{Attribute, Attributes};
use super::graph::Graph;
use super::node::Node;

/// For each node that ends a Gelu in its erf form, the Gelu to build in its place. The nodes in
/// between stay; nothing reads them any more.
pub(super) fn erf_forms(graph: &Graph) -> BTreeMap<usize, Node> {
    let view = View::new(graph);
    graph
        .nodes
        .iter()
        .filter(|node| node.domain.is_empty() && node.op_type == "Erf")
        .filter_map(|erf| view.match_from(erf))
        .map(|(end, input)| (end, gelu(&graph.nodes[end], input)))
        .collect()
}

fn gelu(end: &Node, input: &str) -> Node {
    Node {
        name: end.name.clone(),
        op_type: "Gelu".into(),
        domain: String::new(),
        inputs: vec![input.to_owned()],
        outputs: end.outputs.clone(),
        attributes: [("approximate".to_owned(), Attribute::String("none".into()))]
            .into_iter()
            .collect::<Attributes>(),
    }
}

struct View<'a> {
    graph: &'a Graph,
    producers: HashMap<&'a str, &'a Node>,
    readers: HashMap<&'a str, Vec<usize>>,
}

impl<'a> View<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut producers = HashMap::new();
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            for output in &node.outputs {
                producers.insert(output.as_str(), node);
            }
            for input in &node.inputs {
                readers.entry(input).or_default().push(index);
            }
        }
        Self {
            graph,
            producers,
            readers,
        }
    }

    /// The last node of the Gelu round this Erf, and the Gelu's input.
    fn match_from(&self, erf: &'a Node) -> Option<(usize, &'a str)> {
        let scaled = self.producers.get(erf.inputs.first()?.as_str())?;
        let root_two = std::f64::consts::SQRT_2;
        let x = match scaled.op_type.as_str() {
            "Div" => self.other_than(scaled, root_two, Side::Second)?,
            "Mul" => self.other_than(scaled, 1.0 / root_two, Side::Either)?,
            _ => return None,
        };
        let (_, plus_one) = self.only_reader(erf, "Add")?;
        self.other_than(plus_one, 1.0, Side::Either)?;
        let (first_index, first) = self.only_reader(plus_one, "Mul")?;
        let partner = first.inputs.iter().find(|i| **i != plus_one.outputs[0])?;
        if self.is_half_of(partner, x) {
            return Some((first_index, x));
        }
        let (last_index, last) = self.only_reader(first, "Mul")?;
        let last_partner = last.inputs.iter().find(|i| **i != first.outputs[0])?;
        let halves_last = partner == x && self.is_number(last_partner, 0.5);
        let halves_first = self.is_number(partner, 0.5) && last_partner == x;
        (halves_last || halves_first).then_some((last_index, x))
    }

    fn is_half_of(&self, name: &str, x: &str) -> bool {
        self.producers.get(name).is_some_and(|node| {
            node.op_type == "Mul" && self.other_than(node, 0.5, Side::Either) == Some(x)
        })
    }

    /// The operand beside a given number.
    fn other_than(&self, node: &'a Node, number: f64, side: Side) -> Option<&'a str> {
        let [a, b] = node.inputs.as_slice() else {
            return None;
        };
        if self.is_number(b, number) {
            Some(a)
        } else if side == Side::Either && self.is_number(a, number) {
            Some(b)
        } else {
            None
        }
    }

    fn only_reader(&self, node: &Node, op_type: &str) -> Option<(usize, &'a Node)> {
        let &[index] = self.readers.get(node.outputs.first()?.as_str())?.as_slice() else {
            return None;
        };
        let reader = &self.graph.nodes[index];
        (reader.op_type == op_type && reader.domain.is_empty()).then_some((index, reader))
    }

    fn is_number(&self, name: &str, number: f64) -> bool {
        let array: Option<&Array> = self.graph.initializers.get(name).or_else(|| {
            let node = self.producers.get(name)?;
            node.tensor("value").ok().flatten()
        });
        let value = array.and_then(|a| a.scalar().ok());
        value.is_some_and(|v| (v - number).abs() <= 1e-6)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Second,
    Either,
}
