//! `run --criterion lipschitz` from outside: slopes that hold under arithmetic of the tests' own, words of a
//! property, and folders that are noticed when they are changed.

use std::fs;

use deepconcolic_dataset::arrays::NpzReader;
use serde_json::{Value, json};

use super::bed::{Bed, IMAGES, Left, TABLE, assert_says, check, deepconcolic, replay, said};

const STEEP: [&str; 8] = [
    "--criterion",
    "lipschitz",
    "--seeds",
    "3",
    "--radius",
    "0.1",
    "--ratio-norm",
    "l2",
];

fn steep(more: &[&'static str]) -> Vec<&'static str> {
    [&STEEP[..], more].concat()
}

fn assert_holds(run: &Left) {
    let (code, text) = check(run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["slopes of", "everything else"]);
    let (code, text) = replay(run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["steepest pairs of", "refuted"]);
}

fn regions(run: &Left) -> Vec<Value> {
    run.summary()["lipschitz"].as_array().unwrap().clone()
}

fn found(run: &Left) -> Vec<f64> {
    regions(run)
        .iter()
        .map(|region| region["found"].as_f64().unwrap())
        .collect()
}

fn column<T: deepconcolic_dataset::arrays::Element>(run: &Left, name: &str) -> Vec<T> {
    let mut file = NpzReader::open(&run.0.join("requirements.npz")).unwrap();
    file.read::<T>(name).unwrap().values
}

#[test]
fn the_largest_ratio_is_searched_and_told_in_words_of_a_property() {
    let bed = Bed::new();
    let flags = steep(&[
        "--lipschitz-output",
        "label",
        "--max-executions",
        "2000",
        "--no-proofs",
    ]);
    let output = bed.command("max", IMAGES, &flags).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_says(
        &text,
        &[
            "refuted",
            "proven",
            "open",
            "steepest pairs found",
            "steepest random pairs",
        ],
    );
    let mut lines = text.lines().filter(|line| !line.starts_with("note: "));
    assert!(!lines.any(|line| line.contains("cover")), "{text}");
    let run = Left(bed.path("max"));
    assert_holds(&run);
    let regions = regions(&run);
    assert_eq!(regions.len(), 3);
    let tests = 3 + 2 * 3;
    for region in &regions {
        assert!(region["found"].as_f64().unwrap() > region["random"].as_f64().unwrap());
        assert_eq!(region["constant"], Value::Null);
        for test in ["test", "test2"] {
            assert!((0..tests).contains(&region[test].as_i64().unwrap()));
        }
        assert!(region["root"].as_i64().is_some());
    }
    assert_eq!(
        column::<u8>(&run, "state"),
        [0, 0, 0],
        "no constant, nothing to exceed"
    );
    assert_eq!(run.summary()["settings"]["knobs"]["constant"], "max");
    assert_eq!(
        run.summary()["stop"],
        "complete",
        "all regions shared the passes"
    );
    let work = &run.summary()["executions"];
    assert!(work["forward"].as_u64().unwrap() + work["vjp"].as_u64().unwrap() <= 2000);
    let csv = fs::read_to_string(run.0.join("lipschitz.csv")).unwrap();
    assert_eq!(csv.lines().count(), 2001);
    let flattest = found(&run).into_iter().fold(f64::INFINITY, f64::min);
    let all = csv.lines().skip(1);
    let below = all.take_while(|line| line.contains(",3,0,0,")).count();
    let expected = (1..=2000).filter(|&step| f64::from(step) / 100.0 < flattest);
    assert_eq!(below, expected.count(), "{flattest}");
}

#[test]
fn a_constant_is_refuted_by_a_pair_or_stays_open() {
    let bed = Bed::new();
    for (strategy, executions) in [("cascade", "3000"), ("paper", "9000"), ("random", "3000")] {
        let search = ["--strategy", strategy, "--max-executions", executions];
        let low = bed.run(
            &format!("low-{strategy}"),
            TABLE,
            &[&steep(&["--constant", "0.0001"])[..], &search].concat(),
        );
        assert_holds(&low);
        assert_eq!(column::<u8>(&low, "state"), [1, 1, 1], "{strategy}");
        for (region, test) in regions(&low).iter().zip(column::<i64>(&low, "test2")) {
            assert_eq!(region["test2"].as_i64(), Some(test));
        }
        let high = bed.run(
            &format!("high-{strategy}"),
            TABLE,
            &[&steep(&["--constant", "1e9"])[..], &search].concat(),
        );
        assert_holds(&high);
        assert!(!column::<u8>(&high, "state").contains(&1), "{strategy}");
        assert!(found(&high).iter().all(|ratio| *ratio > 0.0001));
        for (region, state) in regions(&high).iter().zip(column::<u8>(&high, "state")) {
            let upper = region["upper"].as_f64();
            assert_eq!(state, if upper.is_some() { 2 } else { 0 }, "{region}");
            assert!(upper.is_none_or(|upper| upper >= region["found"].as_f64().unwrap()));
        }
    }
}

#[test]
fn a_constant_above_the_certified_bound_is_proven_and_rests_on_its_certificate() {
    let bed = Bed::new();
    for norm in ["l2", "linf", "l1"] {
        let flags = ["--ratio-norm", norm, "--constant", "1e9"];
        let flags = [&STEEP[..6], &flags, &["--max-executions", "1000"]].concat();
        let run = bed.run(&format!("proven-{norm}"), TABLE, &flags);
        assert_holds(&run);
        assert_eq!(column::<u8>(&run, "state"), [2, 2, 2], "{norm}");
        assert_eq!(column::<i64>(&run, "certificate"), [0, 1, 2], "{norm}");
        for region in regions(&run) {
            let (found, upper) = (region["found"].as_f64(), region["upper"].as_f64());
            assert!(found.unwrap() <= upper.unwrap(), "{region}");
        }
        fs::remove_file(run.0.join("certificates/00001.certificate")).unwrap();
        let (code, text) = check(&run, &[]);
        assert_eq!(code, 1, "{text}");
        assert_says(&text, &["not shown to be infeasible", "lipschitz[1].upper"]);
    }
}

#[test]
fn the_default_search_is_steeper_than_the_papers_and_random_pairs() {
    let bed = Bed::new();
    let run = |strategy: &'static str| {
        let flags = steep(&[
            "--lipschitz-output",
            "label",
            "--max-executions",
            "3000",
            "--no-proofs",
            "--strategy",
            strategy,
        ]);
        found(&bed.run(strategy, IMAGES, &flags))
    };
    let (ours, paper, random) = (run("cascade"), run("paper"), run("random"));
    for region in 0..3 {
        assert!(ours[region] > 1.5 * paper[region], "{ours:?} {paper:?}");
        assert!(ours[region] > 1.5 * random[region], "{ours:?} {random:?}");
    }
}

#[test]
fn threads_and_parts_do_not_change_what_is_found() {
    let bed = Bed::new();
    let whole = bed.run("one", TABLE, &steep(&["--threads", "1"]));
    let three = bed.run("three", TABLE, &steep(&["--threads", "3"]));
    assert_eq!(regions(&whole), regions(&three));
    let part = |part: &'static str, out: &str| {
        let run = bed.run(out, TABLE, &steep(&["--partition", part]));
        assert_holds(&run);
        run
    };
    let parts = [part("1/2", "first"), part("2/2", "second")];
    let mut command = deepconcolic(&["merge", &bed.name("merged")]);
    let output = command
        .args(parts.iter().map(|part| &part.0))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let merged = Left(bed.path("merged"));
    assert_holds(&merged);
    assert_eq!(found(&merged), found(&whole));
}

