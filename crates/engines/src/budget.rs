//! How much a search may take, what it took, and why it ended.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What ends a search early. Without limits it ends when the engine has done what it can.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget<'a> {
    /// Passes through the network, forward and backward together, after which no further attempt begins.
    pub passes: Option<usize>,
    /// Passes after which a single attempt ends, at its next step: a search from one origin, or for one
    /// pair. Without it an attempt may take what is left.
    pub attempt: Option<usize>,
    /// When time is up.
    pub deadline: Option<Instant>,
    /// Raised by whoever wants an end.
    pub cancel: Option<&'a AtomicBool>,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopReason {
    /// A witness was found, or everything the engine knows was tried.
    #[default]
    Complete,
    /// The passes were spent.
    Passes,
    /// Time was up.
    Deadline,
    /// Somebody wanted an end.
    Cancelled,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complete => "complete",
            Self::Passes => "no passes left",
            Self::Deadline => "time is up",
            Self::Cancelled => "cancelled",
        })
    }
}

/// Work done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Inputs run.
    pub forward: usize,
    /// Vector-Jacobian products.
    pub vjp: usize,
    /// Linear or quadratic programs solved.
    pub lp: usize,
}

impl Effort {
    /// Passes through the network, forward and backward.
    pub fn passes(self) -> usize {
        self.forward + self.vjp
    }
}

impl std::ops::AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.forward += other.forward;
        self.vjp += other.vjp;
        self.lp += other.lp;
    }
}

impl Budget<'_> {
    /// Why a search that took so much must end now, if it must.
    pub fn stop(&self, effort: Effort) -> Option<StopReason> {
        let is_spent = |maximum: usize| effort.passes() >= maximum;
        self.interruption().or_else(|| {
            let spent = self.passes.is_some_and(is_spent);
            spent.then_some(StopReason::Passes)
        })
    }

    /// Why to end at once, whatever was spent.
    pub fn interruption(&self) -> Option<StopReason> {
        if self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(StopReason::Cancelled);
        }
        let late = self.deadline.is_some_and(|end| Instant::now() >= end);
        late.then_some(StopReason::Deadline)
    }

    /// The time that is left, where time is limited.
    pub(crate) fn left(&self) -> Option<Duration> {
        let end = self.deadline?;
        Some(end.saturating_duration_since(Instant::now()))
    }

    /// What a single attempt may take, after so much was spent.
    pub(crate) fn for_attempt(&self, spent: Effort) -> Self {
        let left = self
            .passes
            .map(|maximum| maximum.saturating_sub(spent.passes()));
        Self {
            passes: self.attempt.or(left),
            ..*self
        }
    }
}
