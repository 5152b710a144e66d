//! Models become networks that give what onnxruntime gives: the project's own in `testdata`, and
//! the conformance set beside the project where it is present.

use std::fs;
use std::path::{Path, PathBuf};

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_formats::onnx::{Dim, Model};
use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_network::{Head, Network, Pass, Point};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sha2::{Digest, Sha256};

const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");
const ZOO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/onnx-zoo");

/// A hidden layer as the file has it: name, kind, shape without the batch axis.
type Expected = (&'static str, &'static str, &'static [usize]);

/// Every model of `testdata` that loads, with its hidden layers.
const MODELS: [(&str, &[Expected]); 9] = [
    ("mlp", &[("relu1", "Relu", &[8]), ("a2", "Relu", &[6])]),
    (
        "cnn_nchw",
        &[
            ("/relu/Relu", "Relu", &[4, 9, 8]),
            ("/relu_1/Relu", "Relu", &[6, 2, 4]),
        ],
    ),
    ("cnn_nhwc", &[("conv2d/Relu", "Relu", &[5, 8, 8])]),
    ("external", &[("relu", "Relu", &[7])]),
    (
        "smooth",
        &[
            ("gelu/Mul_1", "Gelu", &[8]),
            ("tanh", "Tanh", &[7]),
            ("silu/Sigmoid", "Sigmoid", &[5]),
        ],
    ),
    ("two_outputs", &[("relu", "Relu", &[6])]),
    ("marks", &[("relu", "Relu", &[6])]),
    (
        "attention",
        &[("relu", "Relu", &[5, 4]), ("gate", "Sigmoid", &[5, 4])],
    ),
    (
        "image_ops",
        &[("relu1", "Relu", &[4, 8, 9]), ("relu2", "Relu", &[1, 6, 5])],
    ),
];

/// The largest difference that passes, relative to the largest number of the sample.
const TOLERANCE: f64 = 1e-4;

fn testdata(file: &str) -> PathBuf {
    Path::new(TESTDATA).join(file)
}

fn open(name: &str) -> Network {
    let path = testdata(&format!("{name}.onnx"));
    load(&path, &LoadOptions::default()).unwrap().network
}

/// An array of the record beside a model.
fn recorded(name: &str, array: &str) -> Vec<f32> {
    let mut archive = NpzReader::open(&testdata(&format!("{name}.npz"))).unwrap();
    archive.read(array).unwrap().values
}

fn run(network: &Network, inputs: &[f32], point: Point) -> Vec<f32> {
    let trace = network.forward(inputs, &Pass::keep([point]));
    trace.get(point).to_vec()
}

fn answer(network: &Network, inputs: &[f32]) -> Vec<f32> {
    run(network, inputs, Point::Output(network.primary_output()))
}

/// The worst difference over samples, each relative to the largest number expected of it.
fn worst(ours: &[f32], theirs: &[f32], samples: usize) -> f64 {
    if ours.len() != theirs.len() || samples == 0 {
        return f64::INFINITY;
    }
    let each = (ours.len() / samples).max(1);
    let of_sample = |(ours, theirs): (&[f32], &[f32])| {
        let scale = theirs.iter().fold(1e-6, |m, t| f64::from(t.abs()).max(m));
        let apart = ours.iter().zip(theirs).map(|(o, t)| {
            let apart = (f64::from(*o) - f64::from(*t)).abs();
            if apart.is_nan() { f64::INFINITY } else { apart }
        });
        apart.fold(0.0, f64::max) / scale
    };
    ours.chunks(each)
        .zip(theirs.chunks(each))
        .map(of_sample)
        .fold(0.0, f64::max)
}

fn assert_near(what: &str, ours: &[f32], theirs: &[f32], samples: usize) {
    let error = worst(ours, theirs, samples);
    assert!(error <= TOLERANCE, "{what}: {error:e}");
}

fn samples_of(network: &Network, inputs: &[f32]) -> usize {
    inputs.len() / network.input_elements()
}

#[test]
fn every_model_answers_as_onnxruntime_does() {
    for (name, _) in MODELS {
        let network = open(name);
        let (x, y) = (recorded(name, "x"), recorded(name, "y"));
        assert_eq!(samples_of(&network, &x), 12, "{name}");
        assert_near(name, &answer(&network, &x), &y, 12);
    }
}

#[test]
fn hidden_layers_are_those_of_the_file_in_its_order() {
    for (name, expected) in MODELS {
        let network = open(name);
        let found: Vec<_> = network
            .layers()
            .iter()
            .map(|layer| (layer.name(), layer.kind(), layer.shape()))
            .collect();
        assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!((found.0, found.1), (expected.0, expected.1), "{name}");
            assert_eq!(found.2.dims()[0], 1, "{name}");
            assert_eq!(found.2.without_batch(), expected.2, "{name}");
        }
        for (layer, expected) in network.layers().iter().zip(expected) {
            assert_eq!(layer.neurons(), expected.2.iter().product::<usize>());
        }
    }
}

