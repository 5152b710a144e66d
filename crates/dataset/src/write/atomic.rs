//! A file that takes its name only once it is complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::DatasetError;

/// A file under construction. [`AtomicFile::commit`] gives it its name, replacing what was there; dropped
/// before that, it is deleted, and what was there stays.
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
    writer: BufWriter<File>,
    target: PathBuf,
    temporary: Temporary,
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
        if path.file_name().is_none() || path.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        loop {
            let temporary = temporary_beside(path);
            match File::create_new(&temporary) {
                Ok(file) => {
                    return Ok(Self {
                        writer: BufWriter::new(file),
                        target: path.to_path_buf(),
                        temporary: Temporary(temporary),
                    });
                }
                // Left by a process that was killed and had our id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// The name the file will have.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Makes the contents durable, then visible under the final name.
    pub fn commit(mut self) -> Result<(), DatasetError> {
        self.writer
            .flush()
            .and_then(|()| self.writer.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.temporary.0, &self.target))
            .map_err(DatasetError::io(&self.target, "write"))
    }
}

fn temporary_beside(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{counter}.tmp", process::id()));
    path.with_file_name(name)
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.writer.seek(position)
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
}
