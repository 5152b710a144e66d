//! `--minimise` of adversarial tests: how near to its seed another answer lies, found, certified, and judged again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use deepconcolic_dataset::arrays::{Element, NpzReader};
use deepconcolic_dataset::write::NpzWriter;
use deepconcolic_formats::LoadOptions;
use deepconcolic_network::Network;

use super::bed::{
    Bed, IMAGES, Left, PIXELS, TABLE, assert_says, check, deepconcolic, replay, said,
};

/// A run whose tests are adversarial.
const SAFETY: [&str; 7] = [
    "--criterion",
    "safety",
    "--seeds",
    "4",
    "--minimise",
    "--threads",
    "2",
];
const FOLDER: &str = "nearest-adversarial";
const TABLE_FILE: &str = "nearest-adversarial/nearest.npz";
const SINGLE: [&str; 2] = ["x", "confidence"];
const WHOLE: [&str; 5] = ["root", "label", "reference", "test", "certificate"];

fn column<T: Element>(run: &Left, name: &str) -> Vec<T> {
    let mut file = NpzReader::open(&run.0.join(TABLE_FILE)).unwrap();
    file.read(name).unwrap().values
}

/// Writes the table again with one column changed.
fn edit(run: &Left, column: &str, change: impl Fn(&mut Vec<f64>)) {
    fn copy<T: Element + Copy>(
        from: &mut NpzReader,
        to: &mut NpzWriter,
        name: &str,
        edit: impl Fn(&mut Vec<T>),
    ) {
        let mut array = from.read::<T>(name).unwrap();
        edit(&mut array.values);
        to.add(name, &array.shape, &array.values).unwrap();
    }
    let path = run.0.join(TABLE_FILE);
    let mut from = NpzReader::open(&path).unwrap();
    let mut to = NpzWriter::create(&path).unwrap();
    let names: Vec<String> = from.names().map(str::to_owned).collect();
    let is_whole = |from: &NpzReader, name: &str| {
        WHOLE.contains(&name) || (name == "y" && from.shape("output").is_none())
    };
    for name in names {
        let edited = |mut values: Vec<f64>| {
            if name == column {
                change(&mut values);
            }
            values
        };
        if SINGLE.contains(&name.as_str()) {
            copy::<f32>(&mut from, &mut to, &name, |values| {
                let wide = values.iter().map(|&v| f64::from(v)).collect();
                *values = edited(wide).iter().map(|&v| v as f32).collect();
            });
        } else if is_whole(&from, &name) {
            copy::<i64>(&mut from, &mut to, &name, |values| {
                let wide = values.iter().map(|&v| v as f64).collect();
                *values = edited(wide).iter().map(|&v| v as i64).collect();
            });
        } else {
            copy::<f64>(&mut from, &mut to, &name, |values| {
                *values = edited(std::mem::take(values));
            });
        }
    }
    to.finish().unwrap();
}

fn assert_holds(run: &Left) -> String {
    let (code, text) = check(run, &[]);
    assert_eq!(code, 0, "{text}");
    text
}

#[test]
fn adversarial_tests_are_shrunk_to_whole_grey_levels_and_judged_again() {
    let bed = Bed::new();
    let run = bed.run(
        "run",
        IMAGES,
        &[&SAFETY[..], &["--quantise", "255"]].concat(),
    );
    let text = assert_holds(&run);
    assert_says(&text, &["nearest adversarial inputs run again"]);
    let summary = &run.summary()["nearest_adversarial"];
    let distances: Vec<f64> = column(&run, "distance");
    let bounds: Vec<f64> = column(&run, "bound");
    let (labels, truths): (Vec<i64>, Vec<i64>) = (column(&run, "label"), column(&run, "y"));
    let roots: Vec<i64> = column(&run, "root");
    assert_eq!(summary["count"], distances.len());
    assert!(distances.len() >= 3, "{summary}");
    let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(summary["min"], least);
    let mut certified = 0;
    for row in 0..distances.len() {
        let levels = distances[row] * 255.0;
        assert!((levels - levels.round()).abs() < 1e-3, "{levels}");
        assert!(levels < 40.0, "{levels}: shrunk from the rim at 76");
        assert_ne!(labels[row], truths[row]);
        if !bounds[row].is_nan() {
            certified += 1;
            assert!(0.0 < bounds[row] && bounds[row] <= distances[row]);
        }
        let name = format!("{:06}-{}-as-{}.png", roots[row], truths[row], labels[row]);
        assert!(run.0.join(FOLDER).join(&name).exists(), "{name}");
    }
    assert!(certified > 0);
    assert_eq!(summary["bounds"], certified);
    let statement = fs::read_to_string(run.0.join("statement.md")).unwrap();
    assert_says(
        &statement,
        &["Nearest adversarial inputs (`nearest-adversarial/`)"],
    );
    let (code, said) = replay(&run, &[]);
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["nearest adversarial inputs"]);
}

