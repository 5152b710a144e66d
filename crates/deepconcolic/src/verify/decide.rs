//! A property of the verification competition, answered.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use deepconcolic_check::{Digest, hex};
use deepconcolic_formats::LoadUntil;
use deepconcolic_language::TOLERANCE;
use deepconcolic_proofs::{ProofLimits, Verdict, prove};
use serde::{Deserialize, Serialize};

use super::folder::{AnswerRecord, BoxEnds, Contents, absolute, read, text};
use super::question::{Answer, PropertyQuestion};
use crate::error::Error;
use crate::event::Event;
use crate::folder::paths;
use crate::model::GRACE;
use crate::settings::ModelSettings;
use crate::{model, model_inputs};

/// What is to be decided.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VerifyJob {
    /// The model and how it is read.
    pub model: ModelSettings,
    /// The property: a .vnnlib file, plain or gzip.
    pub property: PathBuf,
    /// When to give up, in seconds.
    pub timeout: f64,
}

/// An answer, with everything that shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// `sat`, `unsat` or `unknown`.
    pub verdict: &'static str,
    /// The counterexample of a `sat`: inputs and outputs, as the competition writes them.
    pub counterexample: Option<String>,
    /// The certificate of an `unsat`.
    #[serde(skip)]
    pub certificate: Option<Vec<u8>>,
    /// What must be said with the verdict.
    pub notes: Vec<String>,
    /// Why the verdict is `unknown`, where there is a reason other than time.
    pub reason: Option<String>,
    #[serde(skip)]
    property: Vec<u8>,
    #[serde(skip)]
    record: AnswerRecord,
}

/// More than a week is no limit.
const LONGEST: f64 = 604_800.0;

impl VerifyJob {
    /// Seconds when nobody says how many.
    pub const TIMEOUT: f64 = 116.0;

    /// A property of a model, with the default time.
    pub fn new(model: impl AsRef<Path>, property: impl AsRef<Path>) -> Self {
        Self {
            model: ModelSettings::new(model.as_ref()),
            property: property.as_ref().to_owned(),
            timeout: Self::TIMEOUT,
        }
    }

    /// Refuses what a folder could not name.
    pub fn can_be_stored(&self) -> Result<(), Error> {
        let (model, property) = (absolute(&self.model.model), absolute(&self.property));
        paths::storable([("MODEL", Some(&*model)), ("PROPERTY", Some(&*property))])
    }

    /// Decides.
    pub fn run(&self, tell: &mut dyn FnMut(Event)) -> Result<Verification, Error> {
        if !(self.timeout > 0.0 && self.timeout <= LONGEST) {
            return Err(Error::Request(format!(
                "--timeout must be more than 0 and at most {LONGEST} seconds"
            )));
        }
        let deadline = Instant::now() + Duration::from_secs_f64(self.timeout);
        let until = LoadUntil {
            deadline: Some(deadline + GRACE),
            interrupt: None,
        };
        let loaded = model::load_until(&self.model, until)?;
        let told = loaded.notes.iter().cloned().map(Event::Note);
        told.for_each(&mut *tell);
        loaded.scope.iter().cloned().map(Event::Note).for_each(tell);
        model_inputs::can_be_searched(&loaded)?;
        let digest = model::digest(&loaded);
        let network = loaded.network;
        let property = read(&self.property)?;
        let asked = PropertyQuestion::of(&property, &network)?;
        let limits = ProofLimits {
            nodes: usize::MAX,
            deadline: Some(deadline),
            tolerance: TOLERANCE,
            ..ProofLimits::default()
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
        let notes = asked.notes(answer);
        Ok(Verification {
            verdict: answer.word(),
            counterexample: match answer {
                Answer::Sat(input) => Some(asked.counterexample(input)),
                _ => None,
            },
            certificate: match &verdict {
                Verdict::Infeasible(accepted) => Some(accepted.certificate().to_bytes(&network)),
                _ => None,
            },
            record: self.record(&asked, &digest, answer, &notes, reason.as_deref()),
            notes,
            reason,
            property,
        })
    }

    fn record(
        &self,
        asked: &PropertyQuestion<'_>,
        digest: &Digest,
        answer: Answer<'_>,
        notes: &[String],
        reason: Option<&str>,
    ) -> AnswerRecord {
        let (schema, tool) = AnswerRecord::written_by();
        AnswerRecord {
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
            dims: self.model.dims.clone(),
            fixed: self.model.fixed.clone(),
            from: self.model.from.clone(),
            head: asked.head().map(str::to_owned),
            property: text(&absolute(&self.property)),
            outside: match answer {
                Answer::Sat(input) => Some(asked.outside(input)),
                _ => None,
            },
            region: BoxEnds::of(asked),
            ..AnswerRecord::default()
        }
    }
}

impl Verification {
    /// Writes the answer, what shows it, and a copy of the property.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let contents = Contents {
            property: &self.property,
            certificate: self.certificate.clone(),
            counterexample: self.counterexample.as_deref(),
        };
        self.record.clone().write(folder, &contents)
    }
}
