//! Weights in files beside the model.
//!
//! A model names these files itself, so the name is input from a stranger: nothing
//! outside the model's own folder is ever opened, by whatever path or link.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use super::proto::StringStringEntryProto;
use super::quote::quote;

/// Tensors may share bytes, but a file in which thousands of tensors each claim the
/// same gigabyte is an attack. Small files may be read over and over.
const MAX_TIMES_READ: u64 = 8;
const ALWAYS_ALLOWED: u64 = 64 << 20;

/// Why the weights beside the model cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalFault {
    /// The model came from memory.
    #[error(
        "the values are in another file, but the model was not opened from a folder; open it by its path"
    )]
    NoFolder,
    /// External data without a file name.
    #[error("the values are in another file, which is not named; export the model again")]
    NoLocation,
    /// A path that leads away.
    #[error(
        "the values are in {}, which does not lie in the model's own folder; \
         put the weights beside the model and re-export with a relative file name",
        quote(location)
    )]
    OutsideFolder {
        /// The path in the model.
        location: String,
    },
    /// Most often the model was moved without its weights.
    #[error(
        "the values are in the file {}, which is missing; put it beside the model",
        quote(location)
    )]
    Missing {
        /// The path in the model.
        location: String,
    },
    /// A folder, a device, a pipe.
    #[error(
        "the values are in {}, which is not a regular file; export the model again",
        quote(location)
    )]
    NotAFile {
        /// The path in the model.
        location: String,
    },
    /// The operating system refuses.
    #[error(
        "the file {} beside the model cannot be read: {error}",
        quote(location)
    )]
    CannotRead {
        /// The path in the model.
        location: String,
        /// The system's reason.
        error: io::Error,
    },
    /// `offset` or `length` is not a number.
    #[error(
        "{key} of the external data is {}, not a number; export the model again",
        quote(value)
    )]
    NotANumber {
        /// `offset` or `length`.
        key: &'static str,
        /// The text in the model.
        value: String,
    },
    /// Shape and declared length disagree.
    #[error(
        "the shape needs {needed} bytes, but the external data has length {length}; export the model again"
    )]
    Length {
        /// Bytes the shape asks for.
        needed: u64,
        /// Bytes the model declares.
        length: u64,
    },
    /// The file is shorter than the model thinks.
    #[error(
        "{length} bytes at offset {offset} lie past the end of {}, which has {size}; \
         the file belongs to another model or is incomplete (a git LFS pointer?)",
        quote(location)
    )]
    PastEnd {
        /// The path in the model.
        location: String,
        /// Where the values should start.
        offset: u64,
        /// How many bytes they take.
        length: u64,
        /// Size of the file.
        size: u64,
    },
    /// The same bytes claimed by a great many tensors.
    #[error(
        "the tensors of the model claim many times the size of their files; export the model again"
    )]
    TooMuch,
}

/// The folder of one model, what was read from it, and the fingerprint of all of the model's files.
pub(super) struct ExternalFiles {
    folder: Option<PathBuf>,
    digest: Sha256,
    opened: BTreeSet<PathBuf>,
    /// Sum of the sizes of the files in `opened`.
    on_disk: u64,
    total_read: u64,
}

/// Where one tensor's bytes are.
struct Range<'a> {
    location: &'a str,
    offset: u64,
    length: Option<u64>,
}

