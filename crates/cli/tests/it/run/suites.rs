//! `suite`: fewer tests show the same, by measuring them; exported tests are those of the suite.

use deepconcolic_dataset::arrays::NpzReader;
use serde_json::Value;

use super::bed::{Bed, IMAGES, Left, TABLE, assert_says, check, count, deepconcolic, said};
use super::picture::Picture;

fn suite(arguments: &[&str]) -> (i32, String) {
    let output = deepconcolic(&[&["suite"], arguments].concat())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap() + &said(&output);
    (output.status.code().unwrap(), text)
}

/// How much of a criterion the inputs of a file cover.
fn covered(data: &str, model: &str, criterion: &[&str]) -> Value {
    let measure = [
        "coverage",
        model,
        "--data",
        data,
        "--no-noise",
        "--json",
        "-",
    ];
    let output = deepconcolic(&[&measure[..], criterion].concat())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["criteria"][0]["covered"].clone()
}

#[test]
fn fewer_tests_cover_as_much_by_another_measurement() {
    let bed = Bed::new();
    let flags = [
        "-c",
        "nc",
        "--seeds",
        "3",
        "--max-executions",
        "3000",
        "--quantise",
        "255",
    ];
    let run = bed.run("run", IMAGES, &flags);
    let folder = run.0.to_str().unwrap();
    let (code, text) = suite(&["minimise", folder, "--json"]);
    assert_eq!(code, 0, "{text}");
    let found: Value = serde_json::from_str(&text).unwrap();
    let (kept, of) = (
        found["tests"].as_array().unwrap().len(),
        found["of"].as_u64().unwrap(),
    );
    let least = found["at_least"].as_u64().unwrap() as usize;
    assert!(1 <= least && least <= kept && kept < of as usize, "{text}");
    let minimal = run.0.join("minimal-suite.npz");
    let count = covered(minimal.to_str().unwrap(), IMAGES[0], &["-c", "nc"]);
    assert_eq!(count, found["covered"]);
    assert_eq!(count, run.summary()["requirements"]["covered"]);
    // The folder is a run's all the same.
    assert_eq!(check(&run, &[]).0, 0);
    let (code, text) = suite(&["minimise", folder, "--keep-adversarial"]);
    assert_eq!(code, 0, "{text}");
    let marked = run.summary()["adversarial"]["count"].as_u64().unwrap();
    let test = NpzReader::open(&minimal)
        .unwrap()
        .read::<i64>("test")
        .unwrap()
        .values;
    let suite_rows = run.suite();
    let bad = test
        .iter()
        .filter(|&&t| suite_rows.verdict[t as usize] == 1)
        .count();
    assert_eq!(bad as u64, marked);
}

#[test]
fn pairs_keep_the_tests_that_the_run_names() {
    let bed = Bed::new();
    let run = bed.run(
        "run",
        TABLE,
        &["-c", "ssc", "--max-executions", "2000", "--no-proofs"],
    );
    let (code, text) = suite(&["minimise", run.0.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    assert_says(
        &text,
        &["tests meet all", "measured again", "about two inputs"],
    );
}

#[test]
fn exported_tests_are_those_of_the_suite() {
    let bed = Bed::new();
    let flags = [
        "-c",
        "nc",
        "--seeds",
        "1",
        "--max-executions",
        "1500",
        "--quantise",
        "255",
    ];
    let run = bed.run("run", IMAGES, &flags);
    let out = bed.path("out");
    let (code, text) = suite(&[
        "export",
        run.0.to_str().unwrap(),
        "-o",
        out.to_str().unwrap(),
    ]);
    assert_eq!(code, 0, "{text}");
    let suite_rows = run.suite();
    let tests = suite_rows.rows.len();
    let mut file = NpzReader::open(&out.join("tests.npz")).unwrap();
    assert_eq!(
        file.read::<f32>("x").unwrap().values,
        suite_rows.rows.concat()
    );
    let wanted = file.read::<i64>("y").unwrap().values;
    for test in [0, tests - 1] {
        let name = format!(
            "png/{test:06}-{}-as-{}.png",
            wanted[test], suite_rows.label[test]
        );
        let picture = Picture::read(&out.join(name));
        let levels: Vec<u16> = (suite_rows.rows[test].iter())
            .map(|x| (x * 255.0).round() as u16)
            .collect();
        assert_eq!(picture.levels, levels);
    }
    let table = std::fs::read_to_string(out.join("tests.csv")).unwrap();
    assert_eq!(table.lines().count(), tests + 1);
    let last: Vec<&str> = table.lines().last().unwrap().split(',').collect();
    let values: Vec<f32> = last[..784].iter().map(|v| v.parse().unwrap()).collect();
    assert_eq!(values, suite_rows.rows[tests - 1]);
    let failures = NpzReader::open(&out.join("failures.npz"))
        .unwrap()
        .read::<i64>("test")
        .unwrap();
    let marked = count(&suite_rows.verdict, 1);
    assert_eq!(failures.values.len(), marked);
    let about: Value =
        serde_json::from_slice(&std::fs::read(out.join("failures.json")).unwrap()).unwrap();
    assert_eq!(about["decision"], "argmax");
    assert!(out.join("test_failures.py").exists());
}

#[test]
fn forms_that_do_not_fit_are_left_out_or_refused_by_name() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &["-c", "nc", "--max-executions", "300"]);
    let folder = run.0.to_str().unwrap();
    let (code, text) = suite(&["export", folder, "-o", &bed.name("all")]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["png: left out", "no images", "tests.csv"]);
    let (code, text) = suite(&["export", folder, "-o", &bed.name("png"), "--form", "png"]);
    assert_eq!(code, 2, "{text}");
    let (code, text) = suite(&["export", folder, "-o", &bed.name("xls"), "--form", "xls"]);
    assert_eq!(code, 2, "{text}");
    assert_says(&text, &["no form `xls`", "pytest"]);
    let (code, text) = suite(&["minimise", Left(bed.path("none")).0.to_str().unwrap()]);
    assert_eq!(code, 2, "{text}");
}
