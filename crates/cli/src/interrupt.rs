//! Ctrl-C and polite kills: the first asks the run to save and end, the second ends it there.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::{Failure, tell};

static RAISED: AtomicBool = AtomicBool::new(false);

/// Listens from now on; the flag is raised when the user wants an end.
pub fn listen() -> Result<&'static AtomicBool, Failure> {
    let handler = || {
        if RAISED.swap(true, Ordering::Relaxed) {
            // Everything that was reported is in the journal.
            process::exit(130);
        }
        tell(format_args!(
            "\nstopping; once more to stop without saving the results"
        ));
    };
    match ctrlc::set_handler(handler) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(&RAISED),
        Err(error) => Err(Failure::Usage(format!("cannot listen for Ctrl-C: {error}"))),
    }
}
