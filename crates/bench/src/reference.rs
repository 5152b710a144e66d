//! onnxruntime in a child process: the other side of `python/reference.py`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use deepconcolic_dataset::arrays::read_npy;
use deepconcolic_dataset::write::write_npy;
use deepconcolic_network::Network;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::error::BenchError;

const SCRIPT: &str = include_str!("../python/reference.py");

/// Whether a model runs as its file says or with its batch axis opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BatchAxis {
    /// As the file says.
    AsFiled,
    /// Any number of samples.
    Open,
}

/// A node of a model file, for one sample.
#[derive(Debug, Deserialize)]
pub struct NodeShape {
    /// Name of the operator.
    pub operator: String,
    /// Floating-point operations of its product, 0 if it is none.
    pub flops: usize,
    /// Shape of the first input.
    pub input: Vec<usize>,
    /// Shape of the first output.
    pub output: Vec<usize>,
}

/// The process, and the folder through which arrays pass.
pub struct Reference {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: TempDir,
}

impl Reference {
    /// Starts the process. What numpy computes in it stays on one thread.
    pub fn start(python: &Path) -> Result<Self, BenchError> {
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .env("OPENBLAS_NUM_THREADS", "1")
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || BenchError::Answer(String::new());
        let commands = child.stdin.take().ok_or_else(missing)?;
        let answers = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Self {
            child,
            commands,
            answers,
            folder: tempfile::tempdir()?,
        })
    }

    /// onnxruntime's version.
    pub fn version(&mut self) -> Result<String, BenchError> {
        self.field(&json!({"do": "hello"}), "version")
    }

    /// Loads a model, to run on so many threads.
    pub fn load(
        &mut self,
        model: &Path,
        threads: usize,
        batch: BatchAxis,
    ) -> Result<(), BenchError> {
        let dynamic = batch == BatchAxis::Open;
        self.ask(&json!({"do": "load", "model": model, "threads": threads, "dynamic": dynamic}))?;
        Ok(())
    }

    /// The same, and the seconds that it took.
    pub fn load_timed(&mut self, model: &Path, threads: usize) -> Result<f64, BenchError> {
        let command = json!({"do": "load", "model": model, "threads": threads, "dynamic": false});
        self.field(&command, "seconds")
    }

    /// Bytes of the process that are in memory.
    pub fn memory(&mut self) -> Result<usize, BenchError> {
        self.field(&json!({"do": "memory"}), "bytes")
    }

    /// The answers of the loaded model to samples, run one at a time.
    pub fn run(&mut self, network: &Network, inputs: &[f32]) -> Result<Vec<f32>, BenchError> {
        self.answers_to("run", network, inputs)
    }

    /// Holds samples as one batch for [`Reference::time`], and gives the answers to it.
    pub fn hold(&mut self, network: &Network, inputs: &[f32]) -> Result<Vec<f32>, BenchError> {
        self.answers_to("hold", network, inputs)
    }

    /// Seconds of each of several runs of the batch held, as Python sees them.
    pub fn time(&mut self, runs: usize) -> Result<Vec<f64>, BenchError> {
        self.field(&json!({"do": "time", "runs": runs}), "seconds")
    }

    /// The nodes of the loaded model.
    pub fn nodes(&mut self) -> Result<Vec<NodeShape>, BenchError> {
        self.field(&json!({"do": "nodes"}), "nodes")
    }

    /// Best rate of numpy's matrix product on one thread, FLOP a second.
    pub fn sgemm(&mut self) -> Result<f64, BenchError> {
        self.field(&json!({"do": "sgemm"}), "rate")
    }

    fn answers_to(
        &mut self,
        command: &str,
        network: &Network,
        inputs: &[f32],
    ) -> Result<Vec<f32>, BenchError> {
        let (from, to) = (self.path("inputs.npy"), self.path("outputs.npy"));
        let mut shape = vec![inputs.len() / network.input_elements().max(1)];
        shape.extend(network.input_shape().dims());
        write_npy(&from, &shape, inputs)?;
        let output = network.outputs().nth(network.primary_output());
        let name = output.map(|(name, _)| name.to_owned());
        self.ask(&json!({"do": command, "inputs": from, "outputs": to, "output": name}))?;
        Ok(read_npy(&to)?.values)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn field<T: DeserializeOwned>(&mut self, command: &Value, name: &str) -> Result<T, BenchError> {
        let mut answer = self.ask(command)?;
        let field = answer[name].take();
        serde_json::from_value(field).map_err(|_| BenchError::Answer(answer.to_string()))
    }

    fn ask(&mut self, command: &Value) -> Result<Value, BenchError> {
        writeln!(self.commands, "{command}")?;
        self.commands.flush()?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|_| BenchError::Answer(line.clone()))?;
        match answer["error"].as_str() {
            Some(error) => Err(BenchError::Refused(error.to_owned())),
            None => Ok(answer),
        }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // Nothing is lost when it is already gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
