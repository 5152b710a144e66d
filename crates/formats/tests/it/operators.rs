//! Operators one by one: every model in `testdata/operators` gives, output by output, what
//! onnxruntime gave.

use std::fs;
use std::path::{Path, PathBuf};

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_formats::{LoadOptions, Loaded, load};
use deepconcolic_network::{Pass, Point};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/operators");

fn models() -> Vec<PathBuf> {
    let entries = fs::read_dir(FOLDER).unwrap();
    let mut models: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "onnx"))
        .collect();
    models.sort();
    assert!(!models.is_empty());
    models
}

fn open(path: &Path) -> Loaded {
    load(path, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Whether two numbers are as near as two ways to round allow.
fn near(ours: f32, theirs: f32) -> bool {
    ours.to_bits() == theirs.to_bits() || (ours - theirs).abs() <= 2e-5 * theirs.abs().max(1.0)
}

#[test]
fn every_output_of_every_model_is_onnxruntimes() {
    let mut wrong = Vec::new();
    for path in models() {
        let Loaded { network, notes, .. } = open(&path);
        let odd = |note: &String| !note.starts_with("dynamic quantisation");
        assert!(!notes.iter().any(odd), "{}: {notes:?}", path.display());
        let mut record = NpzReader::open(&path.with_extension("npz")).unwrap();
        let x: Vec<f32> = record.read("x").unwrap().values;
        let names: Vec<String> = record.names().map(str::to_owned).collect();
        assert_eq!(
            names.len(),
            network.outputs().len() + 1,
            "{}",
            path.display()
        );
        for (output, (name, shape)) in network.outputs().enumerate() {
            let theirs = record.read::<f32>(name).unwrap();
            let trace = network.forward(&x, &Pass::keep([Point::Output(output)]));
            let ours = trace.get(Point::Output(output));
            let case = format!("{} {name}", path.file_stem().unwrap().display());
            if theirs.shape[1..] != *shape.dims() {
                wrong.push(format!("{case}: shape {shape}, not {:?}", theirs.shape));
            } else if !ours.iter().zip(&theirs.values).all(|(o, t)| near(*o, *t)) {
                wrong.push(format!("{case}: {ours:?}, not {:?}", theirs.values));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ranges_hold_what_runs_give() {
    for path in models() {
        let network = open(&path).network;
        let mut record = NpzReader::open(&path.with_extension("npz")).unwrap();
        let x: Vec<f32> = record.read("x").unwrap().values;
        let radius = 0.125;
        let low: Vec<f32> = x.iter().map(|x| x - radius).collect();
        let high: Vec<f32> = x.iter().map(|x| x + radius).collect();
        let bounds = network.intervals(&low, &high);
        for (output, (name, _)) in network.outputs().enumerate() {
            let point = Point::Output(output);
            let (lower, upper) = network.range(&bounds, point);
            let trace = network.forward(&x, &Pass::keep([point]));
            let run = trace.get(point);
            assert_eq!(lower.len(), run.len(), "{} {name}", path.display());
            for ((l, y), u) in lower.iter().zip(run).zip(&upper) {
                assert!(l <= y && y <= u, "{} {name}: {l} {y} {u}", path.display());
            }
        }
    }
}
