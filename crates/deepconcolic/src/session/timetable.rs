//! When the parts of a run must be over, so that all of it is over with its budget.

use std::time::{Duration, Instant};

/// What is kept back of the end, for what nobody planned.
const MARGIN: f64 = 0.01;
/// Most of it, in seconds.
const MAX_MARGIN: f64 = 0.3;

/// The time of a sitting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timetable {
    /// When everything is over; none if nobody limits it.
    end: Option<Instant>,
    /// Whether parts get shares of the time. Where passes are counted nothing depends on the clock, unless all of
    /// the time is up.
    shares: bool,
}

impl Timetable {
    /// A sitting that began then, of a run with so many seconds of which earlier sittings took some.
    pub fn new(started: Instant, budget: Option<f64>, before: f64, counts_passes: bool) -> Self {
        let end = budget.and_then(|budget| {
            let margin = (budget * MARGIN).min(MAX_MARGIN);
            // More than the clock can count is no limit.
            let left = Duration::try_from_secs_f64((budget - margin - before).max(0.0)).ok()?;
            started.checked_add(left)
        });
        Self {
            end,
            shares: !counts_passes,
        }
    }

    /// When everything is over.
    pub fn end(&self) -> Option<Instant> {
        self.end
    }

    /// Whether parts get shares of the time.
    pub fn has_shares(&self) -> bool {
        self.shares
    }

    /// When it is over if so many seconds are kept for what comes after.
    pub fn before_last(&self, seconds: f64) -> Option<Instant> {
        let kept = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        self.end
            .map(|end| end.checked_sub(kept).unwrap_or_else(Instant::now))
    }

    /// When a part is over that may take this share of what is left until then; all of it where passes are counted.
    pub fn share(&self, share: f64, until: Option<Instant>) -> Option<Instant> {
        if !self.shares {
            return until;
        }
        let now = Instant::now();
        until.map(|end| now + end.saturating_duration_since(now).mul_f64(share))
    }

    /// Seconds left until the end; none if nobody limits them.
    pub fn left(&self) -> Option<f64> {
        let now = Instant::now();
        self.end
            .map(|end| end.saturating_duration_since(now).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Option<f64> = Some(100.0);

    #[test]
    fn earlier_sittings_and_what_comes_after_take_their_part() {
        let started = Instant::now();
        let whole = Timetable::new(started, NOW, 0.0, false);
        let rest = Timetable::new(started, NOW, 40.0, false);
        let gap = whole.end().unwrap() - rest.end().unwrap();
        assert_eq!(gap, Duration::from_secs(40));
        let before = whole.before_last(10.0).unwrap();
        assert_eq!(whole.end().unwrap() - before, Duration::from_secs(10));
    }

    #[test]
    fn where_passes_are_counted_no_part_ends_by_the_clock_before_the_end() {
        let table = Timetable::new(Instant::now(), NOW, 0.0, true);
        assert_eq!(table.share(0.1, table.end()), table.end());
        let table = Timetable::new(Instant::now(), NOW, 0.0, false);
        assert!(table.share(0.1, table.end()) < table.end());
    }

    #[test]
    fn without_a_budget_nothing_ends() {
        let table = Timetable::new(Instant::now(), None, 0.0, false);
        assert_eq!(table.end(), None);
        assert_eq!(table.share(0.1, table.end()), None);
        assert_eq!(table.before_last(1.0), None);
        assert_eq!(
            Timetable::new(Instant::now(), Some(1e300), 0.0, false).end(),
            None
        );
    }
}
