//! The time of an audit.

use std::time::Instant;

/// When an audit began, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    budget: f64,
}

impl Clock {
    /// So many seconds from now on.
    pub fn start(budget: f64) -> Self {
        Self {
            began: Instant::now(),
            budget,
        }
    }

    /// Seconds since it began.
    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Seconds left; 0 when time is up.
    pub fn left(&self) -> f64 {
        (self.budget - self.seconds()).max(0.0)
    }

    /// A clock for a part that may take this share of the time left.
    pub fn share(&self, share: f64) -> Self {
        Self::start(self.left() * share)
    }

    /// Whether time is up.
    pub fn is_over(&self) -> bool {
        self.left() <= 0.0
    }
}
