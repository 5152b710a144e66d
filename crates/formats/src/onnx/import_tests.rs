//! What importing refuses, by name, and what it lets pass.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::dtype::DType;
use super::fixtures::{floats, graph, model, node, opset, raw, value_info};
use super::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, attribute_type,
};
use super::{Model, OnnxError};
use crate::{LoadOptions, LoadUntil, Loaded, load};

use prost::Message;

/// A model of `x` (one row of two) whose outputs are these.
fn small(nodes: &[NodeProto], constants: &[TensorProto], outputs: &[&str]) -> ModelProto {
    let outputs: Vec<_> = outputs.iter().map(|o| value_info(o, 1, &[])).collect();
    model(graph(
        nodes,
        constants,
        &[value_info("x", 1, &["n", "2"])],
        &outputs,
    ))
}

fn import(proto: &ModelProto) -> Result<Loaded, OnnxError> {
    Model::decode(proto.encode_to_vec().into(), None)?.import(&LoadOptions::default())
}

fn refusal(proto: &ModelProto) -> String {
    import(proto).unwrap_err().to_string()
}

fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{message} lacks {part}");
    }
}

fn dense(weights: &[f32]) -> ModelProto {
    small(
        &[
            node("MatMul", &["x", "w"], &["h"]),
            node("Relu", &["h"], &["y"]),
        ],
        &[floats("w", &[2, 2], weights)],
        &["y"],
    )
}

#[test]
fn weights_that_are_not_finite_are_refused_by_name() {
    assert!(import(&dense(&[1.0, 2.0, 3.0, f32::MAX])).is_ok());
    for (number, word) in [
        (f32::NAN, "NaN (element 2)"),
        (f32::INFINITY, "infinity (element 2)"),
        (f32::NEG_INFINITY, "minus infinity (element 2)"),
    ] {
        let message = refusal(&dense(&[1.0, 2.0, number, 4.0]));
        assert_says(&message, &["`h` (`MatMul`)", "`w`", word, "export a model"]);
    }
}

#[test]
fn a_double_too_large_for_single_precision_is_refused() {
    let bytes: Vec<u8> = [1.0_f64, 1e300]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let proto = small(
        &[node("Add", &["x", "w"], &["y"])],
        &[raw("w", DType::Double, &[2], &bytes)],
        &["y"],
    );
    assert_says(&refusal(&proto), &["`w`", "1e300", "single precision"]);
}

#[test]
fn weights_whose_product_overflows_are_refused() {
    let mut gemm = node(
        "BatchNormalization",
        &["x", "big", "zero", "zero", "tiny"],
        &["y"],
    );
    gemm.name = Some("norm".into());
    let proto = small(
        &[gemm],
        &[
            floats("big", &[2], &[3e38, 1.0]),
            floats("zero", &[2], &[0.0, 0.0]),
            floats("tiny", &[2], &[0.0, 0.0]),
        ],
        &["y"],
    );
    assert_says(&refusal(&proto), &["`norm`", "infinity"]);
}

/// The answer is fine; a side output is not.
#[test]
fn what_no_answer_depends_on_is_left_out_with_a_note() {
    let proto = small(
        &[
            node("Relu", &["x"], &["y"]),
            node("Add", &["x", "w"], &["side"]),
            node("Identity", &["w"], &["same"]),
        ],
        &[floats("w", &[2], &[f32::NAN, 1.0])],
        &["y", "side", "w", "same"],
    );
    let loaded = import(&proto).unwrap();
    let names: Vec<&str> = loaded.network.outputs().map(|(name, _)| name).collect();
    assert_eq!(names, ["y"]);
    assert_eq!(loaded.notes.len(), 3, "{:?}", loaded.notes);
    for (note, output) in loaded.notes.iter().zip(["`side`", "`w`", "`same`"]) {
        assert_says(note, &[output, "left out", "`w` holds NaN"]);
    }
}

#[test]
fn a_hidden_layer_behind_the_answer_counts_as_the_answer() {
    let proto = small(
        &[
            node("Add", &["x", "w"], &["h"]),
            node("Relu", &["h"], &["a"]),
            node("Mul", &["a", "zero"], &["b"]),
            node("Add", &["b", "x"], &["y"]),
        ],
        &[
            floats("w", &[2], &[f32::NAN, 1.0]),
            floats("zero", &[1], &[0.0]),
        ],
        &["y"],
    );
    assert_says(&refusal(&proto), &["`h` (`Add`)", "`w` holds NaN"]);
}

