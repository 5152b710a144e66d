//! `certificates/`: each is judged by the independent checker, and what follows from those accepted is known
//! afterwards.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use deepconcolic_check::steepness::SlopeCertificate;
use deepconcolic_check::{
    Certificate, Deduction, Expectation, ProvenFacts, Rejection, Slot, check_until, regions,
};
use deepconcolic_network::BitSet;
use rayon::prelude::*;

use super::RunFindings;
use super::left_out::{Ahead, Halt, Part};
use super::opened::Opened;
use crate::error::Error;
use crate::folder;
use crate::folder::certificates;
use crate::prove::{SlopeBounds, SlopeQuestions, judge_slope};
use crate::verify::folder::read;

/// What the certificates of a run show.
pub struct Proofs {
    facts: ProvenFacts,
    /// Numbers of those accepted.
    pub accepted: BTreeSet<i32>,
    /// How many files there are, and how many statements are about executions alone.
    pub files: usize,
    pub by_executions: usize,
    /// Upper bounds on the slopes of regions.
    pub slopes: SlopeBounds,
}

/// Judges every certificate.
pub fn judge(opened: &Opened, ahead: &mut Ahead, report: &mut RunFindings) -> Result<Proofs, Halt> {
    let rows: Vec<Vec<f32>> = opened.seeds.iter().map(<[f32]>::to_vec).collect();
    let boxes = regions(&opened.space, &rows).into_iter();
    let files = files(&opened.dir)?;
    let mut proofs = Proofs {
        facts: ProvenFacts::new(
            &opened.network,
            opened.digest,
            boxes.map(|part| part.region).collect(),
        ),
        accepted: BTreeSet::new(),
        files: files.len(),
        by_executions: 0,
        slopes: SlopeBounds::new(),
    };
    let mut slopes = Vec::new();
    for (judged_before, file) in files.iter().enumerate() {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{}/{name}", folder::CERTIFICATES);
        let expectation = Expectation {
            model: &opened.digest,
            regions: None,
            requirements: None,
        };
        let bytes = read(file)?;
        let judged = if SlopeCertificate::begins(&bytes) {
            judge_slope(&opened.network, &bytes, &opened.digest, opened.until()).map(|slope| {
                slopes.extend(number(file).map(|number| (number, slope)));
                0
            })
        } else {
            Certificate::from_bytes(&bytes, &opened.network).and_then(|certificate| {
                let accepted =
                    check_until(&opened.network, &certificate, &expectation, opened.until())?;
                proofs.facts.add_accepted(&opened.network, &accepted)?;
                let entries = certificate.entries.iter();
                Ok(entries.filter(|e| e.is_about_executions()).count())
            })
        };
        match judged {
            Ok(count) => {
                proofs.by_executions += count;
                proofs.accepted.extend(number(file));
            }
            Err(Rejection::Time) => {
                ahead.left(Part::Certificates, files.len() - judged_before, &name);
                report.done.push(format!(
                    "certificates: {} of {} accepted before time was up",
                    proofs.accepted.len(),
                    files.len()
                ));
                return Err(Halt::Late);
            }
            Err(reason) => report.differs(&name, "proof", "one", format!("rejected: {reason}")),
        }
    }
    let questions = SlopeQuestions::of(opened.family.as_ref(), &opened.space);
    proofs.slopes = questions.bounds(&slopes);
    Ok(proofs)
}

/// Whether a file is called as certificates are.
pub fn is_one(file: &Path) -> bool {
    let extension = file.extension();
    extension.is_some_and(|e| e == certificates::EXTENSION)
}

/// The number in a certificate's name.
fn number(file: &Path) -> Option<i32> {
    file.file_stem()?.to_str()?.parse().ok()
}

/// The certificates of a run, in order.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let folder = folder.join(folder::CERTIFICATES);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let unreadable =
        |e: io::Error| Error::Request(format!("{} cannot be read: {e}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_one(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl Proofs {
    /// Which of these requirements are seen in time not to be met, by the certificates accepted.
    pub fn refuted(&self, opened: &Opened, asked: &[Slot]) -> BTreeSet<Slot> {
        let (ratios, others) = apart(opened, asked);
        let mut refuted = following(opened, &others, self.facts.real_numbers());
        if let Some((_, of)) = opened.family.ratios() {
            let bounded = |slot: &Slot| {
                let number = slot.slot as usize;
                let bound = self.slopes.get(&number).map(|bound| bound.upper);
                matches!((bound, of.ratio(number).constant), (Some(b), Some(c)) if b <= c)
            };
            refuted.extend(ratios.into_iter().filter(bounded));
        }
        refuted
    }

    /// Which of these requirements are seen in time not to be met by any execution, in any order of summation.
    pub fn refuted_for_executions(&self, opened: &Opened, asked: &[Slot]) -> BTreeSet<Slot> {
        // Bounds on slopes are about real numbers.
        let (_, others) = apart(opened, asked);
        following(opened, &others, self.facts.executions())
    }
}

/// Of requirements those about ratios, which bounds on slopes decide, and the others.
fn apart(opened: &Opened, asked: &[Slot]) -> (Vec<Slot>, Vec<Slot>) {
    let is_ratio = |slot: &Slot| opened.family.is_about_ratios(slot.group as usize);
    asked.iter().copied().partition(is_ratio)
}

/// Which of some requirements follow from what is known.
fn following(opened: &Opened, asked: &[Slot], known: &Deduction) -> BTreeSet<Slot> {
    let family = opened.family.as_ref();
    let place = |slot: Slot| (slot.group as usize, slot.slot as usize);
    let follows = |slot: &&Slot| {
        let (group, slot) = place(**slot);
        if opened.until().is_over() {
            return false;
        }
        let requirement = family.requirement(group, slot);
        requirement.is_ok_and(|requirement| known.refute(&requirement))
    };
    let is_pair = |slot: &&Slot| family.pairs(slot.group as usize).is_some();
    let (paired, single): (Vec<&Slot>, Vec<&Slot>) = asked.iter().partition(is_pair);
    let mut refuted: BTreeSet<Slot> = single.into_par_iter().filter(follows).copied().collect();
    for (group, content) in family.groups().iter().enumerate() {
        let Some(pairs) = family.pairs(group) else {
            continue;
        };
        let mut set = BitSet::new(content.slots());
        let mine = paired.iter().map(|&&slot| place(slot));
        mine.filter(|(g, _)| *g == group)
            .for_each(|(_, slot)| set.insert(slot));
        let neurons = |layer: usize| opened.network.layers()[layer].neurons();
        let (before, layer) = pairs.layers(group);
        let sizes = (neurons(before), neurons(layer));
        let found = known.refuted_pairs(pairs, group, sizes, &set, opened.until());
        refuted.extend(found.iter().map(|slot| Slot {
            group: group as u32,
            slot: slot as u32,
        }));
    }
    refuted
}
