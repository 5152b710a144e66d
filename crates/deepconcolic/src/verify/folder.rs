//! The folder that `verify --out` leaves: written whole before anything is printed, read by `check`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use deepconcolic_check::{hex, sha256};
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_formats::FixedInput;
use serde::{Deserialize, Serialize};

use super::question::PropertyQuestion;
use crate::error::Error;

/// The certificate's name in its folder.
pub const CERTIFICATE: &str = "certificate.dcc";
/// The counterexample's.
pub const COUNTEREXAMPLE: &str = "counterexample.txt";
/// The record's.
pub const RECORD: &str = "verify.json";
/// The names that the copy of the property may have: plain or compressed, as the file was.
pub const PROPERTIES: [&str; 2] = ["property.vnnlib", "property.vnnlib.gz"];
/// The layout that is written.
const SCHEMA: u32 = 2;

/// What the folder says of itself: `verify.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRecord {
    /// The version of this layout.
    pub schema: u32,
    /// What wrote it.
    pub tool: String,
    /// `sat`, `unsat` or `unknown`.
    pub verdict: String,
    /// Whether the property speaks of no input at all.
    pub vacuous: bool,
    /// What must be said with the verdict.
    pub notes: Vec<String>,
    /// Why the verdict is unknown, where there is a reason other than time.
    pub reason: Option<String>,
    /// The model file.
    pub model: String,
    /// Its SHA-256.
    pub model_sha256: String,
    /// Subtracted from the input before the model sees it.
    pub mean: Option<Vec<f64>>,
    /// What the input is then divided by.
    pub std: Option<Vec<f64>>,
    /// The input's shape, if the model leaves it open.
    pub input_shape: Option<Vec<usize>>,
    /// Extents of open axes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dims: BTreeMap<String, usize>,
    /// Inputs that the property does not speak of, with their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<FixedInput>,
    /// Tensors inside the model that the property speaks of in place of its inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// The final Softmax or Sigmoid that makes the output from the logits.
    pub head: Option<String>,
    /// The property file.
    pub property: String,
    /// Its SHA-256, which is that of its copy in the folder.
    pub property_sha256: String,
    /// The SHA-256 of the certificate.
    pub certificate_sha256: Option<String>,
    /// The SHA-256 of the counterexample.
    pub counterexample_sha256: Option<String>,
    /// How far the counterexample is outside the box, in inputs in which no number of single precision lies
    /// in it.
    pub outside: Option<f64>,
    /// A box that holds all inputs of the property; none if there are none. It is the domain of the answer.
    #[serde(rename = "box")]
    pub region: Option<BoxEnds>,
    /// The SHA-256 of everything above.
    pub sha256: String,
}

/// Lowest and highest values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoxEnds {
    /// Lowest values.
    pub lower: Vec<f64>,
    /// Highest values.
    pub upper: Vec<f64>,
}

impl BoxEnds {
    /// Of all boxes of a property; none if there is none.
    pub(crate) fn of(asked: &PropertyQuestion<'_>) -> Option<Self> {
        (!asked.is_vacuous()).then(|| Self {
            lower: asked.region.lower.clone(),
            upper: asked.region.upper.clone(),
        })
    }
}

/// What else is in the folder.
pub struct Contents<'a> {
    /// The bytes of the property file.
    pub property: &'a [u8],
    pub certificate: Option<Vec<u8>>,
    pub counterexample: Option<&'a str>,
}

impl AnswerRecord {
    /// What its file is called.
    pub const FILE: &str = RECORD;
    /// What the counterexample beside it is called, if there is one.
    pub const COUNTEREXAMPLE: &str = COUNTEREXAMPLE;

    /// The layout and the program of today.
    pub(crate) fn written_by() -> (u32, String) {
        (
            SCHEMA,
            concat!("deepconcolic ", env!("CARGO_PKG_VERSION")).to_owned(),
        )
    }

    /// The hash of everything but itself.
    pub(crate) fn seal(&self) -> Result<String, Error> {
        let unsealed = Self {
            sha256: String::new(),
            ..self.clone()
        };
        let bytes = serde_json::to_vec(&unsealed).map_err(Error::json)?;
        Ok(hex(&sha256(&bytes)))
    }

    /// The record of a folder.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(RECORD);
        let bytes = fs::read(&path).map_err(|e| {
            let folder = folder.display();
            Error::Request(format!(
                "{folder} has no readable {RECORD} ({e}); name a folder that `run` or `verify --out` wrote"
            ))
        })?;
        let wrong = |e: serde_json::Error| Error::Request(format!("{}: {e}", path.display()));
        let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(wrong)?;
        if value.get("schema") != Some(&SCHEMA.into()) {
            return Err(Error::Request(format!(
                "{} is not of schema {SCHEMA}, which this version writes; run verify again",
                path.display()
            )));
        }
        serde_json::from_slice(&bytes).map_err(wrong)
    }

    /// Fills in the hashes and writes the folder. What an earlier answer left there goes first, and the
    /// record comes last: a folder with a record is complete.
    pub(crate) fn write(mut self, folder: &Path, contents: &Contents<'_>) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(|e| unwritable(folder, &e))?;
        let names = [RECORD, CERTIFICATE, COUNTEREXAMPLE].into_iter();
        for name in names.chain(PROPERTIES) {
            let path = folder.join(name);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(unwritable(&path, &e)),
                _ => {}
            }
        }
        self.property_sha256 = hex(&sha256(contents.property));
        put(folder, property_name(contents.property), contents.property)?;
        if let Some(certificate) = &contents.certificate {
            put(folder, CERTIFICATE, certificate)?;
            self.certificate_sha256 = Some(hex(&sha256(certificate)));
        }
        if let Some(text) = contents.counterexample {
            put(folder, COUNTEREXAMPLE, text.as_bytes())?;
            self.counterexample_sha256 = Some(hex(&sha256(text.as_bytes())));
        }
        self.sha256 = self.seal()?;
        let mut json = serde_json::to_vec_pretty(&self).map_err(Error::json)?;
        json.push(b'\n');
        put(folder, RECORD, &json)
    }
}

/// What the copy of a property is called.
pub fn property_name(bytes: &[u8]) -> &'static str {
    PROPERTIES[usize::from(bytes.starts_with(&[0x1f, 0x8b]))]
}

/// The bytes of a file, or which file cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|e| Error::Request(format!("cannot read {}: {e}", path.display())))
}

/// A path that stays true when the working folder changes.
pub fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A path that was found to be text.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let mut file = AtomicFile::create(&folder.join(name))?;
    file.write_all(bytes)
        .map_err(|e| unwritable(&folder.join(name), &e))?;
    file.commit()?;
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::Request(format!("cannot write {}: {error}", path.display()))
}
