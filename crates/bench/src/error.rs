//! Why the benchmark could not run. A missed target is not an error.

use std::path::PathBuf;

/// Each message says what is missing and the way out.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// No Python to make a virtual environment with.
    #[error(
        "python3 was not found ({0}); install Python 3 with its venv module, onnxruntime comes from PyPI"
    )]
    NoPython(std::io::Error),
    /// The virtual environment could not be made or filled.
    #[error("`{command}` failed, so there is no onnxruntime to compare with:\n{output}")]
    Environment {
        /// What was run.
        command: String,
        /// What it said.
        output: String,
    },
    /// The Python process ended or spoke nonsense.
    #[error("the onnxruntime process answered \"{0}\"")]
    Answer(String),
    /// onnxruntime refused what we asked.
    #[error("onnxruntime: {0}")]
    Refused(String),
    /// A file the benchmark needs.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// Talking to the process.
    #[error("the onnxruntime process: {0}")]
    Pipe(#[from] std::io::Error),
    /// A thread pool.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// A model that a target is set for is not there.
    #[error("{0}; name a folder with --models")]
    NoModel(String),
    /// Nobody knows what a model was trained on.
    #[error("there are no data for {0}")]
    NoData(String),
    /// The command that is to be started.
    #[error("{0} is not there; build it with `cargo build --release -p deepconcolic-cli`")]
    NoCommand(PathBuf),
    /// A job that the library could not do.
    #[error(transparent)]
    Job(#[from] deepconcolic::Error),
    /// A campaign that could not begin, or a run that failed.
    #[error("{0}")]
    Campaign(String),
    /// A criterion that does not apply to the network.
    #[error("{name}: {reason}")]
    Criterion {
        /// What it is called.
        name: String,
        /// Why it does not.
        reason: String,
    },
    /// A network of the benchmark's own.
    #[error("a network made for the benchmark: {0}")]
    Growth(String),
    /// Requirements of the benchmark's own.
    #[error(transparent)]
    Requirements(#[from] deepconcolic_language::Error),
    /// A model we could not load.
    #[error(transparent)]
    Model(#[from] deepconcolic_formats::LoadError),
    /// An array file.
    #[error(transparent)]
    Data(#[from] deepconcolic_dataset::DatasetError),
}
