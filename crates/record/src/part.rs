//! A run as a part of a larger one: everything that its folder says it found, read without changing
//! anything and believed by nobody. A run that was killed is a part too: its journal has all that counts.

use std::fs;
use std::path::{Path, PathBuf};

use deepconcolic_campaign::Round;
use deepconcolic_check::{Digest, sha256};
use serde_json::Value;

use crate::error::ArchiveError;
use crate::folder::RunFolder;
use crate::journal::JournalEntry;
use crate::summary::Summary;

/// What the folder of a run has to offer.
#[derive(Clone, Debug)]
pub struct Part {
    /// The folder.
    pub path: PathBuf,
    /// Everything that decides what the run does.
    pub settings: Value,
    /// The steps of its journal.
    pub entries: Vec<JournalEntry>,
    /// What it says of itself, if it came to an end.
    pub summary: Option<Summary>,
    /// Its certificates with their names, in their order.
    pub certificates: Vec<(String, Vec<u8>)>,
}

impl Part {
    /// Reads a folder, with the names of its summary, of the folder of certificates, and of how these end.
    pub fn read(
        path: &Path,
        summary: &str,
        certificates: &str,
        extension: &str,
    ) -> Result<Self, ArchiveError> {
        let (settings, entries) = RunFolder::read(path)?;
        let summary = path.join(summary);
        Ok(Self {
            path: path.to_owned(),
            settings,
            entries,
            summary: (summary.exists())
                .then(|| Summary::read(&summary))
                .transpose()?,
            certificates: files(&path.join(certificates), extension)?,
        })
    }

    /// What it is called wherever it lies: by what was asked and what was found, not by when. Two folders of
    /// the same name hold the same work.
    pub fn identity(&self) -> Digest {
        let mut bytes = sha256(self.settings.to_string().as_bytes()).to_vec();
        for entry in &self.entries {
            bytes.extend(sha256(&entry.content()));
        }
        for (_, certificate) in &self.certificates {
            bytes.extend(sha256(certificate));
        }
        sha256(&bytes)
    }

    /// What came into its suite behind the seeds, in order.
    pub fn rounds(&self) -> impl Iterator<Item = &Round> {
        self.entries.iter().filter_map(JournalEntry::admitted)
    }
}

/// Files of a folder that end so, in order; none if there is no such folder.
fn files(folder: &Path, extension: &str) -> Result<Vec<(String, Vec<u8>)>, ArchiveError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(ArchiveError::io(folder, "read"))? {
        let path = entry.map_err(ArchiveError::io(folder, "read"))?.path();
        if path.extension().is_some_and(|e| e == extension) {
            let bytes = fs::read(&path).map_err(ArchiveError::io(&path, "read"))?;
            let name = path.file_name().unwrap_or_default();
            files.push((name.to_string_lossy().into_owned(), bytes));
        }
    }
    files.sort();
    Ok(files)
}
