//! The labels in a numpy archive: one number a sample, classes where they are integers, else quantities.

use std::path::Path;

use crate::arrays::NpzReader;
use crate::dataset::Dataset;
use crate::error::{ArrayError, DatasetError, array_place};
use crate::shape::Shape;

/// What labels are called, best first. Case does not matter.
pub(crate) const NAMES: &[&str] = &["y", "labels", "label", "target", "targets"];

/// Labels as they were read.
pub(crate) enum Labels {
    /// There are none. Of these arrays, which were not read, each has one number a sample.
    Absent(Vec<String>),
    /// Class numbers.
    Classes(Vec<i64>),
    /// Other numbers.
    Quantities(Vec<f64>),
}

impl Labels {
    /// The array of this name.
    pub fn named(archive: &mut NpzReader, path: &Path, name: &str) -> Result<Self, DatasetError> {
        one_each(archive, path, name)?;
        match archive.read::<i64>(name) {
            Ok(array) => Ok(Self::Classes(array.values)),
            Err(DatasetError::Array {
                problem: ArrayError::Value { .. },
                ..
            }) => Ok(Self::Quantities(archive.read::<f64>(name)?.values)),
            Err(other) => Err(other),
        }
    }

    /// The labels beside arrays of these names, if there are any.
    pub fn beside(
        archive: &mut NpzReader,
        path: &Path,
        inputs: &[&str],
    ) -> Result<Self, DatasetError> {
        let is_input = |array: &str| inputs.contains(&array);
        let called = |name: &str| {
            archive
                .names()
                .find(|array| array.eq_ignore_ascii_case(name) && !is_input(array))
                .map(str::to_owned)
        };
        match NAMES.iter().find_map(|name| called(name)) {
            Some(name) => Self::named(archive, path, &name),
            None => Ok(Self::absent(archive, inputs)),
        }
    }

    /// No labels are called so beside these samples. What might have been meant is remembered, so that it is not passed
    /// over in silence.
    pub fn absent(archive: &NpzReader, samples: &[&str]) -> Self {
        let declared = samples.first().and_then(|name| archive.samples(name));
        let one_each = |name: &&str| {
            let shape = archive.shape(name);
            matches!(shape, Some([n] | [n, 1]) if Some(*n) == declared) && !samples.contains(name)
        };
        Self::Absent(
            archive
                .names()
                .filter(one_each)
                .map(str::to_owned)
                .collect(),
        )
    }

    /// Gives samples their labels. Of `declared` samples some may have been left out, and then so are their labels;
    /// only what belongs together may be cut together.
    pub fn give(self, dataset: Dataset, declared: Option<usize>) -> Result<Dataset, DatasetError> {
        let kept = dataset.len();
        match self {
            Self::Absent(perhaps) => Ok(dataset.with_unread(perhaps)),
            Self::Classes(labels) => dataset.with_labels(cut(labels, declared, kept)),
            Self::Quantities(values) => dataset.with_quantities(cut(values, declared, kept)),
        }
    }
}

fn cut<T>(mut labels: Vec<T>, declared: Option<usize>, kept: usize) -> Vec<T> {
    if declared == Some(labels.len()) {
        labels.truncate(kept);
    }
    labels
}

/// Refuses labels that are not one number a sample.
fn one_each(archive: &NpzReader, path: &Path, name: &str) -> Result<(), DatasetError> {
    if let Some(shape) = archive.shape(name)
        && !matches!(shape, [_] | [_, 1])
    {
        return Err(DatasetError::Malformed {
            place: array_place(path, Some(name)),
            detail: format!(
                "labels of shape {}; give one number a sample (for one-hot labels, argmax(axis=1))",
                Shape(shape)
            ),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::write::NpzWriter;

    #[test]
    fn labels_are_found_whatever_the_case_of_their_name() {
        for (inputs, labels) in [("X", "Y"), ("images", "targets"), ("x", "Label")] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("data.npz");
            let mut writer = NpzWriter::create(&path).unwrap();
            writer.add(inputs, &[2, 1], &[1.0_f32, 2.0]).unwrap();
            writer.add(labels, &[2], &[1_i64, 0]).unwrap();
            writer.finish().unwrap();
            let mut archive = NpzReader::open(&path).unwrap();
            let found = Labels::beside(&mut archive, &path, &[inputs]).unwrap();
            assert!(
                matches!(found, Labels::Classes(l) if l == [1, 0]),
                "{labels}"
            );
        }
    }

    #[test]
    fn labels_of_text_are_refused_and_not_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.npz");
        let mut writer = NpzWriter::create(&path).unwrap();
        writer.add("image", &[1, 1], &[1.0_f32]).unwrap();
        writer.finish().unwrap();
        // What `numpy.savez(..., y=numpy.array(["a"]))` writes: one character of four bytes.
        let header = "{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }";
        let mut text = b"\x93NUMPY\x01\x00".to_vec();
        text.extend((header.len() as u16).to_le_bytes());
        text.extend(header.as_bytes());
        text.extend(b"a\0\0\0");
        let file = std::fs::File::options().read(true).write(true).open(&path);
        let mut archive = zip::ZipWriter::new_append(file.unwrap()).unwrap();
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file("y.npy", options).unwrap();
        archive.write_all(&text).unwrap();
        archive.finish().unwrap();

        let mut archive = NpzReader::open(&path).unwrap();
        let labels = Labels::beside(&mut archive, &path, &["image"]);
        let message = labels.err().unwrap().to_string();
        for part in ["\"y\"", "they are text"] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
    }
}
