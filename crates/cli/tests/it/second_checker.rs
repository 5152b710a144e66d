//! The second checker, `checker/deepconcolic_check.py`, accepts and rejects what `check` does. It runs where Python is
//! there with numpy and onnx, or can be given them; else the reason is printed and nothing is tested.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use deepconcolic_check::steepness::{
    Eliminated, SlopeCertificate, SlopeLeaf, SlopeTree, check_slopes,
};
use deepconcolic_check::{Certificate, Expectation, Split, Tree, check, hex, sha256};
use deepconcolic_formats::LoadOptions;
use deepconcolic_network::Network;
use tempfile::TempDir;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn succeeds(command: &mut Command) -> bool {
    let output = command.stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

fn has_packages(python: &Path) -> bool {
    succeeds(Command::new(python).args(["-c", "import numpy, onnx"]))
}

/// A Python with numpy and onnx: the one at hand, one made before, or one made now below cargo's target folder.
fn python() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let make = || {
        let plain = PathBuf::from("python3");
        if !succeeds(Command::new(&plain).arg("--version")) {
            println!("skipped: there is no python3");
            return None;
        }
        if has_packages(&plain) {
            return Some(plain);
        }
        let target = Path::new(env!("CARGO_BIN_EXE_deepconcolic"))
            .ancestors()
            .nth(2)?;
        let bin = if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        };
        let benchmark = target.join("onnxruntime-venv").join(bin);
        if has_packages(&benchmark) {
            return Some(benchmark);
        }
        let folder = target.join("checker-venv");
        let own = folder.join(bin);
        if !has_packages(&own) {
            let made = succeeds(Command::new(&plain).args(["-m", "venv"]).arg(&folder))
                && succeeds(Command::new(&own).args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--retries",
                    "1",
                    "--timeout",
                    "10",
                    "numpy",
                    "onnx",
                ]));
            if !made || !has_packages(&own) {
                println!("skipped: python3 has no numpy and onnx, and they cannot be installed");
                return None;
            }
        }
        Some(own)
    };
    FOUND.get_or_init(make).as_deref()
}

