//! What follows a run, and `verify`, on models with several inputs and on models that are cut: parts that are merged,
//! runs that go on, properties. The options that say what is tested are given once and are in the folder from then on.

use std::fs;
use std::path::Path;

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::{NpzWriter, write_npy};
use serde_json::{Value, json};

use crate::inputs::{
    Folder, assert_near, assert_says, command, data, evaluated, refusal, several, succeed,
};

const TOKENS: [&str; 6] = [
    "--dim",
    "length=5",
    "--fix-input",
    "mask=1",
    "--from",
    "embedded",
];

fn record(out: &str) -> Value {
    serde_json::from_slice(&fs::read(Path::new(out).join("run.json")).unwrap()).unwrap()
}

/// Runs into a folder with options that say what is tested and more.
fn run(out: &str, subject: &[&str], more: &[&str]) -> Value {
    succeed(&[&["run"], subject, more, &["--out", out]].concat());
    record(out)
}

/// A folder passes what needs nothing but the folder.
fn assert_holds(out: &str) {
    for command in ["check", "replay"] {
        succeed(&[command, out]);
    }
}

/// Two parts of a run are merged, and are what the run is that was not divided.
fn assert_merges(folder: &Folder, subject: &[&str]) -> Value {
    let limits = ["--criterion", "nc", "--max-executions", "2000"];
    let parts = ["1/2", "2/2"].map(|part| {
        let out = folder.path(&part.replace('/', "of"));
        let flags = [&limits[..], &["--partition", part]].concat();
        let found = run(&out, subject, &flags);
        assert_eq!(found["partition"], part);
        out
    });
    let merged = folder.path("merged");
    succeed(&["merge", &merged, &parts[0], &parts[1]]);
    assert_holds(&merged);
    let whole = run(&folder.path("whole"), subject, &limits);
    let joined = record(&merged);
    assert_eq!(
        joined["requirements"]["covered"],
        whole["requirements"]["covered"]
    );
    assert!(joined["requirements"]["covered"].as_u64().unwrap() > 0);
    for setting in ["fixed", "dims", "from"] {
        let settings = |record: &Value| record["settings"]["model"][setting].clone();
        assert_eq!(settings(&joined), settings(&whole));
    }
    joined
}

#[test]
fn parts_of_a_run_over_several_inputs_are_merged() {
    let folder = Folder::new();
    let (model, npz) = (data("several.onnx"), data("several.npz"));
    let state = folder.path("state.npy");
    write_npy(Path::new(&state), &[2, 1, 3], &[0.5f32; 6]).unwrap();
    let fix = format!("state={state}");
    let subject = several(&[], &model, &npz, &["--fix-input", &fix]);
    let joined = assert_merges(&folder, &subject);
    assert_eq!(joined["settings"]["model"]["fixed"][0]["name"], "state");
    // The numbers of a fixed input are in the folder, not the name of its file.
    fs::remove_file(state).unwrap();
    assert_holds(&folder.path("merged"));
}

#[test]
fn parts_of_a_run_over_a_cut_model_are_merged() {
    let folder = Folder::new();
    let (model, npz) = (data("tokens.onnx"), data("tokens.npz"));
    let subject = [&[&*model, "--data", &npz], &TOKENS[..]].concat();
    let joined = assert_merges(&folder, &subject);
    assert_eq!(joined["settings"]["model"]["from"], json!(["embedded"]));
}

#[test]
fn parts_with_other_fixed_inputs_are_not_of_one_run() {
    let folder = Folder::new();
    let (model, npz) = (data("several.onnx"), data("several.npz"));
    let parts = [("1/2", "gain=0.5"), ("2/2", "gain=0.75")].map(|(part, fix)| {
        let out = folder.path(&part.replace('/', "of"));
        let subject = several(&[], &model, &npz, &["--fix-input", fix]);
        let limits = ["--criterion", "nc", "--max-executions", "200"];
        let flags = [&limits[..], &["--partition", part]].concat();
        run(&out, &subject, &flags);
        out
    });
    let merged = folder.path("merged");
    let message = refusal(&["merge", &merged, &parts[0], &parts[1]]);
    assert_says(&message, &["2of2", "model"]);
}

/// A run that goes on by its own command is the same as one that goes on from its folder alone.
fn assert_goes_on(folder: &Folder, subject: &[&str]) {
    let criterion = [
        "--criterion",
        "kmnc",
        "--sections",
        "40",
        "--max-executions",
    ];
    let (first, second) = (folder.path("first"), folder.path("second"));
    let started = [&first, &second].map(|out| {
        let flags = [&criterion[..], &["300"]].concat();
        run(out, subject, &flags)
    });
    let flags = [&criterion[..], &["1500", "--resume"]].concat();
    let by_options = run(&first, subject, &flags);
    succeed(&["resume", &second, "--max-executions", "1500"]);
    let covered = |record: &Value| record["requirements"]["covered"].as_u64().unwrap();
    assert!(covered(&by_options) > covered(&started[0]));
    let suite = |out: &str| fs::read(Path::new(out).join("suite.npz")).unwrap();
    assert!(suite(&first) == suite(&second));
    assert_holds(&first);
    assert_holds(&second);
}

