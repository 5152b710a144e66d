//! The graph: its constants, its inputs and outputs, and its nodes in an order that
//! can be executed.

use std::collections::{BTreeMap, HashMap};
use std::mem;

use bytes::Bytes;

use super::array::Array;
use super::attributes::Attribute;
use super::dtype::DType;
use super::error::OnnxError;
use super::external::ExternalFiles;
use super::node::Node;
use super::order;
use super::proto::{self, GraphProto, SparseTensorProto, TensorProto, ValueInfoProto};
use super::quote::quote;
use super::tensor;
use super::value_info::ValueInfo;

/// Real models have thousands.
const MAX_NODES: usize = 1 << 20;

/// A checked graph: every name is defined exactly once, every node comes after the
/// nodes it reads from, and every operand, every output is defined.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// The graph's name, often empty.
    pub name: String,
    /// The nodes, in the order of the file as far as that can be executed.
    pub nodes: Vec<Node>,
    /// The constants, by name.
    pub initializers: BTreeMap<String, Array>,
    /// What the caller must supply. Old files list the constants here too; those are
    /// left out.
    pub inputs: Vec<ValueInfo>,
    /// What the graph computes, never empty.
    pub outputs: Vec<ValueInfo>,
}

/// Whether names must be defined in a graph itself or may come from the one round it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Whole,
    Body,
}

impl Graph {
    pub(super) fn from_proto(
        proto: GraphProto,
        files: &mut ExternalFiles,
    ) -> Result<Self, OnnxError> {
        Self::in_scope(proto, files, Scope::Whole)
    }

    /// The body of an If, Loop or Scan.
    pub(super) fn body(bytes: Bytes) -> Result<Self, OnnxError> {
        let proto = proto::decode_part(bytes, || "a subgraph".to_owned())?;
        Self::in_scope(proto, &mut ExternalFiles::beside(None), Scope::Body)
    }

    fn in_scope(
        proto: GraphProto,
        files: &mut ExternalFiles,
        scope: Scope,
    ) -> Result<Self, OnnxError> {
        if let Some(sparse) = proto.sparse_initializer.into_iter().next() {
            return Err(refuse_sparse(sparse));
        }
        if proto.node.len() > MAX_NODES {
            return Err(OnnxError::TooManyNodes {
                nodes: proto.node.len(),
                maximum: MAX_NODES,
            });
        }
        let mut inputs = values(proto.input, "input")?;
        let outputs = values(proto.output, "output")?;
        let mut nodes = proto
            .node
            .into_iter()
            .enumerate()
            .map(|(index, part)| Node::decode(part, index, files))
            .collect::<Result<Vec<_>, _>>()?;
        let initializers = initializers(proto.initializer, files)?;
        inputs.retain(|input| !initializers.contains_key(&input.name));

        let sources = Sources::of(&initializers, &inputs, &nodes)?;
        if scope == Scope::Whole {
            sources.check_outputs(&outputs)?;
        }
        let order = sources.order(&nodes, scope)?;
        let in_order = order.into_iter().map(|index| mem::take(&mut nodes[index]));
        Ok(Self {
            name: proto.name.unwrap_or_default(),
            nodes: in_order.collect(),
            initializers,
            inputs,
            outputs,
        })
    }
}

impl Graph {
    /// The element types of the constants, whether they are initializers or nodes.
    pub(super) fn constant_types(&self) -> HashMap<&str, DType> {
        let initializers = self.initializers.iter();
        let mut types: HashMap<&str, DType> = initializers
            .map(|(name, array)| (name.as_str(), array.dtype))
            .collect();
        for node in self.nodes.iter().filter(|node| node.op_type == "Constant") {
            let value = node.attributes.get("value");
            if let (Some(Attribute::Tensor(array)), Some(output)) = (value, node.outputs.first()) {
                types.insert(output, array.dtype);
            }
        }
        types
    }
}

fn refuse_sparse(part: Bytes) -> OnnxError {
    match proto::decode_part(part, || "sparse initializer 0".to_owned()) {
        Ok(SparseTensorProto { values }) => OnnxError::SparseInitializer {
            tensor: values.and_then(|values| values.name).unwrap_or_default(),
        },
        Err(fault) => fault,
    }
}

fn values(parts: Vec<Bytes>, role: &str) -> Result<Vec<ValueInfo>, OnnxError> {
    parts
        .into_iter()
        .enumerate()
        .map(|(index, part)| {
            let place = format!("graph {role} {index}");
            let value: ValueInfoProto = proto::decode_part(part, || place.clone())?;
            ValueInfo::from_proto(value, &place)
        })
        .collect()
}

