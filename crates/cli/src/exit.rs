//! Exit codes, and how results and errors reach the user: the one place that knows all of these.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;

use deepconcolic_dataset::DatasetError;
use deepconcolic_dataset::write::is_standard_output;
use deepconcolic_formats::LoadError;
use deepconcolic_record::ArchiveError;

/// What the help says about exit codes.
pub const HELP: &str = "Exit codes: 0 done, 1 a gate or check failed, 2 bad usage or input, \
                        3 internal error, 130 interrupted (with the run saved)";

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did what was asked.
    Done,
    /// It did, and what it found does not pass.
    GateFailed,
    /// The arguments or files are at fault.
    BadInput,
    /// We are at fault.
    Internal,
    /// The user ended it; the run is saved.
    Interrupted,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::GateFailed => 1,
            Status::BadInput => 2,
            Status::Internal => 3,
            Status::Interrupted => 130,
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
    Requirements(#[from] deepconcolic_language::Error),
    /// The folder of a run.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A result that does not agree with itself: never the user's fault.
    #[error("internal error: {0}; please report it with the command line")]
    Internal(String),
    /// Arguments that do not fit the model or each other.
    #[error("{0}")]
    Usage(String),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    fn is_closed_pipe(&self) -> bool {
        let error = match self {
            Self::Output(error) => error,
            Self::Data(DatasetError::Io { source, .. })
            | Self::Archive(ArchiveError::Data(DatasetError::Io { source, .. })) => source,
            _ => return false,
        };
        error.kind() == io::ErrorKind::BrokenPipe
    }

    fn status(&self) -> Status {
        match self {
            Self::Model(_)
            | Self::Data(_)
            | Self::Requirements(_)
            | Self::Archive(_)
            | Self::Usage(_) => Status::BadInput,
            Self::Output(_) | Self::Internal(_) => Status::Internal,
        }
    }
}

/// Where a command prints its results. When whoever reads them has read enough (`| head`), the rest is
/// dropped and the command goes on: it still writes its files and ends with the code that it would have.
pub struct Output<W> {
    to: W,
    closed: bool,
}

/// Standard output.
pub fn output() -> Output<io::StdoutLock<'static>> {
    Output::to(io::stdout().lock())
}

/// Where a command prints its results when it also writes these files: standard error if one of them is
/// standard output, which must hold the file and nothing else.
pub fn output_beside<'a>(files: impl IntoIterator<Item = &'a Path>) -> Output<Box<dyn Write>> {
    let taken = files.into_iter().any(is_standard_output);
    Output::to(if taken {
        Box::new(io::stderr().lock())
    } else {
        Box::new(io::stdout().lock())
    })
}

impl<W: Write> Output<W> {
    fn to(to: W) -> Self {
        Self { to, closed: false }
    }

    /// The result of a write, where a closed pipe is none.
    fn heard<T>(&mut self, result: io::Result<T>, otherwise: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(otherwise)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let written = self.to.write(bytes);
        self.heard(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let flushed = self.to.flush();
        self.heard(flushed, ())
    }
}

/// Tells the user something on standard error; if nobody reads that, it is no reason to stop.
pub fn tell(words: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{words}");
}

/// Runs a command and turns whatever happens into an exit code.
pub fn guard(run: impl FnOnce() -> Result<Status, Failure>) -> ExitCode {
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(status)) => status.into(),
        // A file that is a pipe, such as /dev/stdout, whose reader has read enough.
        Ok(Err(failure)) if failure.is_closed_pipe() => Status::Done.into(),
        Ok(Err(failure)) => {
            tell(format_args!("error: {failure}"));
            failure.status().into()
        }
        Err(_) => {
            tell(format_args!(
                "error: internal error (see above); please report it with the command line"
            ));
            Status::Internal.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes.
    struct Pipe(usize);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Takes nothing.
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_and_a_full_disk_is_one() {
        let mut out = Output::to(Pipe(3));
        for _ in 0..5 {
            writeln!(out, "some line").unwrap();
        }
        out.flush().unwrap();
        assert!(writeln!(Output::to(Full), "some line").is_err());
    }
}
