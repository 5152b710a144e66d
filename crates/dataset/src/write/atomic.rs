//! A file that takes its name only once it is complete.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::destination::Destination;
use crate::error::DatasetError;

/// A file under construction. [`AtomicFile::commit`] gives it its name, replacing what was there; dropped
/// before that, it is deleted, and what was there stays. The name of a link stands for the file it leads
/// to. A device or a pipe keeps its place: it is written to when the contents are complete.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use deepconcolic_dataset::write::AtomicFile;
/// use std::io::Write;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("run.json");
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"{}")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"{}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    /// The name the user gave.
    path: PathBuf,
    draft: Draft,
}

/// Where the contents are until they are complete.
#[derive(Debug)]
enum Draft {
    /// In a file beside its place.
    File {
        writer: BufWriter<File>,
        target: PathBuf,
        temporary: Temporary,
    },
    /// In memory: archives are not written from front to back, as a pipe must be.
    Memory {
        bytes: Cursor<Vec<u8>>,
        target: Destination,
    },
}

/// Deletes the file it names unless it was renamed away.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing here to delete. Otherwise a failure to clean up must not hide
        // the error that brought us here.
        let _ = fs::remove_file(&self.0);
    }
}

impl AtomicFile {
    /// Starts a file that will be called `path`, in the same folder, so that the rename cannot cross
    /// file systems.
    pub fn create(path: &Path) -> Result<Self, DatasetError> {
        let failed = |error| DatasetError::io(path, "write")(error);
        let draft = match Destination::of(path).map_err(failed)? {
            Destination::File(target) => beside(target).map_err(failed)?,
            target => Draft::Memory {
                bytes: Cursor::default(),
                target,
            },
        };
        let path = path.to_path_buf();
        Ok(Self { path, draft })
    }

    /// The name the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the contents durable, then visible under the final name.
    pub fn commit(self) -> Result<(), DatasetError> {
        self.show(File::sync_all)
    }

    /// Makes the contents visible under the final name without waiting for the disk: for pictures and pages, which
    /// come by the thousand and can be made again from files that are durable.
    pub fn publish(self) -> Result<(), DatasetError> {
        self.show(|_| Ok(()))
    }

    fn show(self, sync: impl FnOnce(&File) -> io::Result<()>) -> Result<(), DatasetError> {
        let done = match self.draft {
            Draft::File {
                mut writer,
                target,
                temporary,
            } => writer
                .flush()
                .and_then(|()| sync(writer.get_ref()))
                .and_then(|()| fs::rename(&temporary.0, target)),
            Draft::Memory { bytes, target } => target.write(bytes.get_ref()),
        };
        done.map_err(DatasetError::io(&self.path, "write"))
    }

    /// Whether a file of this name is one that a process was still writing.
    pub fn is_temporary(name: &OsStr) -> bool {
        parts(name).is_some()
    }

    /// Whether a file of this name was to become `target`.
    pub fn is_temporary_of(name: &OsStr, target: &str) -> bool {
        parts(name).is_some_and(|found| found == target.as_bytes())
    }
}

fn beside(target: PathBuf) -> io::Result<Draft> {
    loop {
        let temporary = temporary_beside(&target);
        match File::create_new(&temporary) {
            Ok(file) => {
                return Ok(Draft::File {
                    writer: BufWriter::new(file),
                    target,
                    temporary: Temporary(temporary),
                });
            }
            // Left by a process that was killed and had our id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// The name of a file under construction: that of the target, of the process, and a number.
fn temporary_beside(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{counter}.tmp", process::id()));
    path.with_file_name(name)
}

/// The target's name in the name of a file under construction.
fn parts(name: &OsStr) -> Option<&[u8]> {
    let rest = name.as_encoded_bytes().strip_prefix(b".")?;
    let rest = rest.strip_suffix(b".tmp")?;
    let dot = rest.iter().rposition(|&byte| byte == b'.')?;
    let numbers = std::str::from_utf8(&rest[dot + 1..]).ok()?;
    let (process, counter) = numbers.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(process) && is_number(counter)).then_some(&rest[..dot])
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.draft {
            Draft::File { writer, .. } => writer.write(bytes),
            Draft::Memory { bytes: memory, .. } => memory.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.draft {
            Draft::File { writer, .. } => writer.flush(),
            Draft::Memory { .. } => Ok(()),
        }
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match &mut self.draft {
            Draft::File { writer, .. } => writer.seek(position),
            Draft::Memory { bytes, .. } => bytes.seek(position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn an_abandoned_file_leaves_the_old_one_and_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names_in(folder.path()), ["a.npy"]);
    }

    #[test]
    fn a_committed_file_replaces_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"newer").unwrap();
        file.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(names_in(folder.path()), ["a.npy"]);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none").join("a.npy");
        let message = AtomicFile::create(&missing).unwrap_err().to_string();
        assert!(message.contains("a.npy: cannot write"), "{message}");
        assert!(AtomicFile::create(folder.path()).is_err());
    }

    #[test]
    fn only_names_of_files_under_construction_are_taken_for_such() {
        let made = temporary_beside(Path::new("a/suite.npz"));
        let name = made.file_name().unwrap();
        assert!(AtomicFile::is_temporary(name));
        assert!(AtomicFile::is_temporary_of(name, "suite.npz"));
        assert!(!AtomicFile::is_temporary_of(name, "suite"));
        for other in [
            ".bashrc",
            "a.tmp",
            ".a.tmp",
            ".a.1.tmp",
            ".a.1-x.tmp",
            ".a.-1.tmp",
        ] {
            assert!(!AtomicFile::is_temporary(OsStr::new(other)), "{other}");
        }
    }
}
