//! Where the certificates of a run are kept, by number: in a folder, or in memory for a run that leaves none.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, mem};

use deepconcolic_dataset::write::AtomicFile;

use crate::error::Error;

/// How the file of a certificate ends.
pub const EXTENSION: &str = "certificate";
/// How the file of a certificate that was not accepted ends.
const REJECTED: &str = "rejected";

/// The file of a certificate in a folder.
pub fn file(folder: &Path, number: i64) -> PathBuf {
    folder.join(format!("{number:05}.{EXTENSION}"))
}

/// What is kept under a number.
pub enum Stored {
    /// Nothing.
    Missing,
    /// A certificate that was not accepted once.
    SetAside,
    /// A certificate.
    Bytes(Vec<u8>),
}

/// Keeps certificates.
pub trait CertificateStore: Send + Sync {
    /// What is kept under a number.
    fn read(&self, number: i32) -> Result<Stored, Error>;

    /// Keeps a certificate; it is there whole or not at all.
    fn write(&self, number: i32, bytes: &[u8]) -> Result<(), Error>;

    /// Sets a certificate aside that was not accepted, and says under which name.
    fn set_aside(&self, number: i32) -> Result<String, Error>;

    /// Removes the certificates from a number on.
    fn truncate(&self, number: i32) -> Result<(), Error>;
}

/// A folder of files.
pub struct CertificateFolder(pub PathBuf);

impl CertificateFolder {
    fn file(&self, number: i32) -> PathBuf {
        file(&self.0, number.into())
    }
}

impl CertificateStore for CertificateFolder {
    fn read(&self, number: i32) -> Result<Stored, Error> {
        let path = self.file(number);
        if path.exists() {
            return fs::read(&path).map(Stored::Bytes).map_err(unusable(&path));
        }
        Ok(if path.with_extension(REJECTED).exists() {
            Stored::SetAside
        } else {
            Stored::Missing
        })
    }

    fn write(&self, number: i32, bytes: &[u8]) -> Result<(), Error> {
        let path = self.file(number);
        fs::create_dir_all(&self.0)
            .map_err(|e| Error::Request(format!("{} cannot be made: {e}", self.0.display())))?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(bytes)
            .map_err(|e| Error::Request(format!("{} cannot be written: {e}", path.display())))?;
        Ok(file.commit()?)
    }

    fn set_aside(&self, number: i32) -> Result<String, Error> {
        let path = self.file(number);
        let aside = path.with_extension(REJECTED);
        fs::rename(&path, &aside).map_err(unusable(&path))?;
        Ok(aside
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned())
    }

    fn truncate(&self, number: i32) -> Result<(), Error> {
        for number in number.. {
            let path = self.file(number);
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => {
                    let path = path.display();
                    return Err(Error::Request(format!("{path} cannot be removed: {error}")));
                }
            }
        }
        Ok(())
    }
}

fn unusable(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    |e| Error::Request(format!("{} cannot be used: {e}", path.display()))
}

/// Certificates of a run without a folder.
#[derive(Default)]
pub struct CertificatesInMemory(Mutex<BTreeMap<i32, Vec<u8>>>);

impl CertificatesInMemory {
    fn all(&self) -> MutexGuard<'_, BTreeMap<i32, Vec<u8>>> {
        // What a panic interrupted is at most one whole entry.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CertificateStore for CertificatesInMemory {
    fn read(&self, number: i32) -> Result<Stored, Error> {
        let bytes = self.all().get(&number).cloned();
        Ok(bytes.map_or(Stored::Missing, Stored::Bytes))
    }

    fn write(&self, number: i32, bytes: &[u8]) -> Result<(), Error> {
        self.all().insert(number, bytes.to_vec());
        Ok(())
    }

    fn set_aside(&self, number: i32) -> Result<String, Error> {
        self.all().remove(&number);
        Ok("nothing".into())
    }

    fn truncate(&self, number: i32) -> Result<(), Error> {
        let mut all = self.all();
        let mut kept = mem::take(&mut *all);
        kept.split_off(&number);
        *all = kept;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_stores_keep_replace_and_drop() {
        let folder = tempfile::tempdir().unwrap();
        let stores: [Box<dyn CertificateStore>; 2] = [
            Box::new(CertificateFolder(folder.path().join("certificates"))),
            Box::new(CertificatesInMemory::default()),
        ];
        for store in stores {
            assert!(matches!(store.read(0).unwrap(), Stored::Missing));
            for number in 0..4 {
                store.write(number, &[number as u8]).unwrap();
            }
            assert!(matches!(store.read(2).unwrap(), Stored::Bytes(b) if b == [2]));
            store.truncate(2).unwrap();
            assert!(matches!(store.read(2).unwrap(), Stored::Missing));
            store.set_aside(1).unwrap();
            assert!(!matches!(store.read(1).unwrap(), Stored::Bytes(_)));
            assert!(matches!(store.read(0).unwrap(), Stored::Bytes(_)));
        }
    }
}
