//! Files written by numpy itself (see `testdata/README.md`).

use std::path::{Path, PathBuf};

use deepconcolic_dataset::arrays::read_npy;
use deepconcolic_dataset::{Dataset, DatasetError, Elements, OpenOptions};

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

fn open(name: &str) -> Result<Dataset, DatasetError> {
    Dataset::open(&testdata(name), &OpenOptions::default())
}

fn floats(name: &str) -> Vec<f32> {
    let dataset = open(name).unwrap();
    assert_eq!((dataset.len(), dataset.shape()), (3, &[4][..]));
    match dataset.elements() {
        Elements::F32(values) => values.to_vec(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn archives_plain_and_compressed_are_read() {
    for name in ["savez.npz", "savez_compressed.npz"] {
        let dataset = open(name).unwrap();
        assert_eq!((dataset.len(), dataset.shape()), (2, &[2, 3, 2][..]));
        assert_eq!(dataset.elements(), &Elements::U8((0..24).collect()));
        assert_eq!(dataset.labels(), Some(&[3, 5][..]));
    }
}

#[test]
fn element_types_and_orders_are_read() {
    let count = || (0_u8..12).map(f32::from);
    assert_eq!(
        floats("fortran_f8_big_endian.npy"),
        count().collect::<Vec<_>>()
    );
    assert_eq!(
        floats("i2_big_endian.npy"),
        count().map(|v| v - 6.0).collect::<Vec<_>>()
    );
    assert_eq!(
        floats("f2.npy"),
        count().map(|v| v / 8.0 - 0.5).collect::<Vec<_>>()
    );
    assert_eq!(
        floats("bool.npy"),
        count().map(|v| v % 2.0).collect::<Vec<_>>()
    );
}

#[test]
fn integers_are_read_as_integers() {
    let array = read_npy::<i64>(&testdata("i2_big_endian.npy")).unwrap();
    assert_eq!(array.values, (-6..6).collect::<Vec<_>>());
    assert!(read_npy::<u8>(&testdata("i2_big_endian.npy")).is_err());
}

#[test]
fn objects_and_records_are_refused_with_a_way_out() {
    for (name, why) in [
        ("objects.npz", "Python objects"),
        ("record.npy", "several fields"),
    ] {
        let message = open(name).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
        assert!(message.contains("astype"), "{message}");
    }
}
