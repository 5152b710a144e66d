//! `verify`: answers a property of the verification competition.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use deepconcolic_check::{Digest, hex};
use deepconcolic_language::TOLERANCE;
use deepconcolic_proofs::{Limits, Verdict, prove};

use crate::arguments::{ModelArguments, ThreadArguments};
use crate::asked::{Answer, Asked};
use crate::exit::{Failure, Status};
use crate::verify_folder::{Contents, Ends, Record, absolute, read, text};
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
    /// Write the answer, its certificate or counterexample, and a copy of the property into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArguments,
}

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
        let property = read(&self.property)?;
        let asked = Asked::of(&property, &network)?;
        let limits = Limits {
            nodes: usize::MAX,
            deadline: Some(deadline),
            tolerance: TOLERANCE,
            ..Limits::default()
        };
        let verdict = prove(
            &network,
            &digest,
            &asked.requirement,
            &asked.region,
            &limits,
        );
        let (verdict, reason) = match verdict {
            Ok(verdict) => (verdict, None),
            Err(reason) => (
                Verdict::Open {
                    bound: f64::INFINITY,
                },
                Some(reason.to_string()),
            ),
        };
        let answer = match &verdict {
            Verdict::Witness(input) => Answer::Sat(input),
            Verdict::Infeasible(_) => Answer::Unsat,
            Verdict::Open { .. } => Answer::Unknown,
        };
        let counterexample = match answer {
            Answer::Sat(input) => Some(asked.counterexample(input)),
            _ => None,
        };
        let notes = asked.notes(answer);
        // Before anything is printed: whoever reads the first line may close the pipe.
        if let Some(folder) = &self.out {
            let contents = Contents {
                property: &property,
                certificate: match &verdict {
                    Verdict::Infeasible(accepted) => {
                        Some(accepted.certificate().to_bytes(&network))
                    }
                    _ => None,
                },
                counterexample: counterexample.as_deref(),
            };
            self.record(&asked, &digest, answer, &notes, reason.as_deref())
                .write(folder, &contents)?;
        }
        let mut out = exit::output();
        writeln!(out, "{}", answer.word())?;
        let notes = notes.into_iter().chain(reason);
        if let Some(text) = counterexample {
            // What follows the first line is the counterexample and nothing else.
            notes.for_each(|note| exit::tell(format_args!("note: {note}")));
            write!(out, "{text}")?;
        } else {
            for note in notes {
                writeln!(out, "note: {note}")?;
            }
        }
        Ok(Status::Done)
    }

    fn record(
        &self,
        asked: &Asked<'_>,
        digest: &Digest,
        answer: Answer<'_>,
        notes: &[String],
        reason: Option<&str>,
    ) -> Record {
        let (schema, tool) = Record::written_by();
        Record {
            schema,
            tool,
            verdict: answer.word().to_owned(),
            vacuous: asked.is_vacuous(),
            notes: notes.to_vec(),
            reason: reason.map(str::to_owned),
            model: text(&absolute(&self.model.model)),
            model_sha256: hex(digest),
            mean: self.model.mean.clone(),
            std: self.model.std.clone(),
            input_shape: self.model.input_shape.clone(),
            head: asked.head().map(str::to_owned),
            property: text(&absolute(&self.property)),
            outside: match answer {
                Answer::Sat(input) => Some(asked.outside(input)),
                _ => None,
            },
            region: Ends::of(asked),
            ..Record::default()
        }
    }
}
