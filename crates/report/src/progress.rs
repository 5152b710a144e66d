//! How a run looks while it works: one line that lives on a terminal, now and then a line of its own
//! elsewhere. All of it goes to standard error.

use std::time::{Duration, Instant};

use deepconcolic::{Counts, Event, Progress, Stage, percent};

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

    /// Since the command began to work.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
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
        // Of what earlier sittings did, or of what was done before the first line, no rate is known.
        let rate = (snapshot.passes > first).then(|| (snapshot.passes - first) as f64 / seconds);
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
        let share = feasible_share(&s.goals);
        let full = (share * BAR as f64) as usize;
        let bar = "█".repeat(full) + &"░".repeat(BAR - full.min(BAR));
        let (percent, feasible) = (percent(share, 1), s.goals.feasible());
        parts.push(format!("{bar} {percent:.1} % of {feasible}"));
        parts.extend(decided_or_open(s, &s.goals, "impossible"));
    }
    // How many are refuted is no achievement, and no bar.
    if s.properties.total > 0 {
        parts.push(refuted(s));
        parts.extend(decided_or_open(s, &s.properties, "proven"));
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

/// What is covered of what is not proven impossible; of nothing, all.
fn feasible_share(goals: &Counts) -> f64 {
    match goals.feasible() {
        0 => 1.0,
        feasible => goals.met as f64 / feasible as f64,
    }
}

/// What certificates decided, if they did, and what is left: which requirements a certificate decides is known when
/// proving ends.
fn decided_or_open(s: &Progress, counts: &Counts, impossible: &str) -> Vec<String> {
    let decided = (counts.impossible > 0).then(|| format!("{} {impossible}", counts.impossible));
    let most = match s.stage {
        Stage::Prove if counts.open() > 0 => "at most ",
        _ => "",
    };
    let open = format!("{most}{} open", counts.open());
    decided.into_iter().chain([open]).collect()
}

/// How many properties are refuted, of those beside goals with their name.
fn refuted(s: &Progress) -> String {
    let what = if s.goals.total > 0 { " properties" } else { "" };
    format!(
        "{} of {}{what} refuted",
        s.properties.met, s.properties.total
    )
}

fn line(s: &Progress, rate: Option<f64>) -> String {
    let mut parts = Vec::new();
    if s.goals.total > 0 {
        let (percent, feasible) = (percent(feasible_share(&s.goals), 2), s.goals.feasible());
        parts.push(format!("{percent:6.2} % of {feasible} covered"));
        parts.extend(decided_or_open(s, &s.goals, "impossible"));
    }
    if s.properties.total > 0 {
        parts.push(refuted(s));
        parts.extend(decided_or_open(s, &s.properties, "proven"));
    }
    parts.push(format!("{} tests", s.tests));
    if let Some(adversarial) = s.adversarial {
        parts.push(format!("{adversarial} adversarial"));
    }
    parts.extend(rate.map(|rate| format!("{rate:.0} passes/s")));
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
    use super::*;

    fn counts(total: usize, met: usize, impossible: usize) -> Counts {
        Counts {
            total,
            met,
            impossible,
        }
    }

    #[test]
    fn a_line_says_where_a_run_is() {
        let snapshot = Progress {
            stage: deepconcolic::Stage::Ascend,
            goals: counts(200, 50, 0),
            properties: Counts::default(),
            tests: 12,
            adversarial: Some(3),
            passes: 700,
            max_passes: Some(1000),
            left: Some(Duration::from_secs(61)),
        };
        assert_eq!(
            line(&snapshot, Some(350.4)),
            "ascend    25.00 % of 200 covered, 150 open, 12 tests, 3 adversarial, 350 passes/s, \
             700 of 1000 passes, 61 s left"
        );
        let unknown = line(&snapshot, None);
        assert!(!unknown.contains("passes/s"), "{unknown}");
        assert_eq!(
            live(&snapshot, 2),
            "ascend   █████░░░░░░░░░░░░░░░ 25.0 % of 200, 150 open, 12 tests, 3 adversarial, \
             2 certificates"
        );
        let both = Progress {
            properties: counts(10, 3, 0),
            ..snapshot
        };
        assert_eq!(
            line(&both, Some(350.4)),
            "ascend    25.00 % of 200 covered, 150 open, 3 of 10 properties refuted, 7 open, 12 tests, \
             3 adversarial, 350 passes/s, 700 of 1000 passes, 61 s left"
        );
        assert_eq!(
            live(&both, 0),
            "ascend   █████░░░░░░░░░░░░░░░ 25.0 % of 200, 150 open, 3 of 10 properties refuted, 7 open, \
             12 tests, 3 adversarial"
        );
        let property = Progress {
            goals: Counts::default(),
            properties: snapshot.goals,
            max_passes: None,
            left: None,
            ..snapshot
        };
        assert_eq!(
            line(&property, Some(350.4)),
            "ascend   50 of 200 refuted, 150 open, 12 tests, 3 adversarial, 350 passes/s"
        );
        assert_eq!(
            live(&property, 0),
            "ascend   50 of 200 refuted, 150 open, 12 tests, 3 adversarial"
        );
    }

    #[test]
    fn what_is_proven_is_not_called_open() {
        let snapshot = Progress {
            stage: deepconcolic::Stage::Prove,
            goals: counts(200, 90, 20),
            properties: counts(10, 3, 7),
            tests: 12,
            adversarial: None,
            passes: 700,
            max_passes: None,
            left: None,
        };
        assert_eq!(
            line(&snapshot, Some(350.4)),
            "prove     50.00 % of 180 covered, 20 impossible, at most 90 open, 3 of 10 properties refuted, 7 proven, 0 open, \
             12 tests, 350 passes/s"
        );
        assert_eq!(
            live(&snapshot, 0),
            "prove    ██████████░░░░░░░░░░ 50.0 % of 180, 20 impossible, at most 90 open, 3 of 10 properties refuted, 7 proven, \
             0 open, 12 tests"
        );
        let nothing_feasible = Progress {
            goals: counts(20, 0, 20),
            properties: Counts::default(),
            ..snapshot
        };
        assert!(
            line(&nothing_feasible, Some(1.0))
                .contains("100.00 % of 0 covered, 20 impossible, 0 open")
        );
    }
}
