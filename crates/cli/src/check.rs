//! `check`: judges the certificates of a folder with the independent checker.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use deepconcolic_archive::State;
use deepconcolic_check::{Bound, Certificate, Digest, Expectation, Region, check, hex};
use deepconcolic_formats::LoadOptions;
use deepconcolic_network::Network;

use crate::arguments::ThreadArguments;
use crate::exit::{Failure, Status};
use crate::replay::{Replay, RunOnDisk};
use crate::verify::{CERTIFICATE, RECORD, Record, question, read};
use crate::{Outcome, model, outcome, prove};

/// Check every certificate of a folder independently; exit code 1 if one is rejected
#[derive(Args)]
pub struct Check {
    /// A folder that `run` or `verify --out` wrote
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
        if self.folder.join(outcome::SUMMARY).exists() {
            return self.run_folder();
        }
        let record = self.record()?;
        let path = self.model.as_ref().unwrap_or(&record.model);
        let options = LoadOptions {
            mean: record.mean.clone(),
            std: record.std.clone(),
            input_shape: record.input_shape.clone(),
        };
        let loaded = deepconcolic_formats::load(path, &options)?;
        let digest = model::digest(&loaded);
        let network = loaded.network;
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

    /// A run: its suite is run again, and every certificate is judged for the requirements that lean
    /// on it.
    fn run_folder(&self) -> Outcome {
        let replayed = Replay::of(&self.folder, self.model.as_deref()).work()?;
        let run = RunOnDisk::open(&self.folder, self.model.as_deref())?;
        let mut out = io::stdout().lock();
        let mut failed = replayed != Status::Done;
        let mut by_certificate: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for row in 0..run.table.state.len() {
            if run.table.state[row] == State::Infeasible as u8 {
                let slot = run.table.slot(run.family.as_ref(), row);
                let requirement = slot.and_then(|slot| {
                    let (group, slot) = (slot.group as usize, slot.slot as usize);
                    run.family.requirement(group, slot).ok()
                });
                let text = requirement.map_or_else(|| format!("row {row}"), |r| r.to_string());
                let certificate = run.table.certificate[row];
                by_certificate.entry(certificate).or_default().push(text);
            }
        }
        let regions: Vec<Region> = prove::scope(&run.space, &run.seeds)
            .into_iter()
            .map(|(region, _)| region)
            .collect();
        let (mut accepted, mut requirements) = (0, 0);
        for (number, texts) in &by_certificate {
            let subject = Subject {
                network: &run.network,
                model: run.digest,
                regions: &regions,
                requirements: Some(texts),
            };
            let file = prove::file(&self.folder.join(prove::CERTIFICATES), *number);
            match subject.check(&file)? {
                Ok(_) => {
                    accepted += 1;
                    requirements += texts.len();
                }
                Err(reason) => {
                    failed = true;
                    writeln!(out, "{}: rejected: {reason}", file.display())?;
                }
            }
        }
        writeln!(
            out,
            "certificates: {accepted} of {} accepted; {requirements} requirements cannot be met in the \
             search region",
            by_certificate.len()
        )?;
        Ok(if failed {
            Status::GateFailed
        } else {
            Status::Done
        })
    }

    fn record(&self) -> Result<Record, Failure> {
        let path = self.folder.join(RECORD);
        let bytes = fs::read(&path).map_err(|e| {
            let folder = self.folder.display();
            Failure::Usage(format!(
                "{folder} has no readable {RECORD} ({e}); name a folder that `run` or `verify --out` wrote"
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
    /// Its fingerprint.
    pub model: Digest,
    /// The boxes.
    pub regions: &'a [Region],
    /// The requirements, if they are known.
    pub requirements: Option<&'a [String]>,
}

impl Subject<'_> {
    /// Checks one certificate file: what it shows, or why it is rejected.
    pub fn check(&self, file: &Path) -> Result<Result<String, String>, Failure> {
        let bytes = read(file)?;
        let model = self.model;
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
