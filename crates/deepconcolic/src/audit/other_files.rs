//! Files of a folder that a check does not look at: nothing is said of what somebody else put there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::error::Error;

/// Names told of.
const TOLD: usize = 10;

/// Names of files in a folder, with `/` after those of folders that are none of the run's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherFiles(BTreeSet<String>);

impl OtherFiles {
    /// Everything in a folder and in those of its folders that are named.
    pub fn of(folder: &Path, inside: &[&str]) -> Result<Self, Error> {
        let mut found = BTreeSet::new();
        for name in names(folder)? {
            let path = folder.join(&name);
            // Links are not followed: what is elsewhere is not of this folder.
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|kind| kind.is_dir());
            if !is_folder {
                found.insert(name);
            } else if inside.contains(&name.as_str()) {
                let within = names(&path)?.into_iter();
                found.extend(within.map(|file| format!("{name}/{file}")));
            } else {
                found.insert(format!("{name}/"));
            }
        }
        Ok(Self(found))
    }

    /// Takes out what is looked at.
    pub fn without(mut self, is_looked_at: impl Fn(&str) -> bool) -> Self {
        self.remove(is_looked_at);
        self
    }

    /// The same, of files that are known elsewhere.
    pub fn remove(&mut self, is_looked_at: impl Fn(&str) -> bool) {
        self.0.retain(|name| !is_looked_at(name));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first of them by name, as they can be printed.
    pub fn first(&self) -> Vec<String> {
        let first = self.0.iter().take(TOLD);
        first.map(|name| name.escape_debug().collect()).collect()
    }
}

/// How many there are, and the names of the first.
impl Serialize for OtherFiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut files = serializer.serialize_struct("OtherFiles", 2)?;
        files.serialize_field("count", &self.len())?;
        files.serialize_field("first", &self.first())?;
        files.end()
    }
}

fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let unreadable = Error::unreadable(folder);
    let entries = fs::read_dir(folder).map_err(&unreadable)?;
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let name = entry.map_err(&unreadable)?.file_name();
        Ok(name.to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_are_counted_and_few_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..25 {
            fs::write(folder.path().join(format!("{number:02}\n.txt")), "").unwrap();
        }
        fs::create_dir_all(folder.path().join("known/deeper")).unwrap();
        fs::create_dir(folder.path().join("unknown")).unwrap();
        let all = OtherFiles::of(folder.path(), &["known"]).unwrap();
        assert_eq!(all.len(), 27);
        let folders = all
            .clone()
            .without(|name| name.starts_with(char::is_numeric));
        assert_eq!(folders.first(), ["known/deeper", "unknown/"]);
        let told = serde_json::to_value(&all).unwrap();
        assert_eq!(
            (&told["count"], &told["first"][1]),
            (&27.into(), &"01\\n.txt".into())
        );
        assert_eq!(told["first"].as_array().unwrap().len(), TOLD);
    }
}
