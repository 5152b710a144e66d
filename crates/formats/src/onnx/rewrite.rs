//! A model file with other numbers in some of its constants.
//!
//! The file is copied field by field as protobuf lays it out, so that everything this program does not read
//! (documentation, metadata, types of inner tensors) stays as it was. Only the constants that change are encoded anew,
//! and those that lie in other files, so that the new model is one file that can be put anywhere.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

use super::array::{Array, Data};
use super::dtype::DType;
use super::error::OnnxError;
use super::graph::Graph;
use super::proto::{self, EXTERNAL, TensorProto};

/// The number of the graph in a model, and of constants in a graph.
const GRAPH: u32 = 7;
const INITIALIZER: u32 = 5;

/// A model with these numbers in the constants of these names, each as many as before.
pub(super) fn with_numbers(
    model: &Bytes,
    graph: &Graph,
    numbers: &BTreeMap<String, Vec<f32>>,
) -> Result<Vec<u8>, OnnxError> {
    for (name, values) in numbers {
        let array = graph.initializers.get(name);
        if !array.is_some_and(|array| array.dtype == DType::Float && array.len() == values.len()) {
            return Err(refuse(
                name,
                format!(
                    "it is not a constant of {} 32-bit floating-point numbers",
                    values.len()
                ),
            ));
        }
    }
    let mut rewritten = Vec::with_capacity(model.len());
    copy(model, &mut rewritten, GRAPH, &mut |part| {
        let mut inner = Vec::with_capacity(part.len());
        copy(part, &mut inner, INITIALIZER, &mut |part| {
            tensor(part, graph, numbers)
        })?;
        Ok(Some(inner))
    })?;
    Ok(rewritten)
}

/// A constant encoded anew, or nothing where it stays as it is.
fn tensor(
    part: &[u8],
    graph: &Graph,
    numbers: &BTreeMap<String, Vec<f32>>,
) -> Result<Option<Vec<u8>>, OnnxError> {
    let bytes = Bytes::copy_from_slice(part);
    let old: TensorProto = proto::decode_part(bytes, || "an initializer".to_owned())?;
    let name = old.name.unwrap_or_default();
    let raw = match (numbers.get(&name), graph.initializers.get(&name)) {
        (Some(values), _) => little_endian(values, f32::to_le_bytes),
        (None, Some(array)) if old.data_location == Some(EXTERNAL) => contents(&name, array)?,
        _ => return Ok(None),
    };
    let new = TensorProto {
        dims: old.dims,
        data_type: old.data_type,
        name: Some(name),
        raw_data: Some(raw.into()),
        ..TensorProto::default()
    };
    Ok(Some(new.encode_to_vec()))
}

/// The numbers of a constant that lies in another file, as bytes.
fn contents(name: &str, array: &Array) -> Result<Vec<u8>, OnnxError> {
    match (&array.data, array.dtype) {
        (Data::F32(values), DType::Float) => Ok(little_endian(values, f32::to_le_bytes)),
        (Data::F64(values), DType::Double) => Ok(little_endian(values, f64::to_le_bytes)),
        (Data::I64(values), DType::Int64) => Ok(little_endian(values, i64::to_le_bytes)),
        (_, dtype) => Err(refuse(
            name,
            format!(
                "its values of type {dtype} lie in another file; save the model as one file first"
            ),
        )),
    }
}

fn little_endian<T: Copy, const WIDTH: usize>(
    values: &[T],
    encode: impl Fn(T) -> [u8; WIDTH],
) -> Vec<u8> {
    values.iter().flat_map(|&value| encode(value)).collect()
}

fn refuse(tensor: &str, why: String) -> OnnxError {
    OnnxError::CannotRewrite {
        tensor: tensor.to_owned(),
        why,
    }
}

/// What a field becomes; nothing where it stays as it is.
type Replacement<'a> = dyn FnMut(&[u8]) -> Result<Option<Vec<u8>>, OnnxError> + 'a;

