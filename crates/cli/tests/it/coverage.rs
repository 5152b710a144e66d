//! `coverage` from outside: figures, files, and what it says when something is wrong.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn coverage(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deepconcolic"))
        .current_dir(root())
        .args([
            "coverage",
            "testdata/mlp.onnx",
            "--data",
            "testdata/data_mlp.npz",
        ])
        .args(arguments)
        .output()
        .unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = coverage(&[arguments, &["--json", "-"]].concat());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn failure(arguments: &[&str]) -> String {
    let output = coverage(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.starts_with("error:"), "{message}");
    message
}

#[test]
fn the_json_has_every_criterion_with_its_layers() {
    let names = [
        "nc",
        "nbc",
        "snac",
        "kmnc",
        "tknc",
        "ssc",
        "vsc",
        "svc",
        "vvc",
        "lipschitz",
    ];
    let flags: Vec<&str> = names
        .iter()
        .flat_map(|name| ["--criterion", name])
        .collect();
    let report = json(&flags);
    let criteria = report["criteria"].as_array().unwrap();
    assert_eq!(criteria.len(), names.len());
    for (criterion, name) in criteria.iter().zip(names) {
        assert_eq!(criterion["name"], name);
        let total = criterion["total"].as_u64().unwrap();
        let covered = criterion["covered"].as_u64().unwrap();
        let layers = criterion["layers"].as_array().unwrap();
        let sum = |key: &str| layers.iter().map(|l| l[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("total"), sum("covered")), (total, covered), "{name}");
        if name == "lipschitz" {
            assert!(criterion["coverage"].is_null());
            assert_eq!(criterion["properties"]["refuted"], covered);
            continue;
        }
        let share = covered as f64 / total as f64;
        assert!((criterion["coverage"].as_f64().unwrap() - share).abs() < 1e-12);
    }
    assert!(report["accuracy"].as_f64().unwrap() > 0.9);
}

#[test]
fn threads_and_noise_do_not_change_what_data_cover() {
    let base = ["--criterion", "kmnc", "--criterion", "ssc"];
    let one = json(&[&base[..], &["--threads", "1", "--no-noise"]].concat());
    let two = json(&[&base[..], &["--threads", "3"]].concat());
    for i in 0..2 {
        assert_eq!(one["criteria"][i]["covered"], two["criteria"][i]["covered"]);
        assert_eq!(one["criteria"][i]["noise"], Value::Null);
        assert!(two["criteria"][i]["noise"].is_f64());
    }
}

#[test]
fn a_saved_profile_gives_the_same_figures() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("profile.npz");
    let file = file.to_str().unwrap();
    let fresh = json(&["--criterion", "nbc", "--save-profile", file]);
    let again = json(&["--criterion", "nbc", "--profile", file]);
    assert_eq!(fresh["criteria"], again["criteria"]);
    let other = json(&["--criterion", "nbc", "--profile", "testdata/data_mlp.npz"]);
    // Nothing lies beyond the bounds of its own profile.
    assert_eq!(other["criteria"][0]["covered"], 0);
}

#[test]
fn requirement_files_are_answered_and_their_errors_point() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("own.dr");
    let text = "for k in hidden, i in neurons(k): exists x: ap[x][k,i]\n\
                forall x: v[x][1,0] >= -1e9\n\
                exists x: v[x][1,0] > 1e9\n";
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let both = json(&["--criterion", "nc", "--requirements", path, "--open", "9"]);
    let requirements = &both["requirements"];
    let nc = both["criteria"][0]["covered"].as_u64().unwrap();
    assert_eq!(requirements["covered"].as_u64().unwrap(), nc);
    let goals = both["criteria"][0]["total"].as_u64().unwrap() + 1;
    assert_eq!(requirements["total"].as_u64().unwrap(), goals);
    // That no sample breaks it proves nothing.
    let properties = serde_json::json!({"total": 1, "refuted": 0, "proven": 0, "open": 1});
    assert_eq!(requirements["properties"], properties);
    let open = requirements["open"].as_array().unwrap();
    assert!(open.iter().any(|o| o.as_str().unwrap().contains("> 0")));
    std::fs::write(&file, "exists x: ap[x][2,0]\nexists x: ap[x][2,9999]\n").unwrap();
    let message = failure(&["--requirements", path]);
    assert!(
        message.contains("own.dr:2:") && message.contains("9999"),
        "{message}"
    );
}