#[test]
fn an_edited_table_or_certificate_is_noticed() {
    let bed = Bed::new();
    let run = bed.run(
        "run",
        IMAGES,
        &[&SAFETY[..], &["--quantise", "255"]].concat(),
    );
    assert_holds(&run);
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for entry in fs::read_dir(run.0.join(FOLDER)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        files.insert(name, fs::read(entry.path()).unwrap());
    }
    let restore = || {
        fs::remove_dir_all(run.0.join(FOLDER)).unwrap();
        fs::create_dir(run.0.join(FOLDER)).unwrap();
        for (name, bytes) in &files {
            fs::write(run.0.join(FOLDER).join(name), bytes).unwrap();
        }
    };
    let noticed = |what: &str| {
        let (code, text) = check(&run, &[]);
        assert_eq!(code, 1, "{what}: {text}");
        assert_says(&text, &[what]);
        restore();
    };
    let roots: Vec<i64> = column(&run, "root");
    let suite = run.suite();
    let seed = (0..suite.seeds)
        .find(|&s| suite.root[s] == roots[0])
        .unwrap();
    let seed = &suite.rows[seed];
    assert_eq!(seed.len(), PIXELS);
    edit(&run, "x", |x| {
        for (x, seed) in x.iter_mut().zip(seed) {
            *x = f64::from(*seed);
        }
    });
    noticed("nearest-adversarial/nearest.npz: x[0]");
    edit(&run, "distance", |distance| distance[0] /= 2.0);
    noticed("nearest-adversarial/nearest.npz: distance[0]");
    edit(&run, "label", |label| label[0] = (label[0] + 1.0) % 10.0);
    noticed("nearest-adversarial/nearest.npz: label[0]");
    edit(&run, "y", |y| y[0] = (y[0] + 1.0) % 10.0);
    noticed("nearest-adversarial/nearest.npz: y[0]");
    edit(&run, "root", |root| root[0] = 77.0);
    noticed("nearest-adversarial/nearest.npz: root[0]");
    edit(&run, "test", |test| test[0] = 0.0);
    noticed("nearest-adversarial/nearest.npz: test[0]");
    let bounds: Vec<f64> = column(&run, "bound");
    let certified = bounds.iter().position(|bound| !bound.is_nan()).unwrap();
    edit(&run, "bound", |bound| bound[certified] *= 1.1);
    noticed(&format!(
        "nearest-adversarial/nearest.npz: bound[{certified}]"
    ));
    edit(&run, "certificate", |number| number[certified] = 9.0);
    noticed(&format!(
        "nearest-adversarial/nearest.npz: certificate[{certified}]"
    ));
    fs::remove_file(run.0.join(FOLDER).join("00000.certificate")).unwrap();
    noticed("nearest-adversarial/00000.certificate: file");
    let mut bytes = files["00000.certificate"].clone();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    fs::write(run.0.join(FOLDER).join("00000.certificate"), bytes).unwrap();
    noticed(&format!(
        "nearest-adversarial/nearest.npz: bound[{certified}]"
    ));
    fs::write(run.0.join(FOLDER).join("more.png"), b"none").unwrap();
    noticed("nearest-adversarial/more.png");
    fs::remove_dir_all(run.0.join(FOLDER)).unwrap();
    fs::create_dir(run.0.join(FOLDER)).unwrap();
    noticed("nearest-adversarial/nearest.npz: file");
    assert_holds(&run);
}

#[test]
fn without_adversarial_tests_a_sentence_says_so() {
    let bed = Bed::new();
    let flags = [
        "--criterion",
        "nc",
        "--seeds",
        "3",
        "--radius",
        "0.001",
        "--minimise",
    ];
    let run = bed.run("run", TABLE, &flags);
    assert!(!run.0.join(FOLDER).exists());
    let summary = run.summary();
    assert_eq!(summary["nearest_adversarial"]["count"], 0);
    let notes = summary["notes"].to_string();
    assert_says(
        &notes,
        &["the suite has no adversarial tests that could be made smaller"],
    );
    assert_holds(&run);
    // Nobody asked: nothing is said.
    let plain = bed.run("plain", TABLE, &flags[..6]);
    assert!(plain.summary().get("nearest_adversarial").is_none());
}

#[test]
fn every_norm_has_its_nearest_adversarial_inputs() {
    let bed = Bed::new();
    for (norm, radius) in [("l2", "3"), ("l1", "40"), ("l0", "60")] {
        let flags = ["--norm", norm, "--radius", radius, "--budget", "60s"];
        let run = bed.run(norm, IMAGES, &[&SAFETY[..], &flags].concat());
        assert_holds(&run);
        let summary = &run.summary()["nearest_adversarial"];
        assert!(summary["count"].as_u64() > Some(0), "{norm}: {summary}");
        let suite = run.summary()["adversarial"]["min_distance"]
            .as_f64()
            .unwrap();
        let nearest = summary["min"].as_f64().unwrap();
        assert!(nearest < suite, "{norm}: {nearest}, in the suite {suite}");
    }
}

