//! Loading a model whatever its format.

use std::collections::BTreeMap;
use std::path::Path;

use deepconcolic_network::Network;
use serde::{Deserialize, Serialize};

use crate::nnet;
use crate::onnx::{Model, OnnxError};
use crate::until::LoadUntil;

/// How to read a model.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Subtracted from the input before the model sees it: one number, or one a channel.
    pub mean: Option<Vec<f64>>,
    /// What the input is then divided by: one number, or one a channel.
    pub std: Option<Vec<f64>>,
    /// The input's shape, for models that leave it open.
    pub input_shape: Option<Vec<usize>>,
    /// Extents of open axes: by the name that the model gives them, or as `INPUT:AXIS`.
    pub dims: BTreeMap<String, usize>,
    /// Inputs that are not tested, with the values they always have.
    pub fixed: Vec<FixedInput>,
    /// Tensors inside the model that are tested in place of the inputs they are computed from.
    pub from: Vec<String>,
    /// What ends reading it.
    pub until: LoadUntil,
}

/// An input of the model that always has the same value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedInput {
    /// Its name in the model.
    pub name: String,
    /// Its shape; none for one number that fills whatever shape the model wants.
    pub shape: Option<Vec<usize>>,
    /// Its elements, last axis fastest; one that stands for all where they are equal.
    pub values: Vec<f64>,
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
    /// What of the model is tested, where that is not simply its one input: parts, fixed inputs, a cut.
    pub scope: Vec<String>,
    /// The first floating-point tensor computed from each input of integers: where the model can be cut.
    pub after_integers: Vec<(String, String)>,
}

/// Why a model was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The ONNX file is at fault.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    /// The .nnet file is at fault.
    #[error("{path}: {problem}")]
    Nnet {
        /// The path.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
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

impl LoadError {
    /// Whether the time was up before all of it was read.
    pub fn is_out_of_time(&self) -> bool {
        matches!(self, Self::Onnx(fault) if fault.is_out_of_time())
    }

    /// Whether the user wanted an end.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Onnx(fault) if fault.is_interruption())
    }
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
pub const ALL: &[Format] = &[
    Format {
        name: "ONNX",
        extension: "onnx",
        load: load_onnx,
    },
    Format {
        name: "NNet",
        extension: "nnet",
        load: nnet::load,
    },
];

fn load_onnx(path: &Path, options: &LoadOptions) -> Result<Loaded, LoadError> {
    let in_file = |fault| OnnxError::InFile {
        path: path.to_owned(),
        fault: Box::new(fault),
    };
    Ok(Model::open_until(path, &options.until)?
        .import(options)
        .map_err(in_file)?)
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
        "pt" | "pth" | "pt2" | "ts" | "torchscript" => {
            "export it from PyTorch with torch.onnx.export(model, (x,), \"model.onnx\")"
        }
        "h5" | "keras" | "hdf5" => {
            "export it from Keras with model.export(\"model.onnx\", format=\"onnx\")"
        }
        "pb" => {
            "convert it with python -m tf2onnx.convert --saved-model FOLDER --output model.onnx"
        }
        "tflite" => "convert it with python -m tf2onnx.convert --tflite FILE --output model.onnx",
        "pkl" | "joblib" => "export it from scikit-learn with skl2onnx",
        _ => "export the model to ONNX",
    }
}
