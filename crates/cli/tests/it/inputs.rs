//! Models with several inputs, inputs of integers, scalars, open axes, and models that are cut: through the real binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use deepconcolic_dataset::arrays::{NpzReader, read_npy};
use deepconcolic_dataset::write::{NpzWriter, write_npy};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn data(file: &str) -> String {
    format!(
        "{}/../../testdata/inputs/{file}",
        env!("CARGO_MANIFEST_DIR")
    )
}

pub(crate) fn command(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deepconcolic"));
    command.args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Standard output and standard error of a command that must succeed.
pub(crate) fn succeed(arguments: &[&str]) -> (String, String) {
    let output = command(arguments);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    (text(&output.stdout), errors)
}

/// The one line that a command refuses its arguments with.
pub(crate) fn refusal(arguments: &[&str]) -> String {
    let output = command(arguments);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert_eq!(errors.trim_end().lines().count(), 1, "{errors}");
    errors
}

pub(crate) fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        path.to_str().unwrap().to_owned()
    }
}

/// The answers of onnxruntime beside a model.
fn recorded(model: &str) -> Vec<f32> {
    let path = data(&format!("{model}.npz"));
    let mut archive = NpzReader::open(Path::new(&path)).unwrap();
    archive.read("answers").unwrap().values
}

pub(crate) fn assert_near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
}

pub(crate) fn evaluated(arguments: &[&str]) -> Vec<f32> {
    let folder = Folder::new();
    let out = folder.path("y.npy");
    let mut all = vec!["eval"];
    all.extend(arguments);
    all.extend(["--out", &out]);
    succeed(&all);
    read_npy(Path::new(&out)).unwrap().values
}

const DIMS: [&str; 4] = ["--dim", "height=4", "--dim", "width=4"];

/// A command on the model with several inputs.
pub(crate) fn several<'a>(
    first: &[&'a str],
    model: &'a str,
    data: &'a str,
    more: &[&'a str],
) -> Vec<&'a str> {
    let mut arguments = first.to_vec();
    arguments.extend([model, "--data", data]);
    arguments.extend(DIMS);
    arguments.extend(more);
    arguments
}

#[test]
fn several_inputs_answer_as_onnxruntime_does() {
    let (model, npz) = (data("several.onnx"), data("several.npz"));
    let arguments = several(&[], &model, &npz, &[]);
    assert_near(&evaluated(&arguments), &recorded("several"));
}

#[test]
fn fixed_inputs_answer_as_if_data_said_so() {
    let folder = Folder::new();
    let (model, npz) = (data("several.onnx"), data("several.npz"));
    let mut archive = NpzReader::open(Path::new(&npz)).unwrap();
    let images = archive.read::<f32>("image").unwrap();
    let state = folder.path("state.npy");
    let numbers = [0.5f32, -1.0, 2.0, 0.25, 0.0, 1.5];
    write_npy(Path::new(&state), &[2, 1, 3], &numbers).unwrap();
    // The same, said by data.
    let path = folder.path("all.npz");
    let mut writer = NpzWriter::create(Path::new(&path)).unwrap();
    let count = images.shape[0];
    writer.add("image", &images.shape, &images.values).unwrap();
    let states: Vec<f32> = (0..count).flat_map(|_| numbers).collect();
    writer.add("state", &[count, 2, 3], &states).unwrap();
    writer.add("gain", &[count], &vec![2.0f32; count]).unwrap();
    writer
        .add("offsets", &[count, 6], &vec![-0.5f32; count * 6])
        .unwrap();
    writer.finish().unwrap();
    let expected = evaluated(&several(&[], &model, &path, &[]));
    let state = format!("state={state}");
    let fixed = [
        "--fix-input",
        &state,
        "--fix-input",
        "gain=2",
        "--fix-input",
        "offsets=-0.5",
    ];
    let found = evaluated(&several(&[], &model, &npz, &fixed));
    assert_near(&found, &expected);
}

