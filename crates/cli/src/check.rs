//! `check`: judges the certificates of a folder with the independent checker.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use deepconcolic_check::{Bound, Certificate, Expectation, Region, check, hex, sha256};
use deepconcolic_formats::LoadOptions;
use deepconcolic_network::Network;

use crate::Outcome;
use crate::arguments::ThreadArguments;
use crate::exit::{Failure, Status};
use crate::verify::{CERTIFICATE, RECORD, Record, question, read};

/// Check every certificate of a folder independently; exit code 1 if one is rejected
#[derive(Args)]
pub struct Check {
    /// A folder that `verify --out` wrote
    folder: PathBuf,
    /// Check against this model instead of the one that the folder names
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Check {
    /// Checks, and says what was found.
    pub fn run(&self) -> Outcome {
        self.threads.run(|| self.work())?
    }

    fn work(&self) -> Outcome {
        let record = self.record()?;
        let path = self.model.as_ref().unwrap_or(&record.model);
        let options = LoadOptions {
            mean: record.mean.clone(),
            std: record.std.clone(),
            input_shape: record.input_shape.clone(),
        };
        let network = deepconcolic_formats::load(path, &options)?.network;
        let (requirement, region) = question(&record.property, &network)?;
        let mut out = io::stdout().lock();
        let file = self.folder.join(CERTIFICATE);
        if record.verdict != "unsat" {
            writeln!(out, "no certificate: the verdict is {}", record.verdict)?;
            return Ok(Status::Done);
        }
        let requirements = [requirement.to_string()];
        let subject = Subject {
            network: &network,
            model: &read(path)?,
            regions: &[region],
            requirements: Some(&requirements),
        };
        match subject.check(&file)? {
            Ok(line) => {
                writeln!(out, "{}: accepted; {line}", file.display())?;
                Ok(Status::Done)
            }
            Err(reason) => {
                writeln!(out, "{}: rejected: {reason}", file.display())?;
                Ok(Status::GateFailed)
            }
        }
    }

    fn record(&self) -> Result<Record, Failure> {
        let path = self.folder.join(RECORD);
        let bytes = fs::read(&path).map_err(|e| {
            let folder = self.folder.display();
            Failure::Usage(format!(
                "{folder} has no readable {RECORD} ({e}); name a folder that `verify --out` wrote"
            ))
        })?;
        serde_json::from_slice(&bytes)
            .map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))
    }
}

/// What certificates of a folder must be about.
pub struct Subject<'a> {
    /// The network at hand.
    pub network: &'a Network,
    /// The bytes of its file.
    pub model: &'a [u8],
    /// The boxes.
    pub regions: &'a [Region],
    /// The requirements, if they are known.
    pub requirements: Option<&'a [String]>,
}

impl Subject<'_> {
    /// Checks one certificate file: what it shows, or why it is rejected.
    pub fn check(&self, file: &Path) -> Result<Result<String, String>, Failure> {
        let bytes = read(file)?;
        let model = sha256(self.model);
        let expectation = Expectation {
            model: &model,
            regions: Some(self.regions),
            requirements: self.requirements,
        };
        let checked = Certificate::from_bytes(&bytes)
            .and_then(|certificate| check(self.network, &certificate, &expectation));
        Ok(match checked {
            Ok(accepted) => {
                let clear = |bound: &&Bound| bound.value < -bound.margin;
                Ok(format!(
                    "{} requirements cannot be met by model {} in its region ({} leaves); for {} of \
                     them single-precision rounding cannot change that",
                    accepted.bounds.len(),
                    hex(&model),
                    accepted.leaves,
                    accepted.bounds.iter().filter(clear).count()
                ))
            }
            Err(reason) => Err(reason.to_string()),
        })
    }
}
