//! The project's conformance set: what exporters really write, and files to refuse.

use std::fs;
use std::path::{Path, PathBuf};

use deepconcolic_formats::onnx::{Model, OnnxError};

const ZOO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/onnx-zoo");

/// Each bad file whose fault this layer can see, with what its refusal must say.
const REFUSALS: [(&str, &[&str]); 20] = [
    (
        "bad_deep_nesting",
        &["not an ONNX model", "complete download"],
    ),
    ("bad_dtype99", &["initializer `", "code 99"]),
    ("bad_dup_output", &["is defined twice", "output of node `"]),
    ("bad_empty", &["not an ONNX model", "empty"]),
    ("bad_ext_absolute", &["`/etc/passwd`", "own folder"]),
    ("bad_ext_devzero", &["`/dev/zero`", "own folder"]),
    (
        "bad_ext_missing",
        &["initializer `", "`nothere.bin`", "beside the model"],
    ),
    (
        "bad_ext_offset_past_end",
        &["1099511627776", "past the end", "`hand_extdata.bin`"],
    ),
    ("bad_ext_traversal", &["`../../etc/passwd`", "own folder"]),
    ("bad_garbage", &["not an ONNX model", "complete download"]),
    ("bad_huge_dims_172GB", &["initializer `", "bytes, but"]),
    ("bad_input_dims_2p120", &["more than 2^40 elements"]),
    ("bad_missing_output", &["graph output `", "not defined"]),
    ("bad_negative_dims", &["initializer `", "has length -"]),
    ("bad_opset9999", &["9999", "re-export with opset <= "]),
    ("bad_selfloop", &["node `", "depends on its own output"]),
    ("bad_text", &["not an ONNX model", "web page"]),
    (
        "bad_truncated_half",
        &["not an ONNX model", "complete download"],
    ),
    ("bad_undefined_input", &["node `", "which no node"]),
    // Not in the set; a path without a file.
    ("there_is_no_such_file", &["no such file", "check the path"]),
];

/// Faults of meaning, which the operator table above this layer must find.
const NOT_VISIBLE_HERE: [&str; 4] = [
    "bad_unsupported_lstm",
    "bad_custom_domain",
    "bad_shape_mismatch",
    "bad_stride0",
];

/// The models in the set, or nothing (and a word why) where the set is not installed.
fn models() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(ZOO) else {
        eprintln!("skipped: the conformance set is not at {ZOO}");
        return vec![];
    };
    let mut models: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "onnx")
        })
        .collect();
    models.sort();
    models
}

fn stem(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

#[test]
fn every_good_model_decodes() {
    for path in models() {
        let name = stem(&path);
        if name.starts_with("bad_") && !NOT_VISIBLE_HERE.contains(&name) {
            continue;
        }
        let model = Model::open(&path).unwrap_or_else(|error| panic!("{error}"));
        assert!(!model.graph.nodes.is_empty(), "{name}");
        assert!(!model.graph.inputs.is_empty(), "{name}");
        for array in model.graph.initializers.values() {
            assert_eq!(array.to_f32().unwrap().len(), array.len(), "{name}");
        }
    }
}

#[test]
fn every_bad_model_is_refused_with_one_clear_line() {
    if models().is_empty() {
        return;
    }
    for (name, parts) in REFUSALS {
        let path = Path::new(ZOO).join(format!("{name}.onnx"));
        let error = Model::open(&path).unwrap_err();
        assert!(matches!(error, OnnxError::InFile { .. }), "{name}");
        let message = error.to_string();
        println!("{name}: {}", message.trim_start_matches(ZOO));
        assert!(message.contains(name), "{message}");
        assert!(!message.contains('\n'), "{message}");
        for part in parts {
            assert!(message.contains(part), "{message} lacks {part}");
        }
    }
}

#[test]
fn no_bad_model_is_forgotten() {
    for path in models() {
        let name = stem(&path);
        if name.starts_with("bad_") {
            let expected = REFUSALS.iter().any(|(bad, _)| *bad == name);
            assert!(expected || NOT_VISIBLE_HERE.contains(&name), "{name}");
        }
    }
}

#[test]
fn the_same_network_has_the_same_weights_inside_and_beside_the_file() {
    if models().is_empty() {
        return;
    }
    let weights = |name: &str| {
        let model = Model::open(&Path::new(ZOO).join(name)).unwrap();
        model.graph.initializers
    };
    assert_eq!(
        weights("hand_extdata.onnx"),
        weights("hand_vnncomp_front.onnx")
    );
}
