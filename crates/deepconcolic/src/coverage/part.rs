//! Data measured in parts, by several workers, and their figures joined: the report of one that ran all of it.

use std::path::Path;

use deepconcolic_campaign::{AnswerCounts, Answers, InputsRange, Measurement, measure};
use deepconcolic_criteria::{Family, Partition};
use deepconcolic_network::BitSet;
use serde::{Deserialize, Serialize};

use super::{CoverageJob, CoverageReport, Prepared};
use crate::error::Error;
use crate::event::Event;
use crate::folder::profile_file;
use crate::two_inputs;

/// What a part of the data covers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoveragePart {
    part: Partition,
    /// All samples of all parts.
    samples: usize,
    answers: AnswerCounts,
    covered: Vec<Vec<Words>>,
    noise: Option<Vec<Vec<Words>>>,
}

/// A set of slots, 64 in a word.
type Words = Vec<u64>;

impl CoverageJob {
    /// Writes the ranges of neurons that all parts are to take as their profile, and says where they are from; nothing
    /// where no criterion compares with any.
    pub fn write_profile(
        &self,
        path: &Path,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Option<String>, Error> {
        let prepared = self.prepare(tell)?;
        if let Some(profile) = &prepared.profile {
            profile_file::save(path, &prepared.network, profile)?;
        }
        Ok(prepared.profile_words)
    }

    /// Measures a part of the data. The job is about all of them.
    pub fn run_part(
        &self,
        part: Partition,
        tell: &mut dyn FnMut(Event),
    ) -> Result<CoveragePart, Error> {
        let prepared = self.prepare(tell)?;
        can_be_joined(&prepared)?;
        let families = prepared.families();
        let inputs = prepared.inputs()?;
        let range = part.range(prepared.data.len());
        let some = InputsRange {
            inputs: &inputs,
            range: range.clone(),
        };
        let (network, decision) = (&prepared.network, &prepared.decision);
        let mut measured = measure(network, &some, &families, decision);
        for number in &mut measured.answers.counts.not_finite {
            *number += range.start;
        }
        let noise = self.noise(&prepared, &families).map(|noise| {
            let some = InputsRange {
                inputs: &noise,
                range,
            };
            words(&measure(network, &some, &families, decision).covered)
        });
        Ok(CoveragePart {
            part,
            samples: prepared.data.len(),
            answers: measured.answers.counts,
            covered: words(&measured.covered),
            noise,
        })
    }

    /// The report of all parts, in any order; each must be there once.
    pub fn join(
        &self,
        parts: &[CoveragePart],
        tell: &mut dyn FnMut(Event),
    ) -> Result<CoverageReport, Error> {
        let mut parts: Vec<&CoveragePart> = parts.iter().collect();
        parts.sort_by_key(|part| part.part);
        let complete = parts.first().is_some_and(|first| {
            let wanted = first.part.all();
            wanted.eq(parts.iter().map(|part| part.part))
        });
        if !complete {
            let there: Vec<String> = parts.iter().map(|part| part.part.to_string()).collect();
            return Err(Error::Request(format!(
                "these are not all parts of one measurement, each once: {}",
                there.join(", ")
            )));
        }
        let prepared = self.prepare(tell)?;
        can_be_joined(&prepared)?;
        let families = prepared.families();
        let mut measured = Measurement {
            covered: none(&families),
            answers: Answers::new(&prepared.decision),
            inputs: prepared.data.len(),
        };
        let has_noise = self.noise(&prepared, &families).is_some();
        let mut noise = has_noise.then(|| none(&families));
        for part in parts {
            let other = |why: String| {
                Error::Request(format!(
                    "part {} is of another measurement: {why}",
                    part.part
                ))
            };
            if part.samples != prepared.data.len() {
                let why = format!("{} samples, not {}", part.samples, prepared.data.len());
                return Err(other(why));
            }
            let answers = &mut measured.answers.counts;
            answers.add(&part.answers).map_err(other)?;
            add(&mut measured.covered, &part.covered).map_err(other)?;
            match (&mut noise, &part.noise) {
                (Some(sum), Some(more)) => add(sum, more).map_err(other)?,
                (None, None) => {}
                _ => return Err(other("one has noise and one has not".into())),
            }
        }
        self.conclude(&prepared, &measured, noise.as_deref())
    }
}

/// Refuses what cannot be measured in parts.
fn can_be_joined(prepared: &Prepared) -> Result<(), Error> {
    for (criterion, family) in prepared.chosen.iter().zip(&prepared.families) {
        if two_inputs::has_some(family.as_ref()) {
            return Err(Error::Request(format!(
                "{}: two samples of different parts may meet a requirement together, so that parts of data cannot be \
                 joined; measure it in one process",
                criterion.name()
            )));
        }
    }
    if prepared.requirements.is_some() {
        return Err(Error::Request(
            "requirements of a file are not measured in parts of data; measure them in one process"
                .into(),
        ));
    }
    Ok(())
}

fn words(covered: &[Vec<BitSet>]) -> Vec<Vec<Words>> {
    let of_family = |groups: &Vec<BitSet>| groups.iter().map(|set| set.words().to_vec()).collect();
    covered.iter().map(of_family).collect()
}

fn none(families: &[&dyn Family]) -> Vec<Vec<BitSet>> {
    let empty = |family: &&dyn Family| {
        let groups = family.groups().iter();
        groups.map(|group| BitSet::new(group.slots())).collect()
    };
    families.iter().map(empty).collect()
}

/// Adds sets that came from elsewhere; refuses those that do not fit.
fn add(sum: &mut [Vec<BitSet>], more: &[Vec<Words>]) -> Result<(), String> {
    let misfit = || "its criteria have other requirements".to_owned();
    if sum.len() != more.len() {
        return Err(misfit());
    }
    for (groups, more) in sum.iter_mut().zip(more) {
        if groups.len() != more.len() {
            return Err(misfit());
        }
        for (set, more) in groups.iter_mut().zip(more) {
            let beyond = set.len() % 64;
            let stray = beyond > 0 && more.last().is_some_and(|last| last >> beyond != 0);
            if set.words().len() != more.len() || stray {
                return Err(misfit());
            }
            for (word, more) in set.words_mut().iter_mut().zip(more) {
                *word |= more;
            }
        }
    }
    Ok(())
}