#[test]
fn what_folding_makes_of_constants_is_named_by_its_node() {
    let proto = small(
        &[
            node("Log", &["minus"], &["log"]),
            node("Neg", &["log"], &["neg"]),
            node("Add", &["x", "neg"], &["y"]),
        ],
        &[floats("minus", &[1], &[-1.0])],
        &["y"],
    );
    let parts = ["`y` (`Add`)", "node `log` (`Log`) makes NaN (element 0)"];
    assert_says(&refusal(&proto), &parts);
}

#[test]
fn a_mask_or_padding_of_infinity_is_refused() {
    let lowest = floats("low", &[], &[f32::NEG_INFINITY]);
    let pads: Vec<u8> = [0_i64, 1, 0, 1]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let pad = small(
        &[node("Pad", &["x", "pads", "low"], &["y"])],
        &[lowest, raw("pads", DType::Int64, &[4], &pads)],
        &["y"],
    );
    assert_says(
        &refusal(&pad),
        &["`y` (`Pad`)", "`low` holds minus infinity"],
    );
    let mask = floats("mask", &[2], &[0.0, f32::NEG_INFINITY]);
    for operator in ["Add", "Max"] {
        let masked = small(
            &[node(operator, &["x", "mask"], &["y"])],
            std::slice::from_ref(&mask),
            &["y"],
        );
        assert_says(&refusal(&masked), &["`y`", "infinity"]);
    }
}

#[test]
fn an_answer_that_is_constant_is_refused_by_name() {
    let proto = small(
        &[node("Relu", &["x"], &["r"]), node("Exp", &["w"], &["y"])],
        &[floats("w", &[2], &[1.0, 2.0])],
        &["y", "r"],
    );
    assert_says(&refusal(&proto), &["`y` does not depend on the input"]);
}

#[test]
fn an_answer_without_elements_is_refused_by_name() {
    let integers = |name: &str, value: i64| raw(name, DType::Int64, &[1], &value.to_le_bytes());
    let constants = ["from", "to", "axis"].map(|name| integers(name, 1));
    let slice = node("Slice", &["x", "from", "to", "axis"], &["y"]);
    let refused = refusal(&small(&[slice], &constants, &["y"]));
    assert_says(&refused, &["`y` has no elements"]);
}

/// Dropout of `x` with a ratio, in a training mode given or not.
fn dropout(ratio: f32, training: Option<bool>) -> ModelProto {
    let mut constants = vec![floats("ratio", &[], &[ratio])];
    let mut inputs = vec!["x", "ratio"];
    if let Some(training) = training {
        constants.push(raw("mode", DType::Bool, &[], &[u8::from(training)]));
        inputs.push("mode");
    }
    let mut drop = node("Dropout", &inputs, &["y"]);
    drop.name = Some("drop".into());
    small(&[drop], &constants, &["y"])
}

#[test]
fn dropout_that_drops_is_refused_by_name() {
    let message = refusal(&dropout(0.5, Some(true)));
    assert_says(
        &message,
        &["`drop` (`Dropout`)", "training mode", "evaluation mode"],
    );
    assert!(import(&dropout(0.0, Some(true))).is_ok());
    assert!(import(&dropout(0.5, Some(false))).is_ok());
    assert!(import(&dropout(0.5, None)).is_ok());
    // Operator sets before 12 have no such input; a third one means nothing.
    let mut old = dropout(0.5, Some(true));
    old.opset_import = vec![opset("", 11)];
    assert!(import(&old).is_ok());
}

#[test]
fn a_division_by_a_constant_zero_is_refused() {
    let proto = small(
        &[node("Div", &["x", "w"], &["y"])],
        &[floats("w", &[2], &[1.0, 0.0])],
        &["y"],
    );
    assert_says(&refusal(&proto), &["`y` (`Div`)", "element 1 is 0"]);
}

/// One dynamically quantised layer with these weights, two by one.
fn quantised(weights: [i8; 2]) -> ModelProto {
    let mut quantise = node("DynamicQuantizeLinear", &["x"], &["q", "scale", "zero"]);
    quantise.name = Some("quantise".into());
    let multiply = node("MatMulInteger", &["q", "w", "zero"], &["sums"]);
    let bytes = weights.map(i8::cast_unsigned);
    small(
        &[quantise, multiply, node("Mul", &["sums", "scale"], &["y"])],
        &[raw("w", DType::Int8, &[2, 1], &bytes)],
        &["y"],
    )
}