impl ExternalFiles {
    /// Files beside a model in `folder`; `None` for a model that has no place.
    pub fn beside(folder: Option<&Path>) -> Self {
        // The parent of a bare file name is the empty path, which names nothing.
        let here = |folder: &Path| {
            if folder.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                folder.to_owned()
            }
        };
        Self {
            folder: folder.map(here),
            digest: Sha256::new(),
            opened: BTreeSet::new(),
            on_disk: 0,
            total_read: 0,
        }
    }

    /// Files of the model with these bytes; their fingerprint starts with it.
    pub fn of_model(bytes: &[u8], folder: Option<&Path>) -> Self {
        let mut files = Self::beside(folder);
        files.digest.update(bytes);
        files
    }

    /// The SHA-256 of the model's bytes and of every weight file, whole, in the order in which the
    /// model first refers to them.
    pub fn sha256(self) -> String {
        let hex = |byte: &u8| format!("{byte:02x}");
        self.digest.finalize().iter().map(hex).collect()
    }

    /// The `needed` bytes of a tensor, from where `entries` say.
    pub fn read(
        &mut self,
        entries: &[StringStringEntryProto],
        needed: u64,
    ) -> Result<Vec<u8>, ExternalFault> {
        let range = Range::from_entries(entries)?;
        if let Some(length) = range.length.filter(|&length| length != needed) {
            return Err(ExternalFault::Length { needed, length });
        }
        let path = self.resolve(range.location)?;
        let cannot_read = |error| ExternalFault::CannotRead {
            location: range.location.to_owned(),
            error,
        };
        let mut file = File::open(&path).map_err(cannot_read)?;
        let size = file.metadata().map_err(cannot_read)?.len();
        let end = range.offset.checked_add(needed);
        if end.is_none_or(|end| end > size) {
            return Err(ExternalFault::PastEnd {
                location: range.location.to_owned(),
                offset: range.offset,
                length: needed,
                size,
            });
        }
        if self.account(path, size, needed)? {
            // Through the handle the weights are read with, so that both are of the same file.
            io::copy(&mut (&mut file).take(size), &mut self.digest).map_err(cannot_read)?;
        }
        file.seek(SeekFrom::Start(range.offset))
            .map_err(cannot_read)?;
        read_exactly(&mut file, needed).map_err(cannot_read)
    }

    /// The regular file inside the folder that `location` names.
    fn resolve(&self, location: &str) -> Result<PathBuf, ExternalFault> {
        let folder = self.folder.as_deref().ok_or(ExternalFault::NoFolder)?;
        let outside = || ExternalFault::OutsideFolder {
            location: location.to_owned(),
        };
        // Refused by its text first: asking the system about a path outside would
        // already tell the model's author whether it exists.
        if !is_plain_relative(Path::new(location)) {
            return Err(outside());
        }
        let io_fault = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => ExternalFault::Missing {
                location: location.to_owned(),
            },
            _ => ExternalFault::CannotRead {
                location: location.to_owned(),
                error,
            },
        };
        let folder = folder.canonicalize().map_err(io_fault)?;
        let path = folder.join(location).canonicalize().map_err(io_fault)?;
        if !path.starts_with(&folder) {
            return Err(outside());
        }
        // Before opening: to open a pipe would wait for its other end.
        if !fs::metadata(&path).map_err(io_fault)?.is_file() {
            return Err(ExternalFault::NotAFile {
                location: location.to_owned(),
            });
        }
        Ok(path)
    }

    /// Counts what is read; tells whether it is the first from this file.
    fn account(&mut self, path: PathBuf, size: u64, needed: u64) -> Result<bool, ExternalFault> {
        let first = self.opened.insert(path);
        if first {
            self.on_disk = self.on_disk.saturating_add(size);
        }
        self.total_read = self.total_read.saturating_add(needed);
        let allowed = self.on_disk.saturating_mul(MAX_TIMES_READ);
        if self.total_read > allowed.max(ALWAYS_ALLOWED) {
            return Err(ExternalFault::TooMuch);
        }
        Ok(first)
    }
}

impl<'a> Range<'a> {
    fn from_entries(entries: &'a [StringStringEntryProto]) -> Result<Self, ExternalFault> {
        let value = |key: &str| {
            let entry = entries.iter().find(|entry| entry.key() == key);
            entry.map(StringStringEntryProto::value)
        };
        let number = |key: &'static str| {
            let parse = |value: &str| {
                value.trim().parse().map_err(|_| ExternalFault::NotANumber {
                    key,
                    value: value.to_owned(),
                })
            };
            value(key).map(parse).transpose()
        };
        Ok(Self {
            location: value("location").ok_or(ExternalFault::NoLocation)?,
            offset: number("offset")?.unwrap_or(0),
            length: number("length")?,
        })
    }
}