fn deepconcolic(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deepconcolic"));
    command.current_dir(project()).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

/// Exit codes of `check` and of the second checker, and what the latter prints.
fn verdicts(python: &Path, folder: &Path) -> (i32, i32, String) {
    let first = deepconcolic(&["check", folder.to_str().unwrap()]);
    let mut second = Command::new(python);
    second
        .current_dir(project())
        .arg("checker/deepconcolic_check.py")
        .arg(folder);
    let second = second.output().unwrap();
    let said = String::from_utf8_lossy(&second.stdout).into_owned()
        + &String::from_utf8_lossy(&second.stderr);
    (
        first.status.code().unwrap(),
        second.status.code().unwrap(),
        said,
    )
}

fn assert_both(python: &Path, folder: &Path, expected: i32, what: &str) {
    let (first, second, said) = verdicts(python, folder);
    assert_eq!((first, second), (expected, expected), "{what}: {said}");
}

/// A property of `testdata/external.onnx`, which has six inputs and two outputs: over a small box the first output can
/// exceed a number.
fn property(bed: &TempDir, number: f64) -> String {
    let declared = (0..6).map(|i| format!("(declare-const X_{i} Real)\n"));
    let mut text: String = declared.collect();
    text += "(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n";
    for i in 0..6 {
        let _ = writeln!(text, "(assert (>= X_{i} -0.5))\n(assert (<= X_{i} 0.5))");
    }
    let _ = writeln!(
        text,
        "(assert (or (and (>= Y_0 {number})) (and (<= Y_1 {}) (>= Y_0 Y_1))))",
        -number
    );
    let path = bed.path().join("property.vnnlib");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const MODEL: &str = "testdata/external.onnx";

/// What `verify` answers, and its folder.
fn verify(bed: &TempDir, number: f64) -> (String, PathBuf) {
    let folder = bed.path().join(format!("verify-{number}"));
    let property = property(bed, number);
    let output = deepconcolic(&[
        "verify",
        MODEL,
        &property,
        "--out",
        folder.to_str().unwrap(),
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().next().unwrap_or_default().to_owned(), folder)
}

/// The least number, in steps, that the property is refuted for: its proof takes splits.
fn hardest(bed: &TempDir) -> PathBuf {
    let (mut sat, mut unsat) = (-64.0, 64.0);
    for _ in 0..10 {
        let middle = 0.5 * (sat + unsat);
        match verify(bed, middle).0.as_str() {
            "sat" => sat = middle,
            "unsat" => unsat = middle,
            other => panic!("{other}"),
        }
    }
    verify(bed, unsat).1
}

#[test]
fn the_second_checker_agrees_on_true_verdicts() {
    let Some(python) = python() else { return };
    let bed = TempDir::new().unwrap();
    assert_both(python, &hardest(&bed), 0, "unsat");
    let (word, folder) = verify(&bed, -1.0);
    assert_eq!(word, "sat");
    assert_both(python, &folder, 0, "sat");
}

#[test]
fn the_second_checker_rejects_a_counterexample_that_is_none() {
    let Some(python) = python() else { return };
    let bed = TempDir::new().unwrap();
    let (_, folder) = verify(&bed, -1.0);
    let path = folder.join("counterexample.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let first = text.lines().next().unwrap();
    std::fs::write(&path, text.replacen(first, "((X_0 0.75)", 1)).unwrap();
    assert_eq!(verdicts(python, &folder).1, 1);
    std::fs::write(&path, text.replacen("(Y_0 ", "(Y_0 1", 1)).unwrap();
    assert_eq!(verdicts(python, &folder).1, 1);
}

fn network() -> Network {
    let path = project().join(MODEL);
    deepconcolic_formats::load(&path, &LoadOptions::default())
        .unwrap()
        .network
}

/// Ways to change a certificate; each says whether it found something to change.
type Change = fn(&mut Certificate) -> bool;

fn leaves(
    certificate: &mut Certificate,
    change: fn(&mut deepconcolic_check::Leaf) -> bool,
) -> bool {
    let proofs = certificate
        .entries
        .iter_mut()
        .flat_map(|entry| &mut entry.proofs);
    let mut changed = false;
    for node in proofs.flatten().flatten() {
        if let Tree::Leaf(leaf) = node {
            changed |= change(leaf);
        }
    }
    changed
}

const CHANGES: [(&str, Change); 8] = [
    ("a factor of 0", |c| {
        leaves(c, |leaf| {
            leaf.factors.first_mut().map(|f| f.1 = 0.0).is_some()
        })
    }),
    ("a factor below 0", |c| {
        leaves(c, |leaf| {
            leaf.factors.first_mut().map(|f| f.1 = -f.1).is_some()
        })
    }),
    ("no factors", |c| {
        leaves(c, |leaf| !std::mem::take(&mut leaf.factors).is_empty())
    }),
    ("a factor of a condition that is not there", |c| {
        leaves(c, |leaf| {
            leaf.factors.first_mut().map(|f| f.0 += 100).is_some()
        })
    }),
    ("a smaller region", |c| {
        c.regions[0].upper[0] = 0.25;
        true
    }),
    ("another threshold", |c| {
        let text = &mut c.entries[0].requirement;
        let changed = text.replacen(" - ", " - 9", 1);
        let differs = changed != *text;
        *text = changed;
        differs
    }),
    ("another model", |c| {
        c.model[0] ^= 1;
        true
    }),
    ("a split left out", |c| {
        let proof = c.entries[0].proofs[0]
            .iter_mut()
            .find(|proof| proof.len() > 1);
        proof.is_some_and(|proof| {
            matches!(
                proof.remove(0),
                Tree::Split(Split::Input { .. } | Split::Phase(_))
            )
        })
    }),
];

#[test]
fn both_checkers_reject_what_was_changed() {
    let Some(python) = python() else { return };
    let bed = TempDir::new().unwrap();
    let folder = hardest(&bed);
    let network = network();
    let path = folder.join("certificate.dcc");
    let bytes = std::fs::read(&path).unwrap();
    for (what, change) in CHANGES {
        let mut certificate = Certificate::from_bytes(&bytes, &network).unwrap();
        assert!(change(&mut certificate), "{what}: nothing to change");
        std::fs::write(&path, certificate.to_bytes(&network)).unwrap();
        assert_both(python, &folder, 1, what);
    }
    // Bytes changed, and the seal not.
    let mut broken = bytes.clone();
    broken[60] ^= 4;
    std::fs::write(&path, broken).unwrap();
    assert_both(python, &folder, 1, "a broken seal");
    std::fs::write(&path, bytes).unwrap();
    assert_both(python, &folder, 0, "as it was");
}

/// A copy of the model with another weight, and its digest.
fn other_weights(bed: &TempDir) -> (PathBuf, [u8; 32]) {
    let model = std::fs::read(project().join(MODEL)).unwrap();
    let mut weights = std::fs::read(project().join("testdata/external.bin")).unwrap();
    weights[..4].copy_from_slice(&100f32.to_le_bytes());
    let path = bed.path().join("external.onnx");
    std::fs::write(&path, &model).unwrap();
    std::fs::write(bed.path().join("external.bin"), &weights).unwrap();
    (path, sha256(&[model, weights].concat()))
}

#[test]
fn both_checkers_reject_a_proof_of_other_weights_even_if_it_names_them() {
    let Some(python) = python() else { return };
    let bed = TempDir::new().unwrap();
    let folder = hardest(&bed);
    let (model, digest) = other_weights(&bed);
    let path = folder.join("certificate.dcc");
    let network = network();
    let mut certificate =
        Certificate::from_bytes(&std::fs::read(&path).unwrap(), &network).unwrap();
    certificate.model = digest;
    std::fs::write(&path, certificate.to_bytes(&network)).unwrap();
    let record = folder.join("verify.json");
    let mut content: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    content["model"] = model.to_str().unwrap().into();
    content["model_sha256"] = hex(&digest).into();
    std::fs::write(&record, content.to_string()).unwrap();
    assert_both(python, &folder, 1, "other weights");
}

#[test]
fn the_second_checker_agrees_on_the_neurons_that_a_run_calls_infeasible() {
    let Some(python) = python() else { return };
    let bed = TempDir::new().unwrap();
    let subject = [
        "testdata/cnn_nhwc.onnx",
        "--data",
        "testdata/data_images.npz",
    ];
    for criterion in ["nc", "nbc"] {
        let folder = bed.path().join(criterion);
        let mut arguments = vec!["run"];
        arguments.extend(subject);
        arguments.extend([
            "--criterion",
            criterion,
            "--seeds",
            "2",
            "--radius",
            "0.02",
            "--max-executions",
            "2000000",
        ]);
        arguments.extend([
            "--profile",
            "testdata/data_images.npz",
            "--quiet",
            "--out",
            folder.to_str().unwrap(),
        ]);
        let output = deepconcolic(&arguments);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let (first, second, said) = verdicts(python, &folder);
        assert_eq!((first, second), (0, 0), "{said}");
        assert!(
            said.contains("infeasible requirements follow in real arithmetic in each of 2 boxes"),
            "{said}"
        );
        assert!(!said.contains("0 of "), "{said}");
    }
}

/// A run of a small network, its folder.
fn run(bed: &TempDir, name: &str, subject: [&str; 3], more: &[&str]) -> PathBuf {
    let folder = bed.path().join(name);
    let out = ["--quiet", "--out", folder.to_str().unwrap()];
    let output = deepconcolic(&[&["run"], &subject[..], more, &out].concat());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    folder
}

/// Flips a bit of every certificate of a run and seals it again.
fn tampered(folder: &Path, at: impl Fn(&[u8]) -> usize) {
    for entry in std::fs::read_dir(folder.join("certificates")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(bytes.len() - 32);
        let at = at(&bytes);
        bytes[at] ^= 2;
        let seal = sha256(&bytes);
        bytes.extend(seal);
        std::fs::write(&path, bytes).unwrap();
    }
}

const IMAGES: [&str; 3] = [
    "testdata/cnn_nhwc.onnx",
    "--data",
    "testdata/data_images.npz",
];

/// A run in which one pixel may change.
fn run_of_one_pixel(bed: &TempDir, criterion: &str, seeds: &str) -> PathBuf {
    let flags = ["--criterion", criterion, "--norm", "l0", "--radius", "1"];
    let more = ["--seeds", seeds, "--max-executions", "200000"];
    run(bed, criterion, IMAGES, &[&flags[..], &more].concat())
}

#[test]
fn the_second_checker_agrees_on_runs_in_which_few_positions_change() {
    let Some(python) = python() else { return };
    let bed = TempDir::new().unwrap();
    let neurons = run_of_one_pixel(&bed, "nc", "2");
    let (first, second, said) = verdicts(python, &neurons);
    assert_eq!((first, second), (0, 0), "{said}");
    let follow = "infeasible requirements follow in real arithmetic in each of 2 boxes";
    assert!(said.contains(follow) && !said.contains("\n0 of "), "{said}");
    let safety = run_of_one_pixel(&bed, "safety", "4");
    let (first, second, said) = verdicts(python, &safety);
    assert_eq!((first, second), (0, 0), "{said}");
    assert!(!said.contains(" 0 leaves"), "{said}");
    // Three changes, where one was proven.
    tampered(&safety, |bytes| {
        let ends = bytes.windows(8).position(|w| w == 1.0f64.to_le_bytes());
        // The upper ends of the 64 elements are all 1; behind them the kind of region and the number of changes.
        ends.unwrap() + 8 * 64 + 1
    });
    assert_both(python, &safety, 1, "another number of changes");
}

/// A tree in which every position stands alone, each leaf bounded by lines that go forward.
fn one_by_one(positions: &[u32], factors: &[(u32, f32)], proof: &mut Vec<Tree>) {
    if let [_] = positions {
        proof.push(Tree::Forward(factors.to_vec()));
        return;
    }
    let (first, second) = positions.split_at(positions.len() / 2);
    proof.push(Tree::Split(Split::Changes {
        positions: first.to_vec(),
        most: 0,
    }));
    one_by_one(second, factors, proof);
    one_by_one(first, factors, proof);
}

/// Puts such trees in the place of all that a run's certificates have.
fn with_lines(folder: &Path, network: &Network, factors: &[(u32, f32)]) {
    for entry in std::fs::read_dir(folder.join("certificates")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let mut certificate = Certificate::from_bytes(&bytes, network).unwrap();
        let changes = certificate.regions[0].changes.as_ref().unwrap();
        let mut positions = changes.positions.to_vec();
        positions.sort_unstable();
        positions.dedup();
        for proof in certificate
            .entries
            .iter_mut()
            .flat_map(|entry| entry.proofs.iter_mut().flatten())
        {
            proof.clear();
            one_by_one(&positions, factors, proof);
        }
        std::fs::write(&path, certificate.to_bytes(network)).unwrap();
    }
}

#[test]
fn both_checkers_judge_lines_that_go_forward() {
    let Some(python) = python() else { return };
    let bed = TempDir::new().unwrap();
    let folder = run_of_one_pixel(&bed, "nc", "2");
    let network = deepconcolic_formats::load(&project().join(IMAGES[0]), &LoadOptions::default());
    let network = network.unwrap().network;
    // Whether certificates have the hashes that run.json names is not what is asked here.
    let accepts = |what: &str, expected: bool| {
        let path = folder.join("certificates");
        for entry in std::fs::read_dir(path).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let certificate = Certificate::from_bytes(&bytes, &network).unwrap();
            let expectation = Expectation {
                model: &certificate.model,
                regions: None,
                requirements: None,
            };
            let verdict = check(&network, &certificate, &expectation);
            assert_eq!(verdict.is_ok(), expected, "{what}: {verdict:?}");
        }
        let (_, second, said) = verdicts(python, &folder);
        assert_eq!(second, i32::from(!expected), "{what}: {said}");
    };
    with_lines(&folder, &network, &[(0, 1.0)]);
    accepts("lines", true);
    with_lines(&folder, &network, &[]);
    accepts("no factors", false);
    with_lines(&folder, &network, &[(0, -1.0)]);
    accepts("a factor below 0", false);
}

#[test]
fn the_second_checker_agrees_on_how_steep_a_network_is_at_most() {
    let Some(python) = python() else { return };
    let bed = TempDir::new().unwrap();
    let rows = ["testdata/mlp.onnx", "--data", "testdata/data_mlp.npz"];
    for norm in ["l2", "linf", "l1"] {
        let flags = [
            "--criterion",
            "lipschitz",
            "--radius",
            "0.1",
            "--ratio-norm",
            norm,
        ];
        let flags = [&flags[..], &["--seeds", "3", "--max-executions", "6000"]].concat();
        let folder = run(&bed, norm, rows, &flags);
        let (first, second, said) = verdicts(python, &folder);
        assert_eq!((first, second), (0, 0), "{norm}: {said}");
        assert!(
            said.contains("3 of 3 bounds of how steep"),
            "{norm}: {said}"
        );
        // Another bound: the double after the norm's name.
        tampered(&folder, |bytes| {
            let name = [&[norm.len() as u8], norm.as_bytes()].concat();
            let at = bytes.windows(name.len()).rposition(|w| w == name);
            at.unwrap() + name.len() + 6
        });
        let (first, second, said) = verdicts(python, &folder);
        assert_eq!((first, second), (1, 1), "{norm}: {said}");
    }
}

#[test]
fn the_second_checker_leaves_factors_to_the_first_and_rejects_what_can_be_none() {
    let Some(python) = python() else { return };
    let bed = TempDir::new().unwrap();
    let model = project().join("testdata/mlp.onnx");
    let rows = ["testdata/mlp.onnx", "--data", "testdata/data_mlp.npz"];
    let flags = ["--criterion", "lipschitz", "--radius", "0.1"];
    let flags = [&flags[..], &["--ratio-norm", "l2", "--seeds", "1"]].concat();
    let flags = [&flags[..], &["--max-executions", "2000"]].concat();
    let folder = run(&bed, "factors", rows, &flags);
    let network = deepconcolic_formats::load(&model, &LoadOptions::default());
    let network = network.unwrap().network;
    let digest = sha256(&std::fs::read(&model).unwrap());
    for (factors, expected) in [
        (vec![(0, 1e9)], true),
        (vec![(0, -1.0)], false),
        (vec![(0, f32::NAN)], false),
        (vec![(0, f32::INFINITY)], false),
        (vec![(1, 1e9)], false),
        (vec![(0, 1e9), (0, 1e9)], false),
    ] {
        for entry in std::fs::read_dir(folder.join("certificates")).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let mut certificate = SlopeCertificate::from_bytes(&bytes, &network).unwrap();
            let eliminated = Eliminated {
                groups: 1,
                factors: factors.clone(),
            };
            certificate.bound = 1e12;
            certificate.proofs = vec![vec![SlopeTree::Leaf(SlopeLeaf::Magnitudes { eliminated })]];
            let verdict = check_slopes(&network, &certificate, &digest);
            assert_eq!(verdict.is_ok(), expected, "{factors:?}: {verdict:?}");
            std::fs::write(&path, certificate.to_bytes(&network)).unwrap();
        }
        let (_, second, said) = verdicts(python, &folder);
        assert_eq!(second, if expected { 2 } else { 1 }, "{factors:?}: {said}");
        assert_eq!(said.contains("early layers were eliminated"), expected);
    }
}
