//! The files of a report: written whole, compared byte by byte, and swept when they are no longer made.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use deepconcolic::Error;
use deepconcolic_dataset::write::AtomicFile;

use super::single_file;

/// The folder of pictures.
const PICTURES: &str = "pictures";

/// What reports have and nothing else.
const OWN: [&str; 5] = [
    "index.html",
    "run.html",
    "junit.xml",
    "findings.sarif",
    "summary.md",
];
/// What they may have besides.
const BESIDE: [&str; 3] = ["style.css", "report.js", single_file::NAME];

/// Names, with `/` between folder and file, and contents.
#[derive(Default)]
pub struct Files(pub BTreeMap<String, Vec<u8>>);

impl Files {
    /// Whether a folder has files of a report.
    pub fn are_in(folder: &Path) -> bool {
        OWN.iter().any(|name| folder.join(name).is_file()) || !earlier(folder).is_empty()
    }

    /// Whether a report may have a file of this name.
    pub fn may_have(name: &str) -> bool {
        let is_picture = name.starts_with(PICTURES) && has_extension(name, "png");
        OWN.contains(&name) || BESIDE.contains(&name) || is_picture || is_page(name)
    }

    /// Adds a file.
    pub fn add(&mut self, name: impl Into<String>, contents: impl Into<Vec<u8>>) {
        self.0.insert(name.into(), contents.into());
    }

    /// Writes all of them; pages and pictures that an earlier report left and this one has not are removed.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        for name in earlier(folder)
            .into_iter()
            .filter(|name| !self.0.contains_key(name))
        {
            let path = folder.join(name);
            fs::remove_file(&path).map_err(|e| failed(&path, "removed", &e))?;
        }
        self.put(folder)
    }

    /// Writes all of them, and leaves others alone.
    pub fn put(&self, folder: &Path) -> Result<(), Error> {
        if self.0.keys().any(|name| name.starts_with(PICTURES)) {
            let path = folder.join(PICTURES);
            own(&path)?;
            fs::create_dir_all(&path).map_err(|e| failed(&path, "made", &e))?;
        }
        for (name, contents) in &self.0 {
            let path = folder.join(name);
            own(&path)?;
            // What is there already need not be written again.
            if fs::read(&path).is_ok_and(|known| known == *contents) {
                continue;
            }
            let mut file = AtomicFile::create(&path)?;
            file.write_all(contents)
                .map_err(|e| failed(&path, "written", &e))?;
            file.publish()?;
        }
        Ok(())
    }

    /// Files of a folder that are not as they should be, with what is wrong with each.
    pub fn differences(&self, folder: &Path) -> Vec<(String, &'static str)> {
        let mut wrong = Vec::new();
        for (name, contents) in &self.0 {
            match fs::read(folder.join(name)) {
                Ok(known) if known == *contents => {}
                Ok(_) => wrong.push((name.clone(), "other contents than the folder's files give; `deepconcolic report` writes it anew")),
                Err(_) => wrong.push((name.clone(), "no such file")),
            }
        }
        for name in earlier(folder) {
            if !self.0.contains_key(&name) {
                wrong.push((name, "no page of the report"));
            }
        }
        wrong
    }
}

/// Refuses links: a folder from elsewhere must not lead a report outside of it.
fn own(path: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(path).is_ok_and(|known| known.is_symlink()) {
        return Err(Error::Request(format!(
            "{} is a link, and a report is written into its folder alone; remove the link",
            path.display()
        )));
    }
    Ok(())
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == extension)
}

/// Whether a page is called so that some reports have and others do not.
fn is_page(name: &str) -> bool {
    (name.starts_with("layer-") && has_extension(name, "html"))
        || name == "adversarial.html"
        || name == "requirements.html"
}

/// Pages and pictures in a folder that only a report leaves there.
fn earlier(folder: &Path) -> Vec<String> {
    let names = |path: &Path| -> Vec<String> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        // Not links: what is elsewhere is not ours.
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        files
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect()
    };
    let pages = names(folder).into_iter().filter(|name| is_page(name));
    let mut found: Vec<String> = pages.collect();
    let pictures = names(&folder.join(PICTURES));
    let pictures = pictures
        .into_iter()
        .filter(|name| has_extension(name, "png"));
    found.extend(pictures.map(|name| format!("{PICTURES}/{name}")));
    found.sort();
    found
}

fn failed(path: &Path, what: &str, error: &std::io::Error) -> Error {
    Error::Request(format!("{} cannot be {what}: {error}", path.display()))
}
