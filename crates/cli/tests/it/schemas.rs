//! What commands print as JSON is what the schemas in the documentation say.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where a value is not what a schema says, by the parts of JSON Schema that the schemas here use.
fn faults(schema: &Value, value: &Value, at: &str, faults_found: &mut Vec<String>) {
    let mut fault = |what: String| faults_found.push(format!("{at}: {what}"));
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{at}: the schema has a type `{other}`"),
    };
    match &schema["type"] {
        Value::String(name) if !is(name) => fault(format!("{value} is no {name}")),
        Value::Array(names) if !names.iter().any(|name| is(name.as_str().unwrap())) => {
            fault(format!("{value} is none of {names:?}"));
        }
        _ => {}
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        fault(format!("{value} is none of {allowed:?}"));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        fault(format!("{value} is below {least}"));
    }
    if let (Some(least), Some(items)) = (schema["minItems"].as_u64(), value.as_array())
        && (items.len() as u64) < least
    {
        fault(format!("it has fewer than {least} items"));
    }
    if let Some(fields) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !fields.contains_key(name.as_str().unwrap()) {
                fault(format!("{name} is missing"));
            }
        }
        for (name, field) in fields {
            match schema["properties"].get(name) {
                Some(inner) => faults(inner, field, &format!("{at}.{name}"), faults_found),
                None if schema["additionalProperties"] == false => {
                    faults_found.push(format!("{at}: {name} is not in the schema"));
                }
                None => {}
            }
        }
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        faults(
            &schema["items"],
            item,
            &format!("{at}[{number}]"),
            faults_found,
        );
    }
}

/// The faults of a value by a schema of the documentation.
fn against(schema: &str, value: &Value) -> Vec<String> {
    let path = root().join(format!("docs/schemas/{schema}.json"));
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut found = Vec::new();
    faults(&schema, value, "", &mut found);
    found
}

/// Holds what a command prints against a schema; the exit code may be 0 or 1.
fn holds(schema: &str, arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_deepconcolic"))
        .current_dir(root())
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{arguments:?}: {errors}"
    );
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = against(schema, &value);
    assert!(found.is_empty(), "{arguments:?}: {found:#?}");
    value
}

const MODEL: &str = "testdata/mlp.onnx";
const DATA: &str = "testdata/data_mlp.npz";

