//! When work must end: at a time that a caller was given, or when somebody wants an end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::Unsupported;

/// Looked at between small parts of long work. The default never ends anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Until<'a> {
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Raised when the user wants an end.
    pub interrupt: Option<&'a AtomicBool>,
}

impl Until<'_> {
    /// However long it takes.
    pub const NEVER: Until<'static> = Until {
        deadline: None,
        interrupt: None,
    };

    /// Whether to stop, whatever is under way.
    pub fn is_over(&self) -> bool {
        let interrupted = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        self.interrupt.is_some_and(interrupted)
            || self.deadline.is_some_and(|end| Instant::now() >= end)
    }

    /// An error once it is time to stop, so that `?` leaves whatever is under way.
    pub fn go_on(&self) -> Result<(), Unsupported> {
        if self.is_over() {
            Err(Unsupported::Time)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_has_come_and_a_raised_flag_each_end_work() {
        let flag = AtomicBool::new(false);
        let mut until = Until {
            deadline: None,
            interrupt: Some(&flag),
        };
        assert_eq!(until.go_on(), Ok(()));
        flag.store(true, Ordering::Relaxed);
        assert_eq!(until.go_on(), Err(Unsupported::Time));
        until.interrupt = None;
        assert!(!until.is_over());
        until.deadline = Some(Instant::now());
        assert!(until.is_over());
        assert!(!Until::NEVER.is_over());
    }
}
