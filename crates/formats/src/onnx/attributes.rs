//! A node's attributes, asked for by name and type.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::array::Array;
use super::error::OnnxError;
use super::external::ExternalFiles;
use super::node::Node;
use super::proto::{self, AttributeProto, attribute_type as code};
use super::quote::quote;
use super::tensor;

/// The value of one attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// A single float.
    Float(f32),
    /// A single integer.
    Int(i64),
    /// A string.
    String(String),
    /// A constant tensor.
    Tensor(Array),
    /// A list of floats.
    Floats(Vec<f32>),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of strings.
    Strings(Vec<String>),
    /// The body of an If, Loop or Scan, decoded when it is run.
    Graph(Bytes),
    /// Inside a function: the attribute of that name of the node that calls it.
    Reference(String),
    /// A kind of value no supported operator takes; the text says which.
    Unsupported(&'static str),
}

/// All attributes of one node. Getters that check the type are on [`Node`], whose
/// name they need for their messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(BTreeMap<String, Attribute>);

impl Attributes {
    /// The attribute of this name, whatever its type.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.0.get(name)
    }

    /// The names present, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Decodes the attributes of the node with this label.
    pub(super) fn decode(
        parts: Vec<Bytes>,
        node: &str,
        files: &mut ExternalFiles,
    ) -> Result<Self, OnnxError> {
        let mut attributes = BTreeMap::new();
        for (index, part) in parts.into_iter().enumerate() {
            let place = || format!("attribute {index} of node {}", quote(node));
            let mut proto: AttributeProto = proto::decode_part(part, place)?;
            let name = proto.name.take().unwrap_or_default();
            if name.is_empty() {
                return Err(OnnxError::NoName { place: place() });
            }
            let place = || format!("attribute {} of node {}", quote(&name), quote(node));
            let attribute = Attribute::from_proto(proto, place, files)?;
            if attributes.contains_key(&name) {
                return Err(OnnxError::AttributeTwice {
                    node: node.to_owned(),
                    attribute: name,
                });
            }
            attributes.insert(name, attribute);
        }
        Ok(Self(attributes))
    }
}

impl Attributes {
    /// References replaced by what they name; those that name nothing are left out.
    pub(super) fn resolved(self, given: &BTreeMap<&str, &Attribute>) -> Self {
        let resolve = |(name, attribute)| match attribute {
            Attribute::Reference(of) => {
                let value = given.get(of.as_str())?;
                Some((name, (*value).clone()))
            }
            own => Some((name, own)),
        };
        self.0.into_iter().filter_map(resolve).collect()
    }
}

impl FromIterator<(String, Attribute)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (String, Attribute)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl Attribute {
    fn from_proto(
        proto: AttributeProto,
        place: impl FnOnce() -> String,
        files: &mut ExternalFiles,
    ) -> Result<Self, OnnxError> {
        if !proto.ref_attr_name().is_empty() {
            return Ok(Self::Reference(proto.ref_attr_name().to_owned()));
        }
        let declared = proto.r#type.unwrap_or(code::UNDEFINED);
        let kind = if declared == code::UNDEFINED {
            kind_of_value(&proto)
        } else {
            declared
        };
        // A writer may leave out zeros and empty strings, hence the defaults.
        Ok(match kind {
            code::FLOAT => Self::Float(proto.f.unwrap_or_default()),
            code::INT => Self::Int(proto.i.unwrap_or_default()),
            code::STRING => {
                text(proto.s.unwrap_or_default()).map_or(Self::Unsupported(NOT_UTF8), Self::String)
            }
            code::TENSOR => {
                Self::Tensor(tensor::decode(proto.t.unwrap_or_default(), place, files)?)
            }
            code::FLOATS => Self::Floats(proto.floats),
            code::INTS => Self::Ints(proto.ints),
            code::STRINGS => {
                let strings: Option<_> = proto.strings.into_iter().map(text).collect();
                strings.map_or(Self::Unsupported(NOT_UTF8), Self::Strings)
            }
            code::GRAPH => Self::Graph(proto.g.unwrap_or_default()),
            other => Self::Unsupported(name_of_kind(other)),
        })
    }

    /// What the attribute holds, in the words of a message.
    fn kind(&self) -> &'static str {
        match self {
            Self::Float(_) => "a float",
            Self::Int(_) => "an integer",
            Self::String(_) => "a string",
            Self::Tensor(_) => "a tensor",
            Self::Floats(_) => "a list of floats",
            Self::Ints(_) => "a list of integers",
            Self::Strings(_) => "a list of strings",
            Self::Graph(_) => "a subgraph",
            Self::Reference(_) => "a reference to a function's attribute",
            Self::Unsupported(kind) => kind,
        }
    }
}

const NOT_UTF8: &str = "a string that is not UTF-8";

fn text(bytes: Bytes) -> Option<String> {
    String::from_utf8(bytes.into()).ok()
}

