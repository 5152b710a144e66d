//! Work apart from Python: on threads of its own, without the interpreter's lock, with panics and Ctrl-C seen to.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::Failure;

/// How often Python is asked whether somebody pressed Ctrl-C.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// More threads than this is a slip of the finger, and would exhaust the machine.
const MAX_THREADS: usize = 1024;

/// Does work on so many threads (0: all cores). A panic becomes an error.
pub fn guarded<R: Send>(
    threads: usize,
    work: impl FnOnce() -> Result<R, Failure> + Send,
) -> Result<R, Failure> {
    if threads > MAX_THREADS {
        return Err(Failure::usage(format!(
            "threads must be from 1 to {MAX_THREADS}, not {threads}"
        )));
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Failure::usage(format!("threads={threads}: {e}")))?;
    match catch_unwind(AssertUnwindSafe(|| pool.install(work))) {
        Ok(result) => result,
        Err(panic) => Err(Failure::internal(words(panic.as_ref()))),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "a panic without words".to_owned());
    format!("internal error: {text}; please report it with the call")
}

/// Does work on a thread of its own, while Python's other threads go on. On Ctrl-C the caller gets
/// `KeyboardInterrupt` at once, and what comes of the work is dropped.
pub fn detached<R: Send + 'static>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() -> Result<R, Failure> + Send + 'static,
) -> PyResult<R> {
    let (done, wait) = sync_channel(1);
    thread::spawn(move || {
        // Nobody waits any more after Ctrl-C.
        let _ = done.send(guarded(threads, work));
    });
    let mut wait = wait;
    loop {
        let heard;
        // Moved to and fro: a receiver cannot be shared.
        (wait, heard) = py.detach(move || {
            let heard = wait.recv_timeout(PATIENCE);
            (wait, heard)
        });
        match heard {
            Ok(result) => return result.map_err(|failure| failure.exception(py)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::internal("the working thread is gone").exception(py));
            }
        }
    }
}

/// Panics, for the test that no panic crosses the border.
#[pyfunction]
pub fn panic(py: Python<'_>, words: String) -> PyResult<()> {
    detached(py, 1, move || -> Result<(), Failure> {
        std::panic::panic_any(words)
    })
}
