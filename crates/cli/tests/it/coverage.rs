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
    assert_eq!(requirements["covered"].as_u64().unwrap(), nc + 1);
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
