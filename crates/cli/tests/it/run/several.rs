//! Several criteria on one suite: each ends as it is counted alone, and the folder is a run's like any other.

use deepconcolic_dataset::arrays::NpzReader;
use serde_json::Value;

use super::bed::{
    Bed, IMAGES, Left, TABLE, assert_says, change, check, deepconcolic, replay, said,
};

const THREE: [&str; 12] = [
    "-c",
    "nc",
    "-c",
    "NBC",
    "-c",
    "tknc",
    "--seeds",
    "2",
    "--quantise",
    "255",
    "--max-executions",
    "3000",
];

fn covered_of(run: &Left, name: &str) -> Value {
    let summary = run.summary();
    let criteria = summary["criteria"].as_array().unwrap();
    let part = criteria.iter().find(|part| part["criterion"] == name);
    part.unwrap()["requirements"]["covered"].clone()
}

#[test]
fn each_criterion_is_covered_as_the_suite_measured_alone_covers_it() {
    let bed = Bed::new();
    let gates = ["--fail-under", "nc=50,nbc=1,tknc=1", "--fail-on", "refuted"];
    let run = bed.run("run", IMAGES, &[&THREE[..], &gates].concat());
    let summary = run.summary();
    assert_eq!(summary["criterion"], "nc,nbc,tknc");
    assert_eq!(summary["gates"].as_array().unwrap().len(), 4);
    let total = |part: &Value| part["requirements"]["total"].as_u64().unwrap();
    let parts: u64 = summary["criteria"]
        .as_array()
        .unwrap()
        .iter()
        .map(total)
        .sum();
    assert_eq!(parts, total(&summary));
    // The suite as data, measured by one criterion at a time.
    let out = bed.name("out");
    let export = [
        "suite",
        "export",
        run.0.to_str().unwrap(),
        "-o",
        &out,
        "--form",
        "npz",
    ];
    assert!(deepconcolic(&export).output().unwrap().status.success());
    let profile = run.0.join("profile.npz");
    for name in ["nc", "nbc", "tknc"] {
        let data = format!("{out}/tests.npz");
        let measure = [
            "coverage",
            IMAGES[0],
            "--data",
            &data,
            "-c",
            name,
            "--no-noise",
            "--json",
            "-",
        ];
        let with = ["--profile", profile.to_str().unwrap()];
        let output = deepconcolic(&[&measure[..], &with].concat())
            .output()
            .unwrap();
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
        assert_eq!(
            report["criteria"][0]["covered"],
            covered_of(&run, name),
            "{name}"
        );
        assert!(run.has(&format!("requirements-{name}.npz")));
    }
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(replay(&run, &[]).0, 0);
    // Rows of one criterion that are not those of the whole are noticed.
    change(&run, "requirements-nc.npz", "state", |state| {
        state[0] = 2.0 - state[0];
    });
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 1, "{text}");
    assert_says(&text, &["requirements-nc.npz"]);
}

#[test]
fn such_runs_go_on_and_are_joined() {
    let bed = Bed::new();
    let flags = ["-c", "nc", "-c", "tknc", "--max-executions"];
    let part = |out: &str, which: &str| {
        bed.run(
            out,
            TABLE,
            &[&flags[..], &["2000", "--partition", which]].concat(),
        )
    };
    let (first, second) = (part("first", "1/2"), part("second", "2/2"));
    let whole = bed.name("whole");
    let parts = [first.0.to_str().unwrap(), second.0.to_str().unwrap()];
    let output = deepconcolic(&["merge", &whole, parts[0], parts[1]])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let merged = Left(bed.path("whole"));
    assert_eq!(check(&merged, &[]).0, 0);
    let single = bed.run("single", TABLE, &[&flags[..], &["300"]].concat());
    let output = deepconcolic(&[
        "resume",
        single.0.to_str().unwrap(),
        "--max-executions",
        "2000",
    ]);
    let mut output = output;
    assert!(output.output().unwrap().status.success());
    assert_eq!(check(&single, &[]).0, 0);
    assert_eq!(covered_of(&merged, "nc"), covered_of(&single, "nc"));
}

/// Two criteria of pairs over the same layers, one of goals and one of properties on one input. All tests lie round one
/// seed, so that any two of them count together, as any two samples of data do.
const PAIRS: [&str; 14] = [
    "-c",
    "ssc",
    "-c",
    "nc",
    "-c",
    "vvc",
    "-c",
    "safety",
    "--seeds",
    "1",
    "--radius",
    "0.5",
    "--max-executions",
    "60000",
];