#[test]
fn notes_say_where_quantised_models_differ_from_onnxruntime() {
    let notes = import(&quantised([-100, 3])).unwrap().notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_says(&notes[0], &["over each sample", "one sample at a time"]);
    assert_says(&notes[1], &["exact here", "without VNNI", "up to 100"]);
    // Two products of at most 255 times 64 fit 16 bits.
    let notes = import(&quantised([-64, 64])).unwrap().notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(import(&dense(&[1.0; 4])).unwrap().notes.is_empty());
}

/// A Loop of so many rounds over a body that adds one.
fn looped(rounds: i64) -> ModelProto {
    let body = graph(
        &[
            node("Add", &["before", "one"], &["after"]),
            node("Identity", &["go"], &["again"]),
        ],
        &[floats("one", &[], &[1.0])],
        &[
            value_info("number", 7, &[]),
            value_info("go", 9, &[]),
            value_info("before", 1, &[]),
        ],
        &[value_info("again", 9, &[]), value_info("after", 1, &[])],
    );
    let mut node = node("Loop", &["rounds", "", "x"], &["y"]);
    node.attribute.push(body_attribute("body", &body));
    let rounds = raw("rounds", DType::Int64, &[], &rounds.to_le_bytes());
    small(&[node], &[rounds], &["y"])
}

fn body_attribute(name: &str, body: &GraphProto) -> bytes::Bytes {
    let attribute = AttributeProto {
        name: Some(name.to_owned()),
        g: Some(body.encode_to_vec().into()),
        r#type: Some(attribute_type::GRAPH),
        ..AttributeProto::default()
    };
    attribute.encode_to_vec().into()
}

#[test]
fn loops_are_written_out_up_to_a_limit() {
    assert_eq!(import(&looped(3)).unwrap().network.nodes(), 3);
    for rounds in [1_000_000, i64::MAX] {
        assert_says(&refusal(&looped(rounds)), &["Loop", "rounds", "4096"]);
    }
}

#[test]
fn loops_that_the_input_decides_are_refused() {
    let mut proto = looped(3);
    let graph = proto.graph.as_mut().unwrap();
    let mut node = NodeProto::decode(graph.node[0].clone()).unwrap();
    node.input[0] = "x".into();
    graph.node[0] = node.encode_to_vec().into();
    assert_says(
        &refusal(&proto),
        &["number of rounds", "depends on the network's input"],
    );
}

#[test]
fn bodies_that_are_missing_damaged_or_endless_are_refused() {
    let mut proto = looped(3);
    let mut node = NodeProto::decode(proto.graph.as_ref().unwrap().node[0].clone()).unwrap();
    node.attribute.clear();
    proto.graph.as_mut().unwrap().node[0] = node.encode_to_vec().into();
    assert_says(&refusal(&proto), &["`body` is missing"]);

    let damaged = AttributeProto {
        name: Some("body".into()),
        g: Some([0xff, 0xff].as_slice().into()),
        r#type: Some(attribute_type::GRAPH),
        ..AttributeProto::default()
    };
    node.attribute.push(damaged.encode_to_vec().into());
    proto.graph.as_mut().unwrap().node[0] = node.encode_to_vec().into();
    assert_says(&refusal(&proto), &["Loop", "a subgraph"]);
}

#[test]
fn functions_that_call_themselves_end() {
    let call = || NodeProto {
        domain: Some("own".into()),
        ..node("Again", &["x"], &["y"])
    };
    let mut proto = small(&[call()], &[], &["y"]);
    proto.opset_import.push(opset("own", 1));
    let function = FunctionProto {
        name: Some("Again".into()),
        domain: Some("own".into()),
        input: vec!["x".into()],
        output: vec!["y".into()],
        node: vec![call().encode_to_vec().into()],
        ..FunctionProto::default()
    };
    proto.functions.push(function.encode_to_vec().into());
    assert_says(&refusal(&proto), &["Again", "nested deeper than"]);
}

