//! What can go wrong with the folder of a run.

use std::fmt;
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
        "{path} is in use by another run; wait for it to end, or give another folder",
        path = .0.display()
    )]
    InUse(PathBuf),
    /// A run is there already.
    #[error(
        "{path} already holds a run; `deepconcolic resume` goes on with it, and so does `run --resume`; or give another \
         folder (--out of a run)",
        path = .0.display()
    )]
    Taken(PathBuf),
    /// There is something else there.
    #[error(
        "{path} is not empty and holds no run; give an empty or new folder",
        path = .0.display()
    )]
    Foreign(PathBuf),
    /// The name is taken by something that is no folder.
    #[error(
        "{path} is no folder; a run writes a folder: give a new or empty one",
        path = .0.display()
    )]
    NoFolder(PathBuf),
    /// Nothing to go on with.
    #[error("{path} holds no run to resume; `deepconcolic run` starts one", path = .0.display())]
    NoRun(PathBuf),
    /// Nothing to join.
    #[error(
        "{path} holds no run to merge: there is no journal in it",
        path = .0.display()
    )]
    NoPart(PathBuf),
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
    /// A journal that is damaged in the middle.
    #[error(
        "{path}: {lost}; the {good} rounds before it are good. Put a copy of the file back, or give \
         --accept-loss with --resume: the run then goes on after those {good} rounds and does the others \
         again (the file is kept as {path}.damaged)",
        path = path.display()
    )]
    Lost {
        /// The journal.
        path: PathBuf,
        /// Rounds before the damage.
        good: usize,
        /// What is lost.
        lost: Lost,
    },
    /// An array file.
    #[error(transparent)]
    Data(#[from] DatasetError),
}

/// What a damaged journal has lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Something that is no frame, or not the next one, with sound frames after it.
    Bytes {
        /// The first byte of it.
        from: u64,
        /// Where the next sound frame starts.
        to: u64,
        /// Sound frames from there on, which mean nothing without what is lost.
        after: usize,
    },
    /// A frame with a good checksum that holds no round.
    Senseless,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { from, to, after } if from == to => write!(
                f,
                "it is damaged: rounds are missing or out of order at byte {from}, and {after} rounds from \
                 there on cannot be used without them"
            ),
            Self::Bytes { from, to, after } => write!(
                f,
                "it is damaged from byte {from} to byte {to}, and {after} rounds after that cannot be used \
                 without what is lost there"
            ),
            Self::Senseless => write!(
                f,
                "it is damaged: the next round has a good checksum and makes no sense"
            ),
        }
    }
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