#[test]
fn layers_are_found_by_name_and_by_the_papers_number() {
    let network = open("cnn_nchw");
    assert_eq!(network.layer_named("/relu_1/Relu"), Some(1));
    assert_eq!(network.layer_named("2"), Some(0));
    assert_eq!(network.layer_named("3"), Some(1));
    for absent in ["0", "1", "4", "/conv1/Conv", ""] {
        assert_eq!(network.layer_named(absent), None, "{absent}");
    }
}

/// For convolutions this is a comparison element by element in channels-first order, whatever the
/// order the network computes in.
#[test]
fn neurons_are_numbered_in_the_order_of_the_file() {
    for (name, expected) in MODELS {
        let network = open(name);
        let x = recorded(name, "x");
        for (layer, (_, kind, _)) in expected.iter().enumerate() {
            let u = recorded(name, &format!("u{layer}"));
            let what = format!("{name} layer {layer}");
            let pre = run(&network, &x, Point::Pre(layer));
            assert_near(&what, &pre, &u, 12);
            if *kind == "Relu" {
                let v: Vec<f32> = u.iter().map(|u| u.max(0.0)).collect();
                let post = run(&network, &x, Point::Post(layer));
                assert_near(&what, &post, &v, 12);
            }
        }
    }
}

#[test]
fn a_final_softmax_is_left_out_of_the_logits() {
    for name in ["mlp", "cnn_nhwc"] {
        let network = open(name);
        assert_eq!(network.head(), Head::Softmax, "{name}");
        let answer = run(&network, &recorded(name, "x"), Point::Answer);
        assert_near(name, &answer, &recorded(name, "y"), 12);
        let logits = network.logits(&recorded(name, "x"));
        assert_near(name, &logits, &recorded(name, "logits"), 12);
    }
    for name in ["cnn_nchw", "external", "smooth", "two_outputs"] {
        assert_eq!(open(name).head(), Head::Identity, "{name}");
    }
}

#[test]
fn a_gelu_written_out_with_erf_is_one_layer() {
    let kinds: Vec<&str> = open("smooth").operators().map(|(kind, _)| kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "Gelu").count(), 1);
    assert!(!kinds.contains(&"Erf"), "{kinds:?}");
}

#[test]
fn the_answer_is_the_first_output_of_floats() {
    let network = open("two_outputs");
    let names: Vec<&str> = network.outputs().map(|(name, _)| name).collect();
    assert_eq!(names, ["label", "scores"]);
    assert_eq!(network.primary_output(), 1);
    let labels = run(&network, &recorded("two_outputs", "x"), Point::Output(0));
    assert_near("label", &labels, &recorded("two_outputs", "label"), 12);
}