#[test]
fn properties_of_a_file_are_refuted_by_a_sample_or_open_and_in_no_percentage() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("own.dr");
    let text = "exists x: v[x][1,0] > -1e9\nexists x: v[x][1,0] > 1e9\n\
                forall x: v[x][1,0] > -1e9\nforall x: v[x][1,0] > 1e9\n\
                forall x1, x2: v[x1][1,0] - v[x2][1,0] < 1e-3\n";
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let report = &json(&["--requirements", path])["requirements"];
    assert_eq!([&report["total"], &report["covered"]], [2, 1]);
    assert_eq!(report["coverage"], 0.5);
    let properties = serde_json::json!({"total": 3, "refuted": 2, "proven": 0, "open": 1});
    assert_eq!(report["properties"], properties);
    let refuted = report["refuted"].as_array().unwrap();
    assert_eq!(refuted[0]["samples"], serde_json::json!([0]));
    assert_eq!(refuted[1]["samples"].as_array().unwrap().len(), 2);
    let said = |flags: &[&str]| {
        let output = coverage(&[&["--requirements", path], flags].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = said(&["--fail-under", "50"]);
    assert_eq!(code, Some(0), "{text}");
    for words in [
        "1 of 2 goals covered (50.00 %)",
        "2 of 3 properties refuted, 1 not refuted by these samples (open)",
        "refuted by sample 0: forall x: ",
        "PASS --fail-under 50: requirements: 1 of 2 covered (50.00 %)",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (code, text) = said(&["--fail-on", "refuted"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("2 of 3 properties refuted, 0 proven, 1 open"));
    // Without goals there is nothing that could be covered.
    std::fs::write(&file, "forall x: v[x][1,0] > -1e9\n").unwrap();
    let (code, text) = said(&["--fail-under", "0"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("there is nothing to cover"), "{text}");
    assert!(
        failure(&["--requirements", path, "--fail-on", "adversarial"]).contains("`run` judges")
    );
}

#[test]
fn safety_is_refuted_by_data_and_never_covered() {
    let arguments = ["--criterion", "safety", "--radius", "0.3", "--no-noise"];
    let output = coverage(&arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("not refuted by these samples (open)"),
        "{text}"
    );
    assert!(!text.contains("covered"), "{text}");
    assert!(json(&arguments)["criteria"][0]["coverage"].is_null());
}

#[test]
fn open_requirements_and_formulas_can_be_shown() {
    let report = json(&[
        "--criterion",
        "nbc",
        "--open",
        "3",
        "--print",
        "2",
        "--layers",
        "2",
    ]);
    let criterion = &report["criteria"][0];
    assert_eq!(criterion["open"].as_array().unwrap().len(), 3);
    assert_eq!(criterion["formulas"].as_array().unwrap().len(), 2);
    assert_eq!(criterion["layers"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_wrong_is_said() {
    assert!(failure(&["--criterion", "mcdc"]).contains("there are nc, nbc"));
    assert!(failure(&["--criterion", "nc", "--layers", "none"]).contains("no hidden layer `none`"));
    assert!(failure(&["--criterion", "nc", "--neurons", "2:9999"]).contains("outside layer"));
    assert!(failure(&["--criterion", "safety"]).contains("--radius"));
    assert!(failure(&["--criterion", "safety", "--radius", "-1"]).contains("at least 0"));
    assert!(failure(&["--criterion", "kmnc", "--sections", "0"]).contains("--sections"));
    assert!(failure(&["--criterion", "nc", "--domain", "1"]).contains("LO..HI"));
    assert!(failure(&["--requirements", "none.dr"]).contains("none.dr"));
}
