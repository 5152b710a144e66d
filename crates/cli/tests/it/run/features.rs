//! Features that are fixed or whole numbers: every generated test keeps to them, whatever searches for it, and `check`
//! notices one that does not.

use std::fmt::Write as _;
use std::path::Path;

use deepconcolic_dataset::arrays::NpzReader;

use super::bed::{Bed, Left, TABLE, assert_says, change, check, deepconcolic, said};

/// What stored values are divided by.
const SCALE: f32 = 10.0;

/// The rows of the table in tenths, rounded: whole numbers, as people have them.
fn tenths(bed: &Bed) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(TABLE[2]);
    let mut file = NpzReader::open(&path).expect("test data");
    let x: Vec<f32> = file.read("x").expect("inputs").values;
    let y: Vec<i64> = file.read("y").expect("labels").values;
    let mut text = String::from("a,b,c,d,label\n");
    for (row, label) in x.chunks_exact(4).zip(y) {
        let stored: Vec<String> = row
            .iter()
            .map(|x| (x * SCALE).round().to_string())
            .collect();
        writeln!(text, "{},{label}", stored.join(",")).expect("a string");
    }
    bed.file("tenths.csv", &text)
}

fn run(bed: &Bed, data: &str, out: &str, more: &[&str]) -> Left {
    let words = ["--scale", "10", "--seeds", "3", "--max-executions", "1500"];
    bed.run(out, [TABLE[0], "--data", data], &[&words, more].concat())
}

#[expect(clippy::float_cmp, reason = "fixed means the same, bit for bit")]
fn keeps(x: &[f32], root: &[f32]) -> (bool, bool) {
    let whole = (x[2] * SCALE).round() / SCALE;
    (x[1] == root[1], x[2] == whole)
}

#[test]
fn every_search_keeps_fixed_features_and_whole_numbers() {
    let bed = Bed::new();
    let data = tenths(&bed);
    let searches: [&[&str]; 9] = [
        &["--criterion", "nc", "--minimise"],
        &["--criterion", "nc", "--norm", "l2", "--radius", "1"],
        &["--criterion", "nc", "--norm", "l1", "--radius", "1"],
        &[
            "--criterion",
            "nc",
            "--norm",
            "l0-elements",
            "--radius",
            "2",
        ],
        &["--criterion", "nc", "--strategy", "paper"],
        &[
            "--criterion",
            "kmnc",
            "--sections",
            "20",
            "--quantise",
            "50",
        ],
        &["--criterion", "safety", "--radius", "0.5"],
        &["--criterion", "ssc", "--radius", "0.5"],
        &["--criterion", "lipschitz", "--radius", "0.2"],
    ];
    let mut free = [0, 0];
    for (number, search) in searches.iter().enumerate() {
        let held = [*search, &["--fixed", "b", "--integer", "2"]].concat();
        let held = run(&bed, &data, &format!("held{number}"), &held);
        let suite = held.suite();
        for (test, x, root) in suite.generated() {
            assert_eq!(
                keeps(x, root),
                (true, true),
                "{search:?}: test {test} is {x:?}"
            );
        }
        let (code, text) = check(&held, &[]);
        assert_eq!(code, 0, "{search:?}: {text}");
        assert_says(
            &text,
            &["fixed at the seed's value: `b`; whole numbers: `c`"],
        );
        let other = run(&bed, &data, &format!("free{number}"), search).suite();
        for (_, x, root) in other.generated() {
            let (fixed, whole) = keeps(x, root);
            free[0] += usize::from(!fixed);
            free[1] += usize::from(!whole);
        }
    }
    assert!(
        free[0] > 20 && free[1] > 20,
        "nothing was held back: {free:?}"
    );
}

#[test]
fn check_notices_a_test_that_leaves_them() {
    let bed = Bed::new();
    let data = tenths(&bed);
    let held = ["--criterion", "kmnc", "--fixed", "1", "--integer", "c"];
    for (element, words) in [
        (1, "element 1 is fixed"),
        (2, "element 2 is not a whole number"),
    ] {
        let run = run(&bed, &data, &format!("edited{element}"), &held);
        let suite = run.suite();
        let last = suite.rows.len() - 1;
        assert!(last >= suite.seeds, "nothing was generated");
        // Towards the others, so that it stays in the domain.
        change(&run, "suite.npz", "x", |x| {
            let column = || x.iter().skip(element).step_by(4);
            let mean = column().sum::<f64>() / column().count() as f64;
            let value = x[4 * last + element];
            x[4 * last + element] = value + 0.001 * (mean - value).signum();
        });
        let (code, text) = check(&run, &[]);
        assert_ne!(code, 0);
        assert_says(&text, &[words]);
    }
}

#[test]
fn a_run_of_fixed_features_goes_on_and_says_what_proofs_cover() {
    let bed = Bed::new();
    let data = tenths(&bed);
    let held = [
        "--criterion",
        "kmnc",
        "--scale",
        "10",
        "--seeds",
        "2",
        "--sections",
        "4",
        "--radius",
        "0.1",
        "--fixed",
        "a,b",
        "--fixed",
        "d",
        "--integer",
        "c",
    ];
    let run = bed.run("one", [TABLE[0], "--data", &data], &held);
    assert!(run.summary()["requirements"]["infeasible"].as_u64() > Some(0));
    let statement = String::from_utf8(run.bytes("statement.md")).expect("text");
    assert_says(
        &statement,
        &[
            "values in fixed features",
            "'a', 'b', 'd'",
            "proven over every value between them",
        ],
    );
    let words = ["resume", run.0.to_str().expect("a name"), "--budget", "20s"];
    let output = deepconcolic(&words).output().expect("resumes");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(check(&run, &[]).0, 0);
}

#[test]
fn features_that_cannot_be_held_are_refused() {
    let bed = Bed::new();
    let data = tenths(&bed);
    let subject = [TABLE[0], "--data", data.as_str()];
    let nc = ["--criterion", "nc", "--scale", "10"];
    let cases: [(&[&str], &[&str]); 5] = [
        (
            &["--fixed", "dd"],
            &["--fixed dd", "numbered from 0", "a, b, c, d"],
        ),
        (&["--integer", "4"], &["--integer 4", "inputs have 4"]),
        (&["--fixed", "a,b,c,d"], &["every feature"]),
        (
            &["--fixed", "a", "--radius", "none"],
            &["--fixed needs a radius", "--radius 1"],
        ),
        (
            &["--fixed", "a", "--strategy", "published"],
            &["--fixed needs a radius"],
        ),
    ];
    for (flags, parts) in cases {
        assert_says(&bed.refusal(subject, &[&nc, flags].concat()), parts);
    }
    let fractions = bed.refusal(TABLE, &["--criterion", "nc", "--integer", "0"]);
    assert_says(&fractions, &["--integer 0", "no whole number"]);
}