#[test]
fn weights_beside_the_file_are_needed_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("external.onnx");
    fs::copy(testdata("external.onnx"), &model).unwrap();
    let message = load(&model, &LoadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(message.contains("external.bin"), "{message}");
    assert!(message.contains("beside the model"), "{message}");

    let mut weights = fs::read(testdata("external.bin")).unwrap();
    fs::write(folder.path().join("external.bin"), &weights).unwrap();
    let network = load(&model, &LoadOptions::default()).unwrap().network;
    let x = recorded("external", "x");
    assert_near(
        "a copy",
        &answer(&network, &x),
        &recorded("external", "y"),
        12,
    );

    weights.fill(0);
    fs::write(folder.path().join("external.bin"), &weights).unwrap();
    let network = load(&model, &LoadOptions::default()).unwrap().network;
    assert!(answer(&network, &x).iter().all(|y| y.abs() < f32::EPSILON));
}

#[test]
fn a_model_s_fingerprint_is_that_of_its_files_one_after_another() {
    for (model, files) in [
        ("mlp", &["mlp.onnx"][..]),
        ("external", &["external.onnx", "external.bin"]),
    ] {
        let path = testdata(&format!("{model}.onnx"));
        let loaded = load(&path, &LoadOptions::default()).unwrap();
        let mut digest = Sha256::new();
        for file in files {
            digest.update(fs::read(testdata(file)).unwrap());
        }
        assert_eq!(loaded.sha256, format!("{:x}", digest.finalize()));
    }
}

#[test]
fn what_is_not_supported_is_named_with_a_way_out() {
    let path = testdata("unsupported.onnx");
    let message = load(&path, &LoadOptions::default())
        .unwrap_err()
        .to_string();
    for part in ["unsupported.onnx", "`det_1`", "Det", "simplify the model"] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn models_of_other_kinds_are_told_how_to_become_onnx() {
    for (name, advice) in [("net.pt", "torch.onnx.export"), ("net.h5", "Keras")] {
        let message = load(Path::new(name), &LoadOptions::default())
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with(name) && message.contains(advice),
            "{message}"
        );
    }
}

/// What a model answers on data normalised by hand, channel by channel.
fn by_hand(name: &str, x: &[f32], mean: &[f64], std: &[f64], channel: fn(usize) -> usize) {
    let options = LoadOptions {
        mean: Some(mean.to_vec()),
        std: Some(std.to_vec()),
        ..LoadOptions::default()
    };
    let path = testdata(&format!("{name}.onnx"));
    let inside = load(&path, &options).unwrap().network;
    let outside = open(name);
    let each = outside.input_elements();
    let normalised: Vec<f32> = x
        .iter()
        .enumerate()
        .map(|(index, &x)| {
            let channel = channel(index % each);
            let (mean, std) = (mean[channel % mean.len()], std[channel % std.len()]);
            ((f64::from(x) - mean) / std) as f32
        })
        .collect();
    let expected = answer(&outside, &normalised);
    assert_near(name, &answer(&inside, x), &expected, 12);
    assert!(
        worst(&expected, &answer(&outside, x), 12) > 1e-2,
        "{name}: nothing changed"
    );
    // The normalisation is a map before the first layer, not a layer.
    assert_eq!(inside.layers().len(), outside.layers().len());
    let u = run(&outside, &normalised, Point::Pre(0));
    assert_near(name, &run(&inside, x, Point::Pre(0)), &u, 12);
}

#[test]
fn mean_and_std_equal_normalising_the_data_by_hand() {
    let images = recorded("cnn_nchw", "x");
    by_hand("cnn_nchw", &images, &[0.4, 0.6], &[0.25, 0.5], |i| i / 72);
    by_hand("cnn_nchw", &images, &[0.5], &[0.25], |_| 0);
    by_hand(
        "cnn_nhwc",
        &recorded("cnn_nhwc", "x"),
        &[0.13],
        &[0.3],
        |_| 0,
    );
    let (mean, std) = ([5.8, 3.1, 3.8, 1.2], [0.8, 0.4, 1.8, 0.8]);
    by_hand("mlp", &recorded("mlp", "x"), &mean, &std, |i| i);
}

