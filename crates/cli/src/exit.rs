//! Exit codes, and how results and errors reach the user: the one place that knows all of these.

use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::OnceLock;

use clap::ValueEnum;
use deepconcolic::{Error, Event};
use deepconcolic_dataset::write::is_standard_output;
use deepconcolic_report::annotation;

/// What the help says about exit codes.
pub const HELP: &str = "\
Exit codes: 0 done, 1 a gate or check failed, 2 bad usage or input, 3 internal error,
            130 interrupted (with the run saved)

Options can stand in deepconcolic.toml, or in pyproject.toml under [tool.deepconcolic]: `deepconcolic config show`.";

/// Whether output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// What the user said about the whole program.
#[derive(Debug, Default)]
pub struct Manner {
    /// About colours.
    pub colour: Colour,
    /// The command line, with what the configuration added to it.
    pub command: Vec<String>,
}

static MANNER: OnceLock<Manner> = OnceLock::new();

/// Sets what the user said, once.
pub fn set_manner(manner: Manner) {
    // There is one command line.
    let _ = MANNER.set(manner);
}

/// The command line as it took effect.
pub fn command_line() -> Vec<String> {
    match MANNER.get() {
        Some(manner) if !manner.command.is_empty() => manner.command.clone(),
        _ => deepconcolic::command_line(),
    }
}

/// Whether what is said, or told beside it, has colours.
pub fn colours(said: bool) -> bool {
    let terminal = if said {
        io::stdout().is_terminal()
    } else {
        io::stderr().is_terminal()
    };
    match MANNER.get().map(|manner| manner.colour).unwrap_or_default() {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// How many characters fit in a line of the terminal.
pub fn width() -> usize {
    let given = std::env::var("COLUMNS").ok();
    given.and_then(|c| c.parse().ok()).unwrap_or(80)
}

/// Tells whoever runs this on GitHub what failed, where annotations are read.
pub fn annotate(title: &str, message: &str) {
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|v| v == "true") {
        tell(format_args!("{}", annotation(title, message)));
    }
}

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

impl Status {
    /// Of something that passes or not.
    pub fn of(passes: bool) -> Self {
        if passes { Self::Done } else { Self::GateFailed }
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::GateFailed => 1,
            Self::BadInput => 2,
            Self::Internal => 3,
            Self::Interrupted => 130,
        }
    }
}

/// Why a command could not do what was asked. Each message says what, where, and the way out.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What the library says.
    #[error(transparent)]
    Library(#[from] Error),
    /// Arguments that no library call can have.
    #[error("{0}")]
    Usage(String),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Library(error) => error.is_closed_pipe(),
            Self::Output(error) => error.kind() == io::ErrorKind::BrokenPipe,
            Self::Usage(_) => false,
        }
    }

    fn status(&self) -> Status {
        match self {
            Self::Output(_) => Status::Internal,
            Self::Library(error) if error.is_internal() => Status::Internal,
            Self::Library(error) if error.is_interruption() => Status::Interrupted,
            Self::Library(_) | Self::Usage(_) => Status::BadInput,
        }
    }
}

/// Tells what the user should know at once; the rest is for those who watch.
pub fn tell_notes(event: &Event) {
    if let Event::Note(note) = event {
        tell(format_args!("note: {note}"));
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

/// Tells the user something on standard error; if nobody reads that, it is no reason to stop. A line that shows
/// progress there makes way.
pub fn tell(words: Arguments<'_>) {
    let mut err = io::stderr().lock();
    let clear = if err.is_terminal() { "\r\x1b[2K" } else { "" };
    let _ = writeln!(err, "{clear}{words}");
}

/// Says something on standard output, where a closed pipe is no reason to stop.
pub fn say(words: Arguments<'_>) {
    let _ = writeln!(output(), "{words}");
}

/// Runs a command and turns whatever happens into an exit code.
pub fn guard(run: impl FnOnce() -> Result<Status, Failure>) -> u8 {
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(status)) => status.code(),
        // A file that is a pipe, such as /dev/stdout, whose reader has read enough.
        Ok(Err(failure)) if failure.is_closed_pipe() => Status::Done.code(),
        Ok(Err(failure)) => {
            tell(format_args!("error: {failure}"));
            failure.status().code()
        }
        Err(_) => {
            tell(format_args!(
                "error: internal error (see above); please report it with the command line"
            ));
            Status::Internal.code()
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
