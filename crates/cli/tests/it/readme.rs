//! The documents tell the truth: commands of the README print what it says they print, what is named
//! exists, and nothing is left out of the lists.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// How a command starts in the README; here the binary that was built takes its place.
const PROMPT: &str = "cargo run --release -- ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A fenced block: the word after the fence, and the text inside.
type Block = (String, String);

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            inside = !inside;
            if inside {
                blocks.push((kind.to_owned(), String::new()));
            }
        } else if let (true, Some((_, text))) = (inside, blocks.last_mut()) {
            text.push_str(line);
            text.push('\n');
        }
    }
    blocks
}

/// The commands of a document that are shown with their output: arguments, and what they print.
fn examples(document: &str) -> Vec<(Vec<String>, String)> {
    let blocks = blocks(document);
    let pairs = blocks.iter().zip(blocks.iter().skip(1));
    pairs
        .filter(|((_, command), (kind, _))| command.starts_with(PROMPT) && kind == "text")
        .map(|((_, command), (_, output))| {
            let words = command.trim_start_matches(PROMPT).replace("\\\n", " ");
            let words = words.split_whitespace().map(str::to_owned);
            (words.collect(), output.clone())
        })
        .collect()
}

/// What a command prints, run from the root of the project; what it writes goes to a folder of its own.
fn run(arguments: &[String]) -> String {
    let folder = TempDir::new().unwrap();
    let mut arguments = arguments.to_vec();
    if arguments[0] == "demo" {
        // Where it writes when nothing is said.
        arguments.extend(["--out".into(), "deepconcolic-demo".into()]);
    }
    let mut moved = None;
    if let Some(flag) = arguments.iter().position(|a| a == "--out") {
        let name = arguments[flag + 1].clone();
        let path = folder.path().join(&name).display().to_string();
        arguments[flag + 1].clone_from(&path);
        moved = Some((path, name));
    }
    let output = Command::new(env!("CARGO_BIN_EXE_deepconcolic"))
        .args(&arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    match moved {
        Some((path, name)) => text.replace(&path, &name),
        None => text,
    }
}

/// Whether numbers come out to the last bit as where the README was written.
fn fuses_multiply_and_add() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn assert_examples_hold(path: &str, at_least: &[&str]) {
    let examples = examples(&read(path));
    for command in at_least {
        let shown = examples.iter().any(|(words, _)| words[0] == *command);
        assert!(shown, "{path} shows no output of `{command}`");
    }
    if !fuses_multiply_and_add() {
        println!("skipped: without fused multiply-add a value may fall into another section");
        return;
    }
    for (arguments, expected) in examples {
        let command = arguments.join(" ");
        assert_eq!(run(&arguments), expected, "{path}: {command}");
    }
}

#[test]
fn commands_of_the_readme_print_what_it_says() {
    assert_examples_hold("README.md", &["demo", "coverage", "inspect", "eval"]);
}

#[test]
fn commands_of_the_guide_to_criteria_print_what_it_says() {
    assert_examples_hold("crates/cli/criteria.md", &["coverage"]);
}

/// Texts in single backticks, outside fenced blocks.
fn quoted(document: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in document.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

#[test]
fn every_path_named_in_the_map_exists() {
    let map = read("ARCHITECTURE.md");
    let endings = [".rs", ".md", ".py"];
    let is_path = |text: &&str| text.contains('/') || endings.iter().any(|e| text.ends_with(e));
    let paths: Vec<&str> = quoted(&map).into_iter().filter(is_path).collect();
    assert!(!paths.is_empty());
    for path in paths {
        assert!(root().join(path).exists(), "ARCHITECTURE.md names `{path}`");
    }
}

/// The folders of all crates of the workspace, each with those it depends on, tests apart; all in order.
fn workspace() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--offline",
            "--no-deps",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |folder: &Path| folder.file_name().unwrap().to_str().unwrap().to_owned();
    let crates = metadata["packages"].as_array().unwrap().iter();
    crates
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            let all = package["dependencies"].as_array().unwrap().iter();
            let normal = all.filter(|dependency| dependency["kind"].is_null());
            let ours = normal.filter_map(|dependency| dependency["path"].as_str());
            let mut ours: Vec<String> = ours.map(|path| name(Path::new(path))).collect();
            ours.sort();
            (name(manifest.parent().unwrap()), ours)
        })
        .collect()
}

/// What the column "depends on" says of a crate, told which crates are above it; in order.
fn depends_on(said: &str, above: &[&str]) -> Vec<String> {
    let mut crates: Vec<&str> = match said.strip_prefix("all above") {
        Some(but) => {
            let but: Vec<&str> = but.trim_start_matches(" but ").split(", ").collect();
            let is_meant = |name: &&str| !but.contains(name);
            above.iter().copied().filter(is_meant).collect()
        }
        None if said == "nothing of ours" => Vec::new(),
        None => said.split(", ").collect(),
    };
    crates.sort_unstable();
    crates.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_table_of_crates_is_the_workspace() {
    let map = read("ARCHITECTURE.md");
    let table = map.split("| crate | what it is | depends on |").nth(1);
    let rows = table.expect("a table of crates").lines().skip(2);
    let mut left = workspace();
    let mut above: Vec<&str> = Vec::new();
    for row in rows.take_while(|row| row.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [path, _, said] = cells[..] else {
            panic!("a row of three cells: {row}");
        };
        let name = path.trim_matches('`').trim_start_matches("crates/");
        let real = left.remove(name);
        let real = real.unwrap_or_else(|| panic!("{name} is listed twice or is no crate"));
        assert_eq!(depends_on(said, &above), real, "what {name} depends on");
        let order = real.iter().all(|other| above.contains(&other.as_str()));
        assert!(order, "{name} depends on a crate that is not above it");
        above.push(name);
    }
    assert!(left.is_empty(), "ARCHITECTURE.md leaves out {left:?}");
}

#[test]
fn the_guide_to_criteria_defines_every_criterion() {
    let guide = read("crates/cli/criteria.md");
    let words = guide.split_whitespace().collect::<Vec<_>>().join(" ");
    for criterion in deepconcolic_criteria::ALL {
        let name = criterion.name();
        let heading = format!("\n### `{name}`");
        assert!(guide.contains(&heading), "no section about {name}");
        let definition = criterion.definition();
        assert!(words.contains(definition), "{name} is now: {definition}");
    }
}

#[test]
fn the_readme_lists_every_operator_of_the_table() {
    let readme = read("README.md");
    let listed = quoted(&readme);
    let source = read("crates/formats/src/onnx/operators/mod.rs");
    let table = source.split("const TABLE").nth(1).unwrap();
    let table = table.split("];").next().unwrap();
    let texts = table.split('"').skip(1).step_by(2);
    let operators: Vec<&str> = texts
        .filter(|t| t.starts_with(char::is_uppercase))
        .collect();
    assert!(operators.contains(&"Conv"));
    for operator in operators {
        assert!(
            listed.contains(&operator),
            "README.md leaves out {operator}"
        );
    }
}
