//! The virtual environment that holds onnxruntime, below cargo's target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::BenchError;

const PACKAGES: [&str; 3] = ["onnxruntime", "numpy", "onnx"];

/// A Python that can import onnxruntime, made when there is none yet.
pub fn python() -> Result<PathBuf, BenchError> {
    let folder = folder()?;
    let python = interpreter(&folder);
    if imports(&python) {
        return Ok(python);
    }
    eprintln!("making {} with {}", folder.display(), PACKAGES.join(", "));
    Command::new("python3")
        .arg("--version")
        .output()
        .map_err(BenchError::NoPython)?;
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    run(Command::new(&python).args(install).args(PACKAGES))?;
    Ok(python)
}

fn folder() -> Result<PathBuf, BenchError> {
    Ok(target()?.join("onnxruntime-venv"))
}

/// Beside the profile's folder this program was built in.
pub fn target() -> Result<PathBuf, BenchError> {
    let program = std::env::current_exe()?;
    Ok(program.ancestors().nth(2).unwrap_or(&program).to_owned())
}

fn interpreter(folder: &Path) -> PathBuf {
    if cfg!(windows) {
        folder.join("Scripts").join("python.exe")
    } else {
        folder.join("bin").join("python")
    }
}

fn imports(python: &Path) -> bool {
    Command::new(python)
        .args(["-c", &format!("import {}", PACKAGES.join(", "))])
        .output()
        .is_ok_and(|output| output.status.success())
}

pub fn run(command: &mut Command) -> Result<(), BenchError> {
    let output = match command.output() {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    Err(BenchError::Environment {
        command: format!("{command:?}"),
        output,
    })
}