#[test]
fn a_run_that_goes_on_keeps_what_it_found() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &steep(&["--max-executions", "2000"]));
    let before = regions(&run);
    let again = bed.run(
        "run",
        TABLE,
        &steep(&["--max-executions", "2000", "--resume"]),
    );
    assert_eq!(regions(&again), before);
    assert_holds(&again);
}

#[test]
fn boxes_of_a_file_and_the_domain_are_regions() {
    let bed = Bed::new();
    let boxes = bed.file(
        "boxes.json",
        &json!([{"lower": [4.5, 2.5, 1.0, 0.1], "upper": [4.8, 2.7, 1.5, 0.4]},
                {"lower": [5.0, 2.4, 2.0, 0.5], "upper": [6.0, 3.2, 4.0, 1.5]}])
        .to_string(),
    );
    let flags = [
        "--criterion",
        "lipschitz",
        "--seeds",
        "2",
        "--max-executions",
        "2000",
    ];
    let boxed = bed.run(
        "boxed",
        TABLE,
        &[&flags[..], &["--region", &boxes]].concat(),
    );
    assert_holds(&boxed);
    let both = regions(&boxed);
    assert_eq!(both.len(), 2);
    assert_eq!(both[0]["region"], "box 0");
    assert_eq!(both[0]["root"], Value::Null);
    let domain = bed.run(
        "domain",
        TABLE,
        &[&flags[..], &["--radius", "none"]].concat(),
    );
    assert_holds(&domain);
    assert_eq!(regions(&domain)[0]["region"], "domain");
}

/// A change of `run.json`.
type Edit = fn(&mut Value);

#[test]
fn what_is_changed_in_a_folder_is_noticed() {
    let bed = Bed::new();
    let run = bed.run(
        "run",
        TABLE,
        &steep(&["--constant", "0.01", "--max-executions", "2000"]),
    );
    assert_holds(&run);
    let path = run.0.join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    let edits: [(&str, Edit); 8] = [
        ("found", |v| {
            v["lipschitz"][0]["found"] = json!(v["lipschitz"][0]["found"].as_f64().unwrap() * 1.01);
        }),
        ("found", |v| v["lipschitz"][1]["found"] = Value::Null),
        ("upper", |v| v["lipschitz"][0]["upper"] = json!(1e-3)),
        ("test", |v| v["lipschitz"][0]["test"] = json!(1)),
        ("test", |v| v["lipschitz"][0]["test2"] = json!(99_999)),
        ("random", |v| v["lipschitz"][2]["random"] = json!(1e6)),
        ("constants", |v| v["constants"][0]["refuted"] = json!(0)),
        ("lipschitz", |v| {
            v["lipschitz"].as_array_mut().unwrap().pop();
        }),
    ];
    for (what, edit) in edits {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        edit(&mut value);
        fs::write(&path, serde_json::to_string_pretty(&value).unwrap() + "\n").unwrap();
        let (code, said) = check(&run, &[]);
        assert_eq!(code, 1, "{what}: {said}");
        assert_says(&said, &["differs: run.json"]);
        if what == "found" {
            assert_eq!(replay(&run, &[]).0, 1);
        }
    }
    fs::write(&path, &text).unwrap();
    let csv = run.0.join("lipschitz.csv");
    let table = fs::read_to_string(&csv).unwrap();
    fs::write(&csv, table.replacen(",0,0,", ",1,0,", 1)).unwrap();
    let (code, said) = check(&run, &[]);
    assert_eq!(code, 1, "{said}");
    assert_says(&said, &["lipschitz.csv: line"]);
    fs::remove_file(&csv).unwrap();
    assert_eq!(check(&run, &[]).0, 1);
    fs::write(&csv, &table).unwrap();
    assert_holds(&run);
}