#[test]
fn functions_that_call_others_twice_do_not_grow_without_end() {
    let call = |name: &str, input: &str, output: &str| NodeProto {
        domain: Some("own".into()),
        ..node(name, &[input], &[output])
    };
    // Each of fifteen functions calls the next one eight times: 8^15 nodes.
    let mut proto = small(&[call("f0", "x", "y")], &[], &["y"]);
    proto.opset_import.push(opset("own", 1));
    for level in 0..15 {
        let next = format!("f{}", level + 1);
        let mut nodes: Vec<NodeProto> =
            (0..7).map(|i| call(&next, "x", &format!("t{i}"))).collect();
        nodes.push(if level == 14 {
            node("Relu", &["x"], &["y"])
        } else {
            call(&next, "x", "y")
        });
        let function = FunctionProto {
            name: Some(format!("f{level}")),
            domain: Some("own".into()),
            input: vec!["x".into()],
            output: vec!["y".into()],
            node: nodes.iter().map(|n| n.encode_to_vec().into()).collect(),
            ..FunctionProto::default()
        };
        proto.functions.push(function.encode_to_vec().into());
    }
    assert_says(&refusal(&proto), &["more than 65536 nodes"]);
}

#[test]
fn a_row_that_is_masked_entirely_is_refused() {
    let masked = |numbers: &[f32]| {
        small(
            &[
                node("Add", &["x", "mask"], &["scores"]),
                node("Softmax", &["scores"], &["y"]),
            ],
            &[floats("mask", &[1, 2], numbers)],
            &["y"],
        )
    };
    assert!(import(&masked(&[0.0, f32::NEG_INFINITY])).is_ok());
    for numbers in [
        [f32::NEG_INFINITY; 2],
        [0.0, f32::INFINITY],
        [f32::NAN, 0.0],
    ] {
        let message = refusal(&masked(&numbers));
        assert!(
            message.contains("infinity") || message.contains("NaN"),
            "{message}"
        );
    }
    // Where the scores themselves are an output, minus infinity would be the answer.
    let mut shown = masked(&[0.0, f32::NEG_INFINITY]);
    let output = value_info("scores", 1, &[]).encode_to_vec();
    shown
        .graph
        .as_mut()
        .unwrap()
        .output
        .insert(0, output.into());
    assert_says(&refusal(&shown), &["minus infinity"]);
}

/// A model that adds two inputs; a third, of integers, concerns nobody.
fn sum_of_two(axes: [&[&str]; 2]) -> ModelProto {
    model(graph(
        &[
            node("Add", &["a", "b"], &["s"]),
            node("Relu", &["s"], &["y"]),
        ],
        &[],
        &[
            value_info("a", 1, axes[0]),
            value_info("b", 1, axes[1]),
            value_info("rate", 7, &[]),
        ],
        &[value_info("y", 1, &[])],
    ))
}

fn import_with(proto: &ModelProto, options: &LoadOptions) -> Result<Loaded, OnnxError> {
    Model::decode(proto.encode_to_vec().into(), None)?.import(options)
}

#[test]
fn inputs_that_no_output_depends_on_are_not_asked_for() {
    let loaded = import(&sum_of_two([&["n", "2"], &["2"]])).unwrap();
    let names: Vec<&str> = loaded
        .network
        .inputs()
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(loaded.network.input_elements(), 4);
}

#[test]
fn axes_of_one_name_have_one_extent() {
    let proto = sum_of_two([&["n", "width"], &["width"]]);
    // As the first axis of an input the name is the batch: one.
    assert_eq!(import(&proto).unwrap().network.input_elements(), 2);
    let options = LoadOptions {
        dims: [("width".to_owned(), 3)].into(),
        ..LoadOptions::default()
    };
    let network = import_with(&proto, &options).unwrap().network;
    assert_eq!(network.input_elements(), 6);
    // A question mark is no name: Paddle writes it for every open axis.
    let proto = sum_of_two([&["?", "?"], &["?", "4"]]);
    let options = LoadOptions {
        dims: [("a:1".to_owned(), 4)].into(),
        ..LoadOptions::default()
    };
    assert_eq!(
        import_with(&proto, &options)
            .unwrap()
            .network
            .input_elements(),
        8
    );
}

#[test]
fn a_model_is_cut_where_a_tensor_is_named() {
    let proto = sum_of_two([&["n", "2"], &["2"]]);
    let options = LoadOptions {
        from: vec!["s".to_owned()],
        ..LoadOptions::default()
    };
    let loaded = import_with(&proto, &options).unwrap();
    assert_eq!(loaded.network.input_name(), "s");
    assert_says(&loaded.scope.join(" "), &["cut at `s`", "this tensor"]);
    let before = loaded.network.before().unwrap();
    assert_eq!(before.logits(&[1.0f32, 2.0, 10.0, 20.0]), [11.0, 22.0]);
    assert_eq!(loaded.network.logits(&[-1.0f32, 2.0]), [0.0, 2.0]);
}

