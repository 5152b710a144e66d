//! What is asked once and answered once: coverage, verify, check, replay, merge.

use std::path::PathBuf;
use std::time::Duration;

use deepconcolic::{
    CheckReport, CoverageJob, CoveragePart, CoverageReport, Error, Event, Merge, Partition, Replay,
    VerifyJob,
};
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays;
use crate::errors::Failure;
use crate::model::Model;
use crate::work::detached;

/// Measures what data cover: the report as JSON.
#[pyfunction]
#[pyo3(signature = (job, model, x=None, labels=None, quantities=None, threads=0))]
pub fn coverage(
    py: Python<'_>,
    job: &str,
    model: &Model,
    x: Option<&Bound<'_, PyAny>>,
    labels: Option<Vec<i64>>,
    quantities: Option<Vec<f64>>,
    threads: usize,
) -> PyResult<String> {
    let job = measuring(py, job, model, x, labels, quantities)?;
    detached(py, threads, move || reported(|tell| job.run(tell)))
}

/// What is to be measured.
fn measuring(
    py: Python<'_>,
    job: &str,
    model: &Model,
    x: Option<&Bound<'_, PyAny>>,
    labels: Option<Vec<i64>>,
    quantities: Option<Vec<f64>>,
) -> PyResult<CoverageJob> {
    let raise = |failure: Failure| failure.exception(py);
    let mut job: CoverageJob = serde_json::from_str(job).map_err(|e| raise(e.into()))?;
    job.model = model.settings.clone();
    if let Some(x) = x {
        job.data.content = Some(arrays::dataset(x, labels, quantities).map_err(raise)?);
    }
    Ok(job)
}

/// A report as JSON, with what was told on the way before its other notes.
fn reported(
    measure: impl FnOnce(&mut dyn FnMut(Event)) -> Result<CoverageReport, Error>,
) -> Result<String, Failure> {
    let mut notes = Vec::new();
    let mut report = measure(&mut |event| notes.extend(note(event)))?;
    notes.append(&mut report.notes);
    report.notes = notes;
    Ok(serde_json::to_string(&report)?)
}

/// Measures a part of the data, `i/n`: what it covers, as JSON.
#[pyfunction]
#[pyo3(signature = (job, model, part, x, labels=None, quantities=None, threads=0))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub fn coverage_part(
    py: Python<'_>,
    job: &str,
    model: &Model,
    part: &str,
    x: &Bound<'_, PyAny>,
    labels: Option<Vec<i64>>,
    quantities: Option<Vec<f64>>,
    threads: usize,
) -> PyResult<String> {
    let job = measuring(py, job, model, Some(x), labels, quantities)?;
    let part: Partition = part
        .parse()
        .map_err(|why: String| Failure::usage(why).exception(py))?;
    detached(py, threads, move || {
        let part = job.run_part(part, &mut |_| {})?;
        Ok(serde_json::to_string(&part)?)
    })
}

/// Joins what parts of the data cover: the report as JSON.
#[pyfunction]
#[pyo3(signature = (job, model, parts, x, labels=None, quantities=None, threads=0))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub fn coverage_joined(
    py: Python<'_>,
    job: &str,
    model: &Model,
    parts: Vec<String>,
    x: &Bound<'_, PyAny>,
    labels: Option<Vec<i64>>,
    quantities: Option<Vec<f64>>,
    threads: usize,
) -> PyResult<String> {
    let job = measuring(py, job, model, Some(x), labels, quantities)?;
    detached(py, threads, move || {
        let read = |part: &String| serde_json::from_str(part);
        let parts: Vec<CoveragePart> = parts.iter().map(read).collect::<Result<_, _>>()?;
        reported(|tell| job.join(&parts, tell))
    })
}

