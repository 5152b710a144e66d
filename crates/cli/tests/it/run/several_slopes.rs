//! Slopes beside other criteria on one suite: they end as in a run of their own, in an account of their own, and the
//! folder is a run's like any other.

use std::process::Command;

use deepconcolic_dataset::arrays::NpzReader;
use serde_json::{Value, json};

use super::bed::{Bed, Left, TABLE, assert_says, check, deepconcolic, replay, said};

/// Goals, properties on one input, and slopes that are refuted by most pairs.
const THREE: [&str; 16] = [
    "-c",
    "nc",
    "-c",
    "lipschitz",
    "-c",
    "safety",
    "--seeds",
    "3",
    "--radius",
    "0.1",
    "--ratio-norm",
    "l2",
    "--constant",
    "0.0001",
    "--max-executions",
    "20000",
];
const CONSTANT: usize = 13;

fn with_constant(constant: &'static str) -> Vec<&'static str> {
    let mut flags = THREE.to_vec();
    flags[CONSTANT] = constant;
    flags
}

fn account(run: &Left, name: &str) -> Value {
    let summary = run.summary();
    let criteria = summary["criteria"].as_array().unwrap();
    let part = criteria.iter().find(|part| part["criterion"] == name);
    part.unwrap().clone()
}

fn states(run: &Left) -> Vec<u8> {
    let file = run.0.join("requirements-lipschitz.npz");
    let mut file = NpzReader::open(&file).unwrap();
    file.read::<u8>("state").unwrap().values
}

fn assert_holds(run: &Left) {
    let (code, text) = check(run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["slopes of"]);
    let (code, text) = replay(run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["steepest pairs of 3 regions"]);
}

fn succeeds(arguments: &[&str]) {
    let output = deepconcolic(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
}

#[test]
fn slopes_beside_other_criteria_are_an_account_of_their_own() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &THREE);
    assert_holds(&run);
    assert_eq!(states(&run), [1, 1, 1]);
    let slopes = account(&run, "lipschitz");
    assert_eq!(slopes["properties"]["refuted"], 3);
    assert_eq!(slopes["requirements"]["total"], 3);
    let goals = account(&run, "nc");
    assert_eq!(goals["properties"], Value::Null);
    assert!(goals["requirements"]["covered"].as_u64().unwrap() > 0);
    let summary = run.summary();
    assert_eq!(summary["properties"]["total"], 6, "safety and lipschitz");
    assert_eq!(summary["coverage"], goals["coverage"], "of goals alone");
    assert!(summary["baseline"]["random_pairs"].as_u64().unwrap() > 0);
    for region in summary["lipschitz"].as_array().unwrap() {
        assert!(region["found"].as_f64().unwrap() > 0.0001, "{region}");
        assert!(region["random"].as_f64().is_some(), "{region}");
    }
    assert_eq!(summary["lipschitz"][0]["region"], "seed 0");
    let statement = String::from_utf8(run.bytes("statement.md")).unwrap();
    assert_says(
        &statement,
        &["exceeded by two tests in 3", "certified upper bound"],
    );
    let index = String::from_utf8(run.bytes("index.html")).unwrap();
    assert_says(&index, &["lipschitz: 3 refuted, 0 proven, none is open"]);
}

#[test]
fn names_with_commas_between_them_search_the_steepest_pairs_unless_a_constant_is_given() {
    let bed = Bed::new();
    let flags = ["-c", "nc, Lipschitz", "--seeds", "2", "--radius", "0.1"];
    let rest = ["--max-executions", "1000", "--no-proofs"];
    let steepest = bed.command("steepest", TABLE, &[&flags[..], &rest].concat());
    let (text, run) = finished(steepest, Left(bed.path("steepest")));
    assert_says(&text, &["\nsteepest pairs found: "]);
    assert_eq!(run.summary()["lipschitz"][0]["constant"], Value::Null);
    assert_eq!(account(&run, "lipschitz")["properties"]["refuted"], 0);
    let rest = [&rest[..], &["--constant", "0.5"]].concat();
    let asked = bed.command("asked", TABLE, &[&flags[..], &rest].concat());
    let (text, run) = finished(asked, Left(bed.path("asked")));
    let ends = "\npairs found, a search ends at the first steeper than 0.5: ";
    assert_says(&text, &[ends]);
    assert_eq!(run.summary()["lipschitz"][0]["constant"], json!(0.5));
    assert_eq!(account(&run, "lipschitz")["properties"]["refuted"], 2);
}

fn finished(mut command: Command, run: Left) -> (String, Left) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    (String::from_utf8(output.stdout).unwrap(), run)
}

