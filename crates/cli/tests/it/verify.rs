//! `verify` and `check` of its folder, by the real binary: what a property means on models that end in a
//! Softmax or Sigmoid, what is said with an answer, and what the folder holds.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use deepconcolic_dataset::arrays::{Array, NpzReader};
use serde_json::{Value, json};
use tempfile::TempDir;

fn testdata(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(file)
}

/// An array of a model's npz: rows of numbers.
fn recorded(model: &str, name: &str, row: usize) -> Vec<f64> {
    let mut reader = NpzReader::open(&testdata(&format!("{model}.npz"))).unwrap();
    let array: Array<f32> = reader.read(name).unwrap();
    let each = array.values.len() / array.shape[0];
    array.values[row * each..(row + 1) * each]
        .iter()
        .map(|&v| f64::from(v))
        .collect()
}

/// A model, a property, a folder for the answer.
struct Question {
    model: PathBuf,
    folder: TempDir,
}

/// What a command said.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn verdict(&self) -> &str {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out.lines().next().unwrap()
    }

    /// The values of a counterexample: all X, or all Y.
    fn values(&self, name: char) -> Vec<f64> {
        let words = self.out.replace(['(', ')'], " ");
        let words: Vec<&str> = words.split_whitespace().skip(1).collect();
        let pairs = words.chunks(2).filter(|pair| pair[0].starts_with(name));
        pairs.map(|pair| pair[1].parse().unwrap()).collect()
    }
}

