//! Fingerprints of the files that a run leaves beside `run.json`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use deepconcolic_check::{hex, sha256};

use super::{self as folder, region_file};
use crate::error::Error;

/// The SHA-256 of every file and folder that a run leaves and that `check` reads. `statement.md` is none of
/// them: it follows from the others.
pub fn of_folder(folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    let files = [
        folder::SUITE,
        folder::REQUIREMENTS,
        folder::NEAREST,
        folder::SLOPES,
        folder::PROFILE,
    ];
    let mut found = BTreeMap::new();
    let criteria = deepconcolic_criteria::ALL.iter();
    let criteria = criteria.map(|criterion| folder::requirements_of(criterion.name()));
    let files = files
        .into_iter()
        .chain(region_file::NAMES)
        .map(str::to_owned);
    for name in files.chain(criteria) {
        let path = folder.join(&name);
        if path.exists() {
            found.insert(name, of_file(&path)?);
        }
    }
    let folders = [
        folder::ADVERSARIAL,
        folder::NEAREST_ADVERSARIAL,
        folder::CERTIFICATES,
    ];
    for name in folders {
        let path = folder.join(name);
        if path.is_dir() {
            found.insert(name.to_owned(), of_entries(&path)?);
        }
    }
    Ok(found)
}

/// The SHA-256 of a file.
pub fn of_file(path: &Path) -> Result<String, Error> {
    Ok(hex(&sha256(&fs::read(path).map_err(unreadable(path))?)))
}

/// Of the names and contents of all files of a folder.
fn of_entries(folder: &Path) -> Result<String, Error> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        let entry = entry.map_err(unreadable(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // What another process is still writing.
        if !name.starts_with('.') {
            entries.push((of_file(&entry.path())?, name));
        }
    }
    entries.sort_by(|a, b| a.1.cmp(&b.1));
    // As `sha256sum *` prints it.
    let line = |(digest, name): &(String, String)| format!("{digest}  {name}\n");
    let lines: String = entries.iter().map(line).collect();
    Ok(hex(&sha256(lines.as_bytes())))
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    |e| Error::Request(format!("{} cannot be read: {e}", path.display()))
}
