//! `replay`: agrees with an untouched run, and with nothing else; the same seed gives the same run.

use serde_json::json;

use super::bed::{Bed, IMAGES, TABLE, assert_same, assert_says, change, deepconcolic, replay};

const SMALL: [&str; 8] = [
    "--criterion",
    "nbc",
    "--seeds",
    "2",
    "--max-executions",
    "1500",
    "--quantise",
    "255",
];

#[test]
fn an_untouched_run_agrees_and_a_touched_one_does_not() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &SMALL);
    let (code, text) = replay(&run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["as it was", "labels changed: 0", "agrees"]);
    let saved = |file| (file, run.bytes(file));
    let originals = ["suite.npz", "requirements.npz", "run.json"].map(saved);
    let restore = || {
        for (file, bytes) in &originals {
            std::fs::write(run.0.join(file), bytes).unwrap();
        }
    };
    let refused = |what: &str, parts: &[&str]| {
        let (code, text) = replay(&run, &[]);
        assert_eq!(code, 1, "{what}: {text}");
        assert_says(&text, &["differs: "]);
        assert_says(&text, parts);
        restore();
    };
    let last = run.suite().rows.len() - 1;
    let pixel = last * super::bed::PIXELS + 300;
    change(&run, "suite.npz", "x", |x| x[pixel] = 0.123_456);
    refused("a pixel", &[&format!("test {last} may not be one")]);
    change(&run, "suite.npz", "label", |l| l[last] = 9.0 - l[last]);
    refused("a label", &["another label"]);
    change(&run, "suite.npz", "verdict", |v| v[last] = 2.0 - v[last]);
    // 1 is its own mirror image, so one of the two changes.
    change(&run, "suite.npz", "verdict", |v| v[0] = 1.0 - v[0]);
    refused("a verdict", &["another verdict"]);
    change(&run, "suite.npz", "root", |r| r[last] = 299.0);
    refused("a root", &["root"]);
    let open = run.requirements().0.iter().position(|&s| s == 0).unwrap();
    change(&run, "requirements.npz", "state", |s| s[open] = 1.0);
    refused(
        "a state",
        &["1 goals that were covered are not covered now"],
    );
    let done = run.requirements().0.iter().position(|&s| s == 1).unwrap();
    change(&run, "requirements.npz", "test", |t| t[done] += 1.0);
    refused("a witness", &["other tests than claimed"]);
    let mut summary = run.summary();
    let covered = summary["requirements"]["covered"].as_u64().unwrap();
    summary["requirements"]["covered"] = json!(covered + 1);
    std::fs::write(run.0.join("run.json"), summary.to_string()).unwrap();
    refused("a count", &[&format!("coverage {}", covered + 1)]);
    assert_eq!(replay(&run, &[]).0, 0);
}

#[test]
fn damaged_files_are_refused_by_name() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &["--criterion", "nc"]);
    for file in ["suite.npz", "requirements.npz", "run.json"] {
        let good = run.bytes(file);
        std::fs::write(run.0.join(file), &good[..good.len() / 2]).unwrap();
        let (code, text) = replay(&run, &[]);
        assert_eq!(code, 2, "{text}");
        assert_says(&text, &["error: ", file]);
        std::fs::write(run.0.join(file), good).unwrap();
    }
    assert_eq!(replay(&run, &[]).0, 0);
}

#[test]
fn another_model_is_compared_and_a_strange_one_refused() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &SMALL);
    // The same network with other weights: a float of the last weights gets another exponent.
    let mut bytes =
        std::fs::read(deepconcolic(&[]).get_current_dir().unwrap().join(IMAGES[0])).unwrap();
    let weights = bytes.len() / 2;
    for byte in bytes[weights..weights + 4000].chunks_exact_mut(4) {
        byte[2] ^= 0x10;
    }
    std::fs::write(bed.path("other.onnx"), bytes).unwrap();
    let (code, text) = replay(&run, &["--model", &bed.name("other.onnx")]);
    assert_eq!(code, 1, "{text}");
    assert_says(&text, &["another one than the run's", "now (", "differs: "]);
    let (code, text) = replay(&run, &["--model", TABLE[0]]);
    assert_eq!(code, 2, "{text}");
    assert_says(&text, &["error: "]);
}

#[test]
fn threads_change_nothing_and_another_seed_does() {
    let bed = Bed::new();
    let with = |out: &str, more: &[&str]| bed.run(out, IMAGES, &[&SMALL[..], more].concat());
    let one = with("one", &["--threads", "1"]);
    let three = with("three", &["--threads", "3"]);
    assert_same(&one, &three);
    let other = with("other", &["--rng-seed", "1"]);
    assert_ne!(one.bytes("suite.npz"), other.bytes("suite.npz"));
    let random = ["--strategy", "random"];
    let a = with("a", &[&random[..], &["--threads", "1"]].concat());
    let b = with("b", &[&random[..], &["--threads", "3"]].concat());
    assert_same(&a, &b);
    assert_ne!(one.bytes("suite.npz"), a.bytes("suite.npz"));
}
