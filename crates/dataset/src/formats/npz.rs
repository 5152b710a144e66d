//! `.npz`: an archive with samples `x` and, if there are labels, `y`. Other arrays in it are left alone.

use std::path::Path;

use crate::arrays::NpzReader;
use crate::dataset::Dataset;
use crate::elements::Elements;
use crate::error::DatasetError;
use crate::format::{Format, OpenOptions, has_extension};
use crate::npz_labels::{self, Labels};

/// Names of the samples, best first, each with the names its labels may have. Case does not matter.
const NAMES: &[(&str, &[&str])] = &[
    ("x", npz_labels::NAMES),
    ("x_test", &["y_test"]),
    ("images", npz_labels::NAMES),
    ("data", npz_labels::NAMES),
];

pub(super) struct Npz;

impl Format for Npz {
    fn name(&self) -> &'static str {
        "npz"
    }

    fn pattern(&self) -> &'static str {
        "a numpy archive (.npz) with x and y"
    }

    fn recognises(&self, path: &Path) -> bool {
        has_extension(path, &["npz"])
    }

    fn load(&self, path: &Path, options: &OpenOptions) -> Result<Dataset, DatasetError> {
        let mut archive = NpzReader::open(path)?;
        let (samples, labels) = choose(&archive).ok_or_else(|| DatasetError::NoSamplesArray {
            path: path.to_path_buf(),
            found: archive.listing(),
        })?;
        let labels = match labels {
            Some(name) => Labels::named(&mut archive, path, &name)?,
            None => Labels::absent(&archive, &[&samples]),
        };
        let declared = archive.samples(&samples);
        let (shape, elements) =
            archive.with_source(&samples, |source| Elements::read(source, options.limit))?;
        let dataset = Dataset::new(path, &shape, elements)?.with_array(&samples);
        labels.give(dataset, declared)
    }
}

/// The array of the samples and that of the labels.
fn choose(archive: &NpzReader) -> Option<(String, Option<String>)> {
    let find = |wanted: &str| {
        archive
            .names()
            .find(|name| name.eq_ignore_ascii_case(wanted))
            .map(str::to_owned)
    };
    for (samples, labels) in NAMES {
        if let Some(samples) = find(samples) {
            return Some((samples, labels.iter().find_map(|labels| find(labels))));
        }
    }
    let mut numbers = archive.names().filter(|name| archive.shape(name).is_some());
    match (numbers.next(), numbers.next()) {
        (Some(only), None) => Some((only.to_owned(), None)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::NpzWriter;
    use std::path::PathBuf;

    struct Archive {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    fn archive(fill: impl FnOnce(&mut NpzWriter) -> Result<(), DatasetError>) -> Archive {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.npz");
        let mut writer = NpzWriter::create(&path).unwrap();
        fill(&mut writer).unwrap();
        writer.finish().unwrap();
        Archive {
            _folder: folder,
            path,
        }
    }

    fn load(archive: &Archive, limit: Option<usize>) -> Result<Dataset, DatasetError> {
        let options = OpenOptions {
            limit,
            ..OpenOptions::default()
        };
        Npz.load(&archive.path, &options)
    }

    #[test]
    fn x_and_y_are_samples_and_labels() {
        let archive = archive(|writer| {
            writer.add("other", &[1], &[1.0_f64])?;
            writer.add("x", &[2, 2], &[0_u8, 1, 2, 3])?;
            writer.add("y", &[2, 1], &[7.0_f32, 9.0])
        });
        let dataset = load(&archive, None).unwrap();
        assert_eq!(dataset.elements(), &Elements::U8(vec![0, 1, 2, 3].into()));
        assert_eq!(dataset.labels(), Some(&[7, 9][..]));
        let dataset = load(&archive, Some(1)).unwrap();
        assert_eq!((dataset.len(), dataset.labels()), (1, Some(&[7][..])));
    }

    #[test]
    fn arrays_that_may_be_labels_are_not_passed_over_in_silence() {
        let archive = archive(|writer| {
            writer.add("x", &[2, 1], &[2.0_f32, 3.0])?;
            writer.add("classes", &[2], &[1_i64, 0])?;
            writer.add("names", &[3], &[1_i64, 0, 2])?;
            writer.add("scores", &[2, 4], &[0.0_f32; 8])
        });
        let dataset = load(&archive, Some(1)).unwrap();
        assert_eq!(
            (dataset.labels(), dataset.unread()),
            (None, &["classes".to_owned()][..])
        );
    }

    #[test]
    fn the_test_split_is_taken_with_its_labels() {
        let archive = archive(|writer| {
            writer.add("x_train", &[1, 1], &[1.0_f32])?;
            writer.add("y_train", &[1], &[1_i64])?;
            writer.add("X_test", &[2, 1], &[2.0_f32, 3.0])?;
            writer.add("y_test", &[2], &[2_i64, 3])
        });
        let dataset = load(&archive, None).unwrap();
        assert_eq!(dataset.labels(), Some(&[2, 3][..]));
    }

    #[test]
    fn the_only_array_is_taken_whatever_its_name() {
        let archive = archive(|writer| writer.add("arr_0", &[1, 2], &[1.0_f32, 2.0]));
        assert_eq!(load(&archive, None).unwrap().shape(), [2]);
    }

    #[test]
    fn unknown_names_are_listed() {
        let archive = archive(|writer| {
            writer.add("alpha", &[1, 2], &[1.0_f32, 2.0])?;
            writer.add("beta", &[1], &[1_u8])
        });
        let message = load(&archive, None).unwrap_err().to_string();
        assert!(
            message.contains("\"alpha\" (1x2), \"beta\" (1)"),
            "{message}"
        );
    }

    #[test]
    fn fractions_are_quantities() {
        let archive = archive(|writer| {
            writer.add("x", &[2, 1], &[1.0_f32, 2.0])?;
            writer.add("y", &[2], &[7.0_f32, 8.5])
        });
        let dataset = load(&archive, Some(1)).unwrap();
        assert_eq!((dataset.labels(), dataset.quantity(0)), (None, Some(7.0)));
    }

    #[test]
    fn labels_must_be_one_number_a_sample() {
        let one_hot = archive(|writer| {
            writer.add("x", &[1, 1], &[1.0_f32])?;
            writer.add("y", &[1, 3], &[0_u8, 1, 0])
        });
        let message = load(&one_hot, None).unwrap_err().to_string();
        assert!(message.contains("argmax"), "{message}");
        let too_many = archive(|writer| {
            writer.add("x", &[2, 1], &[1.0_f32, 2.0])?;
            writer.add("y", &[3], &[0_u8, 1, 0])
        });
        for limit in [None, Some(1)] {
            let error = load(&too_many, limit).unwrap_err();
            assert!(matches!(error, DatasetError::LabelCount { .. }), "{error}");
        }
    }
}
