//! The command line, inside the package: `python -m deepconcolic` is the program.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Does what a command line says, whose first word is the program's name, and gives the exit code.
#[pyfunction]
pub fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| deepconcolic_cli::run(words))
}
