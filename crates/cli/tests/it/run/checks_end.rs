//! `check` ends: when its time is up, when it is told to, and with words on what it did not look at.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use deepconcolic_check::Unit;
use deepconcolic_check::steepness::{Eliminated, SlopeCertificate, SlopeLeaf, SlopeTree};
use deepconcolic_formats::LoadOptions;
use deepconcolic_network::{Network, Plain};
use serde_json::{Value, json};

use super::bed::{Bed, Left, TABLE, assert_says, check, deepconcolic};

/// Splits of the hostile certificate, one below the other on every way: so many leaves as 2 to this power.
const DEPTH: u32 = 21;

fn network() -> Network {
    let model = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(TABLE[0]);
    let loaded = deepconcolic_formats::load(&model, &LoadOptions::default());
    loaded.unwrap().network
}

/// A tree that splits the same unit again and again. Each of its leaves holds, and each is judged.
fn bushy(unit: Unit, depth: u32, tree: &mut Vec<SlopeTree>) {
    if depth == 0 {
        let eliminated = Eliminated {
            groups: 1,
            factors: Vec::new(),
        };
        tree.push(SlopeTree::Leaf(SlopeLeaf::Magnitudes { eliminated }));
        return;
    }
    tree.push(SlopeTree::Split(unit));
    bushy(unit, depth - 1, tree);
    bushy(unit, depth - 1, tree);
}

/// A run whose first certificate takes far longer to judge than it took to make.
fn hostile(bed: &Bed) -> Left {
    let flags = [
        "--criterion",
        "lipschitz",
        "--radius",
        "0.1",
        "--seeds",
        "2",
    ];
    let more = ["--ratio-norm", "l2", "--max-executions", "500"];
    let run = bed.run("run", TABLE, &[&flags[..], &more].concat());
    let network = network();
    let is_curve = |node: &usize| !matches!(network.plain(*node), Plain::Affine | Plain::Opaque);
    let node = (0..network.nodes()).find(is_curve).unwrap();
    let unit = Unit {
        node: node as u32,
        element: 0,
        part: 0,
    };
    let path = run.0.join("certificates/00000.certificate");
    let bytes = fs::read(&path).unwrap();
    let mut certificate = SlopeCertificate::from_bytes(&bytes, &network).unwrap();
    certificate.bound = 1e9;
    certificate.proofs[0].clear();
    bushy(unit, DEPTH, &mut certificate.proofs[0]);
    fs::write(&path, certificate.to_bytes(&network)).unwrap();
    run
}

#[test]
fn what_there_was_no_time_for_is_named_and_counted_and_the_check_fails() {
    let bed = Bed::new();
    let run = hostile(&bed);
    let began = Instant::now();
    let (code, text) = check(&run, &["--budget", "2s"]);
    assert!(began.elapsed() < Duration::from_mins(1), "{text}");
    assert_eq!(code, 1, "{text}");
    assert_says(
        &text,
        &[
            "not checked: 2 certificates, the first certificates/00000.certificate",
            "rows of requirements.npz",
            "tests of suite.npz",
            "not everything that the folder says was checked",
            "--budget 8s",
        ],
    );
    assert!(!text.contains("differs: "), "{text}");
    assert!(!text.contains("not looked at"), "{text}");
    let folder = run.0.to_str().unwrap();
    let output = deepconcolic(&["check", folder, "--json", "--budget", "2s"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["passes"], json!(false));
    assert_eq!(told["findings"], json!([]));
    assert_eq!(told["left_out"][0]["count"], json!(2));
    let (code, text) = check(&run, &["--budget", "soon"]);
    assert_eq!(code, 2, "{text}");
    assert_says(&text, &["`soon` is no time"]);
}

/// Whether a process ends before so long.
fn ends_within(child: &mut Child, limit: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < limit {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    false
}

#[cfg(unix)]
#[test]
fn a_check_that_is_told_to_end_ends_at_once() {
    let bed = Bed::new();
    let run = hostile(&bed);
    let mut command = deepconcolic(&["check", run.0.to_str().unwrap(), "--budget", "none"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    thread::sleep(Duration::from_secs(2));
    let id = child.id().to_string();
    // Not the signal of Ctrl-C: a shell lets what it starts in the background ignore that.
    let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(sent.success());
    assert!(ends_within(&mut child, Duration::from_secs(5)));
}

#[test]
fn files_that_somebody_added_are_named_and_nothing_else() {
    let bed = Bed::new();
    let flags = ["--criterion", "nc,kmnc", "--sections", "5", "--seeds", "2"];
    let more = ["--radius", "0.05", "--max-executions", "2000"];
    let run = bed.run("run", TABLE, &[&flags[..], &more].concat());
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("not looked at"), "{text}");
    for number in 0..11 {
        fs::write(run.0.join(format!("added-{number:02}.txt")), "").unwrap();
    }
    fs::create_dir(run.0.join("more")).unwrap();
    fs::write(run.0.join("more/deep.txt"), "").unwrap();
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["not looked at: 12 ", "added-00.txt", "and 2 more"]);
    assert!(!text.contains("added-10.txt"), "{text}");
    let folder = run.0.to_str().unwrap();
    let output = deepconcolic(&["check", folder, "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["passes"], json!(true));
    assert_eq!(told["other_files"]["count"], json!(12));
    assert_eq!(told["other_files"]["first"].as_array().unwrap().len(), 10);
}