#[test]
fn measured_properties_are_as_the_schema_says() {
    let folder = TempDir::new().unwrap();
    let own = folder.path().join("own.dr");
    std::fs::write(&own, "exists x: v[x][1,0] > 9\nforall x: v[x][1,0] > 9\n").unwrap();
    let own = own.to_str().unwrap();
    let asked = ["-c", "safety", "--radius", "0.2", "--requirements", own];
    let measured = ["coverage", MODEL, "--data", DATA, "--json", "-"];
    let printed = holds("coverage", &[&measured[..], &asked].concat());
    assert_eq!(
        printed["requirements"]["refuted"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn every_command_prints_what_its_schema_says() {
    let folder = TempDir::new().unwrap();
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_owned();
    holds("inspect", &["inspect", MODEL, "--json"]);
    holds(
        "eval",
        &[
            "eval",
            MODEL,
            "--data",
            DATA,
            "-o",
            &name("y.npy"),
            "--json",
        ],
    );
    let measured = [
        "coverage", MODEL, "--data", DATA, "-c", "nc", "-c", "ssc", "--json", "-",
    ];
    holds(
        "coverage",
        &[&measured[..], &["--open", "2", "--print", "1"]].concat(),
    );
    for (criterion, radius) in [
        ("nc", "0.2"),
        ("safety", "0.01"),
        ("lipschitz", "0.05"),
        ("ssc", "0.2"),
    ] {
        let out = name(criterion);
        let run = [
            "run", MODEL, "--data", DATA, "-c", criterion, "--radius", radius, "--seeds", "2",
        ];
        let rest = [
            "--max-executions",
            "600",
            "--fail-on",
            "adversarial,open",
            "--json",
            "-o",
            &out,
        ];
        let printed = holds("run", &[&run[..], &rest].concat());
        assert_eq!(printed["gates"].as_array().unwrap().len(), 2);
        let judged = holds("check", &["check", &out, "--json"]);
        assert_eq!(
            (&judged["of"], &judged["passes"]),
            (&"run".into(), &true.into())
        );
        let replayed = holds("replay", &["replay", &out, "--json"]);
        assert_eq!(replayed["findings"], serde_json::json!([]));
    }
    holds(
        "minimal-suite",
        &["suite", "minimise", &name("nc"), "--json"],
    );
    let audit = ["audit", MODEL, "--data", DATA, "--criteria", "nc,kmnc"];
    let few = ["--tests", "12", "--faults", "5", "--seeds", "2", "--json"];
    let audited = holds(
        "audit",
        &[&audit[..], &few, &["-o", &name("audit")]].concat(),
    );
    assert_eq!(audited["suites"].as_array().unwrap().len(), 5);
    let page = std::fs::read_to_string(folder.path().join("audit/audit.md")).unwrap();
    assert!(page.contains("random of equal size"), "{page}");
    let mutant = name("audit/faults/01-noise.onnx");
    holds(
        "replay",
        &[
            "replay",
            &name("audit/suites/nc"),
            "--model",
            &mutant,
            "--json",
        ],
    );
    let property = name("p.vnnlib");
    let inputs = (0..4)
        .map(|i| format!("(declare-const X_{i} Real)"))
        .collect::<Vec<_>>()
        .concat();
    let outputs = (0..3)
        .map(|i| format!("(declare-const Y_{i} Real)"))
        .collect::<Vec<_>>()
        .concat();
    let ends = (0..4)
        .map(|i| format!("(assert (>= X_{i} 0.4))(assert (<= X_{i} 0.41))"))
        .collect::<Vec<_>>()
        .concat();
    for (limit, verdict) in [("-1000000.0", "sat"), ("1000000.0", "unsat")] {
        let text = format!("{inputs}{outputs}{ends}(assert (>= Y_0 {limit}))");
        std::fs::write(&property, text).unwrap();
        let out = name(verdict);
        let answer = holds(
            "verify",
            &["verify", MODEL, &property, "--json", "-o", &out],
        );
        assert_eq!(answer["verdict"], verdict);
        let judged = holds("check", &["check", &out, "--json"]);
        assert_eq!(judged["of"], "answer");
    }
}

/// `findings.sarif` of a run with a gate that fails, properties that are refuted and adversarial tests.
fn findings(folder: &TempDir) -> Value {
    let out = folder.path().join("a run");
    let run = ["run", MODEL, "--data", DATA, "-c", "nc", "-c", "safety"];
    let rest = [
        "--radius",
        "0.5",
        "--adversarial-radius",
        "0.5",
        "--seeds",
        "3",
        "--fail-on",
        "refuted",
        "-q",
        "-o",
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_deepconcolic"))
        .current_dir(root())
        .args([&run[..], &["--max-executions", "3000"], &rest].concat())
        .arg(&out)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    serde_json::from_slice(&std::fs::read(out.join("findings.sarif")).unwrap()).unwrap()
}

#[test]
fn findings_for_code_scanning_are_what_their_schema_says() {
    let folder = TempDir::new().unwrap();
    let file = findings(&folder);
    assert_eq!(against("findings.sarif", &file), [""; 0]);
    let run = &file["runs"][0];
    let results = run["results"].as_array().unwrap();
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let mut fingerprints = Vec::new();
    for result in results {
        let rule = rules.iter().find(|rule| rule["id"] == result["ruleId"]);
        let level = &rule.unwrap()["defaultConfiguration"]["level"];
        assert_eq!(level, &result["level"], "{result}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], MODEL);
        fingerprints.push(result["partialFingerprints"]["case/v1"].as_str().unwrap());
    }
    for rule in ["gate", "refuted", "adversarial"] {
        let has = results.iter().any(|result| result["ruleId"] == rule);
        assert!(has, "no {rule}: {results:#?}");
    }
    // Two findings that looked the same would be listed as one.
    let all = fingerprints.len();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), all);
}

#[test]
fn the_schema_of_findings_refuses_what_is_not_so() {
    let folder = TempDir::new().unwrap();
    let good = findings(&folder);
    let place = "/runs/0/results/0/locations/0/physicalLocation";
    for (at, value) in [
        ("/version".into(), serde_json::json!("2.0.0")),
        ("/runs".into(), serde_json::json!([])),
        ("/runs/0/results/0/level".into(), serde_json::json!("grave")),
        (
            "/runs/0/results/0/message".into(),
            serde_json::json!("words"),
        ),
        ("/runs/0/results/0/locations".into(), serde_json::json!([])),
        (format!("{place}/region/startLine"), serde_json::json!(0)),
        (
            format!("{place}/artifactLocation/uri"),
            serde_json::json!(7),
        ),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(&at).unwrap() = value;
        assert_eq!(against("findings.sarif", &bad).len(), 1, "{at}");
    }
}

#[test]
fn the_schemas_refuse_what_is_not_so() {
    let good = serde_json::json!({"verdict": "sat", "counterexample": "((X_0 1))", "notes": [], "reason": null});
    assert_eq!(against("verify", &good), [""; 0]);
    for (field, value) in [
        ("verdict", serde_json::json!("maybe")),
        ("counterexample", serde_json::json!(3)),
        ("notes", serde_json::json!([1])),
        ("more", serde_json::json!(1)),
    ] {
        let mut bad = good.clone();
        bad[field] = value;
        assert_eq!(against("verify", &bad).len(), 1, "{field}");
    }
}