/// Copies a message, where fields with one number may be replaced.
fn copy(
    message: &[u8],
    into: &mut Vec<u8>,
    number: u32,
    replace: &mut Replacement<'_>,
) -> Result<(), OnnxError> {
    let damaged = |error: &prost::DecodeError| OnnxError::DamagedPart {
        place: "the file".to_owned(),
        reason: proto::reason(error),
    };
    let mut rest = message;
    while !rest.is_empty() {
        let whole = rest;
        let (tag, wire) = decode_key(&mut rest).map_err(|e| damaged(&e))?;
        let length = match wire {
            WireType::Varint => {
                decode_varint(&mut rest).map_err(|e| damaged(&e))?;
                0
            }
            WireType::ThirtyTwoBit => 4,
            WireType::SixtyFourBit => 8,
            WireType::LengthDelimited => {
                decode_varint(&mut rest).map_err(|e| damaged(&e))? as usize
            }
            // Groups are gone from the language that ONNX is declared in.
            WireType::StartGroup | WireType::EndGroup => return Err(grouped()),
        };
        let Some((content, after)) = rest.split_at_checked(length) else {
            return Err(OnnxError::DamagedPart {
                place: "the file".to_owned(),
                reason: "it ends too early".to_owned(),
            });
        };
        rest = after;
        let replaced = if tag == number && wire == WireType::LengthDelimited {
            replace(content)?
        } else {
            None
        };
        match replaced {
            Some(new) => {
                encode_key(tag, wire, into);
                encode_varint(new.len() as u64, into);
                into.extend_from_slice(&new);
            }
            None => into.extend_from_slice(&whole[..whole.len() - rest.len()]),
        }
    }
    Ok(())
}

fn grouped() -> OnnxError {
    OnnxError::DamagedPart {
        place: "the file".to_owned(),
        reason: "it has a group, which ONNX does not use".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use prost::Message;

    use super::super::fixtures;
    use super::*;
    use crate::onnx::Model;

    #[test]
    fn nothing_changed_is_the_same_file() {
        let bytes = Bytes::from(fixtures::mlp().encode_to_vec());
        let model = Model::decode(bytes.clone(), None).unwrap();
        let same = with_numbers(&bytes, &model.graph, &BTreeMap::new()).unwrap();
        assert_eq!(same, bytes);
    }

    #[test]
    fn the_constants_named_have_the_new_numbers_and_all_else_the_old_ones() {
        let bytes = Bytes::from(fixtures::mlp().encode_to_vec());
        let model = Model::decode(bytes.clone(), None).unwrap();
        for (name, array) in &model.graph.initializers {
            if array.dtype != DType::Float {
                continue;
            }
            let new: Vec<f32> = (0..array.len()).map(|i| i as f32 - 0.5).collect();
            let numbers = [(name.clone(), new.clone())].into();
            let written = with_numbers(&bytes, &model.graph, &numbers).unwrap();
            let again = Model::decode(written.into(), None).unwrap();
            let mut wanted = model.graph.clone();
            wanted.initializers.get_mut(name).unwrap().data = Data::F32(new.into());
            assert_eq!(again.graph, wanted);
        }
    }

    #[test]
    fn weights_in_other_files_come_inside() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/external.onnx");
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        let model = Model::open(&path).unwrap();
        let written = with_numbers(&bytes, &model.graph, &BTreeMap::new()).unwrap();
        let alone = Model::decode(written.into(), None).unwrap();
        assert_eq!(alone.graph, model.graph);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let bytes = Bytes::from(fixtures::mlp().encode_to_vec());
        let model = Model::decode(bytes.clone(), None).unwrap();
        let numbers = [("nowhere".to_owned(), vec![1.0])].into();
        let error = with_numbers(&bytes, &model.graph, &numbers).unwrap_err();
        assert!(error.to_string().contains("nowhere"), "{error}");
        let damaged = &bytes[..bytes.len() - 3];
        let into = &mut Vec::new();
        assert!(copy(damaged, into, GRAPH, &mut |_| Ok(None)).is_err());
    }
}
