//! The folder itself: made or found, and held by one run at a time.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use deepconcolic_dataset::write::AtomicFile;
use serde_json::Value;

use crate::error::ArchiveError;
use crate::journal::{Journal, JournalEntry, OnDamage};

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
        make(path)?;
        if path.join(JOURNAL).exists() {
            // Whether it is still at work is the better news.
            drop(Self::hold(path)?);
            return Err(ArchiveError::Taken(path.to_owned()));
        }
        if !holds_only(path, is_of_a_start)? {
            return Err(ArchiveError::Foreign(path.to_owned()));
        }
        let folder = Self::hold(path)?;
        folder.sweep()?;
        let journal = Journal::create(&path.join(JOURNAL), settings)?;
        Ok((folder, journal))
    }

    /// A run that was begun here with the same settings, and the rounds it recorded. One that was killed
    /// before its journal was there has recorded none, and begins.
    pub fn resume(
        path: &Path,
        settings: &Value,
        on_damage: OnDamage,
    ) -> Result<(Self, Journal, Vec<JournalEntry>), ArchiveError> {
        if !path.join(JOURNAL).exists() {
            if path.join(LOCK).exists() && holds_only(path, is_of_a_start)? {
                let (folder, journal) = Self::create(path, settings)?;
                return Ok((folder, journal, Vec::new()));
            }
            return Err(ArchiveError::NoRun(path.to_owned()));
        }
        let folder = Self::hold(path)?;
        let (journal, found, entries) = Journal::open(&path.join(JOURNAL), on_damage)?;
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

    /// What the journal of a run holds that nobody works on: its settings, and the rounds it recorded.
    /// Nothing is changed.
    pub(crate) fn read(path: &Path) -> Result<(Value, Vec<JournalEntry>), ArchiveError> {
        let journal = path.join(JOURNAL);
        if !journal.exists() {
            return Err(ArchiveError::NoPart(path.to_owned()));
        }
        // Held while it is read; a copy may have come without its lock.
        let lock = File::open(path.join(LOCK)).ok();
        let is_held = |lock: &File| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock));
        if lock.as_ref().is_some_and(is_held) {
            return Err(ArchiveError::InUse(path.to_owned()));
        }
        Journal::read(&journal)
    }

    /// The settings of the run in a folder, and the seconds that it took so far. Nothing is changed.
    pub fn settings(path: &Path) -> Result<(Value, f64), ArchiveError> {
        if !path.join(JOURNAL).exists() {
            return Err(ArchiveError::NoRun(path.to_owned()));
        }
        let (settings, entries) = Journal::begun(&path.join(JOURNAL))?;
        Ok((settings, entries.iter().map(|entry| entry.seconds).sum()))
    }

    /// The steps that the journal of a run recorded, whether or not somebody works on it. Nothing is changed.
    pub fn steps(path: &Path) -> Result<Vec<JournalEntry>, ArchiveError> {
        Journal::read(&path.join(JOURNAL)).map(|(_, entries)| entries)
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

    /// Removes what a killed process was still writing, here and in the folders of this one.
    fn sweep(&self) -> Result<(), ArchiveError> {
        sweep(&self.path)?;
        for entry in entries(&self.path)? {
            // Not a link: what is elsewhere is not ours.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                sweep(&entry.path())?;
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
pub const JOURNAL: &str = "journal";
/// The lock's name.
pub const LOCK: &str = "lock";

/// Makes a folder, unless something else has its name.
fn make(path: &Path) -> Result<(), ArchiveError> {
    // A link that leads nowhere is there, and no folder either.
    if fs::symlink_metadata(path).is_ok() && !path.is_dir() {
        return Err(ArchiveError::NoFolder(path.to_owned()));
    }
    fs::create_dir_all(path).map_err(ArchiveError::io(path, "create"))
}

fn entries(path: &Path) -> Result<Vec<DirEntry>, ArchiveError> {
    fs::read_dir(path)
        .and_then(Iterator::collect)
        .map_err(ArchiveError::io(path, "read"))
}

fn holds_only(path: &Path, expected: impl Fn(&OsStr) -> bool) -> Result<bool, ArchiveError> {
    Ok(entries(path)?
        .iter()
        .all(|entry| expected(&entry.file_name())))
}

/// A lock, or a journal that never got its name, is what a run killed at its start leaves.
fn is_of_a_start(name: &OsStr) -> bool {
    name == LOCK || AtomicFile::is_temporary_of(name, JOURNAL)
}

fn sweep(path: &Path) -> Result<(), ArchiveError> {
    for entry in entries(path)? {
        if AtomicFile::is_temporary(&entry.file_name()) {
            fs::remove_file(entry.path()).map_err(ArchiveError::io(&entry.path(), "remove"))?;
        }
    }
    Ok(())
}

/// The settings that are not the same, each in words.
pub fn differences(found: &Value, given: &Value) -> Vec<String> {
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
    const MAX: usize = 60;
    let text = value.to_string();
    if text.chars().count() > MAX {
        let start: String = text.chars().take(MAX).collect();
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
        let resumed = RunFolder::resume(&path, &settings, OnDamage::Refuse);
        assert!(matches!(resumed, Err(ArchiveError::InUse(_))));
        drop(folder);
        let again = RunFolder::create(&path, &settings);
        assert!(matches!(again, Err(ArchiveError::Taken(_))), "{again:?}");
        assert!(RunFolder::resume(&path, &settings, OnDamage::Refuse).is_ok());
    }

    #[test]
    fn only_the_same_settings_go_on() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path();
        drop(RunFolder::create(path, &json!({"radius": 0.3, "norm": "linf"})).unwrap());
        let other = RunFolder::resume(
            path,
            &json!({"radius": 0.1, "norm": "linf"}),
            OnDamage::Refuse,
        );
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
        let resumed = RunFolder::resume(place.path(), &json!({}), OnDamage::Refuse);
        assert!(matches!(resumed, Err(ArchiveError::NoRun(_))));
    }

    #[test]
    fn a_run_killed_before_its_journal_was_there_can_be_resumed_or_begun_again() {
        for resumed in [true, false] {
            let place = tempfile::tempdir().unwrap();
            fs::write(place.path().join("lock"), "").unwrap();
            fs::write(place.path().join(".journal.4711-0.tmp"), "dcj").unwrap();
            let begun = if resumed {
                let found = RunFolder::resume(place.path(), &json!({}), OnDamage::Refuse);
                let (folder, _, entries) = found.unwrap();
                assert!(entries.is_empty());
                folder
            } else {
                RunFolder::create(place.path(), &json!({})).unwrap().0
            };
            assert!(!begun.file(".journal.4711-0.tmp").exists());
        }
    }

    #[test]
    fn what_a_killed_process_was_writing_is_gone_when_the_run_goes_on() {
        let place = tempfile::tempdir().unwrap();
        drop(RunFolder::create(place.path(), &json!({})).unwrap());
        let deep = place.path().join("certificates");
        fs::create_dir(&deep).unwrap();
        let left = [
            place.path().join(".suite.npz.12-3.tmp"),
            deep.join(".00001.certificate.12-4.tmp"),
        ];
        let kept = [
            place.path().join(".notes.tmp"),
            deep.join("00000.certificate"),
            deep.join(".of-the-user.1-x.tmp"),
        ];
        for path in left.iter().chain(&kept) {
            fs::write(path, "x").unwrap();
        }
        let resumed = RunFolder::resume(place.path(), &json!({}), OnDamage::Refuse);
        drop(resumed.unwrap());
        assert!(left.iter().all(|path| !path.exists()));
        assert!(kept.iter().all(|path| path.exists()));
    }

    #[test]
    fn a_file_is_no_folder() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("taken");
        fs::write(&path, "mine").unwrap();
        let made = RunFolder::create(&path, &json!({}));
        assert!(matches!(made, Err(ArchiveError::NoFolder(_))), "{made:?}");
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
