//! `check` of a folder that `verify --out` wrote.

use std::fs;
use std::io::Write;
use std::path::Path;

use deepconcolic_check::{Bound, Certificate, Digest, Expectation, Region, check, hex};
use deepconcolic_formats::LoadOptions;
use deepconcolic_network::Network;

use crate::exit::{Failure, Status};
use crate::verify::{CERTIFICATE, RECORD, Record, question, read};
use crate::{Outcome, exit, model};

/// Judges the answer that a folder holds, with the model that it names or another one.
pub fn judge(folder: &Path, model: Option<&Path>) -> Outcome {
    let record = record(folder)?;
    let path = model.unwrap_or(&record.model);
    let options = LoadOptions {
        mean: record.mean.clone(),
        std: record.std.clone(),
        input_shape: record.input_shape.clone(),
    };
    let loaded = deepconcolic_formats::load(path, &options)?;
    let digest = model::digest(&loaded);
    let network = loaded.network;
    let (requirement, region) = question(&record.property, &network)?;
    let mut out = exit::output();
    let file = folder.join(CERTIFICATE);
    if record.verdict != "unsat" {
        writeln!(out, "no certificate: the verdict is {}", record.verdict)?;
        return Ok(Status::Done);
    }
    let requirements = [requirement.to_string()];
    let subject = Subject {
        network: &network,
        model: digest,
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

fn record(folder: &Path) -> Result<Record, Failure> {
    let path = folder.join(RECORD);
    let bytes = fs::read(&path).map_err(|e| {
        let folder = folder.display();
        Failure::Usage(format!(
            "{folder} has no readable {RECORD} ({e}); name a folder that `run` or `verify --out` wrote"
        ))
    })?;
    serde_json::from_slice(&bytes).map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))
}

/// What certificates of a folder must be about.
struct Subject<'a> {
    /// The network at hand.
    network: &'a Network,
    /// Its fingerprint.
    model: Digest,
    /// The boxes.
    regions: &'a [Region],
    /// The requirements, if they are known.
    requirements: Option<&'a [String]>,
}

impl Subject<'_> {
    /// Checks one certificate file: what it shows, or why it is rejected.
    fn check(&self, file: &Path) -> Result<Result<String, String>, Failure> {
        let bytes = read(file)?;
        let model = self.model;
        let expectation = Expectation {
            model: &model,
            regions: Some(self.regions),
            requirements: self.requirements,
        };
        let checked = Certificate::from_bytes(&bytes, self.network)
            .and_then(|certificate| check(self.network, &certificate, &expectation));
        Ok(match checked {
            Ok(accepted) => {
                let covered = |bound: &&Bound| bound.covers_executions();
                Ok(format!(
                    "{} requirements cannot be met by model {} in its region ({} leaves); for {} of \
                     them executions in single precision, in any order of summation, cannot meet them \
                     either",
                    accepted.bounds().len(),
                    hex(&model),
                    accepted.leaves(),
                    accepted.bounds().iter().filter(covered).count()
                ))
            }
            Err(reason) => Err(reason.to_string()),
        })
    }
}