/// The first exporters did not write `type`; the field in use tells.
fn kind_of_value(proto: &AttributeProto) -> i32 {
    let present = [
        (proto.f.is_some(), code::FLOAT),
        (proto.i.is_some(), code::INT),
        (proto.s.is_some(), code::STRING),
        (proto.t.is_some(), code::TENSOR),
        (proto.g.is_some(), code::GRAPH),
        (!proto.floats.is_empty(), code::FLOATS),
        (!proto.ints.is_empty(), code::INTS),
        (!proto.strings.is_empty(), code::STRINGS),
    ];
    let in_use = present.into_iter().find(|(is_present, _)| *is_present);
    in_use.map_or(code::UNDEFINED, |(_, kind)| kind)
}

fn name_of_kind(kind: i32) -> &'static str {
    match kind {
        code::UNDEFINED => "no value",
        code::TENSORS => "a list of tensors",
        code::GRAPHS => "a list of subgraphs",
        code::SPARSE_TENSOR => "a sparse tensor",
        code::SPARSE_TENSORS => "a list of sparse tensors",
        code::TYPE_PROTO => "a type",
        code::TYPE_PROTOS => "a list of types",
        _ => "a value of unknown type",
    }
}

/// Typed attributes. Absent is `None`; present with another type is an error.
impl Node {
    /// A float attribute.
    pub fn float(&self, name: &str) -> Result<Option<f32>, OnnxError> {
        self.typed(name, "a float", |attribute| match attribute {
            Attribute::Float(value) => Some(*value),
            _ => None,
        })
    }

    /// A float attribute, or its default.
    pub fn float_or(&self, name: &str, default: f32) -> Result<f32, OnnxError> {
        Ok(self.float(name)?.unwrap_or(default))
    }

    /// An integer attribute.
    pub fn int(&self, name: &str) -> Result<Option<i64>, OnnxError> {
        self.typed(name, "an integer", |attribute| match attribute {
            Attribute::Int(value) => Some(*value),
            _ => None,
        })
    }

    /// An integer attribute, or its default.
    pub fn int_or(&self, name: &str, default: i64) -> Result<i64, OnnxError> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// A string attribute.
    pub fn string(&self, name: &str) -> Result<Option<&str>, OnnxError> {
        self.typed(name, "a string", |attribute| match attribute {
            Attribute::String(value) => Some(value.as_str()),
            _ => None,
        })
    }

    /// A string attribute, or its default.
    pub fn string_or<'a>(&'a self, name: &str, default: &'a str) -> Result<&'a str, OnnxError> {
        Ok(self.string(name)?.unwrap_or(default))
    }

    /// A tensor attribute.
    pub fn tensor(&self, name: &str) -> Result<Option<&Array>, OnnxError> {
        self.typed(name, "a tensor", |attribute| match attribute {
            Attribute::Tensor(value) => Some(value),
            _ => None,
        })
    }