#[test]
fn a_normalisation_that_does_not_fit_is_refused() {
    let refuse = |mean: Vec<f64>, std: Vec<f64>| {
        let options = LoadOptions {
            mean: Some(mean),
            std: Some(std),
            ..LoadOptions::default()
        };
        load(&testdata("cnn_nchw.onnx"), &options)
            .unwrap_err()
            .to_string()
    };
    let message = refuse(vec![0.1, 0.2, 0.3], vec![1.0]);
    for part in ["cnn_nchw.onnx", "3 numbers of mean", "one for each channel"] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
    let message = refuse(vec![f64::NAN], vec![1.0]);
    assert!(message.contains("finite"), "{message}");
    // The last is zero in single precision, which the network computes in.
    for std in [0.0, -1.0, f64::INFINITY, 1e-200] {
        let message = refuse(vec![0.0], vec![1.0, std]);
        assert!(message.contains("positive"), "{message}");
    }
}

#[test]
fn an_open_input_shape_is_asked_for_and_taken() {
    let shaped = |dims: &[usize]| LoadOptions {
        input_shape: Some(dims.to_vec()),
        ..LoadOptions::default()
    };
    let mut model = Model::open(&testdata("cnn_nchw.onnx")).unwrap();
    for shape in [None, Some(vec![Dim::Unknown; 4])] {
        model.graph.inputs[0].shape = shape;
        let message = model
            .import(&LoadOptions::default())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("`input`") && message.contains("--input-shape"),
            "{message}"
        );
        let network = model.import(&shaped(&[1, 2, 9, 8])).unwrap().network;
        let (x, y) = (recorded("cnn_nchw", "x"), recorded("cnn_nchw", "y"));
        assert_near("given shape", &answer(&network, &x), &y, 12);
        // Global pooling makes this network one for images of any size.
        let wider = model.import(&shaped(&[1, 2, 12, 20])).unwrap().network;
        assert_eq!(wider.layers()[0].shape().dims(), [1, 4, 12, 20]);
    }
}

#[test]
fn a_shape_that_contradicts_the_file_is_refused() {
    let options = LoadOptions {
        input_shape: Some(vec![1, 3, 9, 8]),
        ..LoadOptions::default()
    };
    let message = load(&testdata("cnn_nchw.onnx"), &options)
        .unwrap_err()
        .to_string();
    for part in ["`input`", "[1, 3, 9, 8]", "[`batch`, 2, 9, 8]"] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
}

/// Models of the conformance set, or nothing (and a word why) where it is not installed.
fn zoo(bad: bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(ZOO) else {
        println!("skipped: the conformance set is not at {ZOO}");
        return Vec::new();
    };
    let mut models: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "onnx"))
        .filter(|path| stem(path).starts_with("bad_") == bad)
        .collect();
    models.sort();
    models
}

