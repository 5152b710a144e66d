//! Constants that hold NaN or infinity: where they come from, and which nodes may read them.
//!
//! Between constants such numbers are computed with like any others, because what comes of them can
//! be finite (`exp(-inf)`) or a bound (`Clip`). A node that brings them together with the network's
//! input is refused, by the name of the constant.

use std::collections::HashMap;

use deepconcolic_network::{NetworkBuilder, Tensor};

use super::import::Value;
use super::node::Node;
use super::quote::quote;

/// The constants met so far that are not finite, by name: what they hold, and who made it.
#[derive(Default)]
pub(super) struct NotFinite(HashMap<String, String>);

impl NotFinite {
    /// Looks at a constant of the file.
    pub fn weights(&mut self, builder: &NetworkBuilder, name: &str, tensor: Tensor) {
        if let Some(found) = found(builder, tensor) {
            let origin = format!("the constant {} holds {found}", quote(name));
            self.0.insert(name.to_owned(), origin);
        }
    }

    /// Looks at what a node computed from constants alone.
    pub fn computed(&mut self, builder: &NetworkBuilder, node: &Node, outputs: &[Value]) {
        for (name, value) in node.outputs.iter().zip(outputs) {
            let Some(found) = found(builder, value.tensor) else {
                continue;
            };
            let before = node.inputs.iter().find_map(|input| self.0.get(input));
            let origin = before.cloned().unwrap_or_else(|| {
                let (label, op_type) = (quote(node.label()), quote(&node.op_type));
                format!("node {label} ({op_type}) makes {found} of constants")
            });
            self.0.insert(name.clone(), origin);
        }
    }

    /// Why a constant cannot be what it is for, if it is not finite.
    pub fn problem(&self, name: &str) -> Option<String> {
        let origin = self.0.get(name)?;
        Some(format!(
            "{origin}; numbers that are not finite have no meaning here, \
             export a model whose weights are finite"
        ))
    }

    /// Refuses a node that computes with the network's input and a constant that is not finite.
    pub fn check(
        &self,
        builder: &NetworkBuilder,
        node: &Node,
        inputs: &[Option<Value>],
    ) -> Result<(), String> {
        let constant = |value: &Value| builder.is_constant(value.tensor);
        if inputs.iter().flatten().all(constant) {
            return Ok(());
        }
        let read = node.inputs.iter().enumerate();
        let mut refused = read.filter(|(position, _)| !only_bounds(node, *position));
        match refused.find_map(|(_, name)| self.problem(name)) {
            Some(problem) => Err(problem),
            None => Ok(()),
        }
    }
}

/// Whether an operator reads this input as a bound, where infinity means none, as a mask, where minus infinity
/// hides, or reads no numbers of it at all.
fn only_bounds(node: &Node, position: usize) -> bool {
    matches!(
        (node.op_type.as_str(), position),
        ("Clip", 1 | 2) | ("Max" | "Min", _) | ("CastLike" | "Dropout", 1) | ("Attention", 3)
    )
}

/// The first number that is not finite, in words.
fn found(builder: &NetworkBuilder, tensor: Tensor) -> Option<String> {
    let (place, number) = builder.not_finite(tensor)?;
    Some(if number.is_nan() {
        format!("NaN (element {place})")
    } else if number.is_infinite() {
        let sign = if number < 0.0 { "minus " } else { "" };
        format!("{sign}infinity (element {place})")
    } else {
        format!("{number:e} (element {place}), which is infinite in single precision")
    })
}
