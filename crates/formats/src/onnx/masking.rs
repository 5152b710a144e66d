//! Minus infinity in front of a Softmax: how attention hides keys.
//!
//! A constant that holds minus infinity cannot be computed with (see [`super::finite`]), but where all that comes
//! of it is a Softmax along the same axis, any very small number does as well: both become exactly 0. A row of
//! which nothing is left has no such meaning, and stays refused.

use std::collections::{HashMap, HashSet};

use deepconcolic_network::{NetworkBuilder, Shape};

use super::attributes::Attribute;
use super::import::Value;
use super::node::Node;

/// What stands for minus infinity: `exp` makes 0 of it beside any score there can be, and sums of a few of
/// them are still numbers of single precision.
pub(super) const MASKED: f64 = -1e30;

/// The tensors that nothing reads but a Softmax, directly or after a conversion, and its axis.
pub(super) struct Masks(HashMap<String, i64>);

impl Masks {
    pub fn new<'a>(nodes: &'a [Node], outputs: impl Iterator<Item = &'a str>, opset: i64) -> Self {
        let mut feeding: HashMap<String, i64> = HashMap::new();
        let mut elsewhere: HashSet<&str> = outputs.collect();
        // A body may read any name.
        let is_body = |name: &str, node: &Node| {
            matches!(node.attributes.get(name), Some(Attribute::Graph(_)))
        };
        let has_body = |node: &Node| node.attributes.names().any(|name| is_body(name, node));
        if nodes.iter().any(has_body) {
            return Self(feeding);
        }
        // Readers come after what they read, so their own readers are known by then.
        for node in nodes.iter().rev() {
            let axis = match (node.domain.as_str(), node.op_type.as_str()) {
                ("", "Softmax") => {
                    let default = if opset < 13 { 1 } else { -1 };
                    node.int("axis").ok().map(|axis| axis.unwrap_or(default))
                }
                ("", "Cast" | "CastLike" | "Identity") => node.outputs.first().and_then(|output| {
                    let axis = feeding.get(output).copied();
                    axis.filter(|_| !elsewhere.contains(output.as_str()))
                }),
                _ => None,
            };
            for (position, input) in node.inputs.iter().enumerate() {
                match axis {
                    Some(axis)
                        if position == 0
                            && *feeding.entry(input.clone()).or_insert(axis) == axis => {}
                    _ => {
                        elsewhere.insert(input);
                    }
                }
            }
        }
        feeding.retain(|name, _| !elsewhere.contains(name.as_str()));
        Self(feeding)
    }

    /// The inputs of an Add or a Where that masks scores, with numbers in place of minus infinity; nothing if the
    /// node is no such one.
    pub fn replaced(
        &self,
        builder: &mut NetworkBuilder,
        node: &Node,
        inputs: &[Option<Value>],
    ) -> Option<Vec<Option<Value>>> {
        let first = match node.op_type.as_str() {
            "Add" => 0,
            "Where" => 1,
            _ => return None,
        };
        let axis = *self.0.get(node.outputs.first()?)?;
        if !node.domain.is_empty() {
            return None;
        }
        let values: Vec<Value> = inputs.iter().copied().collect::<Option<_>>()?;
        let shapes: Vec<Shape> = values.iter().map(|v| builder.shape(v.tensor)).collect();
        let to = shapes
            .iter()
            .try_fold(Shape::default(), |to, shape| to.broadcast(shape).ok())?;
        builder.affordable(&to).ok()?;
        if to.axis(axis).ok()? + 1 != to.rank() {
            return None;
        }
        let known: Vec<Option<Vec<f64>>> = values.iter().map(|v| builder.known(v.tensor)).collect();
        let hidden = |position: usize, e: usize| {
            let numbers = known[position].as_ref();
            numbers
                .is_some_and(|n| n[shapes[position].broadcast_element(&to, e)] == f64::NEG_INFINITY)
        };
        let masked = |e: usize| match (node.op_type.as_str(), known[0].as_ref()) {
            ("Add", _) => hidden(0, e) || hidden(1, e),
            (_, Some(condition)) => {
                let is_false = condition[shapes[0].broadcast_element(&to, e)] == 0.0;
                hidden(if is_false { 2 } else { 1 }, e)
            }
            // A computed condition may choose either.
            (_, None) => hidden(1, e) || hidden(2, e),
        };
        let columns = to.dims().last().copied().filter(|&c| c > 0)?;
        let rows = to.elements() / columns;
        let lost = |row: usize| (0..columns).all(|c| masked(row * columns + c));
        if (0..rows).any(lost) {
            return None;
        }
        let mut replaced: Vec<Option<Value>> = inputs.to_vec();
        for position in first..values.len() {
            let Some(numbers) = &known[position] else {
                continue;
            };
            if !numbers.contains(&f64::NEG_INFINITY) {
                continue;
            }
            let finite = numbers
                .iter()
                .map(|&n| if n == f64::NEG_INFINITY { MASKED } else { n });
            let finite: Vec<f64> = finite.collect();
            let tensor = builder.constant(shapes[position].clone(), finite).ok()?;
            replaced[position] = Some(Value {
                tensor,
                integer: false,
            });
        }
        Some(replaced)
    }
}
