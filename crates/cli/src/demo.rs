//! `demo`: a whole run on a small network and images that come with the program.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap::Parser;
use deepconcolic_report::write_file;
use std::io::Write;

use crate::Outcome;
use crate::exit;
use crate::exit::Failure;
use crate::run::{Run, free_folder};

const MODEL: &[u8] = include_bytes!("../demo/fashion_cnn.onnx");
const DATA: &[u8] = include_bytes!("../demo/fashion_test.npz");
/// The folder when none is named.
const FOLDER: &str = "deepconcolic-demo";

/// Try it: a small network for clothing, 300 images, neuron coverage near one seed
#[derive(Args)]
pub struct Demo {
    /// The folder to write to (default: deepconcolic-demo, or the next free one)
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The command that a demo stands for, as `run` itself parses it.
#[derive(Parser)]
struct RunArguments {
    #[command(flatten)]
    run: Run,
}

impl Demo {
    /// Writes model and data, and runs on them.
    pub fn run(&self) -> Outcome {
        let folder = self.out.clone().unwrap_or_else(|| free_folder(FOLDER));
        deepconcolic::storable([("--out", Some(folder.as_path()))])?;
        fs::create_dir_all(&folder)
            .map_err(|e| Failure::Usage(format!("{} cannot be made: {e}", folder.display())))?;
        let (model, data) = (
            folder.join("fashion_cnn.onnx"),
            folder.join("fashion_test.npz"),
        );
        write_file(&model, |out| out.write_all(MODEL))?;
        write_file(&data, |out| out.write_all(DATA))?;
        let run = folder.join("run");
        let words: Vec<String> = [
            "deepconcolic",
            &model.display().to_string(),
            "--data",
            &data.display().to_string(),
            "--criterion",
            "nc",
            "--seeds",
            "1",
            "--radius",
            "0.3",
            "--quantise",
            "255",
            "--out",
            &run.display().to_string(),
        ]
        .map(str::to_owned)
        .to_vec();
        writeln!(
            exit::output(),
            "$ deepconcolic run {}",
            words[1..].join(" ")
        )?;
        let line = RunArguments::try_parse_from(words)
            .map_err(|e| deepconcolic::Error::Internal(e.to_string()))?;
        line.run.run()
    }
}