fn initializers(
    parts: Vec<Bytes>,
    files: &mut ExternalFiles,
) -> Result<BTreeMap<String, Array>, OnnxError> {
    let mut arrays = BTreeMap::new();
    for (index, part) in parts.into_iter().enumerate() {
        let place = || format!("initializer {index}");
        let mut proto: TensorProto = proto::decode_part(part, place)?;
        let name = proto.name.take().unwrap_or_default();
        if name.is_empty() {
            return Err(OnnxError::NoName { place: place() });
        }
        if arrays.contains_key(&name) {
            return Err(OnnxError::DefinedTwice {
                value: name,
                by: "an initializer".to_owned(),
            });
        }
        let array = tensor::decode(proto, || format!("initializer {}", quote(&name)), files)?;
        arrays.insert(name, array);
    }
    Ok(arrays)
}

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Source {
    /// An input or a constant: there from the beginning.
    Given,
    /// The node with this index.
    Node(usize),
}

/// The source of every named value.
struct Sources<'a>(HashMap<&'a str, Source>);

impl<'a> Sources<'a> {
    fn of(
        initializers: &'a BTreeMap<String, Array>,
        inputs: &'a [ValueInfo],
        nodes: &'a [Node],
    ) -> Result<Self, OnnxError> {
        let mut sources = Self(HashMap::new());
        for name in initializers.keys() {
            sources.define(name, Source::Given, || "an initializer".to_owned())?;
        }
        for input in inputs {
            sources.define(&input.name, Source::Given, || "a graph input".to_owned())?;
        }
        for (index, node) in nodes.iter().enumerate() {
            for output in node.outputs.iter().filter(|name| !name.is_empty()) {
                let by = || {
                    let (label, op_type) = (quote(node.label()), quote(&node.op_type));
                    format!("output of node {label} ({op_type})")
                };
                sources.define(output, Source::Node(index), by)?;
            }
        }
        Ok(sources)
    }

    fn define(
        &mut self,
        name: &'a str,
        source: Source,
        by: impl FnOnce() -> String,
    ) -> Result<(), OnnxError> {
        match self.0.insert(name, source) {
            None => Ok(()),
            Some(_) => Err(OnnxError::DefinedTwice {
                value: name.to_owned(),
                by: by(),
            }),
        }
    }

    fn check_outputs(&self, outputs: &[ValueInfo]) -> Result<(), OnnxError> {
        if outputs.is_empty() {
            return Err(OnnxError::NoOutput);
        }
        match outputs
            .iter()
            .find(|output| !self.0.contains_key(output.name.as_str()))
        {
            None => Ok(()),
            Some(output) => Err(OnnxError::UndefinedOutput {
                output: output.name.clone(),
            }),
        }
    }

    fn order(&self, nodes: &[Node], scope: Scope) -> Result<Vec<usize>, OnnxError> {
        let dependencies = nodes
            .iter()
            .map(|node| self.dependencies(node, scope))
            .collect::<Result<Vec<_>, _>>()?;
        order::executable(&dependencies).map_err(|index| OnnxError::Cycle {
            node: nodes[index].label().to_owned(),
            op_type: nodes[index].op_type.clone(),
        })
    }

