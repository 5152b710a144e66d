//! Models of `testdata` grafted onto one input compute what each of them computes alone, bit for bit.

use std::path::Path;

use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_network::{GraftError, Network, Pass, Point, Row, graft};

const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");

/// Models of every kind: with a Softmax, a Sigmoid, several outputs, convolutions, attention.
const MODELS: [&str; 11] = [
    "mlp",
    "cnn_nchw",
    "cnn_nhwc",
    "external",
    "smooth",
    "two_outputs",
    "sigmoid",
    "regressor",
    "attention",
    "image_ops",
    "demo/fashion_cnn",
];

fn model(name: &str) -> Network {
    let path = Path::new(TESTDATA).join(format!("{name}.onnx"));
    load(&path, &LoadOptions::default()).unwrap().network
}

/// Inputs that are not all alike.
fn inputs(network: &Network, samples: usize) -> Vec<f32> {
    let number = |i: usize| (i * 7919 % 101) as f32 / 101.0;
    (0..samples * network.input_elements())
        .map(number)
        .collect()
}

fn points(network: &Network) -> Vec<Point> {
    (0..network.layers().len())
        .flat_map(|l| [Point::Pre(l), Point::Post(l)])
        .chain((0..network.outputs().len()).map(Point::Output))
        .chain([Point::Logits, Point::Answer])
        .collect()
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn models_compute_in_a_graft_what_they_compute_alone() {
    let models = MODELS.map(|name| (name, model(name)));
    let mut grafts = 0;
    for (at, (name, first)) in models.iter().enumerate() {
        for (other, second) in &models[at..] {
            let whole = graft(&[("a", first), ("b", second)]);
            if first.input_shape() != second.input_shape() {
                assert!(matches!(whole, Err(GraftError::InputShape { .. })));
                continue;
            }
            grafts += 1;
            let whole = whole.unwrap();
            let x = inputs(first, 3);
            for (part, alone) in whole.parts.iter().zip([first, second]) {
                let context = format!("{name} and {other}, {}", part.prefix);
                let own = points(alone);
                let moved: Vec<Point> = own.iter().map(|&point| part.point(point)).collect();
                let run = |network: &Network, points: &[Point]| {
                    let pass = Pass::keep(points.iter().copied());
                    network.forward(&x, &pass.differentiating(points.iter().copied()))
                };
                let (found, expected) = (run(&whole.network, &moved), run(alone, &own));
                let rows = |points: &[Point]| -> Vec<Row<f32>> {
                    points.iter().map(|&point| Row::of(1, point, 0)).collect()
                };
                let gradients = whole.network.vjp(found.tape().unwrap(), &rows(&moved));
                let of_alone = alone.vjp(expected.tape().unwrap(), &rows(&own));
                assert_eq!(bits(&gradients), bits(&of_alone), "{context}");
                let (low, high): (Vec<f32>, Vec<f32>) =
                    x.iter().map(|x| (x - 0.01, x + 0.01)).unzip();
                let bounds = whole.network.intervals(&low, &high);
                let bounds_alone = alone.intervals(&low, &high);
                for (&moved, &own) in moved.iter().zip(&own) {
                    let (a, b) = (found.get(moved), expected.get(own));
                    assert_eq!(bits(a), bits(b), "{context}: {own:?}");
                    let (a, b) = (
                        whole.network.range(&bounds, moved),
                        alone.range(&bounds_alone, own),
                    );
                    assert_eq!(bits(&a.0), bits(&b.0), "{context}: {own:?}");
                    assert_eq!(bits(&a.1), bits(&b.1), "{context}: {own:?}");
                }
            }
        }
    }
    assert!(grafts > MODELS.len(), "some models share an input");
}
