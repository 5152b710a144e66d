//! `check` of a folder that `verify --out` wrote: what it says is worked out again from the model and from the
//! folder's own copy of the property, and every difference is a finding.

use std::path::{Path, PathBuf};
use std::time::Instant;

use deepconcolic_check::{
    Bound, Certificate, Digest, Expectation, Rejection, Until, check_until, hex, sha256,
};
use deepconcolic_formats::{LoadOptions, LoadUntil};
use serde::Serialize;

use super::folder::{
    AnswerRecord, BoxEnds, CERTIFICATE, COUNTEREXAMPLE, PROPERTIES, RECORD, property_name, read,
};
use super::question::{Answer, PropertyQuestion, read_counterexample};
use crate::audit::{LeftOut, OtherFiles};
use crate::error::Error;
use crate::model;

/// Processors with other instructions round the last bits of an execution otherwise: outputs may differ by
/// this part of their size, or of 1.
const ROUNDING: f64 = 1e-5;

/// What was found out about a folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AnswerFindings {
    /// The verdict that the folder holds.
    pub verdict: String,
    /// What it says with the verdict.
    pub notes: Vec<String>,
    /// What was checked and holds.
    pub holds: Vec<String>,
    /// What is not as the folder says.
    pub wrong: Vec<String>,
    /// What the folder says and nothing was compared with.
    pub not_verified: Vec<String>,
    /// What there was no time to check.
    pub left_out: Vec<LeftOut>,
    /// Files of the folder that are not looked at.
    pub other_files: OtherFiles,
}

impl AnswerFindings {
    /// Whether everything was checked and holds.
    pub fn holds(&self) -> bool {
        self.wrong.is_empty() && self.left_out.is_empty()
    }
}

/// Judges the answer that a folder holds, with the model that it names or another one, as far as there is time.
pub fn judge(
    folder: &Path,
    model: Option<&Path>,
    deadline: Option<Instant>,
) -> Result<AnswerFindings, Error> {
    let record = AnswerRecord::read(folder)?;
    let path = model.map_or_else(|| PathBuf::from(&record.model), Path::to_path_buf);
    if model.is_none() && !path.exists() {
        return Err(Error::Request(format!(
            "the model {} is gone; say where it is with --model",
            path.display()
        )));
    }
    let options = LoadOptions {
        mean: record.mean.clone(),
        std: record.std.clone(),
        input_shape: record.input_shape.clone(),
        dims: record.dims.clone(),
        fixed: record.fixed.clone(),
        from: record.from.clone(),
        until: LoadUntil {
            deadline,
            ..LoadUntil::default()
        },
    };
    let loaded = deepconcolic_formats::load(&path, &options)?;
    let digest = model::digest(&loaded);
    let property = property_copy(folder)?;
    let asked = PropertyQuestion::of(&property, &loaded.network)?;
    let files = Files {
        property,
        certificate: optional(&folder.join(CERTIFICATE))?,
        counterexample: optional(&folder.join(COUNTEREXAMPLE))?,
    };
    let subject = Subject {
        network: &loaded.network,
        digest: &digest,
        until: Until {
            deadline,
            ..Until::NEVER
        },
    };
    let mut findings = findings(&record, &asked, &files, &subject)?;
    let known = [RECORD, CERTIFICATE, COUNTEREXAMPLE];
    let all = OtherFiles::of(folder, &[])?;
    findings.other_files = all.without(|name| known.contains(&name) || PROPERTIES.contains(&name));
    if model.is_some() {
        let said = "where the model was (--model says where it is)";
        findings.not_verified.push(said.to_owned());
    }
    findings.verdict = record.verdict;
    findings.notes = record.notes;
    Ok(findings)
}

/// The model at hand, and when judging must end.
struct Subject<'a> {
    network: &'a deepconcolic_network::Network,
    digest: &'a Digest,
    until: Until<'a>,
}

/// The files of a folder beside its record.
struct Files {
    property: Vec<u8>,
    certificate: Option<Vec<u8>>,
    counterexample: Option<Vec<u8>>,
}

fn property_copy(folder: &Path) -> Result<Vec<u8>, Error> {
    let copies = PROPERTIES.map(|name| folder.join(name));
    let copies: Vec<&PathBuf> = copies.iter().filter(|path| path.exists()).collect();
    match copies[..] {
        [one] => read(one),
        _ => Err(Error::Request(format!(
            "{} must hold one copy of the property, {} or {}",
            folder.display(),
            PROPERTIES[0],
            PROPERTIES[1]
        ))),
    }
}