    /// The nodes whose results this one reads.
    fn dependencies(&self, node: &Node, scope: Scope) -> Result<Vec<usize>, OnnxError> {
        let mut dependencies = Vec::new();
        for input in node.inputs.iter().filter(|name| !name.is_empty()) {
            match self.0.get(input.as_str()) {
                Some(Source::Given) => {}
                Some(Source::Node(index)) => dependencies.push(*index),
                None if scope == Scope::Body => {}
                None => {
                    return Err(OnnxError::UndefinedInput {
                        node: node.label().to_owned(),
                        op_type: node.op_type.clone(),
                        input: input.clone(),
                    });
                }
            }
        }
        Ok(dependencies)
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::super::fixtures::{floats, graph, node, raw, value_info};
    use super::super::proto::{GraphProto, SparseTensorProto};
    use super::{ExternalFiles, Graph, OnnxError};
    use crate::onnx::DType;

    fn check(proto: GraphProto) -> Result<Graph, OnnxError> {
        Graph::from_proto(proto, &mut ExternalFiles::beside(None))
    }

    fn refusal(proto: GraphProto) -> String {
        check(proto).unwrap_err().to_string()
    }

    fn chain() -> GraphProto {
        graph(
            &[
                node("Add", &["x", "w"], &["h"]),
                node("Relu", &["h"], &["y"]),
            ],
            &[floats("w", &[2], &[1.0, 2.0])],
            &[value_info("x", 1, &["2"])],
            &[value_info("y", 1, &["2"])],
        )
    }

    #[test]
    fn a_sound_graph_is_kept_as_it_is() {
        let graph = check(chain()).unwrap();
        let operators: Vec<_> = graph.nodes.iter().map(|node| &node.op_type).collect();
        assert_eq!(operators, ["Add", "Relu"]);
        assert_eq!(graph.initializers["w"].shape, [2]);
        assert_eq!(graph.inputs[0].name, "x");
    }

    #[test]
    fn nodes_out_of_order_are_put_in_order() {
        let mut proto = chain();
        proto.node.reverse();
        assert_eq!(check(proto).unwrap(), check(chain()).unwrap());
    }

    #[test]
    fn constants_among_the_inputs_are_not_inputs() {
        let mut proto = chain();
        proto
            .input
            .push(value_info("w", 1, &["2"]).encode_to_vec().into());
        assert_eq!(check(proto).unwrap(), check(chain()).unwrap());
    }

    #[test]
    fn an_output_may_be_an_input_or_a_constant() {
        let mut proto = chain();
        for name in ["x", "w"] {
            proto
                .output
                .push(value_info(name, 1, &["2"]).encode_to_vec().into());
        }
        assert_eq!(check(proto).unwrap().outputs.len(), 3);
    }

    #[test]
    fn absent_operands_need_no_definition() {
        let mut proto = chain();
        let clip = node("Clip", &["x", "", "w"], &["z", "", ""]);
        proto.node.push(clip.encode_to_vec().into());
        assert_eq!(check(proto).unwrap().nodes[2].inputs, ["x", "", "w"]);
    }

    #[test]
    fn a_value_defined_twice_is_refused() {
        for again in ["h", "x", "w"] {
            let mut proto = chain();
            let twin = node("Relu", &["x"], &[again]);
            proto.node.push(twin.encode_to_vec().into());
            let start = format!("the value `{again}` is defined twice (the second time as output");
            assert!(refusal(proto).starts_with(&start));
        }
        let mut proto = chain();
        proto
            .input
            .push(value_info("x", 1, &[]).encode_to_vec().into());
        assert!(refusal(proto).contains("as a graph input"));
        let mut proto = chain();
        proto
            .initializer
            .push(floats("w", &[0], &[]).encode_to_vec().into());
        assert!(refusal(proto).contains("as an initializer"));
    }

    #[test]
    fn undefined_values_are_refused_by_name() {
        let mut proto = chain();
        let lost = node("Mul", &["x", "nowhere"], &["z"]);
        proto.node.push(lost.encode_to_vec().into());
        assert!(refusal(proto).starts_with("node `z` (`Mul`) reads `nowhere`, which no"));
        let mut proto = chain();
        proto
            .output
            .push(value_info("nowhere", 1, &[]).encode_to_vec().into());
        assert!(refusal(proto).starts_with("the graph output `nowhere` is not defined"));
    }

    #[test]
    fn cycles_are_refused() {
        let mut proto = chain();
        let turn = node("Add", &["a", "x"], &["b"]);
        let back = node("Neg", &["b"], &["a"]);
        proto.node.push(turn.encode_to_vec().into());
        proto.node.push(back.encode_to_vec().into());
        assert!(refusal(proto).contains("depends on its own output"));
    }

    #[test]
    fn a_graph_without_outputs_is_refused() {
        let mut proto = chain();
        proto.output.clear();
        assert!(matches!(check(proto), Err(OnnxError::NoOutput)));
    }

    #[test]
    fn more_nodes_than_sane_are_refused_before_they_are_decoded() {
        let mut proto = chain();
        proto.node = vec![bytes::Bytes::from_static(&[0xff]); super::MAX_NODES + 1];
        assert!(matches!(check(proto), Err(OnnxError::TooManyNodes { .. })));
    }

    #[test]
    fn bad_initializers_are_refused_by_name() {
        let mut proto = chain();
        let short = raw("b", DType::Float, &[3], &[0; 4]);
        proto.initializer.push(short.encode_to_vec().into());
        assert!(refusal(proto).starts_with("initializer `b`: shape [3] of float needs 12 bytes"));
        let mut proto = chain();
        proto
            .initializer
            .push(floats("", &[0], &[]).encode_to_vec().into());
        assert!(refusal(proto).starts_with("initializer 1 has no name"));
    }

    #[test]
    fn sparse_initializers_are_refused_by_name() {
        let mut proto = chain();
        let sparse = SparseTensorProto {
            values: Some(floats("s", &[1], &[1.0])),
        };
        proto.sparse_initializer.push(sparse.encode_to_vec().into());
        assert!(refusal(proto).contains("`s` is a sparse tensor"));
    }
}
