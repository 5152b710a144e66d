//! Arguments that several commands share.

use std::path::PathBuf;

use clap::Args;
use deepconcolic::{DataSettings, ModelSettings, Rule};

use crate::exit::Failure;

/// How the model is read.
#[derive(Args, Clone, Debug)]
pub struct ModelArguments {
    /// The network: an ONNX file; weights may lie beside it
    pub model: PathBuf,
    /// Subtract this from the input first: one number, or one for each channel
    #[arg(
        long,
        value_name = "M[,M...]",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub mean: Option<Vec<f64>>,
    /// Then divide by this: one number, or one for each channel
    #[arg(
        long,
        value_name = "S[,S...]",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub std: Option<Vec<f64>>,
    /// Shape of one input, for a model that leaves it open (for example 1,3,32,32)
    #[arg(long, value_name = "D,D,...", value_delimiter = ',')]
    pub input_shape: Option<Vec<usize>>,
}

impl ModelArguments {
    /// As plain data.
    pub fn settings(&self) -> ModelSettings {
        ModelSettings {
            model: self.model.clone(),
            mean: self.mean.clone(),
            std: self.std.clone(),
            input_shape: self.input_shape.clone(),
        }
    }
}

/// How data are read.
#[derive(Args, Clone, Debug)]
pub struct DataArguments {
    /// The data: .npz (x, y), .npy, IDX (.gz), CIFAR binary, a folder of images, or CSV
    #[arg(long)]
    pub data: PathBuf,
    /// Divide the data by this (default: 255 for 8-bit data, 1 otherwise)
    #[arg(long, value_name = "DIVISOR")]
    pub scale: Option<f32>,
    /// Use only the first N samples
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

impl DataArguments {
    /// As plain data.
    pub fn settings(&self) -> DataSettings {
        DataSettings {
            data: self.data.clone(),
            scale: self.scale,
            limit: self.limit,
        }
    }
}

/// How the model's outputs are read.
#[derive(Args, Clone, Debug)]
pub struct DecisionArguments {
    /// What the model's answer is: argmax, threshold:T (one output: class 1 where it is at least T), or
    /// within:D (a regression: off by more than D is wrong); default: argmax of several outputs,
    /// threshold:0.5 for one that is a Sigmoid
    #[arg(long, value_name = "RULE", allow_hyphen_values = true)]
    pub decision: Option<Rule>,
}

/// More threads than this is a slip of the finger, and would exhaust the machine.
const MAX_THREADS: usize = 1024;

/// How many threads work.
#[derive(Args, Clone)]
pub struct ThreadArguments {
    /// Threads to use (default: all cores); the result does not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

impl ThreadArguments {
    /// Runs work on so many threads. All of it runs inside the pool, so that its parallel parts need
    /// not be handed over from outside, one by one.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, Failure> {
        let threads = self.threads.unwrap_or(0);
        if self.threads.is_some() && !(1..=MAX_THREADS).contains(&threads) {
            return Err(Failure::Usage(format!(
                "--threads must be from 1 to {MAX_THREADS}, not {threads}"
            )));
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| Failure::Usage(format!("--threads {threads}: {e}")))?;
        Ok(pool.install(work))
    }
}
