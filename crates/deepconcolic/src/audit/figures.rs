//! `run.json` and `statement.md`: every figure compared with the one computed.

use std::path::Path;

use deepconcolic_campaign::Accuracy;
use deepconcolic_record::{Baseline, SlopeSummary, Summary};
use serde_json::Value;

use super::RunFindings;
use super::left_out::Halt;
use super::opened::Opened;
use super::origins::Origins;
use crate::conclude::controls::{CONTROL, Controls};
use crate::conclude::figures::RunRecord;
use crate::conclude::slopes::{RANDOM_PAIRS, is_all_ratios, random_share};
use crate::error::Error;
use crate::folder::{self, fingerprints};
use crate::gate::Gates;
use crate::samples;

/// How the run went, as it says; what was measured on data and on random inputs, measured again.
pub fn record(
    opened: &Opened,
    origins: &Origins,
    slopes: &[SlopeSummary],
    report: &mut RunFindings,
) -> Result<RunRecord, Halt> {
    report.unverified.push(
        "run.json: date, command, time_s, executions, stop, notes (how the run went; that statement.md says the \
         same of date, command, total time, executions, stop and notes was checked)"
            .into(),
    );
    let claimed = &opened.summary;
    let (baseline, accuracy) = if is_all_ratios(opened.family.as_ref()) {
        slope_baseline(opened, origins, slopes)?
    } else {
        baseline(opened, origins, report)?
    };
    opened.in_time()?;
    let misclassified = match &origins.choice {
        Some(choice) => choice.misclassified.len(),
        None => claimed.tests.misclassified,
    };
    for note in opened.family.notes() {
        if !claimed.notes.contains(&note) {
            report.differs(folder::SUMMARY, "notes", "no such note", note);
        }
    }
    Ok(RunRecord {
        date: claimed.date.clone(),
        command: claimed.command.clone(),
        accuracy,
        misclassified,
        baseline,
        times: claimed.time_s,
        executions: claimed.executions,
        stop: claimed.stop.clone(),
        notes: claimed.notes.clone(),
        gates: gates(claimed, report),
        files: fingerprints::of_folder(&opened.dir)?,
    })
}

/// What the run had to come to, as it says; whether it did is computed again.
fn gates(claimed: &Summary, report: &mut RunFindings) -> Gates {
    Gates::of_verdicts(&claimed.gates).unwrap_or_else(|why| {
        report.differs(folder::SUMMARY, "gates", why, "gates that can be judged");
        Gates::default()
    })
}

/// For a family of ratios: random pairs were drawn again before this; of the data only answers are measured.
fn slope_baseline(
    opened: &Opened,
    origins: &Origins,
    slopes: &[SlopeSummary],
) -> Result<(Baseline, Option<f64>), Error> {
    let claimed = &opened.summary.baseline;
    let mut found = Baseline {
        random_coverage: (claimed.random_inputs > 0)
            .then(|| random_share(slopes))
            .flatten(),
        random_inputs: claimed.random_inputs,
        data_inputs: claimed.data_inputs,
        ..Baseline::default()
    };
    let (Some(data), true) = (&origins.data, claimed.data_inputs > 0) else {
        return Ok((found, opened.summary.accuracy));
    };
    let maximum = data.len().min(CONTROL);
    found.data_inputs = claimed.data_inputs.clamp(1, maximum);
    let controls = Controls {
        network: &opened.network,
        family: opened.family.as_ref(),
        decision: &opened.decision,
        settings: &opened.settings,
    };
    let inputs = samples::inputs(data, &opened.decision)?;
    let (answers, _) = controls.answers(&inputs, found.data_inputs, &opened.limits());
    Ok((found, answers.accuracy().map(Accuracy::share)))
}

