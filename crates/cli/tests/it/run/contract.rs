//! What scripts rely on: names in `run.json`, exit codes of gates, what is printed.

use serde_json::Value;

use super::bed::{Bed, IMAGES, TABLE, assert_says, check, count, replay, said};

const RUN: [&str; 8] = [
    "--criterion",
    "nc",
    "--seeds",
    "2",
    "--max-executions",
    "1200",
    "--radius",
    "0.3",
];

/// Every name of the contract.
const NAMES: [&str; 54] = [
    "/schema",
    "/tool",
    "/command/0",
    "/model/path",
    "/model/sha256",
    "/model/layers/0",
    "/criterion",
    "/norm",
    "/radius",
    "/domain",
    "/rng_seed",
    "/accuracy",
    "/requirements/total",
    "/requirements/covered",
    "/requirements/infeasible",
    "/requirements/unresolved",
    "/requirements/fragile",
    "/coverage",
    "/resolved",
    "/layers/0/name",
    "/layers/0/total",
    "/layers/0/covered",
    "/layers/0/infeasible",
    "/layers/0/unresolved",
    "/classes/0/label",
    "/classes/0/tests",
    "/classes/0/adversarial",
    "/tests/seeds",
    "/tests/generated",
    "/adversarial/count",
    "/adversarial/fraction",
    "/adversarial/min_distance",
    "/adversarial/median_distance",
    "/distance/min",
    "/distance/median",
    "/distance/max",
    "/baseline/random_coverage",
    "/baseline/data_coverage",
    "/time_s/total",
    "/time_s/measure",
    "/time_s/ascend",
    "/time_s/symbolic",
    "/time_s/prove",
    "/executions/forward",
    "/executions/vjp",
    "/executions/lp",
    "/executions/nodes",
    "/stop",
    "/model/layers/2",
    "/layers/2/name",
    "/classes/9/label",
    "/settings",
    "/notes",
    "/tests/misclassified",
];

fn number(summary: &Value, name: &str) -> f64 {
    summary.pointer(name).and_then(Value::as_f64).unwrap()
}

fn whole(summary: &Value, name: &str) -> usize {
    let value = summary.pointer(name).and_then(Value::as_u64).unwrap();
    usize::try_from(value).unwrap()
}

#[test]
fn the_summary_has_every_name_and_adds_up() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &RUN);
    let summary = run.summary();
    for name in NAMES {
        assert!(
            summary.pointer(name).is_some_and(|v| !v.is_null()),
            "{name}"
        );
    }
    let of = |name: &str| whole(&summary, name);
    let sum = |list: &str, name: &str| -> usize {
        let rows = summary[list].as_array().unwrap().iter();
        rows.map(|row| whole(row, &format!("/{name}"))).sum()
    };
    for name in ["total", "covered", "infeasible", "unresolved"] {
        assert_eq!(sum("layers", name), of(&format!("/requirements/{name}")));
    }
    let share = of("/requirements/covered") as f64 / of("/requirements/total") as f64;
    for name in ["/coverage", "/resolved"] {
        assert!((number(&summary, name) - share).abs() < 1e-12);
    }
    let suite = run.suite();
    assert_eq!(of("/tests/seeds"), suite.seeds);
    assert_eq!(of("/tests/generated"), suite.rows.len() - suite.seeds);
    assert_eq!(sum("classes", "tests"), suite.rows.len());
    assert_eq!(sum("classes", "adversarial"), of("/adversarial/count"));
    assert!(of("/executions/forward") + of("/executions/vjp") <= 1200);
    assert_eq!(summary["schema"], 1);
    let (state, _) = run.requirements();
    assert_eq!(of("/requirements/covered"), count(&state, 1));
}

#[test]
fn the_suite_tells_where_each_test_comes_from() {
    let bed = Bed::new();
    let suite = bed.run("run", IMAGES, &RUN).suite();
    let tests = suite.rows.len();
    assert_eq!(suite.shape, [tests, 1, 28, 28]);
    for test in 0..tests {
        let parent = suite.parent[test];
        assert_eq!(suite.stage[test] == 0, test < suite.seeds);
        assert_eq!(parent < 0, test < suite.seeds);
        assert!(parent < test as i64);
        if let Ok(parent) = usize::try_from(parent) {
            assert_eq!(suite.root[parent], suite.root[test]);
        } else {
            assert!(suite.distance[test].abs() < f32::MIN_POSITIVE);
            // The nearest real image to a seed is the seed, and the network gets it right.
            assert_eq!(suite.reference[test], suite.root[test]);
            assert_eq!(suite.verdict[test], 0);
        }
    }
}

