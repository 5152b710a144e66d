//! Exit codes and how errors reach the user: the one place that knows both.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use deepconcolic_dataset::DatasetError;
use deepconcolic_formats::LoadError;

/// What the help says about exit codes.
pub const HELP: &str = "Exit codes: 0 done, 1 a gate or check failed, 2 bad usage or input, \
                        3 internal error, 130 interrupted (with the run saved)";

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did what was asked.
    Done,
    /// It did, and a gate or check failed.
    Failed,
    /// The arguments or files are at fault.
    BadInput,
    /// We are at fault.
    Internal,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::Failed => 1,
            Status::BadInput => 2,
            Status::Internal => 3,
        })
    }
}

/// Why a command could not do what was asked. Each message says what, where, and the way out.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The model file.
    #[error(transparent)]
    Model(#[from] LoadError),
    /// A data file.
    #[error(transparent)]
    Data(#[from] DatasetError),
    /// A requirement or property file.
    #[error(transparent)]
    Requirements(#[from] deepconcolic_spec::Error),
    /// Arguments that do not fit the model or each other.
    #[error("{0}")]
    Usage(String),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    fn status(&self) -> Status {
        match self {
            Self::Model(_) | Self::Data(_) | Self::Requirements(_) | Self::Usage(_) => {
                Status::BadInput
            }
            Self::Output(_) => Status::Internal,
        }
    }
}

/// Runs a command and turns whatever happens into an exit code.
pub fn guard(run: impl FnOnce() -> Result<Status, Failure>) -> ExitCode {
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(status)) => status.into(),
        // Whoever reads our output has read enough (`| head`).
        Ok(Err(Failure::Output(error))) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Status::Done.into()
        }
        Ok(Err(failure)) => {
            eprintln!("error: {failure}");
            failure.status().into()
        }
        Err(_) => {
            eprintln!("error: internal error (see above); please report it with the command line");
            Status::Internal.into()
        }
    }
}