    /// A list of floats.
    pub fn floats(&self, name: &str) -> Result<Option<&[f32]>, OnnxError> {
        self.typed(name, "a list of floats", |attribute| match attribute {
            Attribute::Floats(values) => Some(values.as_slice()),
            _ => None,
        })
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Result<Option<&[i64]>, OnnxError> {
        self.typed(name, "a list of integers", |attribute| match attribute {
            Attribute::Ints(values) => Some(values.as_slice()),
            _ => None,
        })
    }

    /// A list of strings.
    pub fn strings(&self, name: &str) -> Result<Option<&[String]>, OnnxError> {
        self.typed(name, "a list of strings", |attribute| match attribute {
            Attribute::Strings(values) => Some(values.as_slice()),
            _ => None,
        })
    }

    fn typed<'a, T>(
        &'a self,
        name: &str,
        expected: &'static str,
        value: impl FnOnce(&'a Attribute) -> Option<T>,
    ) -> Result<Option<T>, OnnxError> {
        let Some(attribute) = self.attributes.get(name) else {
            return Ok(None);
        };
        match value(attribute) {
            Some(value) => Ok(Some(value)),
            None => Err(OnnxError::AttributeType {
                node: self.label().to_owned(),
                attribute: name.to_owned(),
                expected,
                found: attribute.kind(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::super::fixtures::floats;
    use super::super::proto::TensorProto;
    use super::*;

    fn node(protos: Vec<AttributeProto>) -> Result<Node, OnnxError> {
        let parts = protos
            .into_iter()
            .map(|proto| proto.encode_to_vec().into())
            .collect();
        let attributes = Attributes::decode(parts, "n", &mut ExternalFiles::beside(None))?;
        Ok(Node {
            name: "n".into(),
            attributes,
            ..Node::default()
        })
    }

    fn attribute(name: &str, kind: i32) -> AttributeProto {
        AttributeProto {
            name: Some(name.into()),
            r#type: Some(kind),
            ..AttributeProto::default()
        }
    }

    fn one_of_each_kind(with_type: bool) -> Vec<AttributeProto> {
        let kind = |code| if with_type { code } else { code::UNDEFINED };
        vec![
            AttributeProto {
                f: Some(0.5),
                ..attribute("alpha", kind(code::FLOAT))
            },
            AttributeProto {
                i: Some(-1),
                ..attribute("axis", kind(code::INT))
            },
            AttributeProto {
                s: Some("SAME_UPPER".into()),
                ..attribute("auto_pad", kind(code::STRING))
            },
            AttributeProto {
                t: Some(floats("", &[1], &[3.0])),
                ..attribute("value", kind(code::TENSOR))
            },
            AttributeProto {
                floats: vec![1.0, 2.0],
                ..attribute("scales", kind(code::FLOATS))
            },
            AttributeProto {
                ints: vec![3, 3],
                ..attribute("kernel_shape", kind(code::INTS))
            },
            AttributeProto {
                strings: vec!["a".into()],
                ..attribute("classes", kind(code::STRINGS))
            },
            AttributeProto {
                g: Some("a body".into()),
                ..attribute("body", kind(code::GRAPH))
            },
        ]
    }

    #[test]
    fn attributes_are_read_by_name_with_or_without_a_declared_type() {
        for with_type in [true, false] {
            let node = node(one_of_each_kind(with_type)).unwrap();
            assert_eq!(node.float("alpha").unwrap(), Some(0.5));
            assert_eq!(node.int("axis").unwrap(), Some(-1));
            assert_eq!(node.string("auto_pad").unwrap(), Some("SAME_UPPER"));
            assert_eq!(node.tensor("value").unwrap().unwrap().scalar(), Ok(3.0));
            assert_eq!(node.floats("scales").unwrap().unwrap(), [1.0, 2.0]);
            assert_eq!(node.ints("kernel_shape").unwrap().unwrap(), [3, 3]);
            assert_eq!(node.strings("classes").unwrap().unwrap(), ["a"]);
            assert_eq!(
                node.attributes.get("body"),
                Some(&Attribute::Graph(Bytes::from_static(b"a body")))
            );
        }
    }

    #[test]
    fn absent_attributes_have_defaults() {
        let node = node(vec![]).unwrap();
        assert_eq!(node.int("axis").unwrap(), None);
        assert_eq!(node.int_or("axis", 1).unwrap(), 1);
        assert_eq!(
            node.float_or("alpha", 0.01).unwrap().to_bits(),
            0.01_f32.to_bits()
        );
        assert_eq!(node.string_or("auto_pad", "NOTSET").unwrap(), "NOTSET");
        assert_eq!(node.ints("pads").unwrap(), None);
    }

    #[test]
    fn values_left_out_by_the_writer_are_zero_or_empty() {
        let node = node(vec![
            attribute("axis", code::INT),
            attribute("pads", code::INTS),
        ])
        .unwrap();
        assert_eq!(node.int("axis").unwrap(), Some(0));
        assert_eq!(node.ints("pads").unwrap(), Some([].as_slice()));
    }

    #[test]
    fn a_wrong_type_is_refused_with_node_attribute_and_both_types() {
        let node = node(one_of_each_kind(true)).unwrap();
        assert_eq!(
            node.int("auto_pad").unwrap_err().to_string(),
            "node `n`: attribute `auto_pad` must be an integer, but the file holds \
             a string; export the model again"
        );
        assert!(node.ints("body").is_err());
        assert!(node.tensor("axis").is_err());
        assert!(node.strings("value").is_err());
        assert!(node.float("axis").is_err());
        assert!(node.floats("alpha").is_err());
        assert!(node.string("alpha").is_err());
    }

    #[test]
    fn unsupported_kinds_fail_only_when_asked_for() {
        let bad_text = AttributeProto {
            s: Some([0xff].as_slice().into()),
            ..attribute("text", code::STRING)
        };
        let reference = AttributeProto {
            ref_attr_name: Some("outer".into()),
            ..attribute("axis", code::INT)
        };
        let kinds = [code::TENSORS, code::GRAPHS, code::SPARSE_TENSOR, 77];
        let mut protos = vec![bad_text, reference];
        protos.extend(kinds.map(|kind| attribute(&format!("k{kind}"), kind)));
        let node = node(protos).unwrap();
        for name in ["text", "axis", "k9", "k10", "k11", "k77"] {
            assert!(node.int(name).is_err(), "{name}");
        }
    }

    #[test]
    fn an_attribute_given_twice_is_refused() {
        let twice = vec![attribute("axis", code::INT), attribute("axis", code::INT)];
        assert!(matches!(node(twice), Err(OnnxError::AttributeTwice { .. })));
    }

    #[test]
    fn a_bad_tensor_is_named_by_node_and_attribute() {
        let proto = AttributeProto {
            t: Some(TensorProto {
                data_type: Some(99),
                ..TensorProto::default()
            }),
            ..attribute("value", code::TENSOR)
        };
        let message = node(vec![proto]).unwrap_err().to_string();
        assert!(
            message.starts_with("attribute `value` of node `n`: "),
            "{message}"
        );
    }
}