#[test]
fn gates_decide_the_exit_code() {
    let bed = Bed::new();
    let code = |out: &str, more: &[&str]| {
        let output = bed
            .command(out, IMAGES, &[&RUN[..], more].concat())
            .output();
        output.unwrap().status.code()
    };
    assert_eq!(code("a", &["--fail-under", "100"]), Some(1));
    assert_eq!(code("b", &["--fail-under", "50"]), Some(0));
    assert_eq!(code("c", &["--fail-on-adversarial"]), Some(1));
    let none = ["--fail-on-adversarial", "--adversarial-radius", "0"];
    assert_eq!(code("d", &none), Some(0));
    // A gate that failed has saved the run all the same.
    assert_eq!(replay(&super::bed::Left(bed.path("a")), &[]).0, 0);
}

#[test]
fn what_is_printed_is_what_was_asked_for() {
    let bed = Bed::new();
    let print = |out: &str, more: &[&str]| {
        let output = bed
            .command(out, IMAGES, &[&RUN[..], more].concat())
            .output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        (text, said(&output))
    };
    assert_eq!(print("quiet", &["--quiet"]), (String::new(), String::new()));
    let (text, _) = print("json", &["--json"]);
    let printed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(printed, super::bed::Left(bed.path("json")).summary());
    let (text, progress) = print("plain", &[]);
    assert_says(&text, &["relu1", "all", "tests: 2 seeds", "adversarial: "]);
    assert_says(
        &text,
        &["for comparison", "stopped: executions", "saved in"],
    );
    assert_says(&progress, &["ascend", "% of 1816 covered"]);
}

#[test]
fn given_seeds_are_the_ones_used() {
    let bed = Bed::new();
    let flags = [
        "--criterion",
        "nc",
        "--seed-index",
        "7,3,7",
        "--max-executions",
        "600",
    ];
    let run = bed.run("run", IMAGES, &flags);
    let suite = run.suite();
    assert_eq!(suite.root[..suite.seeds], [7, 3]);
    let run = bed.run("table", TABLE, &["--criterion", "tknc", "--top", "2"]);
    assert_eq!(run.summary()["stop"], "complete");
    assert_eq!(replay(&run, &[]).0, 0);
}

#[test]
fn the_demo_is_a_run_that_can_be_replayed() {
    let bed = Bed::new();
    let folder = bed.name("demo");
    let output = super::bed::deepconcolic(&["demo", "--out", &folder])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let run = super::bed::Left(bed.path("demo/run"));
    assert_eq!(replay(&run, &[]).0, 0);
    assert!(run.summary()["coverage"].as_f64().unwrap() > 0.9);
}

#[test]
fn a_run_can_be_judged_by_every_oracle_and_is_checked_by_the_same() {
    let bed = Bed::new();
    for (number, oracle) in deepconcolic::ORACLES.iter().enumerate() {
        let flags = [&RUN[..], &["--oracle", oracle.name()]].concat();
        let run = bed.run(oracle.name(), IMAGES, &flags);
        let settings = &run.summary()["settings"];
        let recorded = settings.get("oracle").and_then(Value::as_str);
        assert_eq!(recorded, (number > 0).then(|| oracle.name()));
        let (code, text) = check(&run, &[]);
        assert_eq!(code, 0, "{oracle:?}: {text}");
        let (code, text) = replay(&run, &[]);
        assert_eq!(code, 0, "{oracle:?}: {text}");
    }
}

#[test]
fn a_run_can_be_shown_in_every_form() {
    let bed = Bed::new();
    for form in deepconcolic_report::ALL {
        let flags = [&RUN[..], &["--format", form.name]].concat();
        let output = bed.command(form.name, IMAGES, &flags).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert_eq!(
            output.stdout.is_empty(),
            form.name == "quiet",
            "{}",
            form.name
        );
    }
}

#[test]
fn model_and_data_are_all_that_one_must_give() {
    let bed = Bed::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = || {
        let mut command = super::bed::deepconcolic(&["run"]);
        command.current_dir(bed.path(""));
        command
            .arg(root.join(TABLE[0]))
            .arg("--data")
            .arg(root.join(TABLE[2]));
        let output = command.args(["--max-executions", "200"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    };
    run();
    run();
    for name in ["deepconcolic-mlp", "deepconcolic-mlp-2"] {
        let text = std::fs::read(bed.path(name).join("run.json")).unwrap();
        let summary: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(summary["criterion"], "nc");
    }
    // What it goes on with must be named.
    let mut resumed = super::bed::deepconcolic(&["run", TABLE[0], "--data", TABLE[2], "--resume"]);
    assert_eq!(resumed.output().unwrap().status.code(), Some(2));
}