#[test]
fn a_model_is_not_read_when_the_time_is_up_or_the_user_wants_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.onnx");
    let proto = dense(&[1.0, 2.0, 3.0, 4.0]);
    std::fs::write(&path, proto.encode_to_vec()).unwrap();
    let with = |deadline: Option<Instant>, interrupted: bool| LoadOptions {
        until: LoadUntil {
            deadline,
            interrupt: Some(Arc::new(AtomicBool::new(interrupted))),
        },
        ..LoadOptions::default()
    };
    let far = Instant::now() + Duration::from_hours(1);
    assert!(load(&path, &with(Some(far), false)).is_ok());
    let past = Some(Instant::now());
    let error = load(&path, &with(past, false)).unwrap_err();
    assert_says(
        &error.to_string(),
        &["a.onnx: the time was up", "--budget", "--timeout"],
    );
    assert!(error.is_out_of_time() && !error.is_interruption());
    let error = load(&path, &with(Some(far), true)).unwrap_err();
    assert_says(&error.to_string(), &["a.onnx: interrupted"]);
    assert!(error.is_interruption() && !error.is_out_of_time());
    // What is decoded already is not made a network of, either.
    assert!(matches!(
        import_with(&proto, &with(past, false)),
        Err(OnnxError::OutOfTime)
    ));
}

/// A linear classifier of scikit-learn, with what its exporter puts behind it.
fn linear_classifier(post_transform: &str) -> ModelProto {
    let attribute = |name: &str| AttributeProto {
        name: Some(name.into()),
        ..AttributeProto::default()
    };
    let floats = |name: &str, floats: &[f32]| AttributeProto {
        r#type: Some(attribute_type::FLOATS),
        floats: floats.to_vec(),
        ..attribute(name)
    };
    let string = |name: &str, s: &str| AttributeProto {
        r#type: Some(attribute_type::STRING),
        s: Some(s.as_bytes().to_vec().into()),
        ..attribute(name)
    };
    let mut classifier = node("LinearClassifier", &["x"], &["label", "scores"]);
    classifier.domain = Some("ai.onnx.ml".into());
    classifier.attribute = [
        floats("coefficients", &[1.0, 0.0, 0.0, 2.0, -1.0, -1.0]),
        floats("intercepts", &[0.5, 0.0, 0.25]),
        string("post_transform", post_transform),
        AttributeProto {
            r#type: Some(attribute_type::INTS),
            ints: vec![4, 5, 7],
            ..attribute("classlabels_ints")
        },
    ]
    .iter()
    .map(|a| a.encode_to_vec().into())
    .collect();
    let mut normalizer = node("Normalizer", &["scores"], &["y"]);
    normalizer.domain = Some("ai.onnx.ml".into());
    normalizer.attribute = vec![string("norm", "L1").encode_to_vec().into()];
    let mut proto = small(&[classifier, normalizer], &[], &["y"]);
    proto.opset_import.push(opset("ai.onnx.ml", 1));
    proto
}

fn answer(network: &deepconcolic_network::Network, x: &[f32]) -> Vec<f32> {
    use deepconcolic_network::{Pass, Point};
    let trace = network.forward(x, &Pass::keep([Point::Answer]));
    trace.get(Point::Answer).to_vec()
}

#[test]
fn linear_classifiers_end_in_the_softmax_of_their_scores() {
    let network = import(&linear_classifier("SOFTMAX")).unwrap().network;
    assert_eq!(network.head(), deepconcolic_network::Head::Softmax);
    let answers = answer(&network, &[1.0, 3.0]);
    let sum: f32 = [1.5_f32, 6.0, -3.75].iter().map(|z| z.exp()).sum();
    for (p, z) in answers.iter().zip([1.5_f32, 6.0, -3.75]) {
        assert!((p - z.exp() / sum).abs() < 1e-6, "{p} of {z}");
    }
    // Scores of any other kind are divided by their sum.
    let network = import(&linear_classifier("NONE")).unwrap().network;
    let shares = answer(&network, &[1.0, 3.0]);
    for (share, z) in shares.iter().zip([1.5_f32, 6.0, -3.75]) {
        assert!((share - z / 11.25).abs() < 1e-6, "{share} of {z}");
    }
    let message = refusal(&linear_classifier("PROBIT"));
    assert_says(&message, &["LinearClassifier", "PROBIT", "NONE, LOGISTIC"]);
}
