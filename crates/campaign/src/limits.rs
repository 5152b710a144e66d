//! When to stop: passes, time, the user.

use std::ops::{AddAssign, Sub};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use deepconcolic_engines::{Budget, Effort};

use crate::campaign::Stop;

/// Work done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Inputs run.
    pub forward: usize,
    /// Vector-Jacobian products.
    pub vjp: usize,
    /// Linear and quadratic programs solved.
    pub lp: usize,
}

impl Passes {
    /// Passes through the network, forward and backward.
    pub fn total(self) -> usize {
        self.forward.saturating_add(self.vjp)
    }

    /// Adds what an engine spent.
    pub(crate) fn spend(&mut self, effort: Effort) {
        self.forward += effort.forward;
        self.vjp += effort.vjp;
        self.lp += effort.lp;
    }
}

// Counts may come from a file, where nobody has added them up.
impl AddAssign for Passes {
    fn add_assign(&mut self, other: Self) {
        self.forward = self.forward.saturating_add(other.forward);
        self.vjp = self.vjp.saturating_add(other.vjp);
        self.lp = self.lp.saturating_add(other.lp);
    }
}

impl Sub for Passes {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            forward: self.forward.saturating_sub(other.forward),
            vjp: self.vjp.saturating_sub(other.vjp),
            lp: self.lp.saturating_sub(other.lp),
        }
    }
}

/// What ends a campaign early.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// Most passes, forward and backward together.
    pub executions: Option<usize>,
    /// When time is up.
    pub deadline: Option<Instant>,
    /// Raised when the user wants an end.
    pub interrupt: Option<&'a AtomicBool>,
}

impl Limits<'_> {
    /// Passes that may still be made.
    pub fn left(&self, passes: Passes) -> usize {
        self.executions
            .map_or(usize::MAX, |maximum| maximum.saturating_sub(passes.total()))
    }

    /// What ends a part that may take this share of the time left; all of it where passes are counted, so that nothing
    /// depends on the clock.
    pub(crate) fn part(&self, share: f64) -> Self {
        let now = Instant::now();
        let part = |end: Instant| now + end.saturating_duration_since(now).mul_f64(share);
        let counts = self.executions.is_some();
        Self {
            deadline: self
                .deadline
                .map(|end| if counts { end } else { part(end) }),
            ..*self
        }
    }

    /// What an engine may take: so many passes, and no time beyond these limits.
    pub(crate) fn budget(&self, passes: Option<usize>, attempt: Option<usize>) -> Budget<'_> {
        Budget {
            passes,
            attempt,
            deadline: self.deadline,
            cancel: self.interrupt,
        }
    }

    /// Whether the user wants an end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Whether time is up.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|end| Instant::now() >= end)
    }

    /// Why to stop now, if there is a reason.
    pub fn check(&self) -> Result<(), Stop> {
        if self.is_interrupted() {
            return Err(Stop::Interrupted);
        }
        if self.is_late() {
            return Err(Stop::Budget);
        }
        Ok(())
    }

    /// Whether to stop now, whatever is under way.
    pub(crate) fn is_over(&self) -> bool {
        self.is_interrupted() || self.is_late()
    }
}
