//! How a run looks while it works: one line that lives on a terminal, now and then a line of its own
//! elsewhere. All of it goes to standard error.

use std::time::{Duration, Instant};

use deepconcolic::{Event, Progress, Stage, percent};

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
    let mut parts = Vec::new();
    if s.goals.total > 0 {
        let share = s.goals.met as f64 / s.goals.total as f64;
        let full = (share * BAR as f64) as usize;
        let bar = "█".repeat(full) + &"░".repeat(BAR - full.min(BAR));
        let (percent, rest) = (percent(share, 1), s.goals.rest());
        parts.push(format!(
            "{bar} {percent:.1} % of {}, {rest} open",
            s.goals.total
        ));
    }
    // How many are refuted is no achievement, and no bar.
    if s.properties.total > 0 {
        parts.push(format!("{}, {} open", refuted(s), s.properties.rest()));
    }
    parts.push(format!("{} tests", s.tests));
    if let Some(adversarial) = s.adversarial {
        parts.push(format!("{adversarial} adversarial"));
    }
    if certificates > 0 {
        parts.push(format!("{certificates} certificates"));
    }
    format!("{:8} {}", s.stage.name(), parts.join(", "))
}

/// How many properties are refuted, of those beside goals with their name.
fn refuted(s: &Progress) -> String {
    let what = if s.goals.total > 0 { " properties" } else { "" };
    format!(
        "{} of {}{what} refuted",
        s.properties.met, s.properties.total
    )
}

fn line(s: &Progress, rate: f64) -> String {
    let mut parts = Vec::new();
    if s.goals.total > 0 {
        let percent = percent(s.goals.met as f64 / s.goals.total as f64, 2);
        parts.push(format!("{percent:6.2} % of {} covered", s.goals.total));
    }
    if s.properties.total > 0 {
        parts.push(refuted(s));
    }
    parts.push(format!("{} tests", s.tests));
    if let Some(adversarial) = s.adversarial {
        parts.push(format!("{adversarial} adversarial"));
    }
    parts.push(format!("{rate:.0} passes/s"));
    if let Some(maximum) = s.max_passes {
        parts.push(format!("{} of {maximum} passes", s.passes));
    }
    if let Some(left) = s.left {
        parts.push(format!("{} s left", left.as_secs()));
    }
    format!("{:8} {}", s.stage.name(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use deepconcolic::Met;

    use super::*;

    #[test]
    fn a_line_says_where_a_run_is() {
        let snapshot = Progress {
            stage: deepconcolic::Stage::Ascend,
            goals: Met {
                met: 50,
                total: 200,
            },
            properties: Met::default(),
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
        let both = Progress {
            properties: Met { met: 3, total: 10 },
            ..snapshot
        };
        assert_eq!(
            line(&both, 350.4),
            "ascend    25.00 % of 200 covered, 3 of 10 properties refuted, 12 tests, 3 adversarial, \
             350 passes/s, 700 of 1000 passes, 61 s left"
        );
        assert_eq!(
            live(&both, 0),
            "ascend   █████░░░░░░░░░░░░░░░ 25.0 % of 200, 150 open, 3 of 10 properties refuted, 7 open, \
             12 tests, 3 adversarial"
        );
        let property = Progress {
            goals: Met::default(),
            properties: snapshot.goals,
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
