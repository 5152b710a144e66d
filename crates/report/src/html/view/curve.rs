//! How coverage grew: over tests, by what each requirement is shown by; over seconds, by the journal.

use deepconcolic::{SavedRun, Stage, State};

/// Coverage of a run that grows.
pub struct Curve {
    /// Requirements met by the first so many tests, at each number of tests where that grows.
    pub tests: Vec<(usize, usize)>,
    /// Stages, with the number of tests there were before each.
    pub stages: Vec<(usize, &'static str)>,
    /// Seconds, requirements met and requirements proven; empty where the journal does not tell.
    pub seconds: Vec<(f64, usize, usize)>,
    /// Stages, with the second at which each began.
    pub began: Vec<(f64, &'static str)>,
}

/// The curves of a run.
pub fn of(run: &SavedRun) -> Curve {
    let gained = gained(run);
    let mut tests = vec![(0, 0)];
    let mut met = 0;
    for (number, &more) in gained.iter().enumerate() {
        if more > 0 {
            met += more;
            tests.push((number + 1, met));
        }
    }
    tests.push((run.suite.len(), met));
    let (seconds, began) = timed(run, &gained).unwrap_or_default();
    Curve {
        tests,
        stages: stages(run),
        seconds,
        began,
    }
}

/// How many requirements each test is the first to meet clear of rounding, or the second of a pair.
fn gained(run: &SavedRun) -> Vec<usize> {
    let mut gained = vec![0; run.suite.len()];
    let table = &run.requirements;
    let tests = table.test.iter().zip(table.test2.iter());
    for (&state, (first, second)) in table.state.iter().zip(tests) {
        if state == State::Covered as u8 {
            let last = first.max(second);
            if let Some(number) = usize::try_from(last).ok().and_then(|t| gained.get_mut(t)) {
                *number += 1;
            }
        }
    }
    gained
}

/// The first test of each stage.
fn stages(run: &SavedRun) -> Vec<(usize, &'static str)> {
    let mut found: Vec<(usize, &'static str)> = Vec::new();
    for (test, &stage) in run.suite.provenance.stage.iter().enumerate() {
        if let Some(stage) = Stage::from_number(stage) {
            let is_known = found.iter().any(|(_, name)| *name == stage.name());
            if stage != Stage::Measure && !is_known {
                found.push((test, stage.name()));
            }
        }
    }
    found
}

type Timed = (Vec<(f64, usize, usize)>, Vec<(f64, &'static str)>);

/// Seconds of work; none where the journal has not recorded every test of the suite.
fn timed(run: &SavedRun, gained: &[usize]) -> Option<Timed> {
    let mut tests = run.suite.seeds();
    let mut met: usize = gained[..tests].iter().sum();
    let by_certificate = by_certificate(run);
    let (mut clock, mut certificates, mut proven) = (0.0, 0, 0);
    let mut points = vec![(0.0, met, 0)];
    let mut began: Vec<(f64, &'static str)> = Vec::new();
    for step in &run.steps {
        let stage = match (step.round(), step.proof()) {
            (Some(round), _) => round.stage.name(),
            _ => Stage::Prove.name(),
        };
        if began.iter().all(|(_, known)| *known != stage) {
            began.push((clock, stage));
        }
        if !step.seconds.is_finite() || step.seconds < 0.0 {
            return None;
        }
        clock += step.seconds;
        if let Some(round) = step.admitted() {
            let more = gained.get(tests..tests + round.tests.len())?;
            met += more.iter().sum::<usize>();
            tests += round.tests.len();
        }
        if let Some(proof) = step.proof() {
            let after = certificates + proof.taken_over as usize + usize::from(proof.wrote);
            for number in certificates..after {
                proven += by_certificate.get(number).copied().unwrap_or(0);
            }
            certificates = after;
        }
        points.push((clock, met, proven));
    }
    (tests == run.suite.len() && !run.steps.is_empty()).then_some((points, began))
}

/// How many requirements each certificate shows to be impossible.
fn by_certificate(run: &SavedRun) -> Vec<usize> {
    let table = &run.requirements;
    let mut counts: Vec<usize> = Vec::new();
    if table.certificate.is_blank() {
        return counts;
    }
    for row in 0..table.state.len() {
        let Ok(number) = usize::try_from(table.certificate[row]) else {
            continue;
        };
        // A number that no certificate has takes no memory.
        if table.state[row] == State::Infeasible as u8 && number < table.state.len() + 1_000_000 {
            if counts.len() <= number {
                counts.resize(number + 1, 0);
            }
            counts[number] += 1;
        }
    }
    counts
}
