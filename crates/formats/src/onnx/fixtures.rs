//! Messages for the tests, encoded by the same declarations that decode them.

use prost::Message;

use super::dtype::DType;
use super::proto::{
    AttributeProto, DimensionProto, EXTERNAL, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto,
    TypeProto, ValueInfoProto, attribute_type,
};

pub fn node(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    NodeProto {
        op_type: Some(op_type.to_owned()),
        input: owned(inputs),
        output: owned(outputs),
        ..NodeProto::default()
    }
}

pub fn raw(name: &str, dtype: DType, dims: &[i64], bytes: &[u8]) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: dims.to_vec(),
        data_type: Some(dtype as i32),
        raw_data: Some(bytes.to_vec().into()),
        ..TensorProto::default()
    }
}

pub fn floats(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: dims.to_vec(),
        data_type: Some(DType::Float as i32),
        float_data: values.to_vec(),
        ..TensorProto::default()
    }
}

pub fn external(name: &str, dims: &[i64], pairs: &[(&str, &str)]) -> TensorProto {
    TensorProto {
        data_location: Some(EXTERNAL),
        external_data: entries(pairs),
        ..floats(name, dims, &[])
    }
}

pub fn entries(pairs: &[(&str, &str)]) -> Vec<StringStringEntryProto> {
    pairs
        .iter()
        .map(|&(key, value)| StringStringEntryProto {
            key: Some(key.to_owned()),
            value: Some(value.to_owned()),
        })
        .collect()
}

/// Axes are written as text: a number, a name, or nothing.
pub fn value_info(name: &str, elem_type: i32, axes: &[&str]) -> ValueInfoProto {
    let dimension = |axis: &&str| match axis.parse() {
        Ok(length) => DimensionProto {
            dim_value: Some(length),
            dim_param: None,
        },
        Err(_) => DimensionProto {
            dim_value: None,
            dim_param: Some((*axis).to_owned()),
        },
    };
    let dim = axes.iter().map(dimension).collect();
    let tensor_type = TensorTypeProto {
        elem_type: Some(elem_type),
        shape: Some(TensorShapeProto { dim }),
    };
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto {
            tensor_type: Some(tensor_type),
        }),
    }
}

pub fn opset(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto {
        domain: Some(domain.to_owned()),
        version: Some(version),
    }
}

pub fn graph(
    nodes: &[NodeProto],
    initializers: &[TensorProto],
    inputs: &[ValueInfoProto],
    outputs: &[ValueInfoProto],
) -> GraphProto {
    GraphProto {
        node: parts(nodes),
        name: Some("graph".to_owned()),
        initializer: parts(initializers),
        input: parts(inputs),
        output: parts(outputs),
        sparse_initializer: vec![],
    }
}

fn parts<M: Message>(messages: &[M]) -> Vec<bytes::Bytes> {
    let encode = |message: &M| message.encode_to_vec().into();
    messages.iter().map(encode).collect()
}

pub fn model(graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: Some(8),
        producer_name: Some("fixtures".to_owned()),
        graph: Some(graph),
        opset_import: vec![opset("", 13)],
        functions: vec![],
    }
}

/// Two dense layers, with a bit of everything the format offers.
pub fn mlp() -> ModelProto {
    let mut gemm = node("Gemm", &["x", "w", "b"], &["h"]);
    gemm.attribute = parts(&[AttributeProto {
        name: Some("transB".to_owned()),
        i: Some(1),
        r#type: Some(attribute_type::INT),
        ..AttributeProto::default()
    }]);
    let weights: Vec<u8> = (0..6).flat_map(|i| (i as f32).to_le_bytes()).collect();
    model(graph(
        &[
            gemm,
            node("Relu", &["h"], &["a"]),
            node("Gemm", &["a", "v"], &["y"]),
        ],
        &[
            raw("w", DType::Float, &[2, 3], &weights),
            floats("b", &[2], &[0.5, -0.5]),
            raw("v", DType::Float16, &[2, 1], &[0, 0x3c, 0, 0xc0]),
        ],
        &[value_info("x", 1, &["batch", "3"])],
        &[value_info("y", 1, &["batch", "1"])],
    ))
}
