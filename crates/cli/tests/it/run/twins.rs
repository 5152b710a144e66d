//! `replay --model`: the same network with its tensors laid out otherwise, and another network.

use super::bed::{Bed, Left, assert_says, replay};
use super::onnx::{Channels, images, twin};

/// A folder with the twins, another network and data, and a run of a twin.
struct Twins(Bed);

impl Twins {
    fn new() -> Self {
        let bed = Bed::new();
        twin(&bed.path("first.onnx"), Channels::First, 1);
        twin(&bed.path("last.onnx"), Channels::Last, 1);
        twin(&bed.path("flat.onnx"), Channels::Flat, 1);
        twin(&bed.path("other.onnx"), Channels::First, 2);
        images(&bed.path("data.npz"), 30);
        Self(bed)
    }

    fn run(&self, out: &str, model: &str, more: &[&str]) -> Left {
        let (model, data) = (self.0.name(model), self.0.name("data.npz"));
        let few = ["--seeds", "4", "--max-executions", "1500"];
        self.0
            .run(out, [&model, "--data", &data], &[&few[..], more].concat())
    }

    fn replay(&self, run: &Left, model: &str) -> (i32, String) {
        replay(run, &["--model", &self.0.name(model)])
    }
}

#[test]
fn a_twin_with_its_channels_elsewhere_shows_the_same() {
    let twins = Twins::new();
    for (number, flags) in [
        &["--criterion", "nc"][..],
        &["--criterion", "kmnc", "--sections", "5"],
        &["--criterion", "ssc", "--radius", "0.2"],
        &["--criterion", "safety", "--radius", "0.2"],
    ]
    .into_iter()
    .enumerate()
    {
        for (from, to) in [("first.onnx", "last.onnx"), ("last.onnx", "first.onnx")] {
            let run = twins.run(&format!("{number}-{from}"), from, flags);
            let (code, text) = twins.replay(&run, to);
            assert_says(&text, &["labels changed: 0", "transposed"]);
            assert_eq!(code, 0, "{flags:?} {from}: {text}");
        }
    }
}

#[test]
fn requirements_that_name_neurons_are_not_compared_under_other_numbers() {
    let twins = Twins::new();
    let neurons = ["--criterion", "nc", "--neurons", "2:0,7,60"];
    let run = twins.run("neurons", "first.onnx", &neurons);
    let (code, text) = twins.replay(&run, "last.onnx");
    assert_says(
        &text,
        &["requirements not compared: --neurons", "labels changed: 0"],
    );
    assert_eq!(code, 0, "{text}");
    // For a network with the same layout they are.
    assert_says(&twins.replay(&run, "other.onnx").1, &["covered"]);
    let file = twins.0.file("a.dr", "exists x: u[x][2,0] >= 0.1\n");
    let (model, data) = (twins.0.name("first.onnx"), twins.0.name("data.npz"));
    let flags = [
        "--requirements",
        &file,
        "--seeds",
        "2",
        "--max-executions",
        "500",
    ];
    let run = twins.0.run("file", [&model, "--data", &data], &flags);
    let (code, text) = twins.replay(&run, "last.onnx");
    assert_says(&text, &["requirements not compared: the requirement file"]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn an_order_that_cannot_be_told_is_refused() {
    let twins = Twins::new();
    let run = twins.run("run", "first.onnx", &["--criterion", "nc"]);
    let (code, text) = twins.replay(&run, "flat.onnx");
    assert_eq!(code, 2, "{text}");
    assert_says(&text, &["3x6x5 and 90", "cannot be told from the shapes"]);
}

#[test]
fn what_another_network_loses_and_what_it_gains_are_told_apart() {
    let twins = Twins::new();
    let run = twins.run(
        "run",
        "first.onnx",
        &["--criterion", "kmnc", "--sections", "400"],
    );
    let (code, text) = twins.replay(&run, "other.onnx");
    assert_eq!(code, 1, "{text}");
    let count = |what: &str| {
        let line = text
            .lines()
            .find(|line| line.contains(what))
            .unwrap_or_else(|| panic!("{text}"));
        let number = line
            .strip_prefix("differs: ")
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        number.parse::<i64>().unwrap()
    };
    let lost = count("goals that were covered are not covered now: ");
    let gained = count("goals that were not covered are covered now: ");
    let then = run.summary()["requirements"]["covered"].as_i64().unwrap();
    let now = then - lost + gained;
    assert_says(
        &text,
        &[&format!("covered {then} then"), &format!("{now} now")],
    );
    assert!(lost > 0 && gained > 0);
    assert!(!text.contains("other tests than claimed"), "{text}");
}

#[test]
fn a_table_that_names_no_test_is_refused() {
    let twins = Twins::new();
    let run = twins.run("run", "first.onnx", &["--criterion", "nc"]);
    let path = run.0.join("requirements.npz");
    let good = std::fs::read(&path).unwrap();
    for (array, wrong) in [
        ("test", 100_000),
        ("test", -2),
        ("state", 9),
        ("certificate", -5),
    ] {
        let mut file = deepconcolic_dataset::arrays::NpzReader::open(&path).unwrap();
        let mut to = deepconcolic_dataset::write::NpzWriter::create(&path).unwrap();
        let names: Vec<String> = file.names().map(str::to_owned).collect();
        for name in names {
            let mut values: Vec<f64> = file.read(&name).unwrap().values;
            if name == array {
                values[3] = f64::from(wrong);
            }
            to.add(&name, &[values.len()], &values).unwrap();
        }
        to.finish().unwrap();
        let output = super::bed::deepconcolic(&["replay", run.0.to_str().unwrap()]);
        let output = { output }.output().unwrap();
        let words = super::bed::said(&output);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert_says(&words, &["requirements.npz", "row 3 has"]);
        let (code, words) = super::bed::check(&run, &[]);
        assert_eq!(code, 1, "{words}");
        assert_says(&words, &["requirements.npz"]);
        std::fs::write(&path, &good).unwrap();
    }
}