#[test]
fn nearest_adversarial_inputs_do_not_depend_on_the_number_of_threads() {
    let bed = Bed::new();
    for (norm, radius) in [("linf", "0.3"), ("l2", "3"), ("l0", "60")] {
        let table = |threads: &str| {
            let flags = ["--criterion", "safety", "--seeds", "2", "--minimise"];
            let more = ["--budget", "none", "--norm", norm, "--radius", radius];
            let flags = [&flags[..], &more, &["--threads", threads]].concat();
            let run = bed.run(&format!("{norm}-{threads}"), IMAGES, &flags);
            assert!(run.0.join(TABLE_FILE).exists(), "{norm}");
            run.bytes(TABLE_FILE)
        };
        assert_eq!(table("1"), table("3"), "{norm}");
    }
}

fn network(file: &str) -> Network {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    let loaded = deepconcolic_formats::load(&root, &LoadOptions::default());
    loaded.unwrap().network
}

/// A run round one sample of two numbers, which is also all that its tests are judged by.
fn round_one(bed: &Bed, model: &str, index: usize, rule: &str) -> (Left, f64) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = format!("testdata/data_{model}.npz");
    let mut file = NpzReader::open(&root.join(&data)).unwrap();
    let x = file.read::<f32>("x").unwrap().values[2 * index..2 * index + 2].to_vec();
    let truth = file.read::<f64>("y").unwrap().values[index];
    let name = format!("{model}-{index}");
    let reference = bed.path(&format!("{name}.npz"));
    let mut file = NpzWriter::create(&reference).unwrap();
    file.add("x", &[1, 2], &x).unwrap();
    if rule.starts_with("within") {
        file.add("y", &[1], &[truth]).unwrap();
    } else {
        file.add("y", &[1], &[truth as i64]).unwrap();
    }
    file.finish().unwrap();
    let (index, reference) = (index.to_string(), reference.to_str().unwrap().to_owned());
    let flags = [
        "--criterion",
        "safety",
        "--seed-index",
        &index,
        "--minimise",
        "--reference",
        &reference,
        "--decision",
        rule,
        "--radius",
        "0.4",
        "--adversarial-radius",
        "0.4",
    ];
    let model = format!("testdata/{model}.onnx");
    (bed.run(&name, [&model, "--data", &data], &flags), truth)
}

/// The distance of the nearest input of a fine grid whose output is another answer.
fn on_grid(run: &Left, network: &Network, is_other: impl Fn(f64) -> bool) -> f64 {
    let domain = run.summary()["settings"]["domain"].clone();
    let ends = |side: &str| -> Vec<f64> { serde_json::from_value(domain[side].clone()).unwrap() };
    let (lower, upper) = (ends("lower"), ends("upper"));
    let seed: Vec<f64> = run.suite().rows[0].iter().map(|&x| x.into()).collect();
    let width = |e: usize| upper[e] - lower[e];
    let at = |e: usize, k: usize| lower[e] + width(e) * k as f64 / (SIDE - 1) as f64;
    let grid: Vec<f64> = (0..SIDE * SIDE)
        .flat_map(|k| [at(0, k / SIDE), at(1, k % SIDE)])
        .collect();
    let logits = network.logits::<f64>(&grid);
    let others = grid
        .chunks(2)
        .zip(logits)
        .filter(|(_, logit)| is_other(*logit));
    let far = |x: &[f64], e: usize| (x[e] - seed[e]).abs() / width(e);
    let distances = others.map(|(x, _)| far(x, 0).max(far(x, 1)));
    distances.fold(f64::INFINITY, f64::min)
}

/// Points to a side of the grid.
const SIDE: usize = 401;

#[test]
fn thresholds_and_quantities_are_as_near_as_a_fine_grid_shows() {
    let bed = Bed::new();
    let mut compared = [0, 0];
    let mut certified = 0;
    let rules = [("sigmoid", "threshold:0.5"), ("regressor", "within:0.3")];
    for (kind, (model, rule)) in rules.into_iter().enumerate() {
        let network = network(&format!("testdata/{model}.onnx"));
        for index in 0..8 {
            let (run, truth) = round_one(&bed, model, index, rule);
            assert_holds(&run);
            if !run.0.join(TABLE_FILE).exists() {
                continue;
            }
            let nearest = match kind {
                0 => on_grid(&run, &network, |logit| (logit >= 0.0) != (truth >= 0.5)),
                _ => on_grid(&run, &network, |output| (output - truth).abs() > 0.3),
            };
            let found = column::<f64>(&run, "distance")[0];
            let bound = column::<f64>(&run, "bound")[0];
            let what = format!("{model}, {index}: {found}, bound {bound}, grid {nearest}");
            assert!(found <= nearest + 1e-3, "{what}");
            assert!(found >= nearest - 2.0 / (SIDE - 1) as f64, "{what}");
            assert!(bound.is_nan() || bound <= nearest, "{what}");
            compared[kind] += 1;
            certified += usize::from(!bound.is_nan());
        }
    }
    assert!(compared.iter().all(|&count| count > 0), "{compared:?}");
    assert!(certified > 0);
}

#[test]
fn the_help_names_the_folder() {
    let output = deepconcolic(&["run", "--help"]).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap() + &said(&output);
    assert_says(&text, &["nearest-adversarial/"]);
}