#[test]
fn certificates_of_both_kinds_lie_in_one_folder_and_are_taken_over() {
    let bed = Bed::new();
    let flags = with_constant("1e9");
    let run = bed.run("run", TABLE, &flags);
    assert_holds(&run);
    assert_eq!(states(&run), [2, 2, 2], "proven");
    let impossible = &account(&run, "nc")["requirements"]["infeasible"];
    let safe = &account(&run, "safety")["properties"]["proven"];
    assert!(impossible.as_u64().unwrap() + safe.as_u64().unwrap() > 0);
    let before = run.summary();
    // A run that has come to its end and goes on asks nothing again and sets nothing aside.
    succeeds(&[
        "resume",
        run.0.to_str().unwrap(),
        "--max-executions",
        "30000",
    ]);
    assert_holds(&run);
    let after = run.summary();
    assert_eq!(after["lipschitz"], before["lipschitz"]);
    assert_eq!(after["requirements"], before["requirements"]);
    let files = std::fs::read_dir(run.0.join("certificates")).unwrap();
    for file in files {
        let path = file.unwrap().path();
        assert_eq!(path.extension().unwrap(), "certificate", "{path:?}");
    }
    // A bound rests on the certificate that is named for it.
    let number = after["lipschitz"][1]["certificate"].as_i64().unwrap();
    std::fs::remove_file(run.0.join(format!("certificates/{number:05}.certificate"))).unwrap();
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 1, "{text}");
    assert_says(&text, &["lipschitz seed 1: claimed infeasible"]);
}

#[test]
fn runs_with_slopes_among_several_criteria_go_on_and_are_joined() {
    let bed = Bed::new();
    let mut flags = with_constant("max");
    let limit = flags.len() - 1;
    flags[limit] = "300";
    let cut = bed.run("cut", TABLE, &flags);
    succeeds(&[
        "resume",
        cut.0.to_str().unwrap(),
        "--max-executions",
        "20000",
    ]);
    assert_holds(&cut);
    flags[limit] = "20000";
    let whole = bed.run("whole", TABLE, &flags);
    let part = |out: &str, which: &'static str| {
        let run = bed.run(
            out,
            TABLE,
            &[flags.as_slice(), &["--partition", which]].concat(),
        );
        let (code, text) = check(&run, &[]);
        assert_eq!(code, 0, "{text}");
        run
    };
    let (first, second) = (part("first", "1/2"), part("second", "2/2"));
    let merged = bed.name("merged");
    succeeds(&[
        "merge",
        &merged,
        first.0.to_str().unwrap(),
        second.0.to_str().unwrap(),
    ]);
    let merged = Left(bed.path("merged"));
    assert_holds(&merged);
    for run in [&cut, &merged] {
        let (found, whole) = (run.summary(), whole.summary());
        assert_eq!(
            found["requirements"]["total"],
            whole["requirements"]["total"]
        );
        for region in 0..3 {
            let ratio = |of: &Value| of["lipschitz"][region]["found"].as_f64().unwrap();
            let bound = found["lipschitz"][region]["upper"].as_f64().unwrap();
            assert!(ratio(&whole) <= bound, "no ratio is above a bound");
            assert!(ratio(&found) <= bound);
        }
    }
    let index = String::from_utf8(merged.bytes("index.html")).unwrap();
    assert_says(&index, &["lipschitz: the steepest pairs found"]);
}

#[test]
fn edits_of_slopes_among_several_criteria_are_noticed() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &THREE);
    let text = run.bytes("run.json");
    for (field, value) in [
        ("found", json!(1e6)),
        ("upper", json!(1e-3)),
        ("random", json!(1e6)),
        ("test2", json!(0)),
    ] {
        let mut summary = run.summary();
        summary["lipschitz"][0][field] = value;
        let edited = serde_json::to_string_pretty(&summary).unwrap() + "\n";
        std::fs::write(run.0.join("run.json"), edited).unwrap();
        let (code, said) = check(&run, &[]);
        assert_eq!(code, 1, "{field}: {said}");
        assert_says(&said, &["differs: run.json"]);
        std::fs::write(run.0.join("run.json"), &text).unwrap();
    }
    assert_holds(&run);
}

#[test]
fn few_tests_keep_the_steepest_pairs() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &THREE);
    let out = bed.name("few.npz");
    succeeds(&["suite", "minimise", run.0.to_str().unwrap(), "-o", &out]);
    let kept = NpzReader::open(&bed.path("few.npz")).unwrap();
    let kept = { kept }.read::<i64>("test").unwrap().values;
    for region in run.summary()["lipschitz"].as_array().unwrap() {
        for test in ["test", "test2"] {
            assert!(kept.contains(&region[test].as_i64().unwrap()), "{region}");
        }
    }
}
