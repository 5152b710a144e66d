//! Control flow that does not depend on the network's input, written out: the branch of an If that is taken, the
//! rounds of a Loop or Scan one after the other, and the functions that a model defines for itself.

use std::mem;

use bytes::Bytes;
use deepconcolic_network::Shape;
use deepconcolic_network::ops::{Concat, Select, View};

use super::super::attributes::Attribute;
use super::super::function::Function;
use super::super::graph::Graph;
use super::super::masking::Masks;
use super::super::node::Node;
use super::super::operators;
use super::super::quote::quote;
use super::{Import, Slot, Value};

/// Most rounds of one loop.
const MAX_ROUNDS: usize = 1 << 12;

/// Most nodes that bodies become in all, and how deep bodies and calls may be nested.
const MAX_NODES: usize = 1 << 16;
const MAX_DEPTH: usize = 16;

/// How much was written out so far.
#[derive(Default)]
pub(super) struct Unrolled {
    nodes: usize,
    depth: usize,
}

impl Unrolled {
    /// Whether any body was written out.
    pub fn happened(&self) -> bool {
        self.nodes > 0
    }
}

impl Import<'_> {
    /// What a node of control flow or a call computes, output by output; nothing for other nodes.
    pub(super) fn written_out(&mut self, node: &Node) -> Option<Result<Vec<Slot>, String>> {
        if self.model.calls_function(node) {
            return Some(self.nested(|import| import.call(node)));
        }
        let write = match (node.domain.as_str(), node.op_type.as_str()) {
            ("", "If") => Self::branch,
            ("", "Loop") => Self::rounds,
            ("", "Scan") => Self::scan,
            _ => return None,
        };
        Some(self.nested(|import| write(import, node)))
    }

    fn nested(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<Vec<Slot>, String>,
    ) -> Result<Vec<Slot>, String> {
        if self.unrolled.depth >= MAX_DEPTH {
            return Err(format!(
                "bodies and functions nested deeper than {MAX_DEPTH} are not supported"
            ));
        }
        self.unrolled.depth += 1;
        let slots = write(self);
        self.unrolled.depth -= 1;
        slots
    }

    /// The branch that is taken.
    fn branch(&mut self, node: &Node) -> Result<Vec<Slot>, String> {
        let condition = self.input(node, 0)?.ok_or("the condition is missing")?;
        let taken = if self.truth(condition)? {
            "then_branch"
        } else {
            "else_branch"
        };
        self.run_body(&body(node, taken)?, Vec::new())
    }

    /// One round after the other, as long as the condition holds.
    fn rounds(&mut self, node: &Node) -> Result<Vec<Slot>, String> {
        let body = body(node, "body")?;
        let count = match self.input(node, 0)? {
            Some(value) => Some(self.number(value, "the number of rounds")?),
            None => None,
        };
        let mut goes_on = match self.input(node, 1)? {
            Some(value) => self.truth(value)?,
            None => true,
        };
        let most = count.map_or(f64::INFINITY, |count| count.max(0.0));
        if most.is_finite() && most > MAX_ROUNDS as f64 {
            return Err(too_many(most));
        }
        let carried = node.inputs.len().saturating_sub(2);
        if body.inputs.len() != carried + 2 || body.outputs.len() < carried + 1 {
            return Err("its body does not fit its inputs".into());
        }
        let mut state: Vec<Slot> = (0..carried).map(|i| self.slot(node, i + 2)).collect();
        let mut collected = vec![Vec::new(); body.outputs.len() - carried - 1];
        let mut round = 0;
        while goes_on && (round as f64) < most {
            if round == MAX_ROUNDS {
                return Err(too_many(f64::INFINITY));
            }
            let counter = self.constant_number(round as f64)?;
            let condition = self.constant_number(1.0)?;
            let given = [Ok(counter), Ok(condition)].into_iter().chain(state);
            let mut outputs = self.run_body(&body, given.collect())?.into_iter();
            let again = outputs.next().ok_or("its body has no condition")??;
            goes_on = self.truth(again)?;
            state = outputs.by_ref().take(carried).collect();
            for (all, own) in collected.iter_mut().zip(outputs) {
                all.push(own);
            }
            round += 1;
        }
        let scanned = collected.into_iter().map(|all| self.stacked(all, 0));
        let scanned: Vec<Slot> = scanned.collect();
        Ok(state.into_iter().chain(scanned).collect())
    }

    /// One round for each position along an axis of the inputs that are scanned.
    fn scan(&mut self, node: &Node) -> Result<Vec<Slot>, String> {
        if self.opset < 9 {
            return Err(
                "before operator set 9 it has other inputs; export with a later one".into(),
            );
        }
        let body = body(node, "body")?;
        let ints = |name: &str, count: usize| {
            let given = node.ints(name).map_err(|e| e.to_string())?;
            let given = given.map_or_else(|| vec![0; count], <[i64]>::to_vec);
            if given.len() == count {
                Ok(given)
            } else {
                Err(format!("{name} has {} numbers, not {count}", given.len()))
            }
        };
        let scanned = node.int("num_scan_inputs").map_err(|e| e.to_string())?;
        let scanned = usize::try_from(scanned.unwrap_or(0)).unwrap_or(usize::MAX);
        let carried = node.inputs.len().checked_sub(scanned).unwrap_or(usize::MAX);
        if scanned == 0 || body.inputs.len() != node.inputs.len() || body.outputs.len() < carried {
            return Err("its body does not fit its inputs".into());
        }
        let results = body.outputs.len() - carried;
        let (axes, turned) = (
            ints("scan_input_axes", scanned)?,
            ints("scan_input_directions", scanned)?,
        );
        let (axes_out, turned_out) = (
            ints("scan_output_axes", results)?,
            ints("scan_output_directions", results)?,
        );
        let mut sequences = Vec::new();
        let mut rounds = None;
        for (i, &axis) in axes.iter().enumerate() {
            let value = self.slot(node, carried + i)?;
            let shape = self.builder.shape(value.tensor);
            let axis = shape.axis(axis)?;
            if *rounds.get_or_insert(shape.dims()[axis]) != shape.dims()[axis] {
                return Err("sequences of different lengths".into());
            }
            sequences.push((value, axis));
        }
        let rounds = rounds.unwrap_or(0);
        if rounds > MAX_ROUNDS {
            return Err(too_many(rounds as f64));
        }
        let mut state: Vec<Slot> = (0..carried).map(|i| self.slot(node, i)).collect();
        let mut collected = vec![Vec::new(); results];
        for round in 0..rounds {
            let mut given = state;
            for (&(value, axis), &turned) in sequences.iter().zip(&turned) {
                let at = if turned == 1 {
                    rounds - 1 - round
                } else {
                    round
                };
                given.push(self.at_position(value, axis, at));
            }
            let mut outputs = self.run_body(&body, given)?.into_iter();
            state = outputs.by_ref().take(carried).collect();
            for (all, own) in collected.iter_mut().zip(outputs) {
                all.push(own);
            }
        }
        let mut slots = state;
        for ((mut all, axis), turned) in collected.into_iter().zip(axes_out).zip(turned_out) {
            if turned == 1 {
                all.reverse();
            }
            slots.push(self.stacked(all, axis));
        }
        Ok(slots)
    }

    /// What a function makes of a node's inputs. It sees nothing else of the model.
    fn call(&mut self, node: &Node) -> Result<Vec<Slot>, String> {
        let function = self
            .model
            .function(node)
            .ok_or("the function is not there")?;
        let function = Function::decode(function, node).map_err(|e| e.to_string())?;
        let given: Vec<Option<Slot>> = (0..function.inputs.len())
            .map(|i| match node.inputs.get(i) {
                Some(name) if !name.is_empty() => Some(self.slot(node, i)),
                _ => None,
            })
            .collect();
        let opset = function.opset.unwrap_or(self.opset);
        let names = function.outputs.iter().map(String::as_str);
        let masks = Masks::new(&function.nodes, names, opset);
        let outer = (
            mem::take(&mut self.values),
            mem::take(&mut self.not_finite),
            mem::replace(&mut self.masks, masks),
            mem::replace(&mut self.opset, opset),
        );
        for (name, slot) in function.inputs.iter().zip(given) {
            // An optional input that is left out is an empty name inside as well.
            if let Some(slot) = slot {
                self.values.insert(name.clone(), slot);
            }
        }
        let known = |import: &Self, name: &String| import.values.contains_key(name);
        let mut problem = None;
        for inner in &function.nodes {
            if let Err(full) = self.count() {
                problem = Some(full);
                break;
            }
            let mut inner = inner.clone();
            for name in &mut inner.inputs {
                if function.inputs.contains(name) && !known(self, name) {
                    name.clear();
                }
            }
            self.node(&inner);
        }
        let outputs = function.outputs.iter().map(|name| self.named(name));
        let outputs: Vec<Slot> = outputs.collect();
        (self.values, self.not_finite, self.masks, self.opset) = outer;
        match problem {
            Some(problem) => Err(problem),
            None => Ok(outputs),
        }
    }

    /// What a body computes. It sees the names round it; what it defines is forgotten afterwards.
    fn run_body(&mut self, body: &Graph, given: Vec<Slot>) -> Result<Vec<Slot>, String> {
        let inputs = body.inputs.iter().map(|input| &input.name);
        let defined = body.nodes.iter().flat_map(|node| &node.outputs);
        let names = inputs
            .clone()
            .chain(body.initializers.keys())
            .chain(defined);
        let hidden: Vec<(String, Option<Slot>)> = names
            .map(|name| (name.clone(), self.values.remove(name)))
            .collect();
        for (name, array) in &body.initializers {
            let slot = operators::constant(&mut self.builder, array);
            self.values.insert(name.clone(), slot);
        }
        for (name, slot) in inputs.zip(given) {
            self.values.insert(name.clone(), slot);
        }
        let mut problem = None;
        for node in &body.nodes {
            if let Err(full) = self.count() {
                problem = Some(full);
                break;
            }
            self.node(node);
        }
        let outputs = body.outputs.iter().map(|output| self.named(&output.name));
        let outputs: Vec<Slot> = outputs.collect();
        for (name, slot) in hidden {
            match slot {
                Some(slot) => self.values.insert(name, slot),
                None => self.values.remove(&name),
            };
        }
        match problem {
            Some(problem) => Err(problem),
            None => Ok(outputs),
        }
    }

    fn count(&mut self) -> Result<(), String> {
        self.unrolled.nodes += 1;
        if self.unrolled.nodes > MAX_NODES {
            return Err(format!(
                "written out, its bodies have more than {MAX_NODES} nodes; export a fixed graph"
            ));
        }
        Ok(())
    }

    fn named(&self, name: &str) -> Slot {
        let slot = self.values.get(name).cloned();
        slot.unwrap_or_else(|| Err(format!("{} is not there", quote(name))))
    }

    fn slot(&self, node: &Node, position: usize) -> Slot {
        match node.inputs.get(position) {
            Some(name) => self.named(name),
            None => Err(format!("input {position} is missing")),
        }
    }

    /// An input that may be left out.
    fn input(&self, node: &Node, position: usize) -> Result<Option<Value>, String> {
        match node.inputs.get(position) {
            Some(name) if !name.is_empty() => self.named(name).map(Some),
            _ => Ok(None),
        }
    }

    /// A number that does not depend on the network's input.
    fn number(&self, value: Value, what: &str) -> Result<f64, String> {
        let known = self.builder.known(value.tensor);
        let known = known.ok_or_else(|| {
            format!(
                "{what} depends on the network's input; control flow is supported where it does not"
            )
        })?;
        known
            .first()
            .copied()
            .ok_or_else(|| format!("{what} is empty"))
    }

    fn truth(&self, value: Value) -> Result<bool, String> {
        Ok(self.number(value, "the condition")? != 0.0)
    }

    fn constant_number(&mut self, number: f64) -> Result<Value, String> {
        let tensor = self.builder.constant(Shape::default(), vec![number])?;
        Ok(Value {
            tensor,
            integer: true,
        })
    }

    /// One position along an axis, which vanishes.
    fn at_position(&mut self, value: Value, axis: usize, at: usize) -> Slot {
        let shape = self.builder.shape(value.tensor);
        let along = |a: usize| {
            if a == axis {
                vec![Some(at)]
            } else {
                (0..shape.dims()[a]).map(Some).collect()
            }
        };
        let along: Vec<Vec<Option<usize>>> = (0..shape.rank()).map(along).collect();
        let mut dims = shape.dims().to_vec();
        dims.remove(axis);
        let own = Select::by_axes("Slice", shape, &along, 0.0)?;
        let own = self.builder.add(own, &[value.tensor], "scan")?;
        let tensor = self
            .builder
            .add(View::new(Shape::new(dims)?), &[own], "scan")?;
        Ok(Value { tensor, ..value })
    }

    /// Results of all rounds side by side along a new axis.
    fn stacked(&mut self, all: Vec<Slot>, axis: i64) -> Slot {
        let values: Result<Vec<Value>, String> = all.into_iter().collect();
        let values = values?;
        let Some(&first) = values.first() else {
            return Err("the results of no rounds have no shape".into());
        };
        let rank = self.builder.shape(first.tensor).rank() as i64 + 1;
        if !(-rank..rank).contains(&axis) {
            return Err(format!("axis {axis} is outside a tensor of rank {rank}"));
        }
        let axis = axis.rem_euclid(rank) as usize;
        let mut parts = Vec::new();
        for value in values {
            let mut dims = self.builder.shape(value.tensor).dims().to_vec();
            if dims.len() < axis {
                return Err("results of rounds that differ in shape".into());
            }
            dims.insert(axis, 1);
            parts.push(
                self.builder
                    .add(View::new(Shape::new(dims)?), &[value.tensor], "scan")?,
            );
        }
        let tensor = self.builder.add(Concat::new(axis), &parts, "scan")?;
        Ok(Value { tensor, ..first })
    }
}

fn too_many(rounds: f64) -> String {
    format!("a loop of {rounds} rounds; at most {MAX_ROUNDS} can be written out")
}

fn body(node: &Node, name: &str) -> Result<Graph, String> {
    let bytes: &Bytes = match node.attributes.get(name) {
        Some(Attribute::Graph(bytes)) => bytes,
        _ => return Err(format!("its body {} is missing", quote(name))),
    };
    Graph::body(bytes.clone()).map_err(|e| e.to_string())
}