impl Question {
    fn of(model: &str) -> Self {
        Self {
            model: testdata(&format!("{model}.onnx")),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn property(&self) -> PathBuf {
        self.folder.path().join("asked.vnnlib")
    }

    fn answer(&self) -> PathBuf {
        self.folder.path().join("answer")
    }

    /// A property with these bounds, as they are written, and these assertions besides.
    fn write(&self, bounds: &[(String, String)], outputs: usize, asserts: &str) {
        let mut text = String::new();
        for i in 0..bounds.len() {
            let _ = writeln!(text, "(declare-const X_{i} Real)");
        }
        for i in 0..outputs {
            let _ = writeln!(text, "(declare-const Y_{i} Real)");
        }
        for (i, (low, high)) in bounds.iter().enumerate() {
            let _ = writeln!(
                text,
                "(assert (>= X_{i} {low}))\n(assert (<= X_{i} {high}))"
            );
        }
        fs::write(self.property(), text + asserts).unwrap();
    }

    fn write_round(&self, centre: &[f64], radius: f64, outputs: usize, asserts: &str) {
        let bounds = centre
            .iter()
            .map(|x| (format!("{:?}", x - radius), format!("{:?}", x + radius)));
        self.write(&bounds.collect::<Vec<_>>(), outputs, asserts);
    }

    fn verify(&self) -> Said {
        let (model, property) = (self.model.to_str().unwrap(), self.property());
        let answer = self.answer();
        say(&[
            "verify",
            model,
            property.to_str().unwrap(),
            "--out",
            answer.to_str().unwrap(),
        ])
    }

    fn check(&self) -> Said {
        say(&["check", self.answer().to_str().unwrap()])
    }

    fn record(&self) -> Value {
        serde_json::from_slice(&fs::read(self.answer().join("verify.json")).unwrap()).unwrap()
    }
}

fn say(arguments: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_deepconcolic"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Said {
        code: output.status.code(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

fn largest(values: &[f64]) -> usize {
    (0..values.len())
        .max_by(|&a, &b| values[a].total_cmp(&values[b]))
        .unwrap()
}

#[test]
fn y_of_a_softmax_model_is_the_probability_and_not_the_logit() {
    let (x, y) = (recorded("mlp", "x", 0), recorded("mlp", "y", 0));
    let best = largest(&y);
    let question = Question::of("mlp");
    // True at the centre of the box, and false of the logit there.
    assert!(recorded("mlp", "logits", 0)[best] > 1.0);
    question.write_round(&x, 1e-4, 3, &format!("(assert (<= Y_{best} 0.99999))"));
    let said = question.verify();
    assert_eq!(said.verdict(), "sat");
    let output = said.values('Y');
    assert!(
        (output.iter().sum::<f64>() - 1.0).abs() < 1e-6,
        "{output:?}"
    );
    assert!(output[best] <= 0.99999);
    assert!(said.err.contains("after its final Softmax"), "{}", said.err);
    assert_eq!(question.record()["head"], json!("Softmax"));
    let checked = question.check();
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    assert!(
        checked.out.contains("run again; inside the box"),
        "{}",
        checked.out
    );
}

#[test]
fn thresholds_and_order_of_softmax_outputs_are_refuted_on_the_logits_and_said_to_be() {
    let (x, y) = (recorded("mlp", "x", 0), recorded("mlp", "y", 0));
    let best = largest(&y);
    let other = (best + 1) % 3;
    let follow = "follow from it";
    let same = "the same condition on the logits";
    let cases = [
        (format!("(assert (<= Y_{best} {}))", y[best] / 4.0), follow),
        (
            format!("(assert (>= Y_{other} {}))", 0.5 * y[other] + 0.5),
            follow,
        ),
        (format!("(assert (>= Y_{other} Y_{best}))"), same),
        (
            format!("(assert (>= (+ Y_{other} (* 2.0 Y_{best})) 2.5))"),
            "never true",
        ),
    ];
    for (asserts, how) in cases {
        let question = Question::of("mlp");
        question.write_round(&x, 1e-4, 3, &asserts);
        let said = question.verify();
        assert_eq!(said.verdict(), "unsat", "{asserts}: {}", said.out);
        assert!(said.out.contains(how), "{asserts}: {}", said.out);
        let checked = question.check();
        assert_eq!(checked.code, Some(0), "{}", checked.out);
        assert!(checked.out.contains("accepted"), "{}", checked.out);
        assert!(
            checked.out.contains("by rounding is not shown"),
            "{}",
            checked.out
        );
    }
}

#[test]
fn a_threshold_of_a_sigmoid_output_is_one_of_its_logit() {
    let (x, y) = (recorded("marks", "x", 3), recorded("marks", "y", 3));
    for (shift, verdict) in [(0.05, "unsat"), (-0.05, "sat")] {
        let question = Question::of("marks");
        question.write_round(&x, 1e-3, 3, &format!("(assert (>= Y_1 {}))", y[1] + shift));
        let said = question.verify();
        assert_eq!(said.verdict(), verdict, "{}{}", said.out, said.err);
        assert!((said.out + &said.err).contains("after its final Sigmoid"));
        assert_eq!(question.check().code, Some(0));
    }
}

#[test]
fn what_has_no_proof_on_the_logits_is_unknown_with_the_reason() {
    let question = Question::of("marks");
    let (x, y) = (recorded("marks", "x", 0), recorded("marks", "y", 0));
    // An input beside an output: no condition on logits alone follows.
    let asserts = format!(
        "(assert (>= (+ Y_0 (* 0.001 X_0)) {}))",
        y[0] + 0.1 * (1.0 + x[0].abs())
    );
    question.write_round(&x, 1e-3, 3, &asserts);
    let said = question.verify();
    assert_eq!(said.verdict(), "unknown");
    assert!(
        said.out.contains("nothing about the logits follows"),
        "{}",
        said.out
    );
    assert_eq!(question.check().code, Some(0));
}

#[test]
fn an_empty_box_is_called_vacuous() {
    let bound = |low: &str, high: &str| vec![(low.to_owned(), high.to_owned()); 4];
    for (bounds, more) in [
        (bound("0.5", "0.4"), ""),
        (bound("0.0", "0.5"), "(assert (> X_2 0.5))"),
        (bound("0.0", "0.5"), "(assert (>= (+ X_0 X_1) 1.25))"),
    ] {
        let question = Question::of("mlp");
        question.write(&bounds, 3, &format!("(assert (>= Y_0 0.5)){more}"));
        let said = question.verify();
        assert_eq!(said.verdict(), "unsat");
        assert!(
            said.out
                .contains("vacuous: no input meets the property whatever the network computes"),
            "{}",
            said.out
        );
        assert_eq!(question.record()["vacuous"], json!(true));
        let checked = question.check();
        assert_eq!(checked.code, Some(0), "{}", checked.out);
        assert!(
            checked.out.contains("says nothing about the network"),
            "{}",
            checked.out
        );
    }
    let question = Question::of("mlp");
    question.write(&bound("0.0", "0.5"), 3, "(assert (>= Y_0 1.5))");
    assert_eq!(question.verify().verdict(), "unsat");
    assert_eq!(question.record()["vacuous"], json!(false));
}

#[test]
fn bounds_that_are_one_decimal_get_the_nearest_single_precision_number() {
    let question = Question::of("marks");
    let bounds: Vec<_> = ["0.1", "0.3", "-0.7", "1.1"]
        .map(|x| (x.to_owned(), x.to_owned()))
        .into();
    question.write(&bounds, 3, "(assert (>= Y_0 0.0001))");
    let said = question.verify();
    assert_eq!(said.verdict(), "sat", "{}", said.out);
    assert!(
        said.err
            .contains("no single-precision number lies between the bounds 0.1 and 0.1 of X_0")
    );
    assert_eq!(said.values('X')[0].to_bits(), f64::from(0.1f32).to_bits());
    let outside = question.record()["outside"].as_f64().unwrap();
    assert!(outside > 0.0 && outside < 1e-6, "{outside}");
    assert_eq!(question.check().code, Some(0));
    // A proof is of the real box.
    question.write(&bounds, 3, "(assert (>= Y_0 0.9999))");
    let said = question.verify();
    assert_eq!(said.verdict(), "unsat");
    assert!(
        said.out
            .contains("the proof covers the box of real numbers as it is written")
    );
    assert_eq!(question.check().code, Some(0));
    // Too far from any number of single precision.
    let far: Vec<_> = (0..4)
        .map(|_| ("1000000.03".to_owned(), "1000000.03".to_owned()))
        .collect();
    question.write(&far, 3, "(assert (>= Y_0 0.0))");
    let said = question.verify();
    assert_eq!(said.verdict(), "unknown");
    assert!(
        said.out.contains("nothing can be executed there"),
        "{}",
        said.out
    );
}

#[test]
fn numbers_of_a_counterexample_lie_in_the_box_when_they_are_read_back() {
    // Ends just inside single-precision numbers, so that few digits would leave the box.
    for row in 0..8 {
        let question = Question::of("marks");
        let x = recorded("marks", "x", row);
        let bounds: Vec<(f64, f64)> = x
            .iter()
            .map(|&x| (x, f64::from((x as f32).next_up())))
            .collect();
        let texts: Vec<_> = bounds
            .iter()
            .map(|(l, u)| (format!("{l:?}"), format!("{u:?}")))
            .collect();
        question.write(&texts, 3, "(assert (>= Y_0 0.0))");
        let said = question.verify();
        assert_eq!(said.verdict(), "sat");
        for (x, (low, high)) in said.values('X').into_iter().zip(bounds) {
            assert!(low <= x && x <= high, "{x} is not in {low}..{high}");
        }
        assert_eq!(question.record()["outside"], json!(0.0));
    }
}

#[test]
fn the_folder_is_there_before_the_first_line() {
    for _ in 0..5 {
        let question = Question::of("mlp");
        question.write_round(&recorded("mlp", "x", 0), 1e-3, 3, "(assert (>= Y_0 0.0))");
        let mut child = Command::new(env!("CARGO_BIN_EXE_deepconcolic"))
            .arg("verify")
            .args([&question.model, &question.property()])
            .arg("--out")
            .arg(question.answer())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        // The pipe is closed now.
        assert_eq!(line, "sat\n");
        assert!(question.answer().join("verify.json").exists());
        child.wait().unwrap();
        assert_eq!(question.check().code, Some(0));
    }
}

#[test]
fn a_folder_holds_all_that_check_needs_and_check_takes_another_place_of_the_model() {
    let question = Question::of("mlp");
    question.write_round(&recorded("mlp", "x", 0), 1e-3, 3, "(assert (>= Y_0 0.0))");
    assert_eq!(question.verify().verdict(), "sat");
    fs::remove_file(question.property()).unwrap();
    let moved = question.folder.path().join("moved.onnx");
    fs::copy(&question.model, &moved).unwrap();
    let checked = say(&[
        "check",
        question.answer().to_str().unwrap(),
        "--model",
        moved.to_str().unwrap(),
    ]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    let said = "not verified: which version wrote the folder; where the property came from";
    assert!(checked.out.contains(said), "{}", checked.out);
    let other = say(&[
        "check",
        question.answer().to_str().unwrap(),
        "--model",
        testdata("marks.onnx").to_str().unwrap(),
    ]);
    assert_ne!(other.code, Some(0), "{}", other.out);
}

/// Every place of a JSON value that holds no other, and another value for it.
fn edits(value: &Value, path: &str, into: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                edits(field, &format!("{path}/{name}"), into);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (number, item) in items.iter().enumerate().take(2) {
                edits(item, &format!("{path}/{number}"), into);
            }
        }
        Value::String(text) => into.push((path.to_owned(), json!(format!("{text}x")))),
        Value::Number(number) => {
            into.push((path.to_owned(), json!(number.as_f64().unwrap() + 1e-9)));
        }
        Value::Bool(truth) => into.push((path.to_owned(), json!(!truth))),
        Value::Null | Value::Array(_) => into.push((path.to_owned(), json!([1.0]))),
    }
}

#[test]
fn every_edit_of_a_folder_is_noticed() {
    let x = recorded("mlp", "x", 0);
    let best = largest(&recorded("mlp", "y", 0));
    for asserts in [
        "(assert (>= Y_0 0.0))".to_owned(),
        format!("(assert (<= Y_{best} 0.0001))"),
    ] {
        let question = Question::of("mlp");
        question.write_round(&x, 1e-4, 3, &asserts);
        let verdict = question.verify().verdict().to_owned();
        assert_eq!(question.check().code, Some(0));
        let record = question.record();
        let path = question.answer().join("verify.json");
        let original = fs::read(&path).unwrap();
        let mut all = Vec::new();
        edits(&record, "", &mut all);
        all.extend(["sat", "unsat", "unknown"].map(|word| ("/verdict".to_owned(), json!(word))));
        for (place, value) in all {
            let mut edited = record.clone();
            *edited.pointer_mut(&place).unwrap() = value.clone();
            if edited == record {
                continue;
            }
            fs::write(&path, serde_json::to_vec_pretty(&edited).unwrap()).unwrap();
            let checked = question.check();
            assert_ne!(
                checked.code,
                Some(0),
                "{verdict} {place} = {value}: {}",
                checked.out
            );
        }
        fs::write(&path, &original).unwrap();
        for name in ["counterexample.txt", "property.vnnlib", "certificate.dcc"] {
            let path = question.answer().join(name);
            let Ok(bytes) = fs::read(&path) else {
                continue;
            };
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 12) {
                let mut edited = bytes.clone();
                edited[at] = if edited[at] == b'3' { b'4' } else { b'3' };
                fs::write(&path, &edited).unwrap();
                let checked = question.check();
                assert_ne!(
                    checked.code,
                    Some(0),
                    "{verdict} {name} at {at}: {}",
                    checked.out
                );
            }
            fs::write(&path, &bytes).unwrap();
        }
        assert_eq!(question.check().code, Some(0));
    }
}
