//! What the end of a run will take: every test run again, verdicts, controls, saving. It is kept back from the search,
//! sized by the suite and by what was measured so far.

use std::time::Duration;

/// What the audit takes beyond the first look at a test, and some of the controls: these run as many inputs, and fewer
/// where there is no time.
const LOOKS: f64 = 1.5;
/// Looks that a pair of tests takes beside: both are run again, and it is told where they lie together.
const PAIR: f64 = 3.0;
/// Seconds that a requirement takes in the end, whatever shows it: counts and notes; and a row of tables and the report,
/// which of pairs only those have that are covered or infeasible.
const REQUIREMENT: f64 = 1e-8;
const ROW: f64 = 6e-8;
/// Seconds that a value of a test takes: the suite is packed, written, read back and shown.
const VALUE: f64 = 6e-8;
/// Seconds to conclude and save where there is next to nothing: hashes, pages, the disk.
const LEAST: f64 = 0.1;

/// Times and counts of work that the end repeats.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closing {
    /// Seeds measured: each was run, and what it meets was looked up.
    looked: Measured,
    /// Tests judged.
    judged: Measured,
    /// Requirements, and those that have a row in tables whatever becomes of them.
    requirements: usize,
    rows: usize,
    /// Values of an input.
    elements: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    seconds: f64,
    count: usize,
}

impl Measured {
    fn add(&mut self, time: Duration, count: usize) {
        self.seconds += time.as_secs_f64();
        self.count += count;
    }

    fn each(self) -> f64 {
        self.seconds / self.count.max(1) as f64
    }
}

impl Closing {
    /// Nothing measured yet, of a run with so many requirements, of which so many have a row in tables, on inputs of
    /// so many values.
    pub fn of(requirements: usize, rows: usize, elements: usize) -> Self {
        Self {
            requirements,
            rows,
            elements,
            ..Self::default()
        }
    }

    /// So many tests were run and looked at in this time.
    pub fn looked(&mut self, time: Duration, tests: usize) {
        self.looked.add(time, tests);
    }

    /// So many tests were judged in this time.
    pub fn judged(&mut self, time: Duration, tests: usize) {
        self.judged.add(time, tests);
    }

    /// Seconds that the end will take with so many tests, some of them not judged yet, and so many pairs of tests.
    pub fn seconds(&self, tests: usize, unjudged: usize, pairs: usize) -> f64 {
        let look = self.looked.each();
        let runs = tests as f64 * LOOKS + pairs as f64 * PAIR;
        let fixed = LEAST + REQUIREMENT * self.requirements as f64 + ROW * self.rows as f64;
        let values = VALUE * (tests * self.elements) as f64;
        fixed + values + look * runs + self.judged.each() * unjudged as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_takes_longer_the_more_there_is_to_look_at() {
        let mut closing = Closing::default();
        closing.looked(Duration::from_secs(2), 4);
        closing.judged(Duration::from_secs(1), 10);
        let few = closing.seconds(10, 0, 0);
        assert!((few - LEAST - 0.5 * LOOKS * 10.0).abs() < 1e-9);
        assert!(closing.seconds(10, 10, 0) > few);
        assert!(closing.seconds(10, 0, 5) > few);
    }
}
