//! What can go wrong with the folder of a run.

use std::path::{Path, PathBuf};

use deepconcolic_dataset::DatasetError;

/// Each message says what, where, and the way out.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The operating system.
    #[error("{path}: cannot {verb}: {source}", path = path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What was tried.
        verb: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Another process works there.
    #[error(
        "{path} is in use by another run; wait for it to end, or give another --out",
        path = .0.display()
    )]
    InUse(PathBuf),
    /// A run is there already.
    #[error(
        "{path} already holds a run; give --resume to go on with it, or another --out",
        path = .0.display()
    )]
    Taken(PathBuf),
    /// There is something else there.
    #[error(
        "{path} is not empty and holds no run; give an empty or new folder with --out",
        path = .0.display()
    )]
    Foreign(PathBuf),
    /// Nothing to go on with.
    #[error("{path} holds no run to resume; leave --resume out to start one", path = .0.display())]
    NoRun(PathBuf),
    /// The run was started otherwise.
    #[error(
        "{path} was started with other settings ({what}); resume it with the same ones, or give another --out",
        path = path.display()
    )]
    Different {
        /// The folder.
        path: PathBuf,
        /// Which settings differ.
        what: String,
    },
    /// A file that is not what a run writes.
    #[error("{path}: {detail}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// An array file.
    #[error(transparent)]
    Data(#[from] DatasetError),
}

impl ArchiveError {
    pub(crate) fn io(
        path: &Path,
        verb: &'static str,
    ) -> impl FnOnce(std::io::Error) -> ArchiveError {
        let path = path.to_owned();
        move |source| Self::Io { path, verb, source }
    }

    pub(crate) fn damaged(path: &Path, detail: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            detail: detail.into(),
        }
    }
}
