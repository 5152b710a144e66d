//! What the user should know about how a model was read: where its answers can differ from another
//! runtime's, and why.

use super::dtype::DType;
use super::graph::Graph;
use super::model::Model;
use super::node::Node;

/// Two products of an unsigned byte with signed weights of at most this size fit 16 bits.
const NEVER_SATURATES: i64 = 64;

/// The notes of a model.
pub(super) fn notes(model: &Model) -> Vec<String> {
    let notes = [
        precision(&model.graph),
        dynamic_range(&model.graph),
        saturation(&model.graph),
    ];
    notes.into_iter().flatten().collect()
}

fn precision(graph: &Graph) -> Option<String> {
    let has = |wanted: &[DType]| {
        let mut types = graph.inputs.iter().filter_map(|input| input.elem_type);
        types.any(|found| wanted.contains(&found))
    };
    let precision = match () {
        () if has(&[DType::Double]) => "double",
        () if has(&[DType::Float16, DType::Bfloat16]) => "half",
        () if graph.nodes.iter().any(casts_to_half) => "partly half",
        () => return None,
    };
    Some(format!(
        "the model computes in {precision} precision; it runs here in single precision"
    ))
}

/// Whether a node rounds to 16 bits, which is not done here.
fn casts_to_half(node: &Node) -> bool {
    let target = node.int("to").ok().flatten().and_then(DType::from_code);
    node.op_type == "Cast" && matches!(target, Some(DType::Float16 | DType::Bfloat16))
}

fn dynamic_range(graph: &Graph) -> Option<String> {
    let dynamic = |node: &Node| {
        let operators = ["DynamicQuantizeLinear", "DynamicQuantizeMatMul"];
        operators.contains(&node.op_type.as_str())
    };
    graph.nodes.iter().any(dynamic).then(|| {
        "dynamic quantisation takes its range over each sample here, where a runtime takes it over \
         the whole batch; compare one sample at a time"
            .into()
    })
}

/// onnxruntime adds pairs of products of bytes in 16 bits where the processor has nothing better.
fn saturation(graph: &Graph) -> Option<String> {
    let largest = graph
        .nodes
        .iter()
        .filter_map(|node| largest_weight(graph, node))
        .max()
        .filter(|&largest| largest > NEVER_SATURATES)?;
    Some(format!(
        "products of 8-bit integers are exact here; onnxruntime saturates them on processors without \
         VNNI instructions where weights go beyond {NEVER_SATURATES} (here up to {largest}), and then \
         answers differently"
    ))
}

/// The largest of the signed 8-bit weights that a node multiplies with, or that are multiplied once
/// onnxruntime has fused it with its neighbours.
fn largest_weight(graph: &Graph, node: &Node) -> Option<i64> {
    let position = match node.op_type.as_str() {
        "MatMulInteger" => 1,
        "QLinearMatMul" | "QLinearConv" | "QGemm" => 3,
        "DequantizeLinear" => 0,
        _ => return None,
    };
    let weights = graph.initializers.get(node.inputs.get(position)?)?;
    if weights.dtype != DType::Int8 || weights.shape.len() < 2 {
        return None;
    }
    let numbers = weights.to_i64().ok()?;
    numbers.iter().map(|w| w.abs()).max()
}
