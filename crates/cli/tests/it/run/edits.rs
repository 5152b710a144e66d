//! `check` of run folders that were edited: whatever a person or a script may read is noticed when it is
//! changed, or named as not verified.

use std::fs;
use std::path::{Path, PathBuf};

use deepconcolic_check::{hex, sha256};
use deepconcolic_dataset::arrays::{Element, NpzReader, read_npy};
use deepconcolic_dataset::write::NpzWriter;
use serde_json::{Value, json};

use super::bed::{
    Bed, IMAGES, Left, PIXELS, TABLE, assert_says, change, check, count, deepconcolic, replay,
};

/// A run with adversarial tests on a grid, and no proofs.
const NEURONS: [&str; 9] = [
    "--criterion",
    "nc",
    "--seeds",
    "2",
    "--max-executions",
    "800",
    "--quantise",
    "255",
    "--no-proofs",
];
/// A run of pairs with certificates.
const PAIRS: [&str; 6] = ["--criterion", "ssc", "--seeds", "1", "--radius", "0.3"];
/// A run with certificates of single neurons.
const SECTIONS: [&str; 8] = [
    "--criterion",
    "kmnc",
    "--seeds",
    "2",
    "--radius",
    "0.02",
    "--sections",
    "8",
];

fn assert_holds(run: &Left) {
    let (code, text) = check(run, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["scope: ", "not verified: ", "everything else"]);
}

