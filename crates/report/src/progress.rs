//! How a run looks while it works: one line that changes on a terminal, now and then a line of its own
//! elsewhere. All of it goes to standard error.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use deepconcolic::{Event, Polarity, Progress};

/// Time between two updates on a terminal, and elsewhere.
const LIVELY: Duration = Duration::from_millis(100);
const CALM: Duration = Duration::from_secs(5);

/// Shows progress.
pub struct ProgressLine {
    terminal: bool,
    started: Instant,
    first: Option<usize>,
    shown: Option<Instant>,
}

impl ProgressLine {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            started: Instant::now(),
            first: None,
            shown: None,
        }
    }

    /// Shows what is worth a line of an event.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Progress(progress) => self.show(progress),
            Event::Stopped(_) => self.finish(),
            _ => {}
        }
    }

    /// Shows where a run is, unless it was shown lately.
    fn show(&mut self, snapshot: &Progress) {
        let first = *self.first.get_or_insert(snapshot.passes);
        let pause = if self.terminal { LIVELY } else { CALM };
        if self.shown.is_some_and(|at| at.elapsed() < pause) {
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
    fn finish(&mut self) {
        if self.terminal && self.shown.take().is_some() {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\x1b[2K").and_then(|()| err.flush());
        }
    }
}

fn line(s: &Progress, rate: f64) -> String {
    let stage = s.stage.name();
    let mut line = match s.polarity {
        Polarity::Goal => {
            let percent = 100.0 * s.covered as f64 / s.total.max(1) as f64;
            format!("{stage:8} {percent:6.2} % of {} covered", s.total)
        }
        // How many are refuted is no achievement.
        Polarity::Property => format!("{stage:8} {} of {} refuted", s.covered, s.total),
    };
    // Writing to a string cannot fail.
    let _ = write!(line, ", {} tests", s.tests);
    if let Some(adversarial) = s.adversarial {
        let _ = write!(line, ", {adversarial} adversarial");
    }
    let _ = write!(line, ", {rate:.0} passes/s");
    if let Some(maximum) = s.max_passes {
        let _ = write!(line, ", {} of {maximum} passes", s.passes);
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
        let snapshot = Progress {
            stage: deepconcolic::Stage::Ascend,
            polarity: Polarity::Goal,
            covered: 50,
            total: 200,
            tests: 12,
            adversarial: Some(3),
            passes: 700,
            max_passes: Some(1000),
            left: Some(Duration::from_secs(61)),
        };
        assert_eq!(
            line(&snapshot, 350.4),
            "ascend    25.00 % of 200 covered, 12 tests, 3 adversarial, 350 passes/s, \
             700 of 1000 passes, 61 s left"
        );
        let property = Progress {
            polarity: Polarity::Property,
            max_passes: None,
            left: None,
            ..snapshot
        };
        assert_eq!(
            line(&property, 350.4),
            "ascend   50 of 200 refuted, 12 tests, 3 adversarial, 350 passes/s"
        );
    }
}
