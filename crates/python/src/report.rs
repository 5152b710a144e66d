//! Parts of the report for notebooks, and its pages.

use std::path::PathBuf;

use deepconcolic_report::html::{self, ReportRequest};
use pyo3::prelude::*;

use crate::work::detached;

/// The summary of the run in a folder with its nearest adversarial inputs, as a piece of HTML.
#[pyfunction]
pub fn run_html(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    detached(py, 1, move || Ok(html::run_piece(&folder)?))
}

/// What was measured, as a piece of HTML.
#[pyfunction]
pub fn coverage_html(py: Python<'_>, report: String) -> PyResult<String> {
    detached(py, 1, move || Ok(html::coverage_piece(&report)?))
}

/// The drawings of a run's report: names, titles and SVG files.
#[pyfunction]
pub fn drawings(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<(String, String, String)>> {
    detached(py, 1, move || {
        let drawings = html::run_drawings(&folder)?.into_iter();
        Ok(drawings.map(|d| (d.name, d.title, d.svg)).collect())
    })
}

/// Writes the pages of a folder, and says which one to open.
#[pyfunction]
#[pyo3(signature = (folder, single_file=false, compare=None))]
pub fn write_report(
    py: Python<'_>,
    folder: PathBuf,
    single_file: bool,
    compare: Option<PathBuf>,
) -> PyResult<PathBuf> {
    let request = ReportRequest {
        single_file,
        compare,
    };
    detached(py, 1, move || Ok(html::write(&folder, &request)?))
}