fn stem(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

/// Compares every recorded case; how many outputs and samples that was.
fn compare_recorded(path: &Path) -> (usize, usize) {
    let name = stem(path);
    let network = load(path, &LoadOptions::default()).unwrap().network;
    let mut record = NpzReader::open(&path.with_extension("npz")).unwrap();
    let names: Vec<String> = record.names().map(str::to_owned).collect();
    let (mut outputs, mut samples) = (0, 0);
    for case in 0.. {
        let input = format!("in{case}.{}", network.input_name());
        if !names.contains(&input) {
            break;
        }
        let x: Vec<f32> = record.read(&input).unwrap().values;
        let batch = samples_of(&network, &x);
        // The runtime takes one dynamic range for a whole batch: not a function of one input.
        if name == "ort_mlp_dynquant" && batch > 1 {
            continue;
        }
        samples += batch;
        for (output, (output_name, _)) in network.outputs().enumerate() {
            let key = format!("out{case}.{output_name}");
            if names.contains(&key) {
                let theirs: Vec<f32> = record.read(&key).unwrap().values;
                let ours = run(&network, &x, Point::Output(output));
                assert_near(&format!("{name} {key}"), &ours, &theirs, batch);
                outputs += 1;
            }
        }
        let prefix = format!("out{case}.");
        for theirs in names.iter().filter_map(|n| n.strip_prefix(&prefix)) {
            let found = network.outputs().any(|(ours, _)| ours == theirs);
            assert!(found, "{name}: output {theirs} was left out");
        }
    }
    assert!(outputs > 0, "{name}: nothing was compared");
    (outputs, samples)
}

#[test]
fn the_conformance_set_gives_its_recorded_answers() {
    let models = zoo(false);
    let (mut outputs, mut samples) = (0, 0);
    for path in &models {
        let counts = compare_recorded(path);
        outputs += counts.0;
        samples += counts.1;
    }
    println!(
        "{} models, {outputs} outputs, {samples} samples",
        models.len()
    );
}

#[test]
fn the_bad_files_of_the_conformance_set_are_refused_in_one_line() {
    // Recurrent layers were not supported when the set was made.
    let supported = |path: &PathBuf| stem(path) == "bad_unsupported_lstm";
    let models: Vec<PathBuf> = zoo(true).into_iter().filter(|p| !supported(p)).collect();
    for path in &models {
        let Err(error) = load(path, &LoadOptions::default()) else {
            panic!("{} was loaded", stem(path));
        };
        let message = error.to_string();
        assert!(
            message.contains(&format!("{}.onnx", stem(path))),
            "{message}"
        );
        assert!(!message.contains('\n'), "{message}");
    }
    println!("{} bad models refused", models.len());
}

/// Above this many numbers a mutant is a valid network that only takes long.
const LARGEST_RUN: usize = 1 << 20;

/// Imports the bytes and, when that works, runs the network once, whatever it has become.
fn exercise(bytes: Vec<u8>) -> bool {
    let model = Model::decode(bytes.into(), Some(Path::new(TESTDATA)));
    let loaded = match model.and_then(|model| model.import(&LoadOptions::default())) {
        Ok(loaded) => loaded,
        Err(error) => {
            let message = error.to_string();
            assert!(!message.contains('\n') && message.len() < 2000, "{message}");
            return false;
        }
    };
    let network = loaded.network;
    let points: Vec<Point> = (0..network.layers().len())
        .flat_map(|layer| [Point::Pre(layer), Point::Post(layer)])
        .chain((0..network.outputs().len()).map(Point::Output))
        .chain([Point::Input, Point::Logits])
        .collect();
    let numbers: usize = points.iter().map(|&point| network.elements(point)).sum();
    if numbers <= LARGEST_RUN {
        let inputs = vec![0.5_f32; 2 * network.input_elements()];
        network.forward(&inputs, &Pass::keep(points));
    }
    true
}

fn bytes_of(name: &str) -> Vec<u8> {
    fs::read(testdata(&format!("{name}.onnx"))).unwrap()
}

fn any_model() -> impl Strategy<Value = &'static str> {
    select(MODELS.map(|(name, _)| name).to_vec())
}

proptest! {
    // The default place for failing cases is found from lib.rs, which is not near.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_model_with_changed_bytes_never_panics(
        name in any_model(),
        changes in vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = bytes_of(name);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        exercise(bytes);
    }

    /// Small steps keep a message well formed more often, and so reach further in.
    #[test]
    fn a_model_with_a_bit_flipped_never_panics(
        name in any_model(),
        place in any::<Index>(),
        bit in 0..8_u32,
    ) {
        let mut bytes = bytes_of(name);
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        exercise(bytes);
    }

    #[test]
    fn a_model_with_bytes_moved_never_panics(
        name in any_model(),
        from in any::<Index>(),
        to in any::<Index>(),
        length in 1_usize..60,
    ) {
        let mut bytes = bytes_of(name);
        let from = from.index(bytes.len());
        let piece: Vec<u8> = bytes.drain(from..bytes.len().min(from + length)).collect();
        let to = to.index(bytes.len());
        bytes.splice(to..to, piece);
        exercise(bytes);
    }
}

#[test]
fn the_unharmed_models_pass_the_exercise() {
    for (name, _) in MODELS {
        assert!(exercise(bytes_of(name)), "{name}");
    }
}
