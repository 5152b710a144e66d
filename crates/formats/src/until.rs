//! When reading a model must end. It is asked between small parts of the work: a stretch of the file, a constant, a node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What ends reading a model.
#[derive(Clone, Debug, Default)]
pub struct LoadUntil {
    /// When the time is up; none if nobody limits it.
    pub deadline: Option<Instant>,
    /// Raised when the user wants an end.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// Why reading a model ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The time was up.
    Time,
    /// The user wanted it.
    Interrupted,
}

impl LoadUntil {
    /// Why to end now, if there is a reason.
    pub(crate) fn ended(&self) -> Option<Ended> {
        let is_raised = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        if self.interrupt.as_ref().is_some_and(is_raised) {
            Some(Ended::Interrupted)
        } else if self.deadline.is_some_and(|end| Instant::now() >= end) {
            Some(Ended::Time)
        } else {
            None
        }
    }
}
