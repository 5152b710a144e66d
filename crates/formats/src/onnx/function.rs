//! A function that a model defines for itself, as one node calls it.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::attributes::{Attribute, Attributes};
use super::error::OnnxError;
use super::external::ExternalFiles;
use super::node::Node;
use super::opset;
use super::proto::{self, FunctionProto};

/// The nodes of a function with the attributes of the call in place.
pub(super) struct Function {
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub nodes: Vec<Node>,
    /// Version of the standard operators inside, if the function says.
    pub opset: Option<i64>,
}

impl Function {
    /// Decodes the function that a node calls.
    pub fn decode(part: Bytes, call: &Node) -> Result<Self, OnnxError> {
        let place = || format!("function `{}`", call.op_type);
        let proto: FunctionProto = proto::decode_part(part, place)?;
        // Weights beside the file belong to the graph; a function has none.
        let files = &mut ExternalFiles::beside(None);
        let defaults = Attributes::decode(proto.attribute_proto, &call.op_type, files)?;
        let mut given: BTreeMap<&str, &Attribute> = BTreeMap::new();
        for attributes in [&defaults, &call.attributes] {
            for name in attributes.names() {
                given.extend(attributes.get(name).map(|attribute| (name, attribute)));
            }
        }
        let mut nodes = Vec::with_capacity(proto.node.len());
        for (index, part) in proto.node.into_iter().enumerate() {
            let mut node = Node::decode(part, index, files)?;
            node.attributes = node.attributes.resolved(&given);
            nodes.push(node);
        }
        let imports = opset::imports(proto.opset_import)?;
        let standard = imports.iter().find(|(domain, _)| domain.is_empty());
        Ok(Self {
            inputs: proto.input,
            outputs: proto.output,
            nodes,
            opset: standard.map(|(_, version)| *version),
        })
    }
}