#[test]
fn pairs_of_neurons_share_a_suite_with_other_criteria() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &PAIRS);
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = replay(&run, &[]);
    assert_eq!(code, 0, "{text}");
    let out = bed.name("out");
    let folder = run.0.to_str().unwrap();
    let export = ["suite", "export", folder, "-o", &out, "--form", "npz"];
    assert!(deepconcolic(&export).output().unwrap().status.success());
    let data = format!("{out}/tests.npz");
    for name in ["ssc", "nc", "vvc"] {
        let measure = ["coverage", TABLE[0], "--data", &data, "-c", name];
        let measure = deepconcolic(&[&measure[..], &["--no-noise", "--json", "-"]].concat())
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&measure.stdout)
            .unwrap_or_else(|_| panic!("{}", said(&measure)));
        let covered = covered_of(&run, name);
        assert_ne!(covered, 0, "{name}");
        assert_eq!(report["criteria"][0]["covered"], covered, "{name}");
    }
    // Both kinds of proofs were tried: pairs that cannot be, and neurons.
    let summary = run.summary();
    let resolved = |name: &str| {
        let criteria = summary["criteria"].as_array().unwrap();
        let of = criteria.iter().find(|part| part["criterion"] == name);
        let of = &of.unwrap()["requirements"];
        of["total"].as_u64().unwrap() - of["unresolved"].as_u64().unwrap()
    };
    assert!(resolved("ssc") > covered_of(&run, "ssc").as_u64().unwrap());
    // The rows of each pair criterion are those of a run of it alone: a row for what is covered or impossible.
    for name in ["ssc", "vvc"] {
        let rows = run.0.join(format!("requirements-{name}.npz"));
        let rows = NpzReader::open(&rows).unwrap().read::<i64>("layer2");
        assert_eq!(rows.unwrap().values.len() as u64, resolved(name), "{name}");
    }
}

#[test]
fn edits_of_pairs_among_several_criteria_are_noticed() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &PAIRS);
    for (file, column) in [
        ("requirements-ssc.npz", "i"),
        ("requirements.npz", "criterion"),
        ("requirements.npz", "j"),
        ("requirements.npz", "test2"),
    ] {
        let before = std::fs::read(run.0.join(file)).unwrap();
        change(&run, file, column, |values| {
            let last = values.len() - 1;
            let at = values.iter().rposition(|&n| n >= 0.0).unwrap_or(last);
            values[at] = if values[at] == 0.0 { 2.0 } else { 0.0 };
        });
        let (code, text) = check(&run, &[]);
        assert_eq!(code, 1, "{file} {column}: {text}");
        assert_says(&text, &[file]);
        std::fs::write(run.0.join(file), before).unwrap();
    }
    assert_eq!(check(&run, &[]).0, 0);
}

#[test]
fn runs_with_pairs_among_several_criteria_go_on_and_are_joined() {
    let bed = Bed::new();
    let flags = ["-c", "nc", "-c", "ssc", "--seeds", "2", "--max-executions"];
    let whole = bed.run("at-once", TABLE, &[&flags[..], &["20000"]].concat());
    let cut = bed.run("cut", TABLE, &[&flags[..], &["2500"]].concat());
    let resume = [
        "resume",
        cut.0.to_str().unwrap(),
        "--max-executions",
        "20000",
    ];
    let output = deepconcolic(&resume).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    for file in ["suite.npz", "requirements.npz", "requirements-ssc.npz"] {
        let bytes = |run: &Left| std::fs::read(run.0.join(file)).unwrap();
        assert_eq!(bytes(&whole), bytes(&cut), "{file}");
    }
    let part = |out: &str, which: &str| {
        let more = ["20000", "--partition", which];
        bed.run(out, TABLE, &[&flags[..], &more].concat())
    };
    let (first, second) = (part("first", "1/2"), part("second", "2/2"));
    let merged = bed.name("merged");
    let parts = [first.0.to_str().unwrap(), second.0.to_str().unwrap()];
    let output = deepconcolic(&["merge", &merged, parts[0], parts[1]])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let merged = Left(bed.path("merged"));
    let (code, text) = check(&merged, &[]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(
        merged.summary()["requirements"]["total"],
        whole.summary()["requirements"]["total"]
    );
}

#[test]
fn criteria_that_cannot_share_a_suite_are_refused() {
    let bed = Bed::new();
    let slopes = ["-c", "nc", "-c", "lipschitz", "--strategy", "random"];
    let refused = bed.refusal(IMAGES, &slopes);
    assert_says(&refused, &["beside other criteria", "ratios", "cascade"]);
    let refused = bed.refusal(IMAGES, &["-c", "nc", "-c", "ssc", "--strategy", "random"]);
    assert_says(&refused, &["pairs of neurons", "cascade"]);
    let refused = bed.refusal(IMAGES, &["-c", "nc", "-c", "ncb"]);
    assert_says(&refused, &["no criterion `ncb`", "did you mean"]);
}

#[test]
fn settings_that_ask_for_more_rows_than_there_are_are_noticed() {
    let bed = Bed::new();
    let sections = [
        "-c",
        "nc",
        "-c",
        "kmnc",
        "--sections",
        "4",
        "--seeds",
        "3",
        "--max-executions",
        "200",
        "--no-proofs",
    ];
    let run = bed.run("run", TABLE, &sections);
    let mut summary = run.summary();
    summary["settings"]["knobs"]["sections"] = 5.into();
    std::fs::write(run.0.join("run.json"), summary.to_string()).unwrap();
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 1, "{text}");
    assert_says(&text, &["requirements.npz", "run.json: criteria[1]"]);
}
