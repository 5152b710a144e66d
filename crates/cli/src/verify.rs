//! `verify`: answers a property of the verification competition.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use deepconcolic_check::{Digest, Region, hex};
use deepconcolic_network::{Network, Point};
use deepconcolic_proofs::{Limits, Verdict, prove};
use deepconcolic_spec::{Property, Requirement, Signature};
use serde::{Deserialize, Serialize};

use crate::arguments::{ModelArguments, ThreadArguments};
use crate::exit::{Failure, Status};
use crate::{Outcome, exit, model, paths};

/// Decide a VNN-LIB property: prints sat with a counterexample, unsat, or unknown
#[derive(Args)]
pub struct Verify {
    #[command(flatten)]
    model: ModelArguments,
    /// The property: a .vnnlib file, plain or gzip
    property: PathBuf,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 116.0)]
    timeout: f64,
    /// Write the certificate or the counterexample into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArguments,
}

/// What a folder written by `verify --out` says of itself: `verify.json`.
#[derive(Serialize, Deserialize)]
pub struct Record {
    /// The version of this layout.
    pub schema: u32,
    /// The model file.
    pub model: PathBuf,
    /// Its SHA-256.
    pub model_sha256: String,
    /// Subtracted from the input before the model sees it.
    pub mean: Option<Vec<f64>>,
    /// What the input is then divided by.
    pub std: Option<Vec<f64>>,
    /// The input's shape, if the model leaves it open.
    pub input_shape: Option<Vec<usize>>,
    /// The property file.
    pub property: PathBuf,
    /// `sat`, `unsat` or `unknown`.
    pub verdict: String,
}

/// The certificate's name in its folder.
pub const CERTIFICATE: &str = "certificate.dcc";
/// The record's name.
pub const RECORD: &str = "verify.json";
/// More than a week is no limit.
const LONGEST: f64 = 604_800.0;

impl Verify {
    /// Answers, and writes what was asked for.
    pub fn run(&self) -> Outcome {
        self.threads.run(|| self.work())?
    }

    fn work(&self) -> Outcome {
        if !(self.timeout > 0.0 && self.timeout <= LONGEST) {
            return Err(Failure::Usage(format!(
                "--timeout must be more than 0 and at most {LONGEST} seconds"
            )));
        }
        if self.out.is_some() {
            let (model, property) = (absolute(&self.model.model), absolute(&self.property));
            paths::storable([("MODEL", Some(&*model)), ("PROPERTY", Some(&*property))])?;
        }
        let deadline = Instant::now() + Duration::from_secs_f64(self.timeout);
        let loaded = model::load(&self.model)?;
        let digest = model::digest(&loaded);
        let network = loaded.network;
        let (requirement, region) = question(&self.property, &network)?;
        let limits = Limits {
            nodes: usize::MAX,
            deadline: Some(deadline),
            ..Limits::default()
        };
        let verdict = prove(&network, &digest, &requirement, &region, &limits);
        let verdict = match verdict {
            Ok(verdict) => verdict,
            Err(reason) => {
                exit::tell(format_args!("note: {reason}"));
                Verdict::Open {
                    bound: f64::INFINITY,
                }
            }
        };
        let mut out = exit::output();
        let word = match &verdict {
            Verdict::Witness(_) => "sat",
            Verdict::Infeasible(_) => "unsat",
            Verdict::Open { .. } => "unknown",
        };
        writeln!(out, "{word}")?;
        let counterexample = match &verdict {
            Verdict::Witness(input) => Some(counterexample(&network, input)),
            _ => None,
        };
        if let Some(text) = &counterexample {
            write!(out, "{text}")?;
        }
        if let Some(folder) = &self.out {
            let certificate = match &verdict {
                Verdict::Infeasible(accepted) => Some(accepted.certificate().to_bytes(&network)),
                _ => None,
            };
            self.save(
                folder,
                word,
                &digest,
                certificate.as_deref(),
                counterexample.as_deref(),
            )?;
        }
        Ok(Status::Done)
    }

    fn save(
        &self,
        folder: &Path,
        word: &str,
        digest: &Digest,
        certificate: Option<&[u8]>,
        counterexample: Option<&str>,
    ) -> Result<(), Failure> {
        let record = Record {
            schema: 1,
            model: absolute(&self.model.model),
            model_sha256: hex(digest),
            mean: self.model.mean.clone(),
            std: self.model.std.clone(),
            input_shape: self.model.input_shape.clone(),
            property: absolute(&self.property),
            verdict: word.to_owned(),
        };
        fs::create_dir_all(folder).map_err(|e| unwritable(folder, &e))?;
        if let Some(certificate) = certificate {
            write(&folder.join(CERTIFICATE), certificate)?;
        }
        if let Some(text) = counterexample {
            write(&folder.join("counterexample.txt"), text.as_bytes())?;
        }
        let json = serde_json::to_vec_pretty(&record).map_err(io::Error::from)?;
        write(&folder.join(RECORD), &json)
    }
}

/// The requirement of a property, and a box that holds all of its inputs.
pub fn question(path: &Path, network: &Network) -> Result<(Requirement, Region), Failure> {
    let property = Property::from_bytes(&read(path)?)?;
    let signature = Signature::of(network);
    let requirement = property.requirement(&signature)?;
    let elements = network.input_elements();
    let cases = property.cases(&signature)?;
    let mut region = Region {
        lower: vec![f64::INFINITY; elements],
        upper: vec![f64::NEG_INFINITY; elements],
    };
    for case in &cases {
        for element in 0..elements {
            let (lower, upper) = (&mut region.lower[element], &mut region.upper[element]);
            *lower = lower.min(case.region.lower.at(element));
            *upper = upper.max(case.region.upper.at(element));
        }
    }
    if cases.is_empty() {
        // No box at all: any will do.
        region.lower.fill(0.0);
        region.upper.fill(0.0);
    }
    Ok((requirement, region))
}

/// As the verification competition writes it.
fn counterexample(network: &Network, input: &[f32]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let output = network.logits(input);
    debug_assert_eq!(output.len(), network.elements(Point::Logits));
    lines.extend(
        input
            .iter()
            .enumerate()
            .map(|(i, x)| format!("(X_{i} {x})")),
    );
    lines.extend(
        output
            .iter()
            .enumerate()
            .map(|(i, y)| format!("(Y_{i} {y})")),
    );
    format!("({})\n", lines.join("\n "))
}

/// The bytes of a file, or which file cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|e| Failure::Usage(format!("cannot read {}: {e}", path.display())))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|e| unwritable(path, &e))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::Usage(format!("cannot write {}: {error}", path.display()))
}

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
