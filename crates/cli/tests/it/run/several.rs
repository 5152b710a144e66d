//! Several criteria on one suite: each ends as it is counted alone, and the folder is a run's like any other.

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

#[test]
fn criteria_that_cannot_share_a_suite_are_refused() {
    let bed = Bed::new();
    let refused = bed.refusal(IMAGES, &["-c", "nc", "-c", "ssc"]);
    assert_says(&refused, &["ssc is about two inputs", "a run of its own"]);
    let refused = bed.refusal(IMAGES, &["-c", "nc", "-c", "ncb"]);
    assert_says(&refused, &["no criterion `ncb`", "did you mean"]);
}