fn optional(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    path.exists().then(|| read(path)).transpose()
}

/// Compares everything that a folder says with what is true of the model and the property.
fn findings(
    record: &AnswerRecord,
    asked: &PropertyQuestion<'_>,
    files: &Files,
    subject: &Subject<'_>,
) -> Result<AnswerFindings, Error> {
    let mut findings = AnswerFindings::default();
    compare(record, asked, subject.digest, files, &mut findings)?;
    let mut notes = Vec::new();
    match record.verdict.as_str() {
        "unsat" => {
            let certificate = files.certificate.as_deref();
            certificate_of(asked, subject, certificate, &mut findings);
            notes = asked.notes(Answer::Unsat);
        }
        "sat" => {
            let text = files.counterexample.as_deref();
            if let Some(input) = counterexample_of(asked, subject.network, text, &mut findings) {
                same(
                    "outside",
                    record.outside,
                    Some(asked.outside(&input)),
                    &mut findings,
                );
                notes = asked.notes(Answer::Sat(&input));
            }
        }
        "unknown" => {
            findings
                .holds
                .push("unknown: nothing is claimed".to_owned());
            findings
                .not_verified
                .push("why it stayed unknown".to_owned());
            notes = asked.notes(Answer::Unknown);
        }
        _ => findings
            .wrong
            .push(format!("the verdict is `{}`", record.verdict)),
    }
    if record.notes != notes {
        let notes = notes.join("`, `");
        findings
            .wrong
            .push(format!("{RECORD}: the notes should be `{notes}`"));
    }
    let extra = |name: &str, there: bool, verdict: &str| {
        (there && record.verdict != verdict)
            .then(|| format!("the verdict is {}, and there is a {name}", record.verdict))
    };
    let extras = [
        extra(CERTIFICATE, files.certificate.is_some(), "unsat"),
        extra(COUNTEREXAMPLE, files.counterexample.is_some(), "sat"),
    ];
    findings.wrong.extend(extras.into_iter().flatten());
    Ok(findings)
}