#[test]
fn a_run_over_several_inputs_goes_on() {
    let folder = Folder::new();
    let (model, npz) = (data("several.onnx"), data("several.npz"));
    let fixed = ["--fix-input", "gain=0.5"];
    assert_goes_on(&folder, &several(&[], &model, &npz, &fixed));
    // With another number in place of the input it would be another run.
    let out = folder.path("first");
    let subject = several(&["run"], &model, &npz, &["--fix-input", "gain=0.75"]);
    let other = ["--criterion", "kmnc", "--sections", "40", "--resume"];
    let message = refusal(&[&subject, &other[..], &["--out", &out]].concat());
    assert_says(&message, &["other settings", "model", "--out"]);
}

#[test]
fn a_run_over_a_cut_model_goes_on() {
    let folder = Folder::new();
    let (model, npz) = (data("tokens.onnx"), data("tokens.npz"));
    let subject = [&[&*model, "--data", &npz], &TOKENS[..]].concat();
    assert_goes_on(&folder, &subject);
}

/// A property of boxes round numbers, and of the first output.
fn property(path: &str, centre: &[f32], outputs: usize, assertion: &str) {
    let mut lines = Vec::new();
    for (i, x) in centre.iter().map(|&x| f64::from(x)).enumerate() {
        let (low, high) = (x - 1e-3, x + 1e-3);
        lines.push(format!("(declare-const X_{i} Real)"));
        lines.push(format!("(assert (>= X_{i} {low:?}))"));
        lines.push(format!("(assert (<= X_{i} {high:?}))"));
    }
    lines.extend((0..outputs).map(|i| format!("(declare-const Y_{i} Real)")));
    lines.push(assertion.to_owned());
    fs::write(path, lines.join("\n")).unwrap();
}

/// The numbers of a counterexample: all X, or all Y.
fn numbers(answer: &str, name: char) -> Vec<f32> {
    let words = answer.replace(['(', ')'], " ");
    let words: Vec<&str> = words.split_whitespace().skip(1).collect();
    let pairs = words.chunks(2).filter(|pair| pair[0].starts_with(name));
    pairs.map(|pair| pair[1].parse().unwrap()).collect()
}

/// What `verify` prints, with a folder that `check` accepts.
fn verified(folder: &Folder, name: &str, arguments: &[&str]) -> String {
    let out = folder.path(name);
    let (answer, _) = succeed(&[&["verify"], arguments, &["--out", &out]].concat());
    succeed(&["check", &out]);
    answer
}

#[test]
fn properties_speak_of_all_inputs_that_are_not_fixed() {
    let folder = Folder::new();
    let (model, npz) = (data("several.onnx"), data("several.npz"));
    let mut archive = NpzReader::open(Path::new(&npz)).unwrap();
    let parts = [("image", 16), ("state", 6), ("offsets", 6)];
    let centre: Vec<f32> = (parts.iter())
        .flat_map(|(name, each)| archive.read::<f32>(name).unwrap().values[..*each].to_vec())
        .collect();
    let path = folder.path("asked.vnnlib");
    let options = ["--dim", "height=4", "--dim", "width=4"];
    let fixed = [&options[..], &["--fix-input", "gain=0.5"]].concat();
    let asked = [&[&*model, &path], &fixed[..]].concat();
    property(&path, &centre, 3, "(assert (>= Y_0 1000.0))");
    assert_eq!(verified(&folder, "never", &asked).trim_end(), "unsat");
    property(&path, &centre, 3, "(assert (<= Y_0 1000.0))");
    let answer = verified(&folder, "always", &asked);
    assert!(answer.starts_with("sat\n"), "{answer}");
    // What the counterexample says is what the network answers to its parts.
    let found = folder.path("found.npz");
    let mut writer = NpzWriter::create(Path::new(&found)).unwrap();
    let x = numbers(&answer, 'X');
    writer.add("image", &[1, 1, 4, 4], &x[..16]).unwrap();
    writer.add("state", &[1, 2, 3], &x[16..22]).unwrap();
    writer.add("offsets", &[1, 6], &x[22..]).unwrap();
    writer.finish().unwrap();
    let answers = evaluated(&[&[&*model, "--data", &found], &fixed[..]].concat());
    assert_near(&answers, &numbers(&answer, 'Y'));
    // Without the fixed input the vector is longer than the property.
    let output = command(&[&["verify", &model, &path], &options[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert_says(&message, &["declares 28 inputs", "has 29"]);
}

#[test]
fn properties_of_a_cut_model_speak_of_the_tensor_it_is_cut_at() {
    let folder = Folder::new();
    let model = data("tokens.onnx");
    let path = folder.path("asked.vnnlib");
    let asked = [&[&*model, &path], &TOKENS[..]].concat();
    property(&path, &[0.25; 20], 3, "(assert (>= Y_0 1000.0))");
    assert_eq!(verified(&folder, "never", &asked).trim_end(), "unsat");
    let kept: Value = serde_json::from_slice(
        &fs::read(Path::new(&folder.path("never")).join("verify.json")).unwrap(),
    )
    .unwrap();
    assert_says(&kept.to_string(), &["embedded", "mask"]);
}