/// A folder that can be edited and put back.
struct Edited {
    run: Left,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Edited {
    fn new(run: Left) -> Self {
        assert_holds(&run);
        // The pages follow from the other files and would differ at every edit: what is noticed here is noticed
        // without them.
        without_report(&run.0);
        let mut files = Vec::new();
        collect(&run.0, &mut files);
        files.sort();
        Self { run, files }
    }

    fn restore(&self) {
        for (path, bytes) in &self.files {
            fs::write(path, bytes).unwrap();
        }
    }

    /// What `check` says of an edit; the folder is as before afterwards.
    fn noticed(&self, what: &str, parts: &[&str]) {
        let (code, text) = check(&self.run, &[]);
        assert_eq!(code, 1, "{what}: {text}");
        assert_says(&text, parts);
        self.restore();
    }

    /// Makes `run.json` agree with the files as they are, as a careful forger would.
    fn reseal(&self) {
        let mut summary = self.run.summary();
        let names: Vec<String> = summary["files"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        for name in names {
            let path = self.run.0.join(&name);
            let digest = if path.is_dir() {
                let mut names: Vec<PathBuf> = fs::read_dir(&path)
                    .unwrap()
                    .map(|e| e.unwrap().path())
                    .collect();
                names.sort();
                let line = |p: &PathBuf| {
                    let name = p.file_name().unwrap().to_str().unwrap();
                    format!("{}  {name}\n", hex(&sha256(&fs::read(p).unwrap())))
                };
                let lines: String = names.iter().map(line).collect();
                hex(&sha256(lines.as_bytes()))
            } else {
                hex(&sha256(&fs::read(&path).unwrap()))
            };
            summary["files"][name] = json!(digest);
        }
        let settings = summary["settings"].to_string();
        summary["settings_sha256"] = json!(hex(&sha256(settings.as_bytes())));
        self.write(&summary);
    }

    fn write(&self, summary: &Value) {
        let text = serde_json::to_string_pretty(summary).unwrap() + "\n";
        fs::write(self.run.0.join("run.json"), text).unwrap();
    }

    /// An array file with one array changed, and fingerprints that fit.
    fn forge(&self, file: &str, array: &str, edit: impl Fn(&mut Vec<f64>)) {
        change(&self.run, file, array, edit);
        self.reseal();
    }

    /// `run.json` with one value replaced, and fingerprints that fit.
    fn claim(&self, pointer: &str, value: Value) {
        let mut summary = self.run.summary();
        *summary.pointer_mut(pointer).unwrap() = value;
        self.write(&summary);
        self.reseal();
    }
}

/// Removes the files of the report.
fn without_report(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let beside = [
            "style.css",
            "report.js",
            "junit.xml",
            "findings.sarif",
            "summary.md",
        ];
        if name == "pictures" {
            fs::remove_dir_all(&path).unwrap();
        } else if path.extension().is_some_and(|e| e == "html") || beside.contains(&name) {
            fs::remove_file(&path).unwrap();
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn figures_are_recomputed_not_believed() {
    let bed = Bed::new();
    let run = Edited::new(bed.run("run", IMAGES, &NEURONS));
    let summary = run.run.summary();
    for (pointer, value) in [
        ("/radius", json!(0.9)),
        ("/norm", json!("l2")),
        ("/criterion", json!("kmnc")),
        ("/domain", json!("0..2")),
        ("/model/sha256", json!("00")),
        ("/rng_seed", json!(7)),
        ("/coverage", json!(1.0)),
        ("/resolved", json!(1.0)),
        ("/accuracy", json!(1.0)),
        ("/requirements/covered", json!(1816)),
        ("/requirements/fragile", json!(99)),
        ("/layers/0/covered", json!(1)),
        ("/classes/3/tests", json!(77)),
        ("/tests/generated", json!(5)),
        ("/tests/misclassified", json!(5)),
        ("/adversarial/count", json!(0)),
        ("/adversarial/min_distance", json!(0.001)),
        ("/distance/max", json!(0.001)),
        ("/baseline/random_coverage", json!(0.1)),
        ("/baseline/data_coverage", json!(0.1)),
        ("/settings/seeds/0", json!(5)),
        ("/settings/rng_seed", json!(3)),
        ("/settings/sha256", json!("00")),
        ("/settings/samples", json!(7)),
        ("/settings/means/1", json!(7.5)),
        ("/settings/seed_values", json!("00")),
        ("/settings/data_sha256", json!("00")),
    ] {
        assert_ne!(summary.pointer(pointer), Some(&value), "{pointer}");
        run.claim(pointer, value);
        run.noticed(pointer, &["differs: "]);
    }
    let page = String::from_utf8(run.run.bytes("statement.md")).unwrap();
    let covered = summary["requirements"]["covered"].to_string();
    fs::write(
        run.run.0.join("statement.md"),
        page.replace(&covered, "1816"),
    )
    .unwrap();
    run.noticed("statement", &["statement.md: line ", "1816"]);
}

#[test]
fn columns_of_the_suite_are_recomputed_not_believed() {
    let bed = Bed::new();
    let run = Edited::new(bed.run("run", IMAGES, &NEURONS));
    let suite = run.run.suite();
    let last = suite.rows.len() - 1;
    for (column, value) in [
        ("distance", 0.001),
        ("label", 10.0),
        ("root", 299.0),
        ("parent", last as f64),
        ("stage", 99.0),
        ("reference", 299.0),
        ("reference_distance", 0.001),
        ("reference_label", 10.0),
        ("verdict", 3.0),
    ] {
        run.forge("suite.npz", column, |values| values[last] = value);
        let field = format!("suite.npz: {column}[{last}]: claimed");
        run.noticed(column, &[&field]);
    }
    run.forge("suite.npz", "x", |x| x[300] = 0.5);
    run.noticed("a seed", &["suite.npz: x[0]: claimed sample"]);
    run.forge("suite.npz", "x", |x| {
        let at = x.len() - 300;
        x[at] += if x[at] > 0.5 { -1e-4 } else { 1e-4 };
    });
    run.noticed("a pixel", &["is not on the grid"]);
    let bad = suite.verdict.iter().position(|&v| v == 1).unwrap();
    run.forge("suite.npz", "verdict", |v| v[bad] = 0.0);
    run.noticed("a verdict", &["suite.npz: verdict["]);
    run.forge("adversarial/adversarial.npz", "y", |y| y[0] += 1.0);
    run.noticed("a true label", &["adversarial.npz: y[0]"]);
    run.forge("adversarial/adversarial.npz", "confidence", |c| c[0] /= 2.0);
    run.noticed("a confidence", &["adversarial.npz: confidence[0]"]);
    let (picture, _) = run
        .files
        .iter()
        .rfind(|(path, _)| path.extension().is_some_and(|e| e == "png"))
        .unwrap();
    let other = run
        .files
        .iter()
        .find(|(p, _)| p.extension() == picture.extension());
    fs::write(picture, &other.unwrap().1).unwrap();
    run.reseal();
    run.noticed("a picture", &["another picture"]);
    let renamed = picture.with_file_name("000000-1-as-2.png");
    fs::rename(picture, &renamed).unwrap();
    run.reseal();
    let (code, text) = check(&run.run, &[]);
    fs::remove_file(renamed).unwrap();
    assert_eq!(code, 1, "{text}");
    assert_says(&text, &["000000-1-as-2.png", "a picture of the test"]);
}

#[test]
fn rows_of_requirements_are_recomputed_not_believed() {
    let bed = Bed::new();
    let run = Edited::new(bed.run("run", TABLE, &SECTIONS));
    let (state, test) = run.run.requirements();
    let find = |wanted: u8| state.iter().position(|&s| s == wanted).unwrap();
    let (covered, infeasible) = (find(1), find(2));
    for (row, value, words) in [
        (covered, 0.0, "claimed unresolved, found covered"),
        (covered, 2.0, "claimed infeasible, found"),
        (covered, 3.0, "claimed not required, found covered"),
        (infeasible, 3.0, "claimed not required"),
        (infeasible, 1.0, "claimed covered"),
        (infeasible, 9.0, "no state"),
    ] {
        run.forge("requirements.npz", "state", |s| s[row] = value);
        run.noticed(words, &["requirements.npz: row", words]);
    }
    let other = (test[covered] + 1) % run.run.suite().rows.len() as i64;
    run.forge("requirements.npz", "test", |t| t[covered] = other as f64);
    run.noticed("a witness", &["test: claimed"]);
    run.forge("requirements.npz", "test2", |t| t[covered] = 0.0);
    run.noticed("a second test", &["test2: claimed 0, found -1"]);
    run.forge("requirements.npz", "fragile", |f| {
        f[covered] = 1.0 - f[covered];
    });
    run.noticed("fragile", &["fragile: claimed"]);
    run.forge("requirements.npz", "certificate", |c| {
        c[infeasible] = 9999.0;
    });
    run.noticed("a certificate", &["certificate: claimed 9999"]);
}

#[test]
fn a_radius_that_is_no_distance_is_refused_at_once() {
    let bed = Bed::new();
    let run = Edited::new(bed.run("run", TABLE, &SECTIONS));
    for (name, radius) in [("radius", -0.2), ("adversarial_radius", -1.0)] {
        run.claim(&format!("/settings/{name}"), json!(radius));
        let (code, text) = check(&run.run, &[]);
        assert_eq!(code, 2, "{text}");
        assert_says(
            &text,
            &[
                "run.json",
                &format!("{name} {radius}, which is no distance"),
            ],
        );
        run.restore();
    }
}

#[test]
fn ranges_of_neurons_are_those_of_the_saved_suite() {
    let bed = Bed::new();
    let run = Edited::new(bed.run("run", TABLE, &SECTIONS));
    // What the suite shows, by another command.
    let folder = bed.name("run");
    let tests = bed.name("tests");
    let export = ["suite", "export", &folder, "-o", &tests, "--form", "npz"];
    assert!(deepconcolic(&export).output().unwrap().status.success());
    let mut file = NpzReader::open(&run.run.0.join("neurons.npz")).unwrap();
    let [low, high] = ["low", "high"].map(|n| file.read::<f32>(n).unwrap().values);
    let count = file.read::<i64>("neurons").unwrap().values;
    let (data, out) = (format!("{tests}/tests.npz"), bed.name("u.npy"));
    let inspect = deepconcolic(&["inspect", TABLE[0], "--json"])
        .output()
        .unwrap();
    let inspect: Value = serde_json::from_slice(&inspect.stdout).unwrap();
    let name = inspect["layers"][0]["name"].as_str().unwrap();
    let eval = ["eval", TABLE[0], "--data", &data, "--out", &out];
    let mut eval = deepconcolic(&[&eval[..], &["--layer", name, "--pre"]].concat());
    assert!(eval.output().unwrap().status.success());
    let u = read_npy::<f32>(&bed.path("u.npy")).unwrap();
    let neurons = usize::try_from(count[0]).unwrap();
    let seen = |neuron: usize| {
        let of = || u.values.iter().skip(neuron).step_by(neurons).copied();
        let low = of().fold(f32::INFINITY, f32::min);
        (low, of().fold(f32::NEG_INFINITY, f32::max))
    };
    let shown: Vec<(f32, f32)> = (0..neurons).map(seen).collect();
    let ends = low.into_iter().zip(high).take(neurons);
    assert_eq!(shown, ends.collect::<Vec<_>>());
    run.forge("neurons.npz", "high", |high| high[1] += 1.0);
    run.noticed("a range", &["neurons.npz", ":1: high: claimed"]);
    run.forge("neurons.npz", "layer", |layer| layer[0] += 1.0);
    run.noticed("a layer", &["neurons.npz"]);
}

#[test]
fn a_journal_is_named_and_one_that_cannot_be_read_is_noticed() {
    let bed = Bed::new();
    let run = Edited::new(bed.run("run", TABLE, &SECTIONS));
    let (_, text) = check(&run.run, &[]);
    assert_says(&text, &["not verified: journal: its steps"]);
    let path = run.run.0.join("journal");
    let mut bytes = fs::read(&path).unwrap();
    bytes[3] ^= 1;
    fs::write(&path, bytes).unwrap();
    run.noticed("a journal", &["differs: journal: file: "]);
}

/// The arrays of `requirements.npz` of a pair criterion, each with one row written twice.
fn duplicate(run: &Left, row: usize) {
    fn twice<T: Element>(from: &mut NpzReader, to: &mut NpzWriter, name: &str, row: usize) {
        let mut values = from.read::<T>(name).unwrap().values;
        values.push(values[row]);
        to.add(name, &[values.len()], &values).unwrap();
    }
    let path = run.0.join("requirements.npz");
    let mut from = NpzReader::open(&path).unwrap();
    let mut to = NpzWriter::create(&path).unwrap();
    twice::<u8>(&mut from, &mut to, "state", row);
    twice::<u8>(&mut from, &mut to, "fragile", row);
    twice::<f32>(&mut from, &mut to, "bound", row);
    for name in ["test", "test2", "certificate", "layer", "i", "layer2", "j"] {
        twice::<i64>(&mut from, &mut to, name, row);
    }
    to.finish().unwrap();
}

#[test]
fn pairs_count_once_and_only_where_required() {
    let bed = Bed::new();
    let run = Edited::new(bed.run("run", TABLE, &PAIRS));
    let (state, _) = run.run.requirements();
    let infeasible = state.iter().position(|&s| s == 2).unwrap();
    duplicate(&run.run, infeasible);
    let claimed = count(&state, 2) + 1;
    run.claim("/requirements/infeasible", json!(claimed));
    run.noticed(
        "a row twice",
        &[
            "a row that was there before",
            "requirements.infeasible: claimed",
        ],
    );
    run.forge("requirements.npz", "j", |j| j[infeasible] = 999.0);
    run.noticed("no neuron", &["none of this run"]);
    let covered = state.iter().position(|&s| s == 1).unwrap();
    run.forge("requirements.npz", "test2", |t| t[covered] = 0.0);
    run.forge("requirements.npz", "test", |t| t[covered] = 0.0);
    run.noticed("two tests", &["requirements.npz: row"]);
}

#[test]
fn a_folder_is_checked_without_its_data_and_model_path() {
    let bed = Bed::new();
    for name in ["mlp.onnx", "data_mlp.npz"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        fs::copy(from.join(name), bed.path(name)).unwrap();
    }
    let (model, data) = (bed.name("mlp.onnx"), bed.name("data_mlp.npz"));
    let subject = [model.as_str(), "--data", data.as_str()];
    let run = bed.run("run", subject, &SECTIONS);
    assert_holds(&run);
    fs::rename(bed.path("mlp.onnx"), bed.path("moved.onnx")).unwrap();
    fs::remove_file(bed.path("data_mlp.npz")).unwrap();
    assert_eq!(check(&run, &[]).0, 2);
    let moved = bed.name("moved.onnx");
    let (code, text) = check(&run, &["--model", &moved]);
    assert_eq!(code, 0, "{text}");
    assert_says(
        &text,
        &[
            "not verified: without the data: ",
            "not verified: without the reference data: ",
            "not verified: without the data of the profile: ",
        ],
    );
    // Another model is another model, whatever it is called.
    let (code, text) = check(&run, &["--model", TABLE[0]]);
    assert_eq!(code, 0, "{text}");
    let edited = Edited {
        files: vec![(run.0.join("run.json"), run.bytes("run.json"))],
        run,
    };
    edited.claim("/settings/domain/upper/0", json!(1e6));
    let (code, text) = check(&edited.run, &["--model", &moved]);
    assert_eq!(code, 1, "{text}");
}

#[test]
fn other_data_under_the_old_name_are_noticed() {
    let bed = Bed::new();
    let text = |last: &str| format!("a,b,c,d,label\n0.1,0.2,0.3,0.4,0\n0.5,0.1,0.9,{last},1\n");
    let data = bed.file("data.csv", &text("0.2"));
    let flags = ["--criterion", "nc", "--seed-index", "0", "--no-proofs"];
    let run = bed.run("run", [TABLE[0], "--data", &data], &flags);
    assert_holds(&run);
    bed.file("data.csv", &text("0.25"));
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 1, "{text}");
    assert_says(&text, &["data.csv: SHA-256 of the samples as used"]);
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Paths of all values in a JSON tree that are no lists or objects.
fn leaves(value: &Value, path: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                leaves(value, &format!("{path}/{name}"), all);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                leaves(value, &format!("{path}/{number}"), all);
            }
        }
        _ => all.push(path.to_owned()),
    }
}

/// Changes one value of a JSON file; says which.
fn edit_json(path: &Path, dice: &mut Dice) -> String {
    let mut root: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut all = Vec::new();
    leaves(&root, "", &mut all);
    let pointer = all.swap_remove(dice.below(all.len()));
    let value = root.pointer_mut(&pointer).unwrap();
    *value = match &*value {
        Value::Number(n) if n.is_u64() => json!(n.as_u64().unwrap() + 1 + dice.below(3) as u64),
        Value::Number(n) => json!(n.as_f64().unwrap() * 1.5 + 0.1),
        Value::String(text) => json!(format!("{text}0")),
        Value::Bool(b) => json!(!b),
        _ => json!(1),
    };
    fs::write(path, serde_json::to_string_pretty(&root).unwrap() + "\n").unwrap();
    pointer
}

/// Changes one element of an array file; says which.
fn edit_arrays(run: &Left, file: &str, dice: &mut Dice) -> String {
    let from = NpzReader::open(&run.0.join(file)).unwrap();
    let names: Vec<String> = from.names().map(str::to_owned).collect();
    let name = names[dice.below(names.len())].clone();
    let size: usize = from.shape(&name).unwrap().iter().product();
    drop(from);
    let at = dice.below(size);
    change(run, file, &name, |values| {
        values[at] = if values[at].is_nan() {
            1.0
        } else {
            values[at] + 1.0
        };
    });
    format!("{name}[{at}]")
}

/// Changes one digit, or one byte.
fn edit_bytes(path: &Path, dice: &mut Dice) -> String {
    let mut bytes = fs::read(path).unwrap();
    let is_text = path.extension().is_some_and(|e| e == "md");
    let digits = |(_, b): &(usize, &u8)| !is_text || b.is_ascii_digit();
    let places: Vec<usize> = bytes
        .iter()
        .enumerate()
        .filter(digits)
        .map(|(at, _)| at)
        .collect();
    let at = places[dice.below(places.len())];
    bytes[at] = if is_text {
        b'0' + (bytes[at] - b'0' + 1) % 10
    } else {
        bytes[at] ^ 1
    };
    fs::write(path, bytes).unwrap();
    format!("byte {at}")
}

/// Parts of the time of a run: the one thing that is in no other file and that nothing can show.
const UNVERIFIED: &str = "/time_s/";

#[test]
fn a_random_edit_is_noticed_or_of_what_is_not_verified() {
    const EDITS: usize = 30;
    let bed = Bed::new();
    let runs = [
        ("neurons", IMAGES, &NEURONS[..]),
        ("pairs", TABLE, &PAIRS[..]),
    ];
    for (name, subject, flags) in runs {
        let run = Edited::new(bed.run(name, subject, flags));
        let readable = |path: &Path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            !["journal", "lock"].contains(&name)
        };
        let files: Vec<&PathBuf> = run
            .files
            .iter()
            .map(|(path, _)| path)
            .filter(|p| readable(p))
            .collect();
        // Every kind of file as often as the others, however many there are of it.
        let mut kinds: Vec<&str> = files
            .iter()
            .map(|p| p.extension().unwrap().to_str().unwrap())
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        let mut dice = Dice(12);
        for number in 0..EDITS {
            let kind = kinds[number % kinds.len()];
            let mine: Vec<&&PathBuf> = files
                .iter()
                .filter(|p| p.extension().unwrap() == kind)
                .collect();
            let path = mine[dice.below(mine.len())];
            let file = path.strip_prefix(&run.run.0).unwrap().to_str().unwrap();
            let what = match kind {
                "json" => edit_json(path, &mut dice),
                "npz" => edit_arrays(&run.run, file, &mut dice),
                _ => edit_bytes(path, &mut dice),
            };
            let (code, text) = check(&run.run, &[]);
            let excused = what.starts_with(UNVERIFIED) && text.contains("time_s");
            assert!(code == 1 || code == 2 || excused, "{file}: {what}: {text}");
            run.restore();
        }
    }
}

#[test]
fn a_run_that_had_no_time_for_all_seeds_can_be_checked_and_replayed() {
    let bed = Bed::new();
    for criterion in ["nc", "ssc", "safety", "kmnc"] {
        let few = [
            "--criterion",
            criterion,
            "--seeds",
            "90",
            "--max-executions",
            "100",
        ];
        let run = bed.run(criterion, IMAGES, &few);
        let mut suite = NpzReader::open(&run.0.join("suite.npz")).unwrap();
        let unmeasured = suite.read::<f32>("unmeasured").unwrap().values;
        assert!(!unmeasured.is_empty() && unmeasured.len().is_multiple_of(PIXELS));
        let (code, text) = replay(&run, &[]);
        assert_eq!(code, 0, "{text}");
        let edited = Edited::new(run);
        change(&edited.run, "suite.npz", "unmeasured", |x| x[5] += 0.25);
        edited.noticed("a seed that was not run", &["settings.seed_values"]);
    }
}
