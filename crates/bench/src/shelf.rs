//! Where models and data lie: beside the project, unless the command line says otherwise.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::BenchError;

/// The folder with models and data that is not part of the tree.
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");

/// The folders to look in.
pub struct Shelf {
    shared: PathBuf,
    models: Vec<PathBuf>,
}

impl Shelf {
    /// Looks for models in these folders, or in the shared ones when there are none.
    pub fn new(models: Vec<PathBuf>) -> Self {
        let shared = fs::canonicalize(SHARED).unwrap_or_else(|_| SHARED.into());
        let models = if models.is_empty() {
            let mut folders = vec![shared.join("models")];
            let tasks = entries(&shared.join("vnncomp")).unwrap_or_default();
            folders.extend(tasks.iter().map(|task| task.join("onnx")));
            folders.retain(|folder| folder.is_dir());
            folders
        } else {
            models
        };
        Self { shared, models }
    }

    /// Every model, sorted within its folder.
    pub fn models(&self) -> Result<Vec<PathBuf>, BenchError> {
        let mut all = Vec::new();
        for folder in &self.models {
            all.extend(onnx_files(folder)?);
        }
        Ok(all)
    }

    /// The model of that name, or why there is none.
    pub fn model(&self, name: &str) -> Result<PathBuf, String> {
        let candidates = self.models.iter().map(|folder| folder.join(name));
        candidates
            .into_iter()
            .find(|path| path.is_file())
            .ok_or_else(|| format!("{name} is in no folder of models"))
    }

    /// The conformance set, if it is there.
    pub fn zoo(&self) -> PathBuf {
        self.shared.join("onnx-zoo")
    }

    /// A data set.
    pub fn data(&self, name: &str) -> PathBuf {
        self.shared.join("data").join(name)
    }

    /// A file or folder of the verification competition.
    pub fn contest(&self, name: &str) -> PathBuf {
        self.shared.join("vnncomp").join(name)
    }

    /// The published raw runs of the paper.
    pub fn paper_curves(&self) -> PathBuf {
        self.shared.join("paper").join("curves.csv")
    }

    /// What to say when there is nothing to measure.
    pub fn absence(&self) -> String {
        format!(
            "no models: {} has none; name a folder with --models",
            self.shared.display()
        )
    }
}

/// The ONNX files of a folder, sorted.
pub fn onnx_files(folder: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let mut files = entries(folder)?;
    files.retain(|path| path.extension().is_some_and(|e| e == "onnx"));
    Ok(files)
}

/// The name of a model without folder and ending.
pub fn stem(path: &Path) -> &str {
    path.file_stem()
        .and_then(|s| s.to_str())
        .unwrap_or_default()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let failed = |error| BenchError::File(folder.to_owned(), error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}
