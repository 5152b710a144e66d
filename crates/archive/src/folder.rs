//! The folder itself: made or found, and held by one run at a time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::ArchiveError;
use crate::journal::{Entry, Journal};

/// A folder that this process alone works in, as long as the value lives.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    // The operating system lets go of the lock with the file, whatever ends the process.
    _lock: File,
}

impl RunFolder {
    /// A new run in a new or empty folder. Its settings are written to the journal before anything
    /// else.
    pub fn create(path: &Path, settings: &Value) -> Result<(Self, Journal), ArchiveError> {
        fs::create_dir_all(path).map_err(ArchiveError::io(path, "create"))?;
        if path.join(JOURNAL).exists() {
            // Whether it is still at work is the better news.
            drop(Self::hold(path)?);
            return Err(ArchiveError::Taken(path.to_owned()));
        }
        let mut entries = fs::read_dir(path).map_err(ArchiveError::io(path, "read"))?;
        // A lock, or a journal that never got its name, is what a run killed at its start leaves.
        let is_ours = |name: &str| name == LOCK || name.starts_with(".journal.");
        let foreign = entries
            .any(|entry| entry.is_ok_and(|entry| !is_ours(&entry.file_name().to_string_lossy())));
        if foreign {
            return Err(ArchiveError::Foreign(path.to_owned()));
        }
        let folder = Self::hold(path)?;
        folder.sweep()?;
        let journal = Journal::create(&path.join(JOURNAL), settings)?;
        Ok((folder, journal))
    }

    /// A run that was begun here with the same settings, and the rounds it recorded.
    pub fn resume(
        path: &Path,
        settings: &Value,
    ) -> Result<(Self, Journal, Vec<Entry>), ArchiveError> {
        if !path.join(JOURNAL).exists() {
            return Err(ArchiveError::NoRun(path.to_owned()));
        }
        let folder = Self::hold(path)?;
        let (journal, found, entries) = Journal::open(&path.join(JOURNAL))?;
        let differing = differences(&found, settings);
        if differing.is_empty() {
            folder.sweep()?;
            Ok((folder, journal, entries))
        } else {
            Err(ArchiveError::Different {
                path: path.to_owned(),
                what: differing.join(", "),
            })
        }
    }

    /// The folder's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Removes a file of it, if it is there.
    pub fn remove(&self, name: &str) -> Result<(), ArchiveError> {
        let path = self.file(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(ArchiveError::io(&path, "replace")(error))
            }
            _ => Ok(()),
        }
    }

    /// Removes what a killed process was still writing.
    fn sweep(&self) -> Result<(), ArchiveError> {
        let entries = fs::read_dir(&self.path).map_err(ArchiveError::io(&self.path, "read"))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') && path.extension().is_some_and(|e| e == "tmp") {
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    fn hold(path: &Path) -> Result<Self, ArchiveError> {
        let name = path.join(LOCK);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&name)
            .map_err(ArchiveError::io(&name, "open"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(ArchiveError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(ArchiveError::io(&name, "lock")(error)),
        }
    }
}

/// The journal's name.
const JOURNAL: &str = "journal";
/// The lock's name.
const LOCK: &str = "lock";

/// The settings that are not the same.
fn differences(found: &Value, given: &Value) -> Vec<String> {
    let empty = serde_json::Map::new();
    let (found, given) = (
        found.as_object().unwrap_or(&empty),
        given.as_object().unwrap_or(&empty),
    );
    let mut keys: Vec<&String> = found.keys().chain(given.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter()
        .filter(|key| found.get(*key) != given.get(*key))
        .map(|key| {
            let show = |value: Option<&Value>| value.map_or("nothing".to_owned(), brief);
            format!(
                "{key}: {}, not {}",
                show(found.get(key)),
                show(given.get(key))
            )
        })
        .collect()
}

/// A value short enough for a message.
fn brief(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    if text.chars().count() > MOST {
        let start: String = text.chars().take(MOST).collect();
        format!("{start}...")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_folder_has_one_run_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("deep/run");
        let settings = json!({"criterion": "nc"});
        let (folder, _journal) = RunFolder::create(&path, &settings).unwrap();
        let again = RunFolder::create(&path, &settings);
        assert!(matches!(again, Err(ArchiveError::InUse(_))), "{again:?}");
        let resumed = RunFolder::resume(&path, &settings);
        assert!(matches!(resumed, Err(ArchiveError::InUse(_))));
        drop(folder);
        let again = RunFolder::create(&path, &settings);
        assert!(matches!(again, Err(ArchiveError::Taken(_))), "{again:?}");
        assert!(RunFolder::resume(&path, &settings).is_ok());
    }

    #[test]
    fn only_the_same_settings_go_on() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path();
        drop(RunFolder::create(path, &json!({"radius": 0.3, "norm": "linf"})).unwrap());
        let other = RunFolder::resume(path, &json!({"radius": 0.1, "norm": "linf"}));
        let message = other.unwrap_err().to_string();
        assert!(message.contains("radius: 0.3, not 0.1"), "{message}");
        assert!(!message.contains("norm"), "{message}");
    }

    #[test]
    fn what_is_not_a_run_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("thesis.tex"), "x").unwrap();
        let made = RunFolder::create(place.path(), &json!({}));
        assert!(matches!(made, Err(ArchiveError::Foreign(_))));
        let resumed = RunFolder::resume(place.path(), &json!({}));
        assert!(matches!(resumed, Err(ArchiveError::NoRun(_))));
    }
}