#[test]
fn inspection_says_what_the_input_vector_is_made_of() {
    let model = data("several.onnx");
    let mut arguments = vec!["inspect", &model, "--json", "--fix-input", "gain=2"];
    arguments.extend(DIMS);
    let (out, notes) = succeed(&arguments);
    let inspection: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(inspection["input"]["shape"], serde_json::json!([28]));
    let names: Vec<&Value> = (0..3).map(|i| &inspection["inputs"][i]["name"]).collect();
    assert_eq!(names, ["image", "state", "offsets"]);
    assert_eq!(inspection["inputs"][1]["first"], 16);
    assert_says(
        &notes,
        &["one after the other", "`gain` is fixed", "height"],
    );
}

/// A run on a model, with what its folder must pass.
fn run(folder: &Folder, arguments: &[&str]) -> Value {
    let out = folder.path("out");
    let mut all = vec!["run"];
    all.extend(arguments);
    all.extend([
        "--criterion",
        "nc",
        "--max-executions",
        "3000",
        "--out",
        &out,
    ]);
    succeed(&all);
    // Nothing but the folder is needed from here on.
    for command in ["check", "replay"] {
        succeed(&[command, &out]);
    }
    serde_json::from_slice(&fs::read(Path::new(&out).join("run.json")).unwrap()).unwrap()
}

#[test]
fn a_run_over_several_inputs_is_checked_and_replayed_from_its_folder() {
    let folder = Folder::new();
    let (model, npz) = (data("several.onnx"), data("several.npz"));
    let state = folder.path("state.npy");
    write_npy(Path::new(&state), &[2, 1, 3], &[0.5f32; 6]).unwrap();
    let fix = format!("state={state}");
    let more = [
        "--fix-input",
        &fix,
        "--domain",
        "image=0..1,gain=-4..4,offsets=-5..5",
    ];
    let record = run(&folder, &several(&[], &model, &npz, &more));
    fs::remove_file(state).unwrap();
    succeed(&["check", &folder.path("out")]);
    assert!(record["requirements"]["covered"].as_u64().unwrap() > 0);
    let settings = &record["settings"];
    assert_eq!(settings["model"]["fixed"][0]["name"], "state");
    assert_eq!(settings["domain"]["lower"][16], -4.0);
    assert_eq!(settings["domain"]["lower"][17], -5.0);
    let notes = record["notes"].to_string();
    assert_says(
        &notes,
        &[
            "`image` (1x1x4x4), `gain` (scalar), `offsets` (6)",
            "`state` is fixed",
        ],
    );
}

#[test]
fn each_input_has_the_default_domain_of_its_kind() {
    let (model, npz) = (data("several.onnx"), data("several.npz"));
    let arguments = several(&["coverage"], &model, &npz, &["--criterion", "nc"]);
    let (out, _) = succeed(&arguments);
    assert_says(&out, &["image: 0..1 (images)", "state: the observed range"]);
}

#[test]
fn tokens_are_measured_fixed_or_cut_away() {
    let (model, npz) = (data("tokens.onnx"), data("tokens.npz"));
    let length = ["--dim", "length=5", "--fix-input", "mask=1"];
    let on = |more: &[&'static str]| {
        let mut arguments = vec![model.clone(), "--data".to_owned(), npz.clone()];
        arguments.extend(length.iter().chain(more).map(|&word| word.to_owned()));
        arguments
    };
    let words = |arguments: &[String]| -> Vec<&'static str> {
        let leaked = arguments
            .iter()
            .map(|a| &*Box::leak(a.clone().into_boxed_str()));
        leaked.collect()
    };
    // Data of ids are measured as they are.
    let whole = evaluated(&words(&on(&[])));
    assert_near(&whole, &recorded("tokens"));
    // And give the tensor after the embedding where the model is cut there.
    let cut = evaluated(&words(&on(&["--from", "embedded"])));
    assert_near(&cut, &whole);
    // Ids are not searched, and the way out is named.
    let folder = Folder::new();
    let out = folder.path("none");
    let mut arguments = vec!["run"];
    let all = on(&["--criterion", "nc", "--out"]);
    arguments.extend(words(&all));
    arguments.push(&out);
    assert_says(
        &refusal(&arguments),
        &["tokens", "--fix-input", "--from embedded"],
    );
    let record = run(&folder, &words(&on(&["--from", "embedded"])));
    assert_says(
        &record["notes"].to_string(),
        &["cut at `embedded`", "not of the model's own input"],
    );
    assert_eq!(record["settings"]["model"]["from"][0], "embedded");
    assert_eq!(
        record["settings"]["shapes"]["input"],
        serde_json::json!([5, 4])
    );
}