/// Compares the fields of the record that do not depend on the verdict.
fn compare(
    record: &AnswerRecord,
    asked: &PropertyQuestion<'_>,
    digest: &Digest,
    files: &Files,
    findings: &mut AnswerFindings,
) -> Result<(), Error> {
    let hash = |bytes: &[u8]| hex(&sha256(bytes));
    same("model_sha256", &record.model_sha256, &hex(digest), findings);
    let of_property = hash(&files.property);
    same(
        "property_sha256",
        &record.property_sha256,
        &of_property,
        findings,
    );
    let of_certificate = files.certificate.as_deref().map(hash);
    same(
        "certificate_sha256",
        &record.certificate_sha256,
        &of_certificate,
        findings,
    );
    let of_counterexample = files.counterexample.as_deref().map(hash);
    same(
        "counterexample_sha256",
        &record.counterexample_sha256,
        &of_counterexample,
        findings,
    );
    same("vacuous", record.vacuous, asked.is_vacuous(), findings);
    same("head", record.head.as_deref(), asked.head(), findings);
    if record.region != BoxEnds::of(asked) {
        let said = format!("{RECORD}: the box is not that of the property");
        findings.wrong.push(said);
    }
    if record.verdict != "sat" {
        same("outside", record.outside, None, findings);
    }
    if record.verdict != "unknown" {
        same("reason", record.reason.as_deref(), None, findings);
    }
    if findings.wrong.is_empty() {
        findings.holds.push(format!(
            "model, property and box: as the folder says ({} inputs; the property is {})",
            asked.region.lower.len(),
            property_name(&files.property)
        ));
    }
    if record.seal()? != record.sha256 {
        let said = format!("{RECORD} is not as it was written: its own hash differs");
        findings.wrong.push(said);
    }
    findings
        .not_verified
        .push("which version wrote the folder".to_owned());
    let original = Path::new(&record.property);
    match optional(original) {
        Ok(Some(bytes)) if bytes == files.property => {}
        Ok(Some(_)) => findings.not_verified.push(format!(
            "{}, which is not the property in the folder any more",
            original.display()
        )),
        _ => {
            let said = "where the property came from (no readable file is there now)";
            findings.not_verified.push(said.to_owned());
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "most are references already")]
fn same<T: PartialEq + std::fmt::Debug>(
    name: &str,
    said: T,
    found: T,
    findings: &mut AnswerFindings,
) {
    if said != found {
        let line = format!("{RECORD}: {name} says {said:?}, found {found:?}");
        findings.wrong.push(line);
    }
}

/// The certificate of an unsat answer.
fn certificate_of(
    asked: &PropertyQuestion<'_>,
    subject: &Subject<'_>,
    bytes: Option<&[u8]>,
    findings: &mut AnswerFindings,
) {
    let Some(bytes) = bytes else {
        findings.wrong.push(format!(
            "the verdict is unsat, and {CERTIFICATE} is missing"
        ));
        return;
    };
    let expectation = Expectation {
        model: subject.digest,
        regions: Some(std::slice::from_ref(&asked.region)),
        requirements: Some(&[asked.requirement.to_string()]),
    };
    let checked = Certificate::from_bytes(bytes, subject.network).and_then(|certificate| {
        check_until(subject.network, &certificate, &expectation, subject.until)
    });
    match checked {
        Ok(_) if asked.is_vacuous() => findings.holds.push(format!(
            "{CERTIFICATE}: accepted; no input meets the property whatever the network computes, so that it says nothing about the \
             network"
        )),
        Ok(accepted) => {
            let mut bounds = accepted.bounds().iter();
            let covered = bounds.all(Bound::covers_executions) && !asked.is_about_head();
            let executions = if covered {
                "and executions in single precision, in any order of summation, cannot meet it either"
            } else {
                "and whether an execution can meet it by rounding is not shown"
            };
            findings.holds.push(format!(
                "{CERTIFICATE}: accepted; no input of the box meets the property in real arithmetic ({} \
                 leaves), {executions}",
                accepted.leaves()
            ));
        }
        Err(Rejection::Time) => findings.left_out.push(LeftOut {
            what: format!("certificates, the first {CERTIFICATE}"),
            count: 1,
        }),
        Err(reason) => findings.wrong.push(format!("{CERTIFICATE}: rejected: {reason}")),
    }
}

/// The counterexample of a sat answer, run again.
fn counterexample_of(
    asked: &PropertyQuestion<'_>,
    network: &deepconcolic_network::Network,
    bytes: Option<&[u8]>,
    findings: &mut AnswerFindings,
) -> Option<Vec<f32>> {
    let mut wrong = |reason: String| {
        findings.wrong.push(format!("{COUNTEREXAMPLE}: {reason}"));
        None
    };
    let Some(bytes) = bytes else {
        return wrong("it is missing, and the verdict is sat".to_owned());
    };
    let text = String::from_utf8_lossy(bytes);
    let outputs = network.elements(deepconcolic_network::Point::Answer);
    let (input, output) = match read_counterexample(&text, network.input_elements(), outputs) {
        Ok(numbers) => numbers,
        Err(reason) => return wrong(reason),
    };
    let single: Vec<f32> = input.iter().map(|&x| x as f32).collect();
    let rounded = input
        .iter()
        .zip(&single)
        .position(|(&x, &s)| x.to_bits() != f64::from(s).to_bits());
    if let Some(at) = rounded {
        return wrong(format!("X_{at} is no number of single precision"));
    }
    if !asked.is_met_by(&single) {
        return wrong(
            "run again, it does not meet the property, or lies outside its box".to_owned(),
        );
    }
    let executed = asked.output(&single);
    let (mut worst, mut off) = (0.0f64, Vec::new());
    for (i, (&said, &found)) in output.iter().zip(&executed).enumerate() {
        let found = f64::from(found);
        let error = (said - found).abs();
        if error > ROUNDING * found.abs().max(1.0) {
            return wrong(format!("Y_{i} is {said}, and the model gives {found}"));
        }
        if error > 0.0 {
            off.push(format!("Y_{i}"));
        }
        worst = worst.max(error);
    }
    let outside = asked.outside(&single);
    let inside = if outside > 0.0 {
        format!("up to {outside:e} outside the box, where no single-precision number lies in it")
    } else {
        "inside the box".to_owned()
    };
    let outputs = if worst > 0.0 {
        findings.not_verified.push(format!(
            "the last digits of {} in {COUNTEREXAMPLE}: they are off by up to {worst:e} here, as they would be if \
             another processor had computed them",
            off.join(", ")
        ));
        format!("the outputs are as written up to {worst:e}")
    } else {
        "the outputs are as written".to_owned()
    };
    findings.holds.push(format!(
        "{COUNTEREXAMPLE}: run again; {inside}, {outputs}, and they meet the property"
    ));
    Some(single)
}