fn baseline(
    opened: &Opened,
    origins: &Origins,
    report: &mut RunFindings,
) -> Result<(Baseline, Option<f64>), Error> {
    let claimed = &opened.summary.baseline;
    let is_measured = claimed.random_coverage.is_some() || claimed.data_coverage.is_some();
    let mut found = Baseline {
        // Random pairs were drawn again before this, as many as the run says.
        random_pairs: claimed.random_pairs.map(|pairs| pairs.min(RANDOM_PAIRS)),
        ..Baseline::default()
    };
    if !is_measured {
        report
            .unverified
            .push("run.json: that nothing was measured for comparison (baseline, accuracy)".into());
        return Ok((found, None));
    }
    let controls = Controls {
        network: &opened.network,
        family: opened.family.as_ref(),
        decision: &opened.decision,
        settings: &opened.settings,
    };
    let (tests, rng_seed) = (opened.suite.len(), opened.settings.rng_seed);
    // How many there was time for is the run's to say.
    let drawn = claimed.random_inputs.min(tests);
    let limits = opened.limits();
    let (random, _) = controls.random(&opened.space, &opened.seeds, drawn, rng_seed, &limits);
    found.random_coverage = (drawn > 0).then_some(random.share);
    found.random_inputs = drawn;
    if drawn < tests {
        report.unverified.push(
            "run.json: that there was time for no more random inputs (baseline.random_inputs)"
                .into(),
        );
    }
    if claimed.data_inputs == 0 {
        report
            .unverified
            .push("run.json: that nothing of the data was measured (baseline.data_inputs)".into());
        return Ok((found, None));
    }
    let Some(data) = &origins.data else {
        found.data_coverage = claimed.data_coverage;
        found.data_inputs = claimed.data_inputs;
        found.layers.clone_from(&claimed.layers);
        return Ok((found, opened.summary.accuracy));
    };
    let inputs = samples::inputs(data, &opened.decision)?;
    let maximum = data.len().min(CONTROL);
    let len = claimed.data_inputs.clamp(1, maximum);
    let (covered, answers, _) = controls.data(&inputs, len, &limits);
    found.data_coverage = Some(covered.share);
    if drawn > 0 {
        found.layers = random.beside(&covered);
    }
    found.data_inputs = len;
    if len < maximum {
        report.unverified.push(
            "run.json: that there was time for no more of the data (baseline.data_inputs)".into(),
        );
    }
    for note in samples::about_labels(&answers, data) {
        if !opened.summary.notes.contains(&note) {
            report.differs(folder::SUMMARY, "notes", "no such note", note);
        }
    }
    Ok((found, answers.accuracy().map(Accuracy::share)))
}

/// Every field of `run.json`.
pub fn compare(opened: &Opened, found: &Summary, report: &mut RunFindings) -> Result<(), Error> {
    let found = serde_json::to_value(found).map_err(Error::json)?;
    walk(&opened.claimed, &found, "", report);
    Ok(())
}

fn walk(claimed: &Value, found: &Value, path: &str, report: &mut RunFindings) {
    let child = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match (claimed, found) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                walk(
                    value,
                    b.get(name).unwrap_or(&Value::Null),
                    &child(name),
                    report,
                );
                if !b.contains_key(name) && value.is_null() {
                    report.differs(folder::SUMMARY, child(name), "null", "no such field");
                }
            }
            for (name, value) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
                report.differs(folder::SUMMARY, child(name), "nothing", value);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (number, (a, b)) in a.iter().zip(b).enumerate() {
                walk(a, b, &format!("{path}[{number}]"), report);
            }
        }
        (a, b) if a == b => {}
        (a, b) => report.differs(folder::SUMMARY, path, brief(a), brief(b)),
    }
}

/// A value short enough for a line.
fn brief(value: &Value) -> String {
    const MAX: usize = 120;
    let text = value.to_string();
    if text.chars().count() > MAX {
        let start: String = text.chars().take(MAX).collect();
        format!("{start}...")
    } else {
        text
    }
}

/// `statement.md`, line by line.
pub fn page(path: &Path, found: &str, report: &mut RunFindings) -> Result<(), Error> {
    let missing = "the statement of the run";
    lines((folder::STATEMENT, missing), path, found, report);
    Ok(())
}

/// A file of text, by its name and what it is, line by line.
pub fn lines((file, what): (&str, &str), path: &Path, found: &str, report: &mut RunFindings) {
    let Ok(claimed) = std::fs::read(path) else {
        report.differs(file, "file", "nothing", what);
        return;
    };
    let claimed = String::from_utf8_lossy(&claimed);
    let (a, b): (Vec<&str>, Vec<&str>) =
        (claimed.split('\n').collect(), found.split('\n').collect());
    for line in 0..a.len().max(b.len()) {
        let show = |lines: &[&str]| {
            lines
                .get(line)
                .map_or("nothing".into(), |l| format!("`{l}`"))
        };
        if a.get(line) != b.get(line) {
            report.differs(file, format!("line {}", line + 1), show(&a), show(&b));
        }
    }
}
