//! Arguments that several commands share.

use std::path::PathBuf;

use clap::Args;
use deepconcolic::{DataSettings, FailOn, FailUnder, Gates, ModelSettings, Rule};

use crate::exit::Failure;

/// How the model is read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub struct ModelArguments {
    /// The network: an ONNX file (weights may lie beside it) or a .nnet file
    pub model: PathBuf,
    /// Subtract this from the input first: one number, or one for each channel
    #[arg(
        long,
        value_name = "M[,M...]",
        value_delimiter = ',',
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub mean: Option<Vec<f64>>,
    /// Then divide by this: one number, or one for each channel
    #[arg(
        long,
        value_name = "S[,S...]",
        value_delimiter = ',',
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub std: Option<Vec<f64>>,
    /// Shape of one input, for a model that leaves it open (for example 1,3,32,32)
    #[arg(
        long,
        value_name = "D,D,...",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub input_shape: Option<Vec<usize>>,
    /// The extent of an axis that the model leaves open: by its name (height=320), or INPUT:AXIS=N
    #[arg(long = "dim", value_name = "NAME=N", hide_short_help = true)]
    pub dims: Vec<String>,
    /// Give an input a value that is not tested: one number for all elements, or an array (.npy, .npz)
    #[arg(
        long = "fix-input",
        value_name = "NAME=FILE|NUMBER",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub fixed: Vec<String>,
    /// Cut the model at this tensor and test it in place of the inputs it is computed from
    #[arg(long, value_name = "TENSOR", hide_short_help = true)]
    pub from: Vec<String>,
}

impl ModelArguments {
    /// As plain data; arrays of inputs that are fixed are read.
    pub fn settings(&self) -> Result<ModelSettings, Failure> {
        let dims = self.dims.iter().map(|text| deepconcolic::open_axis(text));
        let fixed = self.fixed.iter();
        let fixed = fixed.map(|text| deepconcolic::fixed_input(text));
        Ok(ModelSettings {
            model: self.model.clone(),
            mean: self.mean.clone(),
            std: self.std.clone(),
            input_shape: self.input_shape.clone(),
            dims: dims.collect::<Result<_, _>>()?,
            fixed: fixed.collect::<Result<_, _>>()?,
            from: self.from.clone(),
            ..ModelSettings::default()
        })
    }
}

/// How data are read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub struct DataArguments {
    /// The data: .npz (x, y; or an array for each input of the model), .npy, IDX (.gz), CIFAR binary, a folder of images, or CSV
    #[arg(long)]
    pub data: PathBuf,
    /// Divide the data by this (default: 255 for 8-bit data, 1 otherwise)
    #[arg(long, value_name = "DIVISOR", hide_short_help = true)]
    pub scale: Option<f32>,
    /// Use only the first N samples
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub limit: Option<usize>,
}

impl DataArguments {
    /// As plain data.
    pub fn settings(&self) -> DataSettings {
        DataSettings {
            data: self.data.clone(),
            scale: self.scale,
            limit: self.limit,
            ..DataSettings::default()
        }
    }
}

/// How the model's outputs are read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub struct DecisionArguments {
    /// What the model's answer is: argmax, threshold:T (one output: class 1 where it is at least T), or
    /// within:D (a regression: off by more than D is wrong); default: argmax of several outputs,
    /// threshold:0.5 for one that is a Sigmoid
    #[arg(
        long,
        value_name = "RULE",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub decision: Option<Rule>,
}

/// What must be covered.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Gates")]
struct LeastShares {
    /// Exit with 1 if less than this many percent of what can be covered is: 95, or nc=95,kmnc=30
    #[arg(
        long,
        value_name = "PCT|C=PCT,...",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    fail_under: Vec<FailUnder>,
}

/// What measured data must come to.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Gates")]
pub struct CoverageGates {
    #[command(flatten)]
    least: LeastShares,
    /// Exit with 1 if a sample refutes a property, or if the data leave anything open
    #[arg(long, value_name = "refuted|open", value_delimiter = ',', value_parser = over_data)]
    fail_on: Vec<FailOn>,
}

impl CoverageGates {
    /// As plain data.
    pub fn gates(&self) -> Gates {
        gates(&self.least, self.fail_on.iter().copied())
    }
}

/// What can be failed on where data are measured: no oracle judges them.
fn over_data(text: &str) -> Result<FailOn, String> {
    match text.parse()? {
        FailOn::Adversarial => Err("samples are not judged here; `run` judges its tests".into()),
        other => Ok(other),
    }
}

/// Each of them once.
fn gates(least: &LeastShares, fail_on: impl Iterator<Item = FailOn>) -> Gates {
    let mut gates = Gates {
        fail_under: least.fail_under.clone(),
        fail_on: Vec::new(),
    };
    for fail_on in fail_on {
        if !gates.fail_on.contains(&fail_on) {
            gates.fail_on.push(fail_on);
        }
    }
    gates
}

/// What a run must come to.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Gates")]
pub struct RunGates {
    #[command(flatten)]
    least: LeastShares,
    /// Exit with 1 if there is an adversarial test, a refuted property, or anything open
    #[arg(long, value_name = "adversarial|refuted|open", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// The same as --fail-on adversarial
    #[arg(long, hide_short_help = true)]
    fail_on_adversarial: bool,
}

impl RunGates {
    /// As plain data.
    pub fn gates(&self) -> Gates {
        let adversarial = (self.fail_on_adversarial).then_some(FailOn::Adversarial);
        gates(&self.least, self.fail_on.iter().copied().chain(adversarial))
    }
}

/// A distance as people write it.
pub fn distance(text: &str) -> Result<f64, String> {
    let distance = deepconcolic::notation::distance(text);
    distance.ok_or_else(|| "must be a number of at least 0, for example 0.03 or 8/255".into())
}

/// More threads than this is a slip of the finger, and would exhaust the machine.
const MAX_THREADS: usize = 1024;

/// How many threads work.
#[derive(Args, Clone)]
#[command(next_help_heading = "Limits")]
pub struct ThreadArguments {
    /// Threads to use (default: all cores); the result does not depend on it
    #[arg(short = 'j', long, value_name = "N")]
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
