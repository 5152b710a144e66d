//! The real binary: what it prints and writes, and how it fails. The numbers themselves are the
//! business of the crates below; here they are followed through the command line.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use deepconcolic_dataset::arrays::{Array, NpzReader, read_npy};
use deepconcolic_dataset::write::write_npy;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A path in the project's test data.
fn testdata(file: &str) -> String {
    format!("{}/../../testdata/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deepconcolic"));
    command.args(arguments);
    command
}

/// Standard output of a command that must succeed without a word on standard error.
fn succeed(arguments: &[&str]) -> String {
    let output = command(arguments).output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    assert_eq!(errors, "", "{arguments:?}");
    text(&output.stdout)
}

/// Standard error of a command that must fail for a reason of the user's, and print nothing else.
fn fail(arguments: &[&str]) -> String {
    let output = command(arguments).output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert!(errors.starts_with("error: "), "{arguments:?}: {errors}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    errors
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

/// A folder for what `eval` reads and writes.
struct Evaluation {
    folder: TempDir,
}

impl Evaluation {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn save(&self, name: &str, shape: &[usize], values: &[f32]) -> String {
        let path = self.path(name);
        write_npy(&path, shape, values).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The inputs recorded beside a model, alone in a file.
    fn inputs(&self, model: &str) -> String {
        let x = recorded(model, "x");
        self.save("x.npy", &x.shape, &x.values)
    }

    /// What `eval` prints, and where it wrote.
    fn run(&self, model: &str, data: &str, more: &[&str]) -> (String, PathBuf) {
        let out = self.path("y.npy");
        let model = testdata(&format!("{model}.onnx"));
        let path = out.to_str().unwrap();
        let mut arguments = vec!["eval", &model, "--data", data, "--out", path];
        arguments.extend(more);
        (succeed(&arguments), out)
    }

    fn array(&self, model: &str, data: &str, more: &[&str]) -> Array<f32> {
        read_npy(&self.run(model, data, more).1).unwrap()
    }
}

fn recorded(model: &str, array: &str) -> Array<f32> {
    let path = testdata(&format!("{model}.npz"));
    let mut archive = NpzReader::open(Path::new(&path)).unwrap();
    archive.read(array).unwrap()
}

fn assert_near(ours: &Array<f32>, theirs: &Array<f32>) {
    assert_eq!(ours.shape, theirs.shape);
    let scale = theirs.values.iter().fold(1e-6_f32, |m, v| m.max(v.abs()));
    for (ours, theirs) in ours.values.iter().zip(&theirs.values) {
        assert!((ours - theirs).abs() <= 1e-4 * scale, "{ours} {theirs}");
    }
}

#[test]
fn help_names_the_commands_and_the_exit_codes() {
    for flag in ["--help", "-h", "help"] {
        assert_says(&succeed(&[flag]), &["inspect", "eval", "0 done", "130"]);
    }
    assert_says(
        &succeed(&["eval", "--help"]),
        &[
            "--data",
            "--out",
            "--output",
            "--layer",
            "--pre",
            "--limit",
            "--scale",
            "--mean",
            "--std",
            "--input-shape",
            "--threads",
            "--json",
        ],
    );
    assert_says(&succeed(&["inspect", "--help"]), &["<MODEL>", "--json"]);
}

#[test]
fn version_is_that_of_the_package() {
    let expected = concat!("deepconcolic ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(succeed(&["--version"]), expected);
}

#[test]
fn nothing_asked_is_answered_with_help_and_exit_code_2() {
    let output = command(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert_says(&text(&output.stderr), &["Usage: deepconcolic"]);
}

#[test]
fn inspect_shows_layers_as_the_file_names_and_orders_them() {
    let shown = succeed(&["inspect", &testdata("cnn_nchw.onnx")]);
    let rows: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for expected in [
        &["input", "input", "2x9x8"][..],
        &["output", "output", "3"],
        &["logits", "3"],
        &["2", "/relu/Relu", "Relu", "4x9x8", "288"],
        &["3", "/relu_1/Relu", "Relu", "6x2x4", "48"],
        &["2", "hidden", "layers", "336"],
    ] {
        let found = rows.iter().any(|row| row == expected);
        assert!(found, "{expected:?} is not in\n{shown}");
    }
    assert_says(&shown, &["opset 13", "every cell is exact"]);
}

#[test]
fn inspect_says_what_cannot_be_analysed_exactly() {
    let shown = succeed(&["inspect", &testdata("smooth.onnx")]);
    assert_says(&shown, &["smooth: cells are linearised at a point"]);
    assert!(!shown.contains("every cell is exact"), "{shown}");
    let shown = succeed(&["inspect", &testdata("two_outputs.onnx")]);
    assert_says(&shown, &["ArgMax is discrete"]);
    let shown = succeed(&["inspect", &testdata("mlp.onnx")]);
    assert_says(&shown, &["before the final Softmax"]);
}

fn inspect_json(model: &str) -> Value {
    serde_json::from_str(&succeed(&["inspect", &testdata(model), "--json"])).unwrap()
}

#[test]
fn inspect_as_json_lists_the_hidden_layers_in_order() {
    let report = inspect_json("smooth.onnx");
    let layers = json!([
        {"number": 2, "name": "gelu/Mul_1", "kind": "Gelu", "shape": [8], "neurons": 8},
        {"number": 3, "name": "tanh", "kind": "Tanh", "shape": [7], "neurons": 7},
        {"number": 4, "name": "silu/Sigmoid", "kind": "Sigmoid", "shape": [5], "neurons": 5},
    ]);
    assert_eq!(report["layers"], layers);
    assert_eq!(report["neurons"], 20);
    assert_eq!(report["exact"], false);

    let report = inspect_json("cnn_nhwc.onnx");
    let layers = json!([
        {"number": 2, "name": "conv2d/Relu", "kind": "Relu", "shape": [5, 8, 8], "neurons": 320},
    ]);
    assert_eq!(report["layers"], layers);
    assert_eq!(report["input"]["shape"], json!([8, 8, 1]));
    assert_eq!(report["softmax"], true);
    assert_eq!(report["head"], "Softmax");
}

#[test]
fn eval_writes_the_answer_one_row_a_sample() {
    for model in ["mlp", "cnn_nchw", "cnn_nhwc", "external", "smooth"] {
        let evaluation = Evaluation::new();
        let answer = evaluation.array(model, &evaluation.inputs(model), &[]);
        assert_near(&answer, &recorded(model, "y"));
    }
}

#[test]
fn eval_says_what_it_read_and_wrote() {
    let evaluation = Evaluation::new();
    let (shown, out) = evaluation.run("mlp", &testdata("data_mlp.npz"), &[]);
    assert!(shown.starts_with("60 samples ("), "{shown}");
    let last = format!("wrote 60x3 to {}\n", out.display());
    assert!(shown.ends_with(&last), "{shown}");
}

/// Accuracy as the written answers have it.
fn share_right(answers: &Array<f32>, data: &str) -> f64 {
    let mut archive = NpzReader::open(Path::new(data)).unwrap();
    let labels = archive.read::<i64>("y").unwrap().values;
    let right = answers
        .values
        .chunks(3)
        .zip(&labels)
        .filter(|(row, label)| {
            let of_label = row[**label as usize];
            row.iter().all(|score| *score <= of_label)
        });
    right.count() as f64 / labels.len() as f64
}

#[test]
fn eval_reports_accuracy_when_there_are_labels() {
    for (model, data) in [("mlp", "data_mlp.npz"), ("cnn_nhwc", "data_images.npz")] {
        let evaluation = Evaluation::new();
        let data = testdata(data);
        let (shown, out) = evaluation.run(model, &data, &["--json"]);
        let report: Value = serde_json::from_str(&shown).unwrap();
        let expected = share_right(&read_npy(&out).unwrap(), &data);
        assert!(expected > 0.9, "{model} is good at its data: {expected}");
        let accuracy = report["accuracy"].as_f64().unwrap();
        assert!((accuracy - expected).abs() < 1e-9, "{shown}");
        assert_eq!(report["samples"], 60);
        assert_eq!(report["shape"], json!([60, 3]));
        let (shown, _) = evaluation.run(model, &data, &[]);
        assert_says(&shown, &[&format!("accuracy {:.2} %", expected * 100.0)]);
    }
    let evaluation = Evaluation::new();
    let (shown, _) = evaluation.run("mlp", &evaluation.inputs("mlp"), &[]);
    assert!(!shown.contains("accuracy"), "{shown}");
}

#[test]
fn eval_writes_a_hidden_layer_before_and_after_its_activation() {
    for (model, name, number, record) in [
        ("mlp", "relu1", "2", "u0"),
        ("mlp", "a2", "3", "u1"),
        ("cnn_nchw", "/relu/Relu", "2", "u0"),
        ("cnn_nchw", "/relu_1/Relu", "3", "u1"),
        ("cnn_nhwc", "conv2d/Relu", "2", "u0"),
    ] {
        let evaluation = Evaluation::new();
        let inputs = evaluation.inputs(model);
        let written = |more: &[&str]| evaluation.array(model, &inputs, more);
        let pre = written(&["--layer", name, "--pre"]);
        assert_near(&pre, &recorded(model, record));
        let post = written(&["--layer", name]);
        assert_eq!(post.shape, pre.shape);
        assert!(pre.values.iter().any(|u| *u < 0.0));
        let relu: Vec<f32> = pre.values.iter().map(|u| u.max(0.0)).collect();
        assert_eq!(post.values, relu);
        assert_eq!(written(&["--layer", number, "--pre"]), pre);
        assert_eq!(written(&["--layer", number]), post);
    }
}

#[test]
fn eval_writes_the_output_asked_for_or_the_first_of_floats() {
    let evaluation = Evaluation::new();
    let inputs = evaluation.inputs("two_outputs");
    let written = |more: &[&str]| evaluation.array("two_outputs", &inputs, more);
    let scores = written(&["--output", "scores"]);
    assert_near(&scores, &recorded("two_outputs", "y"));
    assert_eq!(written(&[]), scores);
    let label = written(&["--output", "label"]);
    assert_eq!(label.values, recorded("two_outputs", "label").values);
}

#[test]
fn a_limit_takes_the_first_samples() {
    let evaluation = Evaluation::new();
    let data = testdata("data_mlp.npz");
    let all = evaluation.array("mlp", &data, &[]);
    let few = evaluation.array("mlp", &data, &["--limit", "7"]);
    assert_eq!(few.shape, [7, 3]);
    assert_eq!(few.values, all.values[..21]);
    assert_eq!(evaluation.array("mlp", &data, &["--limit", "1000"]), all);
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let evaluation = Evaluation::new();
    let random = |index: usize| (index.wrapping_mul(2_654_435_761) % 1009) as f32 / 1009.0;
    let values: Vec<f32> = (0..700 * 144).map(random).collect();
    let data = evaluation.save("many.npy", &[700, 2, 9, 8], &values);
    for point in [&[][..], &["--layer", "3", "--pre"]] {
        let bytes = |threads| {
            let more = [point, &["--threads", threads]].concat();
            fs::read(evaluation.run("cnn_nchw", &data, &more).1).unwrap()
        };
        let one = bytes("1");
        assert_eq!(one, bytes("2"));
        assert_eq!(one, bytes("5"));
    }
}

#[test]
fn bytes_are_divided_by_255_unless_a_scale_is_given() {
    let evaluation = Evaluation::new();
    let data = testdata("data_images.npz");
    let written = |more: &[&str]| {
        let more = [&["--limit", "12"], more].concat();
        evaluation.array("cnn_nhwc", &data, &more)
    };
    let plain = written(&[]);
    assert_near(&plain, &recorded("cnn_nhwc", "y"));
    assert_eq!(written(&["--scale", "255"]), plain);
    assert_ne!(written(&["--scale", "100"]), plain);
}

#[test]
fn floats_are_taken_as_they_are_unless_a_scale_is_given() {
    let evaluation = Evaluation::new();
    let x = recorded("cnn_nhwc", "x");
    let doubled: Vec<f32> = x.values.iter().map(|x| x * 2.0).collect();
    let doubled = evaluation.save("doubled.npy", &x.shape, &doubled);
    let plain = evaluation.array("cnn_nhwc", &evaluation.inputs("cnn_nhwc"), &[]);
    let halved = evaluation.array("cnn_nhwc", &doubled, &["--scale", "2"]);
    assert_eq!(halved, plain);
}

#[test]
fn mean_and_std_stand_in_front_of_the_model() {
    let evaluation = Evaluation::new();
    let x = recorded("cnn_nchw", "x");
    let (mean, std) = ([-0.5_f32, 0.25], [0.5_f32, 2.0]);
    // Data that, once normalised, are what the model was recorded on.
    let raw = x.values.iter().enumerate().map(|(index, x)| {
        let channel = index / 72 % 2;
        x * std[channel] + mean[channel]
    });
    let data = evaluation.save("raw.npy", &x.shape, &raw.collect::<Vec<f32>>());
    let more = ["--mean", "-0.5,0.25", "--std", "0.5,2"];
    let answer = evaluation.array("cnn_nchw", &data, &more);
    assert_near(&answer, &recorded("cnn_nchw", "y"));
    assert_ne!(evaluation.array("cnn_nchw", &data, &[]), answer);
}

/// How `eval` refuses these arguments; it must leave nothing behind.
fn refused(model: &str, data: &str, more: &[&str]) -> String {
    let evaluation = Evaluation::new();
    let out = evaluation.path("y.npy");
    let (model, data, out) = (testdata(model), testdata(data), out.to_str().unwrap());
    let mut arguments = vec!["eval", &model, "--data", &data, "--out", out];
    arguments.extend(more);
    let message = fail(&arguments);
    let left = fs::read_dir(evaluation.folder.path()).unwrap().count();
    assert_eq!(left, 0, "{arguments:?}");
    message
}

#[test]
fn missing_files_are_named_with_a_way_out() {
    for (file, message) in [
        ("none.onnx", refused("none.onnx", "data_mlp.npz", &[])),
        ("none.npz", refused("mlp.onnx", "none.npz", &[])),
        ("none.onnx", fail(&["inspect", &testdata("none.onnx")])),
    ] {
        assert_says(&message, &[file, "no such file", "; check the path"]);
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn models_that_cannot_be_used_are_named_with_a_way_out() {
    let message = fail(&["inspect", &testdata("README.md")]);
    assert_says(&message, &["README.md", ".onnx", "export the model"]);
    let message = fail(&["inspect", &testdata("unsupported.onnx")]);
    assert_says(&message, &["unsupported.onnx", "det_1", "Det"]);
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn an_unknown_layer_is_answered_with_those_there_are() {
    for wrong in ["relu9", "0", "1", "4"] {
        let message = refused("mlp.onnx", "data_mlp.npz", &["--layer", wrong]);
        let named = format!("no hidden layer `{wrong}`");
        assert_says(&message, &[&named, "2 relu1", "3 a2"]);
    }
}

#[test]
fn an_unknown_output_is_answered_with_those_there_are() {
    let message = refused("two_outputs.onnx", "data_mlp.npz", &["--output", "y"]);
    assert_says(&message, &["no output `y`", "label, scores"]);
}

#[test]
fn data_of_another_shape_are_refused_with_both_shapes() {
    let message = refused("mlp.onnx", "data_images.npz", &[]);
    assert_says(
        &message,
        &["data_images.npz", "60x8x8x1", "the model takes 4"],
    );
    let message = refused("cnn_nchw.onnx", "data_images.npz", &[]);
    assert_says(&message, &["60x8x8x1", "2x9x8"]);
}

#[test]
fn flags_that_are_unknown_or_do_not_go_together_are_refused() {
    for (more, named) in [
        (&["--colour"][..], "--colour"),
        (&["--pre"], "--layer"),
        (&["--layer", "2", "--output", "y"], "--output"),
        (&["--limit", "few"], "few"),
        (&["--threads", "two"], "two"),
    ] {
        assert_says(&refused("mlp.onnx", "data_mlp.npz", more), &[named]);
    }
    assert_says(&fail(&["bake"]), &["bake"]);
    assert_says(&fail(&["inspect"]), &["<MODEL>"]);
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    for (more, parts) in [
        (["--threads", "0"], &["--threads", "from 1"][..]),
        (["--threads", "1000000"], &["--threads", "1000000"]),
        (["--limit", "0"], &["no samples"]),
        (["--scale", "0"], &["scale 0", "positive"]),
        (["--mean", "nan"], &["mlp.onnx", "finite"]),
        (["--mean", "1,2,3"], &["3 numbers of mean"]),
        (["--std", "0"], &["mlp.onnx", "positive"]),
        (["--std", "1e-200"], &["positive"]),
        (["--input-shape", "1,5"], &["[1, 5]", "4]"]),
    ] {
        assert_says(&refused("mlp.onnx", "data_mlp.npz", &more), parts);
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let evaluation = Evaluation::new();
    let out = evaluation.path("none").join("y.npy");
    let (model, data) = (testdata("mlp.onnx"), testdata("data_mlp.npz"));
    let out = out.to_str().unwrap();
    let message = fail(&["eval", &model, "--data", &data, "--out", out]);
    assert_says(&message, &[out, "cannot write"]);
}

/// Runs with standard output going to a pipe nobody reads.
fn unread(arguments: &[&str]) -> Output {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = command(arguments);
    command.stdout(writer).stderr(Stdio::piped());
    command.spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    let model = testdata("smooth.onnx");
    for arguments in [
        &["inspect", &model][..],
        &["inspect", &model, "--json"],
        &["--help"],
        &["--version"],
    ] {
        let output = unread(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn reading_only_the_first_line_is_no_error() {
    let mut child = command(&["inspect", &testdata("smooth.onnx")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut reader = BufReader::with_capacity(1, child.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    drop(reader);
    assert!(first.starts_with("format   ONNX, opset 17"), "{first}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn eval_finishes_its_file_even_when_nobody_reads_what_it_says() {
    let evaluation = Evaluation::new();
    let out = evaluation.path("y.npy");
    let (model, data) = (testdata("mlp.onnx"), testdata("data_mlp.npz"));
    let path = out.to_str().unwrap();
    let output = unread(&["eval", &model, "--data", &data, "--out", path]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(read_npy::<f32>(&out).unwrap().shape, [60, 3]);
}
