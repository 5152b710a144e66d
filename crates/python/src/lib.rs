//! The part of the Python package `deepconcolic` that is Rust: the library's jobs and sessions for Python.
//!
//! Thin on purpose: a job comes as the JSON that the library reads, arrays come as they are, results go as JSON or as
//! the folder of a run. What a user of Python sees is written in Python, beside this (`python/deepconcolic`).

mod arrays;
mod command;
mod errors;
mod events;
mod filter;
mod jobs;
mod model;
mod report;
mod session;
mod work;

use pyo3::prelude::*;

/// The compiled half of `deepconcolic`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_class::<session::Session>()?;
    module.add_function(wrap_pyfunction!(jobs::coverage, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::coverage_part, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::coverage_joined, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::coverage_profile, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::verify, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::check, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::replay, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::merge, module)?)?;
    module.add_function(wrap_pyfunction!(report::run_html, module)?)?;
    module.add_function(wrap_pyfunction!(report::coverage_html, module)?)?;
    module.add_function(wrap_pyfunction!(report::drawings, module)?)?;
    module.add_function(wrap_pyfunction!(report::write_report, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(work::panic, module)?)?;
    Ok(())
}
