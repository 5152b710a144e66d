//! Whatever the bytes, opening them gives a data set or an error, never a panic or a flood of memory.

use std::fs;
use std::io::Write;
use std::path::Path;

use deepconcolic_dataset::write::{NpzWriter, write_npy, write_png};
use deepconcolic_dataset::{Dataset, OpenOptions};
use flate2::{Compression, write::GzEncoder};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// A valid file of every format, by the name that makes it recognised; images are put in a folder.
fn specimens() -> Vec<(&'static str, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let idx = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4];
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(&idx).unwrap();
    let mut cifar = vec![7; 2 * 3073];
    cifar[3073] = 9;
    let mut made = vec![
        ("a.idx", idx.to_vec()),
        ("a.idx.gz", gz.finish().unwrap()),
        ("a.bin", cifar),
        ("a.csv", b"a,b,label\n1,2,cat\n3,4.5e1,\"dog\"\n".to_vec()),
    ];

    let npy = folder.path().join("a.npy");
    write_npy(&npy, &[2, 3], &[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    let npz = folder.path().join("a.npz");
    let mut writer = NpzWriter::create(&npz).unwrap();
    writer.add("x", &[2, 2], &[1_u8, 2, 3, 4]).unwrap();
    writer.add("y", &[2], &[1_i64, 2]).unwrap();
    writer.finish().unwrap();
    let png = folder.path().join("a.png");
    let pixels: Vec<u8> = (0..81).flat_map(|i| [i / 9, i % 9, 99]).collect();
    write_png(&png, 9, 9, 3, &pixels).unwrap();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for (name, path) in [
        ("a.npy", npy),
        ("a.npz", npz),
        ("images/a.png", png),
        ("images/a.jpg", kept.join("colour.jpg")),
        ("images/a.jpg", kept.join("progressive.jpg")),
    ] {
        made.push((name, fs::read(path).unwrap()));
    }
    made
}

/// Opens the bytes under that name, and if they are data, uses them.
fn open(name: &str, bytes: &[u8], limit: Option<usize>) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    let parent = file.parent().unwrap();
    fs::create_dir_all(parent).unwrap();
    fs::write(&file, bytes).unwrap();
    let path = if parent == folder.path() {
        &file
    } else {
        parent
    };
    let options = OpenOptions {
        features: None,
        limit,
    };
    let Ok(dataset) = Dataset::open(path, &options) else {
        return false;
    };
    let samples = dataset.prepare(&[dataset.features()], None).unwrap();
    assert!(
        samples
            .sample(dataset.len() - 1)
            .iter()
            .all(|v| v.is_finite())
    );
    true
}

#[test]
fn the_specimens_are_valid() {
    for (name, bytes) in specimens() {
        assert!(open(name, &bytes, None), "{name}");
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        for (name, _) in specimens() {
            open(name, &bytes, None);
        }
    }

    #[test]
    fn damaged_files_never_panic(
        changes in vec((any::<Index>(), any::<u8>()), 1..6),
        end in proptest::option::of(any::<Index>()),
        limit in proptest::option::of(0_usize..3),
    ) {
        for (name, mut bytes) in specimens() {
            for (place, value) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *value;
            }
            if let Some(end) = end {
                bytes.truncate(end.index(bytes.len()));
            }
            open(name, &bytes, limit);
        }
    }

    #[test]
    fn headers_that_lie_never_panic(shape in "[0-9(), L]{0,40}", descr in "[<>|=]?[a-zA-Z][0-9]{0,3}") {
        let text = format!("{{'descr': '{descr}', 'fortran_order': True, 'shape': ({shape}), }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.bytes());
        bytes.extend([1; 64]);
        open("a.npy", &bytes, Some(1));
    }
}
