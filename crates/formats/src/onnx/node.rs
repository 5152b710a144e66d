//! One node of the graph: an operator with its operands' names.

use bytes::Bytes;

use super::attributes::Attributes;
use super::error::OnnxError;
use super::external::ExternalFiles;
use super::opset;
use super::proto::{self, NodeProto};

/// An application of an operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// The node's name, empty when the exporter gave none.
    pub name: String,
    /// The operator, such as `Conv`.
    pub op_type: String,
    /// The operator's domain; empty for the standard operators, also when the file
    /// spells it `ai.onnx`.
    pub domain: String,
    /// Names of the operands; an empty name is an optional operand left out.
    pub inputs: Vec<String>,
    /// Names of the results; an empty name is a result nobody wants.
    pub outputs: Vec<String>,
    /// The attributes, by name.
    pub attributes: Attributes,
}

impl Node {
    /// What to call the node in a message: its name, or else its first output.
    pub fn label(&self) -> &str {
        label(&self.name, &self.outputs).unwrap_or(&self.op_type)
    }

    pub(super) fn decode(
        part: Bytes,
        index: usize,
        files: &mut ExternalFiles,
    ) -> Result<Self, OnnxError> {
        let proto: NodeProto = proto::decode_part(part, || format!("node {index}"))?;
        let name = proto.name.unwrap_or_default();
        let number = format!("#{index}");
        let label = label(&name, &proto.output).unwrap_or(&number);
        let op_type = proto.op_type.unwrap_or_default();
        if op_type.is_empty() {
            let node = label.to_owned();
            return Err(OnnxError::NoOperator { node });
        }
        let attributes = Attributes::decode(proto.attribute, label, files)?;
        Ok(Self {
            name,
            op_type,
            domain: opset::normal_domain(proto.domain.unwrap_or_default()),
            inputs: proto.input,
            outputs: proto.output,
            attributes,
        })
    }
}

fn label<'a>(name: &'a str, outputs: &'a [String]) -> Option<&'a str> {
    let mut names = std::iter::once(name).chain(outputs.iter().map(String::as_str));
    names.find(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::super::fixtures::node;
    use super::super::proto::NodeProto;
    use super::{ExternalFiles, Node, OnnxError};

    fn decode(proto: &NodeProto) -> Result<Node, OnnxError> {
        let files = &mut ExternalFiles::beside(None);
        Node::decode(proto.encode_to_vec().into(), 3, files)
    }

    #[test]
    fn the_label_is_the_name_or_the_first_output() {
        let mut proto = node("Dropout", &["x"], &["", "mask"]);
        assert_eq!(decode(&proto).unwrap().label(), "mask");
        proto.name = Some("drop".into());
        assert_eq!(decode(&proto).unwrap().label(), "drop");
        let nothing = node("Relu", &["x"], &[]);
        assert_eq!(decode(&nothing).unwrap().label(), "Relu");
    }

    #[test]
    fn the_long_name_of_the_standard_domain_is_shortened() {
        let mut proto = node("Relu", &["x"], &["y"]);
        proto.domain = Some("ai.onnx".into());
        assert_eq!(decode(&proto).unwrap().domain, "");
        proto.domain = Some("ai.onnx.ml".into());
        assert_eq!(decode(&proto).unwrap().domain, "ai.onnx.ml");
    }

    #[test]
    fn a_node_without_operator_is_refused() {
        let message = decode(&NodeProto::default()).unwrap_err().to_string();
        assert!(
            message.starts_with("node `#3` has no operator"),
            "{message}"
        );
    }

    #[test]
    fn a_damaged_node_is_refused_by_its_number() {
        let files = &mut ExternalFiles::beside(None);
        let fault = Node::decode(vec![0x0f].into(), 3, files).unwrap_err();
        assert!(fault.to_string().starts_with("node 3 cannot be decoded"));
    }
}
