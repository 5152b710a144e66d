//! What a model's answer is: runs on models with one output, held against a fine grid of inputs.

use std::path::Path;

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;
use deepconcolic_formats::LoadOptions;
use deepconcolic_network::Network;

use super::bed::{Bed, Left, assert_says, check, deepconcolic, replay, said};

const SIGMOID: [&str; 3] = [
    "testdata/sigmoid.onnx",
    "--data",
    "testdata/data_sigmoid.npz",
];
const REGRESSOR: [&str; 3] = [
    "testdata/regressor.onnx",
    "--data",
    "testdata/data_regressor.npz",
];
/// Points of a grid along an axis of a ball.
const GRID: usize = 101;

fn root(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file)
}

fn network(file: &str) -> Network {
    let options = LoadOptions::default();
    deepconcolic_formats::load(&root(file), &options)
        .unwrap()
        .network
}

/// Samples of two numbers and their labels, if they have any.
fn data(file: &str) -> (Vec<[f32; 2]>, Vec<f64>) {
    let mut file = NpzReader::open(&root(file)).unwrap();
    let x = file.read::<f32>("x").unwrap().values;
    let rows = x.chunks(2).map(|row| [row[0], row[1]]).collect();
    let labels = file.read::<f64>("y").map(|array| array.values);
    (rows, labels.unwrap_or_default())
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Inputs of a ball, and of the ranges of the data, on a grid.
fn grid(centre: &[f32], radius: f64, rows: &[[f32; 2]]) -> Vec<f64> {
    let ends = [0, 1].map(|i| {
        let column = || rows.iter().map(|row| f64::from(row[i]));
        let (low, high) = (
            column().fold(f64::MAX, f64::min),
            column().fold(f64::MIN, f64::max),
        );
        let (centre, reach) = (f64::from(centre[i]), radius * (high - low));
        ((centre - reach).max(low), (centre + reach).min(high))
    });
    let at = |i: usize, step: usize| {
        let (low, high) = ends[i];
        low + (high - low) * step as f64 / (GRID - 1) as f64
    };
    let steps = (0..GRID).flat_map(|a| (0..GRID).map(move |b| (a, b)));
    steps.flat_map(|(a, b)| [at(0, a), at(1, b)]).collect()
}

/// A safety run whose every verdict is compared with what a grid shows: `other` says whether an output is
/// another answer than that for the seed's output.
fn compare(
    subject: [&str; 3],
    decision: &[&str],
    radius: f64,
    output: impl Fn(f64) -> f64,
    other: impl Fn(f64, f64) -> bool,
) {
    let bed = Bed::new();
    let text = radius.to_string();
    let flags = ["--criterion", "safety", "--radius", &text, "--threads", "2"];
    let run = bed.run("run", subject, &[&flags[..], decision].concat());
    let (state, test) = run.requirements();
    let suite = run.suite();
    assert_eq!(state.len(), suite.seeds);
    let network = network(subject[0]);
    let at = |x: &[f32]| {
        let x: Vec<f64> = x.iter().map(|&x| x.into()).collect();
        output(network.logits::<f64>(&x)[0])
    };
    let (rows, _) = data(subject[2]);
    let mut counts = [0; 3];
    for (seed, &state) in state.iter().enumerate() {
        let own = at(&suite.rows[seed]);
        let points = grid(&suite.rows[seed], radius, &rows);
        let found = network
            .logits::<f64>(&points)
            .iter()
            .any(|&logit| other(own, output(logit)));
        counts[usize::from(state)] += 1;
        match state {
            1 => {
                let witness = usize::try_from(test[seed]).unwrap();
                assert!(other(own, at(&suite.rows[witness])), "seed {seed}");
            }
            2 => assert!(!found, "seed {seed} is proven, and the grid refutes it"),
            _ => assert!(
                !found,
                "seed {seed}: the grid finds what the search does not"
            ),
        }
    }
    // Otherwise nothing was shown.
    assert!(counts[1] > 5 && counts[2] > 5, "{counts:?}");
    let folder = run.0.to_str().unwrap();
    let checked = deepconcolic(&["check", folder]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
}

#[test]
fn safety_of_one_sigmoid_is_about_its_threshold() {
    let differs = |t: f64| move |a: f64, b: f64| (a >= t) != (b >= t);
    compare(SIGMOID, &[], 0.05, sigmoid, differs(0.5));
    let other = ["--decision", "threshold:0.2"];
    compare(SIGMOID, &other, 0.05, sigmoid, differs(0.2));
}

#[test]
fn safety_of_a_regressor_is_about_its_tolerance() {
    let far = |d: f64| move |a: f64, b: f64| (a - b).abs() > d;
    let within = ["--decision", "within:0.1"];
    compare(REGRESSOR, &within, 0.05, |z| z, far(0.1));
    let within = ["--decision", "within:0.3"];
    compare(REGRESSOR, &within, 0.05, |z| z, far(0.3));
    let within = ["--decision", "within:0.25"];
    compare(SIGMOID, &within, 0.05, sigmoid, far(0.25));
}

#[test]
fn a_threshold_of_a_plain_output_is_one_of_its_value() {
    let bed = Bed::new();
    let (rows, _) = data(REGRESSOR[2]);
    let mut file = NpzWriter::create(&bed.path("unlabelled.npz")).unwrap();
    file.add("x", &[rows.len(), 2], &rows.concat()).unwrap();
    file.finish().unwrap();
    let path = bed.name("unlabelled.npz");
    let subject = [REGRESSOR[0], REGRESSOR[1], &path];
    let differs = |a: f64, b: f64| (a >= 3.5) != (b >= 3.5);
    let rule = ["--decision", "threshold:3.5"];
    compare(subject, &rule, 0.05, |z| z, differs);
}

/// The accuracy that `coverage`, `eval` and `run` print, each in percent.
fn accuracies(bed: &Bed, subject: [&str; 3], decision: &[&str]) -> Vec<f64> {
    let out = bed.name("y.npy");
    let commands: [&[&str]; 2] = [
        &["coverage", "--criterion", "nc", "--json", "-"],
        &["eval", "--json", "--out", &out],
    ];
    let mut all: Vec<f64> = commands
        .iter()
        .map(|command| {
            let arguments = [&command[..1], &subject, &command[1..], decision].concat();
            let output = deepconcolic(&arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            report["accuracy"].as_f64().unwrap()
        })
        .collect();
    let run = bed.run(
        &format!("run{}", decision.concat().replace(':', "_")),
        subject,
        &[&["--criterion", "nc", "--no-proofs"], decision].concat(),
    );
    all.push(run.summary()["accuracy"].as_f64().unwrap());
    all
}

#[test]
fn accuracy_is_by_the_decision() {
    let bed = Bed::new();
    let close = |all: Vec<f64>, share: f64| all.iter().all(|a| (a - share).abs() < 1e-9);
    let (rows, labels) = data(SIGMOID[2]);
    let inputs: Vec<f32> = rows.concat();
    let logits = network(SIGMOID[0]).logits::<f32>(&inputs);
    let share = |right: &dyn Fn(f64, f64) -> bool, logits: &[f32], labels: &[f64]| {
        let pairs = logits.iter().zip(labels);
        pairs.filter(|(z, y)| right(f64::from(**z), **y)).count() as f64 / labels.len() as f64
    };
    for (threshold, flags) in [(0.5, &[][..]), (0.9, &["--decision", "threshold:0.9"][..])] {
        let right = |z: f64, y: f64| (sigmoid(z) >= threshold) == (y > 0.5);
        let wanted = share(&right, &logits, &labels);
        assert!(wanted > 0.6, "{wanted}");
        assert!(
            close(accuracies(&bed, SIGMOID, flags), wanted),
            "{threshold}"
        );
    }
    let (rows, values) = data(REGRESSOR[2]);
    let logits = network(REGRESSOR[0]).logits::<f32>(&rows.concat());
    let right = |z: f64, y: f64| (z - y).abs() <= 0.3;
    let wanted = share(&right, &logits, &values);
    let found = accuracies(&bed, REGRESSOR, &["--decision", "within:0.3"]);
    assert!(close(found, wanted) && wanted > 0.6);
}

#[test]
fn without_a_rule_nothing_is_claimed_of_answers() {
    let bed = Bed::new();
    let message = bed.refusal(REGRESSOR, &["--criterion", "safety", "--radius", "0.1"]);
    assert_says(&message, &["safety", "--decision threshold:T", "within:D"]);
    let gate = ["--criterion", "nc", "--fail-on-adversarial"];
    assert_says(&bed.refusal(REGRESSOR, &gate), &["--decision"]);
    let command = bed.command("run", REGRESSOR, &["--criterion", "nc", "--seeds", "5"]);
    let output = { command }.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("--decision threshold:T").count(), 1, "{text}");
    assert!(
        !text.contains("accuracy 0") && !text.contains("adversarial: "),
        "{text}"
    );
    let run = Left(bed.path("run"));
    let summary = run.summary();
    for field in ["decision", "accuracy", "adversarial"] {
        assert!(summary[field].is_null(), "{field}");
    }
    assert_eq!(
        summary["settings"]["seeds"],
        serde_json::json!([0, 1, 2, 3, 4])
    );
    let suite = run.suite();
    assert!(suite.label.iter().all(|&label| label == -1));
    assert!(suite.verdict.iter().all(|&verdict| verdict == 3));
    assert!(suite.reference.iter().all(|&reference| reference == -1));
    assert_eq!(replay(&run, &[]).0, 0);
}

#[test]
fn a_rule_that_does_not_fit_is_refused_with_one_that_does() {
    let bed = Bed::new();
    let refuse =
        |subject, rule: &str| bed.refusal(subject, &["--criterion", "nc", "--decision", rule]);
    assert_says(&refuse(SIGMOID, "argmax"), &["one", "threshold:T"]);
    assert_says(&refuse(SIGMOID, "threshold:1.5"), &["between 0 and 1"]);
    assert_says(
        &refuse(REGRESSOR, "threshold:3"),
        &["quantities", "within:D"],
    );
    let table = ["testdata/mlp.onnx", "--data", "testdata/data_mlp.npz"];
    assert_says(&refuse(table, "threshold:0.5"), &["3", "argmax"]);
    assert_says(&refuse(table, "within:0.5"), &["Softmax", "argmax"]);
    let output = bed
        .command(
            "refused",
            table,
            &["--criterion", "nc", "--decision", "half"],
        )
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_says(&said(&output), &["threshold:T", "within:D"]);
}

#[test]
fn a_regression_keeps_outputs_and_true_quantities() {
    let bed = Bed::new();
    let flags = [
        "--criterion",
        "safety",
        "--radius",
        "0.1",
        "--decision",
        "within:0.3",
    ];
    let run = bed.run("run", REGRESSOR, &flags);
    assert_eq!(run.summary()["decision"], "within:0.3");
    let suite = run.suite();
    let mut file = NpzReader::open(&run.0.join("suite.npz")).unwrap();
    let output = file.read::<f64>("output").unwrap();
    assert_eq!(output.shape, [suite.rows.len(), 1]);
    let network = network(REGRESSOR[0]);
    let (_, values) = data(REGRESSOR[2]);
    for (test, row) in suite.rows.iter().enumerate() {
        let found = f64::from(network.logits::<f32>(row)[0]);
        assert!((output.values[test] - found).abs() < 1e-6);
        let truth = values[usize::try_from(suite.reference[test]).unwrap()];
        let wrong = (found - truth).abs() > 0.3;
        assert_eq!(suite.verdict[test] == 1, wrong && suite.verdict[test] != 2);
    }
    let mut bad = NpzReader::open(&run.0.join("adversarial/adversarial.npz")).unwrap();
    let truth = bad.read::<f64>("y").unwrap().values;
    let reference = bad.read::<i64>("reference").unwrap().values;
    assert!(!truth.is_empty());
    for (truth, reference) in truth.iter().zip(reference) {
        let wanted = values[usize::try_from(reference).unwrap()];
        assert!((truth - wanted).abs() < 1e-12);
    }
    assert_eq!(replay(&run, &[]).0, 0);
}

/// Data of four numbers and a label: `rows` sensible ones, then `bad` that overflow in the network.
fn overflowing(bed: &Bed, rows: usize, bad: usize) -> String {
    let mut file = NpzReader::open(&root("testdata/data_mlp.npz")).unwrap();
    let (x, y) = (
        file.read::<f32>("x").unwrap().values,
        file.read::<i64>("y").unwrap().values,
    );
    let mut x = x[..4 * rows].to_vec();
    x.extend(vec![3e38; 4 * bad]);
    let mut y = y[..rows].to_vec();
    y.extend(vec![0; bad]);
    let name = format!("overflow{rows}.npz");
    let mut file = NpzWriter::create(&bed.path(&name)).unwrap();
    file.add("x", &[rows + bad, 4], &x).unwrap();
    file.add("y", &[rows + bad], &y).unwrap();
    file.finish().unwrap();
    bed.name(&name)
}

#[test]
fn samples_without_a_finite_output_are_told_of_and_not_used() {
    let bed = Bed::new();
    let some = overflowing(&bed, 40, 3);
    let subject = ["testdata/mlp.onnx", "--data", &some];
    let run = bed.run("run", subject, &["--criterion", "nc", "--radius", "0.1"]);
    let summary = run.summary();
    assert_says(&summary["notes"].to_string(), &["NaN or infinite", "3 of"]);
    assert!(summary["tests"]["seeds"].as_u64().unwrap() <= 40);
    let measured = deepconcolic(&[&["coverage"], &subject[..], &["--criterion", "nc"]].concat())
        .output()
        .unwrap();
    let text = String::from_utf8(measured.stdout).unwrap();
    assert_says(
        &text,
        &["warning: the model's output is NaN or infinite for 3 of 43 samples"],
    );
    // The same figures as without them.
    let none = overflowing(&bed, 39, 0);
    let plain = deepconcolic(&["coverage", "testdata/mlp.onnx", "--data", &none])
        .args(["--criterion", "nc"])
        .output()
        .unwrap();
    assert!(
        String::from_utf8(plain.stdout)
            .unwrap()
            .contains("accuracy 97.")
    );
    let given = [
        "--criterion",
        "nc",
        "--seed-index",
        "0,41",
        "--radius",
        "0.1",
    ];
    let run = bed.run("given", subject, &given);
    assert_eq!(run.summary()["settings"]["seeds"], serde_json::json!([0]));
}

#[test]
fn a_model_without_a_finite_output_is_refused() {
    let bed = Bed::new();
    let all = overflowing(&bed, 0, 4);
    let subject = ["testdata/mlp.onnx", "--data", &all];
    let message = bed.refusal(subject, &["--criterion", "nc", "--domain", "0..1"]);
    assert_says(&message, &["NaN or infinite for all 4 samples", "--scale"]);
    let out = bed.name("y.npy");
    for more in [
        &["coverage", "--criterion", "nc"][..],
        &["eval", "--out", &out][..],
    ] {
        let arguments = [&more[..1], &subject[..], &more[1..]].concat();
        let output = deepconcolic(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_says(&said(&output), &["NaN or infinite for all 4 samples"]);
    }
    assert!(!bed.path("y.npy").exists());
}

/// What `coverage` says of rows of a CSV file for the model of three classes.
fn said_of(bed: &Bed, label: impl Fn(i64) -> String) -> Vec<String> {
    let mut file = NpzReader::open(&root("testdata/data_mlp.npz")).unwrap();
    let (x, y) = (
        file.read::<f32>("x").unwrap().values,
        file.read::<i64>("y").unwrap().values,
    );
    let rows = x.chunks(4).zip(y).map(|(x, y)| {
        let cells: Vec<String> = x.iter().map(ToString::to_string).collect();
        format!("{},{}\n", cells.join(","), label(y))
    });
    let path = bed.file("rows.csv", &rows.collect::<String>());
    let out = bed.name("out.npy");
    let both = [
        &["coverage", "--criterion", "nc", "--json", "-"][..],
        &["eval", "--json", "--out", &out][..],
    ];
    let notes = both.map(|command| {
        let model = ["testdata/mlp.onnx", "--data", &path];
        let arguments = [&command[..1], &model, &command[1..]].concat();
        let output = deepconcolic(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["notes"].clone()
    });
    assert_eq!(notes[0], notes[1]);
    let list = notes[0].as_array().unwrap();
    list.iter()
        .map(|n| n.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn labels_that_cannot_be_right_are_told_of() {
    let bed = Bed::new();
    assert!(said_of(&bed, |y| y.to_string()).is_empty());
    let shifted = said_of(&bed, |y| (y + 1).to_string()).join("\n");
    assert_says(
        &shifted,
        &[
            "not above the 33.33 % which guessing one of 3 classes",
            "labels seem to start at 1",
            "98.33 %",
            "no class of the model has (3): its classes are 0 to 2",
        ],
    );
    let lower = said_of(&bed, |y| (y - 1).to_string()).join("\n");
    assert_says(
        &lower,
        &["one lower than the class that the model gives; add 1 to each"],
    );
    let names = ["setosa", "zinnia", "aster"];
    let named = said_of(&bed, |y| names[usize::try_from(y).unwrap()].into()).join("\n");
    assert_says(&named, &["aster = 0, setosa = 1, zinnia = 2"]);
}

#[test]
fn arrays_that_may_be_labels_and_were_not_read_are_told_of() {
    let bed = Bed::new();
    let path = bed.path("data.npz");
    let mut file = NpzWriter::create(&path).unwrap();
    file.add("x", &[2, 4], &[1.0f32; 8]).unwrap();
    file.add("truth", &[2], &[0i64, 1]).unwrap();
    file.finish().unwrap();
    let measured = ["coverage", "testdata/mlp.onnx", "-c", "nc", "--data"];
    let output = deepconcolic(&[&measured[..], &[path.to_str().unwrap()]].concat())
        .output()
        .unwrap();
    let unread = "no labels were read: \"truth\" has one number a sample";
    assert_says(&String::from_utf8_lossy(&output.stdout), &[unread]);
    let table = ["testdata/mlp.onnx", "--data", path.to_str().unwrap()];
    let run = bed.run("run", table, &["--criterion", "nc", "--domain", "0..8"]);
    let notes = run.summary()["notes"].clone();
    assert!(
        notes
            .as_array()
            .unwrap()
            .iter()
            .any(|note| note.as_str().unwrap().starts_with(unread))
    );
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn data_outside_the_domain_and_one_class_for_everything_are_told_of() {
    let bed = Bed::new();
    let mut file = NpzReader::open(&root("testdata/data_images.npz")).unwrap();
    let x = file.read::<f32>("x").unwrap();
    let y = file.read::<i64>("y").unwrap();
    let path = bed.path("bright.npz");
    let bright: Vec<f32> = x.values.iter().map(|v| 1e6 * (v + 1.0)).collect();
    let mut out = NpzWriter::create(&path).unwrap();
    out.add("x", &x.shape, &bright).unwrap();
    out.add("y", &y.shape, &y.values).unwrap();
    out.finish().unwrap();
    let (path, out) = (bed.name("bright.npz"), bed.name("y.npy"));
    let model = ["testdata/cnn_nhwc.onnx", "--data", &path];
    for command in [
        &["coverage", "--criterion", "nc"][..],
        &["eval", "--out", &out][..],
    ] {
        let arguments = [&command[..1], &model, &command[1..]].concat();
        let output = deepconcolic(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_says(
            &text,
            &["warning: 60 of 60 samples lie outside the domain 0..1"],
        );
    }
}

#[test]
fn a_suite_is_not_judged_on_a_model_with_another_number_of_outputs() {
    let bed = Bed::new();
    let flags = [
        "--criterion",
        "nc",
        "--decision",
        "within:0.5",
        "--seeds",
        "3",
    ];
    let run = bed.run("run", REGRESSOR, &flags);
    // Two inputs, two outputs, one layer between them.
    let two = "2,2,2,2,\n2,2,2,\n0\n-9,-9,\n9,9,\n0,0,0,\n1,1,1,\n1,0,\n0,1,\n0,\n0,\n1,0,\n0,1,\n0,\n0,\n";
    let two = bed.file("two.nnet", two);
    let (code, text) = replay(&run, &["--model", &two]);
    assert_eq!(code, 2, "{text}");
    assert_says(
        &text,
        &["answers of the run are 1 numbers a test, and those of this model 2"],
    );
}
