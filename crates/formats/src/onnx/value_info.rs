//! What the file declares about the graph's inputs and outputs.

use super::dtype::DType;
use super::error::OnnxError;
use super::proto::{DimensionProto, TensorTypeProto, ValueInfoProto};
use super::shape;

/// Name, element type and shape of a graph input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// The value's name, never empty.
    pub name: String,
    /// `None` when undeclared, unknown, or not a tensor.
    pub elem_type: Option<DType>,
    /// `None` when undeclared or not a tensor (`ZipMap` yields a sequence of maps).
    pub shape: Option<Vec<Dim>>,
}

/// The declared length of one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    /// Fixed, at least 1.
    Known(usize),
    /// Open, with a name the exporter gave it, such as `batch`.
    Symbolic(String),
    /// Open.
    Unknown,
}

impl ValueInfo {
    pub(super) fn from_proto(proto: ValueInfoProto, place: &str) -> Result<Self, OnnxError> {
        let name = proto
            .name
            .filter(|name| !name.is_empty())
            .ok_or_else(|| OnnxError::NoName {
                place: place.to_owned(),
            })?;
        let tensor_type = proto.r#type.and_then(|r#type| r#type.tensor_type);
        let TensorTypeProto { elem_type, shape } = tensor_type.unwrap_or_default();
        let dims = shape.map(|shape| shape.dim.into_iter().map(Dim::from).collect());
        let shape =
            dims.map(shape::declared)
                .transpose()
                .map_err(|fault| OnnxError::ValueShape {
                    value: name.clone(),
                    fault,
                })?;
        Ok(Self {
            name,
            elem_type: elem_type.and_then(|code| DType::from_code(code.into())),
            shape,
        })
    }
}

impl From<DimensionProto> for Dim {
    /// Lengths of zero and below are open axes: scikit-learn's exporter writes 0 for
    /// the batch, others -1, and a network with an empty input has no use.
    fn from(proto: DimensionProto) -> Self {
        let length = proto
            .dim_value
            .and_then(|value| usize::try_from(value).ok());
        match (length, proto.dim_param) {
            (Some(length), _) if length > 0 => Self::Known(length),
            // Paddle's exporter calls every open axis the same: that is no name.
            (_, Some(name)) if !name.is_empty() && name != "?" => Self::Symbolic(name),
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::value_info;
    use super::super::proto::{TypeProto, ValueInfoProto};
    use super::{DType, Dim, OnnxError, ValueInfo};

    #[test]
    fn axes_that_are_not_positive_are_open() {
        let proto = value_info("x", 1, &["0", "-1", "n", "", "3"]);
        let value = ValueInfo::from_proto(proto, "graph input 0").unwrap();
        assert_eq!(value.elem_type, Some(DType::Float));
        assert_eq!(
            value.shape.unwrap(),
            [
                Dim::Unknown,
                Dim::Unknown,
                Dim::Symbolic("n".into()),
                Dim::Unknown,
                Dim::Known(3)
            ]
        );
    }

    #[test]
    fn a_value_that_is_not_a_tensor_has_no_shape() {
        let proto = ValueInfoProto {
            name: Some("probabilities".into()),
            r#type: Some(TypeProto::default()),
        };
        let value = ValueInfo::from_proto(proto, "graph output 0").unwrap();
        assert_eq!((value.elem_type, value.shape), (None, None));
    }

    #[test]
    fn a_nameless_value_is_refused() {
        let fault = ValueInfo::from_proto(ValueInfoProto::default(), "graph input 2");
        assert!(matches!(fault, Err(OnnxError::NoName { .. })));
    }

    #[test]
    fn an_absurd_shape_is_refused_by_name() {
        let proto = value_info("x", 1, &["1073741824"; 4]);
        let fault = ValueInfo::from_proto(proto, "graph input 0").unwrap_err();
        assert!(fault.to_string().contains("output `x`: the shape has more"));
    }
}