/// Names only: no root, drive, or `..`.
fn is_plain_relative(path: &Path) -> bool {
    let mut components = path.components().peekable();
    components.peek().is_some()
        && components.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The caller has checked that the file is that long.
fn read_exactly(file: &mut File, needed: u64) -> io::Result<Vec<u8>> {
    let needed = usize::try_from(needed).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(needed)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.resize(needed, 0);
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::super::fixtures::entries;
    use super::{ExternalFault, ExternalFiles};

    fn folder() -> TempDir {
        let outer = TempDir::new().unwrap();
        fs::write(outer.path().join("secret.bin"), [7; 16]).unwrap();
        let folder = outer.path().join("model");
        fs::create_dir_all(folder.join("weights")).unwrap();
        fs::write(folder.join("w.bin"), (0..16).collect::<Vec<u8>>()).unwrap();
        fs::write(folder.join("weights/w.bin"), [9; 4]).unwrap();
        outer
    }

    fn read(
        outer: &TempDir,
        pairs: &[(&str, &str)],
        needed: u64,
    ) -> Result<Vec<u8>, ExternalFault> {
        let folder = outer.path().join("model");
        ExternalFiles::beside(Some(&folder)).read(&entries(pairs), needed)
    }

    #[test]
    fn only_the_range_asked_for_is_read() {
        let outer = folder();
        let range = [("location", "w.bin"), ("offset", "4"), ("length", "3")];
        assert_eq!(read(&outer, &range, 3).unwrap(), [4, 5, 6]);
        assert_eq!(read(&outer, &range[..2], 2).unwrap(), [4, 5]);
        assert_eq!(read(&outer, &range[..1], 1).unwrap(), [0]);
        let nested = [("location", "./weights/w.bin"), ("checksum", "x")];
        assert_eq!(read(&outer, &nested, 4).unwrap(), [9; 4]);
    }

    #[test]
    fn the_fingerprint_is_of_the_model_then_of_each_file_once() {
        // `printf abc | sha256sum`
        let alone = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(ExternalFiles::of_model(b"abc", None).sha256(), alone);

        let outer = folder();
        let folder = outer.path().join("model");
        let mut files = ExternalFiles::of_model(b"abc", Some(&folder));
        for (location, offset) in [("weights/w.bin", "1"), ("w.bin", "8"), ("./w.bin", "2")] {
            let range = [("location", location), ("offset", offset)];
            files.read(&entries(&range), 2).unwrap();
        }
        let mut all = b"abc\x09\x09\x09\x09".to_vec();
        all.extend(0..16);
        let expected = ExternalFiles::of_model(&all, None).sha256();
        assert_eq!(files.sha256(), expected);
    }

    #[test]
    fn nothing_outside_the_folder_is_read() {
        let outer = folder();
        let absolute = outer.path().join("secret.bin");
        for location in [
            "../secret.bin",
            "weights/../../secret.bin",
            "weights/../w.bin",
            "/dev/zero",
            "",
            absolute.to_str().unwrap(),
        ] {
            let fault = read(&outer, &[("location", location)], 4).unwrap_err();
            assert!(
                matches!(fault, ExternalFault::OutsideFolder { .. }),
                "{location}: {fault}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_only_inside_the_folder() {
        use std::os::unix::fs::symlink;
        let outer = folder();
        let folder = outer.path().join("model");
        symlink("w.bin", folder.join("inside")).unwrap();
        symlink("../secret.bin", folder.join("outside")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        assert!(read(&outer, &[("location", "inside")], 4).is_ok());
        for location in ["outside", "up/secret.bin"] {
            let fault = read(&outer, &[("location", location)], 4).unwrap_err();
            assert!(matches!(fault, ExternalFault::OutsideFolder { .. }));
        }
    }

    #[test]
    fn a_folder_is_not_a_weight_file() {
        for location in ["weights", "."] {
            let fault = read(&folder(), &[("location", location)], 4).unwrap_err();
            assert!(matches!(fault, ExternalFault::NotAFile { .. }), "{fault}");
        }
    }

    #[test]
    fn ranges_past_the_end_are_refused() {
        let outer = folder();
        for (offset, needed) in [("13", 4), ("18446744073709551615", 4), ("0", 1 << 40)] {
            let range = [("location", "w.bin"), ("offset", offset)];
            let fault = read(&outer, &range, needed).unwrap_err();
            assert!(matches!(fault, ExternalFault::PastEnd { .. }), "{fault}");
        }
    }

    #[test]
    fn the_declared_length_must_fit_the_shape() {
        let range = [("location", "w.bin"), ("length", "8")];
        let fault = read(&folder(), &range, 4).unwrap_err();
        assert!(matches!(fault, ExternalFault::Length { .. }), "{fault}");
    }

    #[test]
    fn numbers_must_be_numbers() {
        for offset in ["-1", "x", "", "99999999999999999999"] {
            let range = [("location", "w.bin"), ("offset", offset)];
            let fault = read(&folder(), &range, 4).unwrap_err();
            assert!(matches!(fault, ExternalFault::NotANumber { .. }), "{fault}");
        }
    }

    #[test]
    fn a_missing_file_is_named_with_the_remedy() {
        let fault = read(&folder(), &[("location", "gone.bin")], 4).unwrap_err();
        let message = "the values are in the file `gone.bin`, which is missing; \
                       put it beside the model";
        assert_eq!(fault.to_string(), message);
    }

    #[test]
    fn a_model_without_folder_or_file_name_has_no_weights() {
        let fault = ExternalFiles::beside(None).read(&entries(&[("location", "w.bin")]), 4);
        assert!(matches!(fault, Err(ExternalFault::NoFolder)));
        let fault = read(&folder(), &[("offset", "0")], 4);
        assert!(matches!(fault, Err(ExternalFault::NoLocation)));
    }

    #[test]
    fn reading_the_same_bytes_for_ever_is_refused() {
        let outer = folder();
        let folder = outer.path().join("model");
        let size: u64 = 20 << 20;
        fs::File::create(folder.join("large.bin"))
            .unwrap()
            .set_len(size)
            .unwrap();
        let mut files = ExternalFiles::beside(Some(&folder));
        let large = entries(&[("location", "large.bin")]);
        for _ in 0..8 {
            files.read(&large, size).unwrap();
        }
        let fault = files.read(&large, size);
        assert!(matches!(fault, Err(ExternalFault::TooMuch)));
    }
}
