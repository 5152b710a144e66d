//! Ctrl-C and polite kills: the first asks the run to save and end, the second ends it there.

use std::process;
use std::sync::OnceLock;

use deepconcolic::Cancel;

use crate::exit::{Failure, tell};

static CANCEL: OnceLock<Cancel> = OnceLock::new();

/// Listens from now on, and cancels when the user wants an end.
pub fn listen() -> Result<Cancel, Failure> {
    let cancel = CANCEL.get_or_init(Cancel::default).clone();
    let handler = move || {
        let cancel = CANCEL.get_or_init(Cancel::default);
        // Everything that was reported is in the journal; while files are read there is nothing to save.
        if cancel.is_cancelled() || !cancel.has_begun() {
            process::exit(130);
        }
        cancel.cancel();
        tell(format_args!(
            "\nstopping and saving; once more to stop at once (`deepconcolic resume` then goes on from the journal)"
        ));
    };
    match ctrlc::set_handler(handler) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(cancel),
        Err(error) => Err(Failure::Usage(format!("cannot listen for Ctrl-C: {error}"))),
    }
}
