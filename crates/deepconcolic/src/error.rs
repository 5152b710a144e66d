//! Why something could not be done. Each message says what, where, and the way out; options are called by
//! their names on the command line.

use std::io;
use std::path::Path;

use deepconcolic_dataset::DatasetError;
use deepconcolic_formats::LoadError;
use deepconcolic_record::ArchiveError;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model file.
    #[error(transparent)]
    Model(#[from] LoadError),
    /// A data file.
    #[error(transparent)]
    Data(#[from] DatasetError),
    /// A requirement or property file.
    #[error(transparent)]
    Requirements(#[from] deepconcolic_language::Error),
    /// The folder of a run.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// What was asked for does not fit the model, the data or itself.
    #[error("{0}")]
    Request(String),
    /// The user wanted an end before results were saved; the journal has the work.
    #[error("{0}")]
    Interrupted(String),
    /// A result that does not agree with itself: never the user's fault.
    #[error("internal error: {0}; please report it with the command line")]
    Internal(String),
}

impl Error {
    /// Whether a file could not be written because nobody reads it any more: it is a pipe.
    pub fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Data(DatasetError::Io { source, .. })
            | Self::Archive(ArchiveError::Data(DatasetError::Io { source, .. })) => {
                source.kind() == io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }

    /// Whether the user wanted it.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Interrupted(_))
    }

    /// Whether the time was up before the model was read.
    pub fn is_out_of_time(&self) -> bool {
        matches!(self, Self::Model(fault) if fault.is_out_of_time())
    }

    /// Whether the program is at fault and not its input.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Internal(_))
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |e| Self::Request(format!("{} cannot be read: {e}", path.display()))
    }

    /// What was computed cannot be put into JSON.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it stands where errors are mapped"
    )]
    pub(crate) fn json(error: serde_json::Error) -> Self {
        Self::Internal(format!("writing JSON: {error}"))
    }
}
