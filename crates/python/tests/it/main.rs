//! The Python package as its users get it: the wheel is built, installed in an environment of its own below cargo's
//! target folder, and tested by pytest. Where there is no Python 3.10, or its packages cannot be had, the test is skipped
//! and says so.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the tests need; the package itself needs numpy alone.
const PACKAGES: [&str; 10] = [
    "maturin>=1.9,<2",
    "numpy",
    "pytest",
    "pytest-xdist",
    "pandas",
    "onnx",
    "scikit-learn",
    "skl2onnx",
    "nbclient",
    "ipykernel",
];
/// Ray is large: its tests have a switch of their own, which the gate sets.
const RAY_SWITCH: &str = "DEEPCONCOLIC_RAY_TESTS";

#[test]
fn the_wheel_passes_its_tests() {
    let environment = match Environment::make() {
        Ok(environment) => environment,
        Err(why) => {
            println!("skipped: the Python package is not tested: {why}");
            return;
        }
    };
    let wheel = environment.wheel();
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--force-reinstall",
        "--no-deps",
    ];
    must(environment.python().args(install).arg(&wheel));
    let tests = package().join("tests");
    let mut pytest = environment.python();
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    pytest.arg(tests).current_dir(&environment.folder);
    pytest.env("DEEPCONCOLIC_CHECKOUT", checkout());
    let status = pytest.status().expect("pytest starts");
    assert!(status.success(), "pytest: {status}");
}

/// A virtual environment with what the tests need.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    fn make() -> Result<Self, String> {
        let found = ["python3", "python"]
            .into_iter()
            .find(|name| is_new_enough(name));
        let python = found.ok_or("there is no Python 3.10 or later")?;
        let folder = target().join("python-tests");
        let environment = Self { folder };
        if !environment.executable().exists() {
            let venv = Command::new(python)
                .args(["-m", "venv"])
                .arg(&environment.folder)
                .output();
            said("python -m venv", venv)?;
        }
        let mut packages: Vec<&str> = PACKAGES.to_vec();
        if env::var_os(RAY_SWITCH).is_some() {
            packages.push("ray");
        }
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        said(
            "pip install",
            environment.python().args(install).args(packages).output(),
        )?;
        Ok(environment)
    }

    /// Builds the wheel, and gives its path. What the other tests were built with is used again where it fits.
    fn wheel(&self) -> PathBuf {
        let out = self.folder.join("wheels");
        let _ = std::fs::remove_dir_all(&out);
        let mut maturin = self.python();
        maturin.args([
            "-m",
            "maturin",
            "build",
            "--quiet",
            // Not `test`, which would make it a program that runs tests.
            "--profile",
            "dev",
            "--out",
        ]);
        maturin
            .arg(&out)
            .arg("--manifest-path")
            .arg(package().join("Cargo.toml"));
        maturin.env("CARGO_TARGET_DIR", target());
        must(&mut maturin);
        let mut wheels = std::fs::read_dir(&out).expect("maturin wrote wheels");
        wheels
            .next()
            .expect("there is one")
            .expect("it can be read")
            .path()
    }

    fn executable(&self) -> PathBuf {
        self.folder.join(if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        })
    }

    fn python(&self) -> Command {
        let mut python = Command::new(self.executable());
        // Maturin looks for the environment it is in.
        python
            .env("VIRTUAL_ENV", &self.folder)
            .env_remove("CONDA_PREFIX");
        python
    }
}

fn must(command: &mut Command) {
    let status = command.stdin(Stdio::null()).status().expect("it starts");
    assert!(status.success(), "{command:?}: {status}");
}

/// Why a step could not be done.
fn said(step: &str, output: std::io::Result<Output>) -> Result<(), String> {
    let output = output.map_err(|e| format!("{step}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{step}: {}",
        words.lines().last().unwrap_or("it failed")
    ))
}

fn is_new_enough(python: &str) -> bool {
    let script = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let status = Command::new(python)
        .args(["-c", script])
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn checkout() -> PathBuf {
    package().join("../..")
}

/// Cargo's target folder, which this program lies in.
fn target() -> PathBuf {
    let program = env::current_exe().expect("this program has a path");
    let folder = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").exists());
    folder.map_or_else(|| checkout().join("target"), Path::to_path_buf)
}
