//! Loading a model whatever its format.

use std::path::Path;

use deepconcolic_network::Network;

use crate::onnx::{Model, OnnxError};

/// How to read a model.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Subtracted from the input before the model sees it: one number, or one a channel.
    pub mean: Option<Vec<f64>>,
    /// What the input is then divided by: one number, or one a channel.
    pub std: Option<Vec<f64>>,
    /// The input's shape, for models that leave it open.
    pub input_shape: Option<Vec<usize>>,
}

/// A model that was read.
#[derive(Debug)]
pub struct Loaded {
    /// The network.
    pub network: Network,
    /// The format and its version.
    pub format: String,
    /// The program that wrote the file, if it says.
    pub producer: String,
    /// SHA-256, in hex, of the file followed by those of its weight files, if any, in the order in
    /// which it first refers to them: what `sha256sum` says of a model that is one file.
    pub sha256: String,
    /// What the user should know about how it was read.
    pub notes: Vec<String>,
}

/// Why a model was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The ONNX file is at fault.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    /// No format with this ending.
    #[error("{path}: models of this kind are not supported ({known}); {advice}")]
    UnknownFormat {
        /// The path.
        path: String,
        /// What is supported.
        known: String,
        /// What to do.
        advice: &'static str,
    },
}

/// A model format.
pub struct Format {
    /// What it is called.
    pub name: &'static str,
    /// How its files end.
    pub extension: &'static str,
    /// Reads a file.
    pub load: fn(&Path, &LoadOptions) -> Result<Loaded, LoadError>,
}

/// Every format there is.
pub const ALL: &[Format] = &[Format {
    name: "ONNX",
    extension: "onnx",
    load: load_onnx,
}];

fn load_onnx(path: &Path, options: &LoadOptions) -> Result<Loaded, LoadError> {
    let in_file = |fault| OnnxError::InFile {
        path: path.to_owned(),
        fault: Box::new(fault),
    };
    Ok(Model::open(path)?.import(options).map_err(in_file)?)
}

/// Reads an ONNX model that is in memory. Weights must be inside: there is no folder that others could lie in.
pub fn load_bytes(bytes: Vec<u8>, options: &LoadOptions) -> Result<Loaded, LoadError> {
    Ok(Model::decode(bytes.into(), None)?.import(options)?)
}

/// Reads a model by the ending of its name.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Loaded, LoadError> {
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    let format = ALL
        .iter()
        .find(|format| format.extension.eq_ignore_ascii_case(extension));
    match format {
        Some(format) => (format.load)(path, options),
        None => Err(LoadError::UnknownFormat {
            path: path.display().to_string(),
            known: ALL
                .iter()
                .map(|f| format!("{}: .{}", f.name, f.extension))
                .collect::<Vec<_>>()
                .join(", "),
            advice: advice(extension),
        }),
    }
}

fn advice(extension: &str) -> &'static str {
    match extension {
        "pt" | "pth" => "export it from PyTorch with torch.onnx.export",
        "h5" | "keras" | "pb" => "export it from Keras with model.export(..., format=\"onnx\")",
        "tflite" => "convert it with tf2onnx",
        "pkl" | "joblib" => "export it from scikit-learn with skl2onnx",
        _ => "export the model to ONNX",
    }
}
