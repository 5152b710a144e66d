//! CIFAR in its binary version: records of label bytes and 32x32 pixels, one colour plane after another.
//! A file, or the folder the archive unpacks to (all its batches, training before test).

use std::fs;
use std::path::{Path, PathBuf};

use crate::dataset::Dataset;
use crate::elements::Elements;
use crate::error::DatasetError;
use crate::format::{Format, OpenOptions, has_extension};

const SHAPE: [usize; 3] = [3, 32, 32];
const PIXELS: usize = 3072;

pub(super) struct Cifar;

/// What tells CIFAR-10 and CIFAR-100 apart.
struct Variant {
    name: &'static str,
    /// For each label byte of a record, the number of classes; the last one is the label we keep.
    classes: &'static [u8],
    /// File beside the data with the name of each class.
    names: &'static str,
}

static CIFAR_10: Variant = Variant {
    name: "CIFAR-10",
    classes: &[10],
    names: "batches.meta.txt",
};

/// Coarse label, then fine label.
static CIFAR_100: Variant = Variant {
    name: "CIFAR-100",
    classes: &[20, 100],
    names: "fine_label_names.txt",
};

impl Variant {
    fn record(&self) -> usize {
        self.classes.len() + PIXELS
    }

    /// Whether the bytes are whole records with labels in range.
    fn fits(&self, bytes: &[u8]) -> bool {
        !bytes.is_empty()
            && bytes.len().is_multiple_of(self.record())
            && bytes.chunks_exact(self.record()).all(|record| {
                let labels = record.iter().zip(self.classes);
                labels.fold(true, |fits, (label, classes)| fits && label < classes)
            })
    }
}

impl Format for Cifar {
    fn name(&self) -> &'static str {
        "cifar"
    }

    fn pattern(&self) -> &'static str {
        "CIFAR binary (.bin, or the folder of its batches)"
    }

    fn recognises(&self, path: &Path) -> bool {
        if path.is_dir() {
            batches(path).is_ok_and(|batches| !batches.is_empty())
        } else {
            has_extension(path, &["bin"])
        }
    }

    fn load(&self, path: &Path, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        let (files, folder) = if path.is_dir() {
            (batches(path)?, path)
        } else {
            let folder = path.parent().unwrap_or(Path::new(""));
            (vec![path.to_path_buf()], folder)
        };
        let limit = options.limit.unwrap_or(usize::MAX);
        let (mut pixels, mut labels) = (Vec::new(), Vec::new());
        let mut variant = None;
        for file in files {
            let bytes = fs::read(&file).map_err(DatasetError::reading(&file))?;
            let this = variant_of(&file, &bytes)?;
            if !std::ptr::eq(*variant.get_or_insert(this), this) {
                let detail = format!("holds {} among files of the other kind", this.name);
                return Err(DatasetError::malformed(&file, detail));
            }
            let missing = limit.saturating_sub(labels.len());
            for record in bytes.chunks_exact(this.record()).take(missing) {
                let (label_bytes, image) = record.split_at(this.classes.len());
                labels.extend(label_bytes.last().copied().map(i64::from));
                pixels.extend_from_slice(image);
            }
        }
        let dataset =
            Dataset::new(path, &SHAPE, Elements::U8(pixels.into()))?.with_labels(labels)?;
        Ok(
            match variant.and_then(|variant| class_names(folder, variant)) {
                Some(names) => dataset.with_class_names(names),
                None => dataset,
            },
        )
    }
}

/// The batches in a folder, under the names the archives give them: training, then test, each by name.
fn batches(folder: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let mut batches = Vec::new();
    for entry in fs::read_dir(folder).map_err(DatasetError::reading(folder))? {
        let path = entry.map_err(DatasetError::reading(folder))?.path();
        let is_batch = path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.starts_with("data_batch_") && name.ends_with(".bin")
                || ["test_batch.bin", "train.bin", "test.bin"].contains(&&*name)
        });
        if is_batch {
            batches.push(path);
        }
    }
    batches.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_owned();
        (name.to_string_lossy().starts_with("test"), name)
    });
    Ok(batches)
}

fn variant_of(path: &Path, bytes: &[u8]) -> Result<&'static Variant, DatasetError> {
    [&CIFAR_10, &CIFAR_100]
        .into_iter()
        .find(|variant| variant.fits(bytes))
        .ok_or_else(|| {
            DatasetError::malformed(
                path,
                format!(
                    "{} bytes that are not CIFAR records (CIFAR-10: 1 label byte below 10 and 3072 \
                     pixels; CIFAR-100: 2 label bytes and 3072 pixels); take the binary version",
                    bytes.len()
                ),
            )
        })
}

/// The names of the classes, when the file that lists them is there and complete.
fn class_names(folder: &Path, variant: &Variant) -> Option<Vec<String>> {
    let text = fs::read_to_string(folder.join(variant.names)).ok()?;
    let names: Vec<String> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    let classes = variant.classes.last().copied().map(usize::from);
    (Some(names.len()) == classes).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(labels: &[u8], value: u8) -> Vec<u8> {
        let mut bytes = labels.to_vec();
        bytes.resize(labels.len() + PIXELS, value);
        bytes
    }

    fn load(path: &Path, limit: Option<usize>) -> Result<Dataset, DatasetError> {
        let options = OpenOptions {
            limit,
            ..OpenOptions::default()
        };
        Cifar.load(path, &options)
    }

    #[test]
    fn cifar_10_has_one_label_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any.bin");
        fs::write(&path, [record(&[3], 1), record(&[9], 2)].concat()).unwrap();
        let dataset = load(&path, None).unwrap();
        assert_eq!((dataset.len(), dataset.shape()), (2, &SHAPE[..]));
        assert_eq!(dataset.labels(), Some(&[3, 9][..]));
        assert_eq!(load(&path, Some(1)).unwrap().labels(), Some(&[3][..]));
    }

    #[test]
    fn cifar_100_keeps_the_fine_label() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.bin");
        fs::write(&path, record(&[19, 99], 1)).unwrap();
        assert_eq!(load(&path, None).unwrap().labels(), Some(&[99][..]));
    }

    #[test]
    fn a_folder_gives_its_batches_in_order_and_its_names() {
        let folder = tempfile::tempdir().unwrap();
        for (name, label) in [("test_batch", 3), ("data_batch_2", 2), ("data_batch_1", 1)] {
            let path = folder.path().join(format!("{name}.bin"));
            fs::write(path, record(&[label], 0)).unwrap();
        }
        let names = "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";
        fs::write(folder.path().join("batches.meta.txt"), names).unwrap();
        assert!(Cifar.recognises(folder.path()));
        let dataset = load(folder.path(), None).unwrap();
        assert_eq!(dataset.labels(), Some(&[1, 2, 3][..]));
        assert_eq!(dataset.class_names().unwrap()[3], "cat");
        assert_eq!(load(folder.path(), Some(2)).unwrap().len(), 2);
    }

    #[test]
    fn other_bytes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any.bin");
        for bytes in [vec![], vec![0; 100], record(&[10], 0), record(&[20, 0], 0)] {
            fs::write(&path, &bytes).unwrap();
            let message = load(&path, None).unwrap_err().to_string();
            assert!(message.contains("not CIFAR records"), "{message}");
        }
    }
}
