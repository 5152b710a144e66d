//! What can go wrong with data. Every message says what, where, and the way out.

use std::io;
use std::path::{Path, PathBuf};

/// An error about a data file: reading it, or fitting it to a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The operating system refused.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: "read", "write", ...
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// Nothing is there to read.
    #[error("{path}: there is no such file or folder; check the path and the folder you are in")]
    Missing {
        /// The path the user gave.
        path: PathBuf,
    },
    /// No format recognises the path.
    #[error("{path}: not a known kind of data; give one of: {known}")]
    UnknownFormat {
        /// The path the user gave.
        path: PathBuf,
        /// Every format with the names it recognises.
        known: String,
    },
    /// An array of a numpy or IDX file cannot be used.
    #[error("{place}: {problem}")]
    Array {
        /// The file, and the array in it where there are several.
        place: String,
        /// What is wrong with it.
        problem: ArrayError,
    },
    /// An npz archive in which no array is known to hold the samples.
    #[error(
        "{path}: no array named \"x\"; found {found}; save the samples as \"x\" and the labels as \"y\""
    )]
    NoSamplesArray {
        /// The archive.
        path: PathBuf,
        /// The arrays there are, with their shapes.
        found: String,
    },
    /// The file contradicts its format.
    #[error("{place}: {detail}")]
    Malformed {
        /// The file, and where in it when known.
        place: String,
        /// What was found, what was expected, what to do.
        detail: String,
    },
    /// There is nothing to test with.
    #[error("{path}: holds no samples; give at least one")]
    Empty {
        /// The file or folder.
        path: PathBuf,
    },
    /// A sample holds NaN or an infinity.
    #[error(
        "{path}: sample {sample} holds {value} (value {feature} of the sample); remove or repair it"
    )]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// Index of the sample, from 0.
        sample: usize,
        /// Index in the sample, C order, from 0.
        feature: usize,
        /// The value itself.
        value: f32,
    },
    /// Labels and samples do not pair up.
    #[error("{path}: {labels} labels for {samples} samples; give one label a sample")]
    LabelCount {
        /// The file.
        path: PathBuf,
        /// How many labels there are.
        labels: usize,
        /// How many samples there are.
        samples: usize,
    },
    /// The samples do not fit the model's input.
    #[error(transparent)]
    Mismatch(Box<Mismatch>),
    /// A scale that no value can be divided by.
    #[error(
        "scale {scale}: values are divided by it, so it must be a positive number that keeps them finite; for 8-bit images 255 is usual"
    )]
    Scale {
        /// The scale the user gave.
        scale: f32,
    },
    /// The caller's values do not fill the shape they are to be saved with.
    #[error("{place}: {values} values cannot be written with shape {shape}")]
    WrongLength {
        /// The file, and the array in it.
        place: String,
        /// How many values were given.
        values: usize,
        /// The shape they were given with.
        shape: String,
    },
    /// An image that no PNG file can hold.
    #[error("{path}: {channels} channels cannot be written as PNG; an image has 1, 3 or 4")]
    Channels {
        /// The file.
        path: PathBuf,
        /// How many there are.
        channels: usize,
    },
}

/// How samples and a model's input differ.
#[derive(Debug, thiserror::Error)]
#[error("{place} has shape {data} but the model takes {model} ({reason}); {way_out}")]
pub struct Mismatch {
    /// The file, and the array in it.
    pub place: String,
    /// Shape of the whole set.
    pub data: String,
    /// Shape of the model's input.
    pub model: String,
    /// Why the one cannot become the other.
    pub reason: String,
    /// What the user can do.
    pub way_out: &'static str,
}

/// What is wrong with one array, apart from where it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// Reading failed, or decompression did.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// The bytes end before the array does.
    #[error("ends early: the file is cut short; copy or download it again")]
    Truncated,
    /// The bytes are not an array, or its header is broken.
    #[error("broken header: {0}; save the array again")]
    Header(String),
    /// Elements that are not plain numbers.
    #[error(
        "elements of type {descr} are not supported: {reason}; convert with astype('float32') and save again"
    )]
    Unsupported {
        /// The type as the header spells it.
        descr: String,
        /// Why it cannot be used.
        reason: &'static str,
    },
    /// The header claims more than the file can hold.
    #[error(
        "header claims shape {shape} ({needed} bytes) but the file can hold at most {available} bytes of it; the file is damaged or cut short"
    )]
    TooLarge {
        /// The shape claimed.
        shape: String,
        /// Bytes it would take.
        needed: u128,
        /// Bytes the file can give.
        available: u64,
    },
    /// More bytes follow the array.
    #[error(
        "bytes follow the end of the array (shape {0}); the header is damaged or several arrays were joined; save one array"
    )]
    Trailing(String),
    /// The array is real but does not fit in memory.
    #[error("{0} bytes do not fit in memory; use fewer samples")]
    Memory(u128),
    /// A value that the asked-for type cannot hold.
    #[error("value {index} is {value}, which is not {expected}")]
    Value {
        /// Index in the array, in file order.
        index: usize,
        /// The value found.
        value: String,
        /// What was expected: "an integer", ...
        expected: &'static str,
    },
    /// An archive without such an array.
    #[error("there is no such array; found {0}")]
    Missing(String),
}

impl From<io::Error> for ArrayError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Self::Truncated
        } else {
            Self::Io(error)
        }
    }
}

impl ArrayError {
    /// Adds the file the array is in.
    pub(crate) fn in_file(self, path: &Path) -> DatasetError {
        DatasetError::Array {
            place: path.display().to_string(),
            problem: self,
        }
    }

    /// Adds the archive and the name of the array in it.
    pub(crate) fn in_archive(self, path: &Path, array: &str) -> DatasetError {
        DatasetError::Array {
            place: array_place(path, Some(array)),
            problem: self,
        }
    }
}

impl DatasetError {
    /// For `map_err` on reading from `path`.
    pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::Missing {
                path: path.to_path_buf(),
            },
            _ => Self::io(path, "read")(source),
        }
    }

    /// For `map_err` on any other action on `path`.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_path_buf(),
            action,
            source,
        }
    }

    /// The file at `path` contradicts its format.
    pub(crate) fn malformed(path: &Path, detail: impl Into<String>) -> Self {
        Self::Malformed {
            place: path.display().to_string(),
            detail: detail.into(),
        }
    }
}

/// `mnist.npz: array "x"`, the start of messages about one array.
pub(crate) fn array_place(path: &Path, array: Option<&str>) -> String {
    match array {
        Some(array) => format!("{}: array {}", path.display(), excerpt(array)),
        None => path.display().to_string(),
    }
}

/// Text from a file, fit for a message: quoted, escaped, and cut when long.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_files_is_quoted_escaped_and_cut() {
        assert_eq!(excerpt("x"), "\"x\"");
        assert_eq!(excerpt("\u{1b}[2J"), "\"\\u{1b}[2J\"");
        assert_eq!(excerpt(&"é".repeat(50)), format!("{:?}...", "é".repeat(40)));
    }
}
