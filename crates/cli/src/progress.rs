//! How a run looks while it works: one line that changes on a terminal, now and then a line of its own
//! elsewhere. All of it goes to standard error.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two updates on a terminal, and elsewhere.
const LIVELY: Duration = Duration::from_millis(100);
const CALM: Duration = Duration::from_secs(5);

/// What there is to show.
#[derive(Clone, Copy)]
pub struct Snapshot {
    /// What is being done.
    pub stage: &'static str,
    /// Requirements covered, and all of them.
    pub covered: usize,
    pub total: usize,
    /// Tests, and how many of them are known to be adversarial, if they are judged at all.
    pub tests: usize,
    pub adversarial: Option<usize>,
    /// Passes so far, and how many there may be.
    pub passes: usize,
    pub most: Option<usize>,
    /// Time left, if there is a limit.
    pub left: Option<Duration>,
}

/// Shows snapshots.
pub struct Progress {
    silent: bool,
    terminal: bool,
    started: Instant,
    first: Option<usize>,
    shown: Option<Instant>,
}

impl Progress {
    /// Shows nothing if it is to be silent.
    pub fn new(silent: bool) -> Self {
        Self {
            silent,
            terminal: std::io::stderr().is_terminal(),
            started: Instant::now(),
            first: None,
            shown: None,
        }
    }

    /// Shows a snapshot, unless the last one is recent.
    pub fn show(&mut self, snapshot: &Snapshot) {
        let first = *self.first.get_or_insert(snapshot.passes);
        let pause = if self.terminal { LIVELY } else { CALM };
        if self.silent || self.shown.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        self.shown = Some(Instant::now());
        let rate =
            (snapshot.passes - first) as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        let line = line(snapshot, rate);
        // A closed standard error is no reason to stop.
        let mut err = std::io::stderr().lock();
        let _ = if self.terminal {
            write!(err, "\r\x1b[2K{line}").and_then(|()| err.flush())
        } else {
            writeln!(err, "{line}")
        };
    }

    /// Clears the line.
    pub fn finish(&mut self) {
        if !self.silent && self.terminal && self.shown.take().is_some() {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\x1b[2K").and_then(|()| err.flush());
        }
    }
}

fn line(s: &Snapshot, rate: f64) -> String {
    let percent = 100.0 * s.covered as f64 / s.total.max(1) as f64;
    let mut line = format!(
        "{:8} {percent:6.2} % of {} covered, {} tests",
        s.stage, s.total, s.tests
    );
    // Writing to a string cannot fail.
    if let Some(adversarial) = s.adversarial {
        let _ = write!(line, ", {adversarial} adversarial");
    }
    let _ = write!(line, ", {rate:.0} passes/s");
    if let Some(most) = s.most {
        let _ = write!(line, ", {} of {most} passes", s.passes);
    }
    if let Some(left) = s.left {
        let _ = write!(line, ", {} s left", left.as_secs());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_where_a_run_is() {
        let snapshot = Snapshot {
            stage: "ascend",
            covered: 50,
            total: 200,
            tests: 12,
            adversarial: Some(3),
            passes: 700,
            most: Some(1000),
            left: Some(Duration::from_secs(61)),
        };
        assert_eq!(
            line(&snapshot, 350.4),
            "ascend    25.00 % of 200 covered, 12 tests, 3 adversarial, 350 passes/s, \
             700 of 1000 passes, 61 s left"
        );
    }
}
