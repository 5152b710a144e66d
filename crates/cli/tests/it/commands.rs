//! The command line as a person meets it: help, names, configuration, completions.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn deepconcolic(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deepconcolic"));
    command.current_dir(folder).args(arguments);
    command.env_remove("GITHUB_ACTIONS").output().unwrap()
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Exit code and everything that was printed.
fn said(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = deepconcolic(folder, arguments);
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(text).unwrap(),
    )
}

fn prints(arguments: &[&str]) -> String {
    let (code, text) = said(&root(), arguments);
    assert_eq!(code, 0, "{arguments:?}: {text}");
    text
}

#[test]
fn short_help_fits_a_screen_and_long_help_has_all_in_groups() {
    for command in ["run", "coverage", "resume", "replay", "check"] {
        let short = prints(&[command, "-h"]);
        assert!(
            short.lines().count() <= 45,
            "{command}: {}",
            short.lines().count()
        );
    }
    let long = prints(&["run", "--help"]);
    let mut from = 0;
    for heading in [
        "Input:",
        "What to test:",
        "Where to search:",
        "Limits:",
        "Output:",
    ] {
        assert!(long.contains(&format!("\n{heading}\n")), "{heading}");
        from += long.matches(heading).count();
    }
    assert_eq!(from, 5, "each group once");
    for option in [
        "--adversarial-radius",
        "--accept-loss",
        "--sections",
        "-o, --out",
        "-c, --criterion",
    ] {
        assert!(long.contains(option), "{option}");
    }
}

#[test]
fn criteria_are_explained_by_any_spelling_of_their_names() {
    let all = prints(&["criteria"]);
    for criterion in deepconcolic_criteria::ALL {
        assert!(all.contains(criterion.definition()), "{}", criterion.name());
        let one = prints(&["criteria", &criterion.name().to_uppercase()]);
        assert!(!one.trim().is_empty());
    }
    let (code, text) = said(&root(), &["criteria", "kncm"]);
    assert_eq!(code, 2);
    assert!(text.contains("did you mean `kmnc`?"), "{text}");
}

#[test]
fn shells_and_man_learn_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = prints(&["completions", shell]);
        for word in ["coverage", "resume", "fail-under"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let folder = TempDir::new().unwrap();
    let pages = folder.path().join("man");
    prints(&["man", pages.to_str().unwrap()]);
    for page in [
        "deepconcolic.1",
        "deepconcolic-run.1",
        "deepconcolic-check.1",
    ] {
        let text = fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}

/// A folder with a model, data and a configuration.
fn project(name: &str, text: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (from, to) in [
        ("testdata/mlp.onnx", "model.onnx"),
        ("testdata/data_mlp.npz", "data.npz"),
    ] {
        fs::copy(root().join(from), folder.path().join(to)).unwrap();
    }
    fs::write(folder.path().join(name), text).unwrap();
    folder
}

const OPTIONS: &str = "data = \"data.npz\"\n[coverage]\nmodel = \"model.onnx\"\ncriterion = [\"nc\", \"ssc\"]\nno-noise = true\n";

#[test]
fn options_may_stand_in_a_file_and_the_command_line_comes_first() {
    let folder = project("deepconcolic.toml", OPTIONS);
    let (code, text) = said(folder.path(), &["coverage"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("\nnc: ") && text.contains("\nssc: "),
        "{text}"
    );
    assert!(!text.contains("noise inputs"), "{text}");
    let (code, text) = said(folder.path(), &["coverage", "-c", "tknc"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("\ntknc: ") && !text.contains("\nssc: "),
        "{text}"
    );
    // From a folder below, paths are those of the file's folder.
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let (code, text) = said(&below, &["coverage"]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = said(&below, &["config", "show"]);
    assert_eq!(code, 0);
    assert!(
        text.contains("deepconcolic.toml") && text.contains("[coverage]"),
        "{text}"
    );
}

#[test]
fn a_python_project_may_hold_them() {
    let options = OPTIONS.replace("[coverage]", "[tool.deepconcolic.coverage]");
    let text = format!("[project]\nname = \"x\"\n[tool.deepconcolic]\n{options}");
    let folder = project("pyproject.toml", &text);
    let (code, text) = said(folder.path(), &["coverage"]);
    assert_eq!(code, 0, "{text}");
    let without = project("pyproject.toml", "[project]\nname = \"x\"\n");
    let (code, text) = said(without.path(), &["config", "show"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("no deepconcolic.toml"), "{text}");
}

#[test]
fn a_configuration_with_a_slip_is_refused_by_file_and_key() {
    for (text, parts) in [
        (
            "[coverage]\ncriterio = \"nc\"\n",
            &["did you mean `criterion`?"][..],
        ),
        (
            "[coverag]\ncriterion = \"nc\"\n",
            &["no command", "did you mean `coverage`?"],
        ),
        ("[coverage]\nno-noise = 3\n", &["true or false"]),
        ("[coverage\n", &["line 1"]),
    ] {
        let folder = project("deepconcolic.toml", text);
        let (code, said) = said(folder.path(), &["coverage", "model.onnx"]);
        assert_eq!(code, 2, "{text}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains("deepconcolic.toml"),
            "{said}"
        );
        for part in parts {
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}

#[test]
fn colours_come_when_they_are_asked_for() {
    let gate = [
        "coverage",
        "testdata/mlp.onnx",
        "--data",
        "testdata/data_mlp.npz",
        "-c",
        "nc",
        "--fail-under",
        "10",
    ];
    let plain = prints(&gate);
    assert!(!plain.contains('\x1b'), "{plain}");
    let coloured = prints(&[&gate[..], &["--color", "always"]].concat());
    assert!(coloured.contains("\x1b[1;32mPASS"), "{coloured}");
}
