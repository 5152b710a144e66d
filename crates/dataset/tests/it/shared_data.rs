//! The data sets beside the project, where they are present.

use std::path::{Path, PathBuf};

use deepconcolic_dataset::{Dataset, OpenOptions};

/// The file, or `None` with a word on why the test does nothing.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")).join(name);
    if path.is_file() {
        Some(path)
    } else {
        println!("skipped: {name} is not beside the project");
        None
    }
}

#[test]
fn image_sets_meet_models_in_either_layout() {
    for (name, shape, channels_first) in [
        ("mnist_test.npz", [28, 28, 1], [1, 28, 28]),
        ("fashion_mnist_test.npz", [28, 28, 1], [1, 28, 28]),
        ("cifar10_test.npz", [32, 32, 3], [3, 32, 32]),
    ] {
        let Some(path) = shared(name) else { continue };
        let dataset = Dataset::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!((dataset.len(), dataset.shape()), (10_000, &shape[..]));
        let labels = dataset.labels().unwrap();
        assert!(labels.iter().all(|label| (0..10).contains(label)));

        let last = dataset.prepare(&shape, None).unwrap();
        let first = dataset.prepare(&channels_first, None).unwrap();
        assert!(last.is_image() && first.is_image());
        let (last, first) = (last.sample(6427), first.sample(6427));
        let [height, width, channels] = shape;
        for pixel in 0..height * width {
            for channel in 0..channels {
                let here = last[pixel * channels + channel];
                let there = first[channel * height * width + pixel];
                assert_eq!(here.to_bits(), there.to_bits());
            }
        }
    }
}

#[test]
fn tables_give_their_test_split() {
    for (name, len, features) in [
        ("digits.npz", 540, 64),
        ("iris.npz", 45, 4),
        ("wine.npz", 54, 13),
        ("breast_cancer.npz", 171, 30),
    ] {
        let Some(path) = shared(name) else { continue };
        let dataset = Dataset::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!((dataset.len(), dataset.shape()), (len, &[features][..]));
        assert_eq!(dataset.labels().unwrap().len(), len);
        let samples = dataset.prepare(&[1, features], None).unwrap();
        assert!(!samples.is_image());
        let (low, high) = samples.observed_range();
        assert!(low.iter().zip(&high).all(|(low, high)| low <= high));
    }
}