/// Writes the profile that parts share, if a criterion compares with one, and says where it is from.
#[pyfunction]
#[pyo3(signature = (job, model, path, x, labels=None, quantities=None, threads=0))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub fn coverage_profile(
    py: Python<'_>,
    job: &str,
    model: &Model,
    path: PathBuf,
    x: &Bound<'_, PyAny>,
    labels: Option<Vec<i64>>,
    quantities: Option<Vec<f64>>,
    threads: usize,
) -> PyResult<Option<String>> {
    let job = measuring(py, job, model, Some(x), labels, quantities)?;
    detached(py, threads, move || {
        Ok(job.write_profile(&path, &mut |_| {})?)
    })
}

/// The text of a note.
fn note(event: Event) -> Option<String> {
    match event {
        Event::Note(text) => Some(text),
        _ => None,
    }
}

/// Decides a property: the answer as JSON; a folder is written if one is named.
#[pyfunction]
#[pyo3(signature = (model, property, timeout, out=None, threads=0))]
pub fn verify(
    py: Python<'_>,
    model: &Model,
    property: PathBuf,
    timeout: f64,
    out: Option<PathBuf>,
    threads: usize,
) -> PyResult<String> {
    let job = VerifyJob {
        model: model.settings.clone(),
        property,
        timeout,
    };
    detached(py, threads, move || {
        if out.is_some() {
            job.can_be_stored()?;
        }
        let answer = job.run(&mut |_| {})?;
        if let Some(folder) = &out {
            answer.write(folder)?;
        }
        let answer = json!({
            "verdict": answer.verdict,
            "counterexample": answer.counterexample,
            "notes": answer.notes,
            "reason": answer.reason,
        });
        Ok(answer.to_string())
    })
}

/// Judges a folder again: what was found, as JSON.
#[pyfunction]
#[pyo3(signature = (folder, model=None, budget=None, threads=0))]
pub fn check(
    py: Python<'_>,
    folder: PathBuf,
    model: Option<PathBuf>,
    budget: Option<f64>,
    threads: usize,
) -> PyResult<String> {
    detached(py, threads, move || {
        let budget = budget.map(Duration::from_secs_f64);
        let mut report = deepconcolic::check(&folder, model.as_deref(), budget)?;
        let holds = report.holds();
        let left_out: Vec<String> = report
            .left_out()
            .iter()
            .map(|part| format!("{} {}", part.count, part.what))
            .collect();
        let other_files = report.other_files().first();
        let report = match report {
            CheckReport::Run(found) => json!({
                "holds": holds,
                "scope": found.scope,
                "done": found.done,
                "findings": found.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "unverified": found.unverified,
                "left_out": left_out,
                "other_files": other_files,
            }),
            CheckReport::Answer(found) => json!({
                "holds": holds,
                "scope": [format!("verdict: {}", found.verdict)],
                "done": found.holds,
                "findings": found.wrong,
                "unverified": found.not_verified,
                "left_out": left_out,
                "other_files": other_files,
            }),
        };
        Ok(report.to_string())
    })
}

/// Runs a saved suite again: what was compared and what differs, as JSON.
#[pyfunction]
#[pyo3(signature = (folder, model=None, threads=0))]
pub fn replay(
    py: Python<'_>,
    folder: PathBuf,
    model: Option<PathBuf>,
    threads: usize,
) -> PyResult<String> {
    detached(py, threads, move || {
        let replay = Replay {
            dir: &folder,
            model: model.as_deref(),
        };
        let report = replay.run(&mut |_| {})?;
        let report = json!({ "lines": report.lines, "findings": report.findings });
        Ok(report.to_string())
    })
}

/// Joins runs of one job into one folder.
#[pyfunction]
#[pyo3(signature = (out, parts, model=None, kept=None, command=Vec::new(), threads=0))]
pub fn merge(
    py: Python<'_>,
    out: PathBuf,
    parts: Vec<PathBuf>,
    model: Option<PathBuf>,
    kept: Option<PathBuf>,
    command: Vec<String>,
    threads: usize,
) -> PyResult<String> {
    let merge = Merge {
        out,
        parts,
        model,
        kept,
        command,
    };
    detached(py, threads, move || {
        let summary = merge.run(&mut |_| {})?;
        Ok(serde_json::to_string(&summary)?)
    })
}
