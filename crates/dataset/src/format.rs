//! What a file format is: how to recognise one, and how to load it.

use std::path::Path;

use crate::dataset::Dataset;
use crate::error::DatasetError;
use crate::formats::ALL;

/// What the caller knows about the data before it is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Values a sample must have, from the model's input. CSV needs it to tell a last column that is a
    /// label from one that is a feature; the other formats do not.
    pub features: Option<usize>,
    /// Load at most so many samples, the first ones.
    pub limit: Option<usize>,
}

/// A kind of data file or folder. To add one: a file in `formats/`, a line in [`crate::formats::ALL`].
pub trait Format: Sync {
    /// A short name, unique among the formats.
    fn name(&self) -> &'static str;

    /// What a path of this format looks like, for help and messages.
    fn pattern(&self) -> &'static str;

    /// Whether the path (its name; for a folder, the names in it) is of this format.
    fn recognises(&self, path: &Path) -> bool;

    /// Reads the samples, at most `options.limit` of them.
    fn load(&self, path: &Path, options: &OpenOptions) -> Result<Dataset, DatasetError>;
}

/// The format of a path, by its name.
pub(crate) fn recognise(path: &Path) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.recognises(path))
}

/// What the formats look like, for a message.
pub(crate) fn patterns() -> String {
    let all: Vec<&str> = ALL.iter().map(|format| format.pattern()).collect();
    all.join("; ")
}

/// Whether the path is a file with this extension, in any case.
pub(crate) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|found| {
        extensions
            .iter()
            .any(|extension| found.eq_ignore_ascii_case(extension))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_patterns_are_given() {
        for (index, format) in ALL.iter().enumerate() {
            assert!(!format.pattern().is_empty());
            assert!(
                ALL[..index]
                    .iter()
                    .all(|other| other.name() != format.name())
            );
        }
    }

    #[test]
    fn names_of_files_tell_their_format() {
        for (path, name) in [
            ("mnist.npz", "npz"),
            ("X.NPY", "npy"),
            ("t10k-images-idx3-ubyte", "idx"),
            ("t10k-images.idx3-ubyte.gz", "idx"),
            ("a.idx", "idx"),
            ("test_batch.bin", "cifar"),
            ("iris.csv", "csv"),
        ] {
            let format = recognise(Path::new(path)).map(Format::name);
            assert_eq!(format, Some(name), "{path}");
        }
        assert!(recognise(Path::new("model.onnx")).is_none());
        assert!(recognise(Path::new("archive.tar.gz")).is_none());
    }
}