#[test]
fn both_inputs_of_a_cut_model_may_be_tested() {
    let folder = Folder::new();
    let path = folder.path("both.npz");
    let mut archive = NpzReader::open(Path::new(&data("tokens.npz"))).unwrap();
    let tokens = archive.read::<i64>("tokens").unwrap();
    let mut writer = NpzWriter::create(Path::new(&path)).unwrap();
    writer.add("tokens", &tokens.shape, &tokens.values).unwrap();
    writer
        .add(
            "mask",
            &[tokens.shape[0], 5],
            &vec![1.0f32; tokens.values.len()],
        )
        .unwrap();
    writer.finish().unwrap();
    let model = data("tokens.onnx");
    let found = evaluated(&[
        &model, "--data", &path, "--dim", "length=5", "--from", "embedded",
    ]);
    assert_near(&found, &recorded("tokens"));
}

#[test]
fn options_that_fit_no_input_are_refused_in_one_line() {
    let folder = Folder::new();
    let (model, npz) = (data("several.onnx"), data("several.npz"));
    let wrong = folder.path("wrong.npy");
    write_npy(Path::new(&wrong), &[2, 3], &[0.0f32; 6]).unwrap();
    let wrong = format!("state={wrong}");
    let broken = folder.path("broken.npy");
    fs::write(&broken, b"not numpy").unwrap();
    let broken = format!("state={broken}");
    let cases: [(&[&str], &[&str]); 13] = [
        (&["--fix-input", &wrong], &["[2, 3]", "[2, `batch`, 3]"]),
        (&["--fix-input", &broken], &["--fix-input", "broken.npy"]),
        (&["--fix-input", "state=missing.npy"], &["no such file"]),
        (&["--fix-input", "state=oops"], &["neither a number nor"]),
        (
            &["--fix-input", "stat=1"],
            &["no input `stat`", "`image`, `state`"],
        ),
        (
            &["--fix-input", "gain=1", "--fix-input", "gain=2"],
            &["fixed twice"],
        ),
        (&["--fix-input", "gain"], &["NAME=FILE or NAME=NUMBER"]),
        (&["--fix-input", "gain=nan"], &["not a finite number"]),
        (&["--dim", "depth=3"], &["no such open axis", "`height`"]),
        (&["--dim", "height=-1"], &["NAME=N"]),
        (&["--from", "nowhere"], &["no such tensor"]),
        (&["--from", "image"], &["an input of the model already"]),
        (&["--mean", "0.5"], &["one input that is tested"]),
    ];
    for (more, parts) in &cases {
        let arguments = several(
            &["coverage"],
            &model,
            &npz,
            &[more, &["--criterion", "nc"][..]].concat(),
        );
        assert_says(&refusal(&arguments), parts);
    }
    let mut open = vec!["inspect", &model, "--dim", "height=4"];
    assert_says(&refusal(&open), &["`image`", "--dim width=N"]);
    open.extend(["--dim", "width=99999999999"]);
    assert_says(&refusal(&open), &["beyond the limit"]);
}
