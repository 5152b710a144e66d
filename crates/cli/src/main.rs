//! The program `deepconcolic`.

use std::process::ExitCode;

fn main() -> ExitCode {
    deepconcolic_cli::run(std::env::args_os()).into()
}
