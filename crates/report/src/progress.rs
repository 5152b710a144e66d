//! How a run looks while it works: one line that lives on a terminal, now and then a line of its own
//! elsewhere. All of it goes to standard error.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use deepconcolic::{Event, Polarity, Progress, Stage, percent};

use crate::busy::Busy;

/// Time between two lines where there is no terminal.
const CALM: Duration = Duration::from_secs(5);
/// Characters of the bar.
const BAR: usize = 20;

/// Shows progress.
pub struct ProgressLine {
    line: Busy,
    started: Instant,
    first: Option<usize>,
    shown: Option<Instant>,
    last: Option<Progress>,
    certificates: usize,
}

impl ProgressLine {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            line: Busy::with("reading model and data"),
            started: Instant::now(),
            first: None,
            shown: None,
            last: None,
            certificates: 0,
        }
    }

    /// Shows what is worth a line of an event.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Progress(progress) => {
                self.last = Some(*progress);
                self.show();
            }
            Event::Stage(stage) => {
                if let Some(progress) = &mut self.last {
                    progress.stage = *stage;
                } else {
                    self.line.say(doing(*stage).to_owned(), None);
                }
            }
            Event::Proof { certificate, .. } => {
                self.certificates += usize::from(*certificate);
                if self.line.is_drawn() {
                    self.show();
                }
            }
            Event::Stopped(_) => self
                .line
                .say("running the suite again, comparing, saving".into(), None),
            _ => {}
        }
    }

    /// Clears the line.
    pub fn end(&mut self) {
        self.line.end();
    }

    /// Shows where a run is, unless it was shown lately.
    fn show(&mut self) {
        let Some(snapshot) = self.last else {
            return;
        };
        if self.line.is_drawn() {
            let whole = snapshot.left.map(|left| self.started.elapsed() + left);
            self.line.say(live(&snapshot, self.certificates), whole);
            return;
        }
        let first = *self.first.get_or_insert(snapshot.passes);
        if self.shown.is_some_and(|at| at.elapsed() < CALM) {
            return;
        }
        self.shown = Some(Instant::now());
        let seconds = self.started.elapsed().as_secs_f64().max(1e-3);
        let rate = snapshot.passes.saturating_sub(first) as f64 / seconds;
        // A closed standard error is no reason to stop.
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr().lock(),
            format_args!("{}\n", line(&snapshot, rate)),
        );
    }
}

/// What is done in a stage.
fn doing(stage: Stage) -> &'static str {
    match stage {
        Stage::Measure => "running the seeds",
        Stage::Prove => "proving",
        _ => "searching",
    }
}

/// The line of a terminal; the time so far is drawn behind it.
fn live(s: &Progress, certificates: usize) -> String {
    let open = s.total.saturating_sub(s.covered);
    let mut line = format!("{:8} ", s.stage.name());
    // Writing to a string cannot fail.
    let _ = match s.polarity {
        Polarity::Goal => {
            let share = s.covered as f64 / s.total.max(1) as f64;
            let full = (share * BAR as f64) as usize;
            let bar = "█".repeat(full) + &"░".repeat(BAR - full.min(BAR));
            write!(
                line,
                "{bar} {:.1} % of {}, {open} open",
                percent(share, 1),
                s.total
            )
        }
        // How many are refuted is no achievement.
        Polarity::Property => write!(line, "{} of {} refuted, {open} open", s.covered, s.total),
    };
    let _ = write!(line, ", {} tests", s.tests);
    if let Some(adversarial) = s.adversarial {
        let _ = write!(line, ", {adversarial} adversarial");
    }
    if certificates > 0 {
        let _ = write!(line, ", {certificates} certificates");
    }
    line
}

fn line(s: &Progress, rate: f64) -> String {
    let stage = s.stage.name();
    let mut line = match s.polarity {
        Polarity::Goal => {
            let percent = percent(s.covered as f64 / s.total.max(1) as f64, 2);
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
        assert_eq!(
            live(&snapshot, 2),
            "ascend   █████░░░░░░░░░░░░░░░ 25.0 % of 200, 150 open, 12 tests, 3 adversarial, \
             2 certificates"
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
        assert_eq!(
            live(&property, 0),
            "ascend   50 of 200 refuted, 150 open, 12 tests, 3 adversarial"
        );
    }
}
