//! The command `deepconcolic` as users start it, from the folder that this benchmark lies in.

use std::path::PathBuf;

use crate::error::BenchError;

/// Where the command lies.
pub fn program() -> Result<PathBuf, BenchError> {
    let here = std::env::current_exe()?;
    let name = format!("deepconcolic{}", std::env::consts::EXE_SUFFIX);
    let path = here.with_file_name(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(BenchError::NoCommand(path))
    }
}
