//! `check`: judges the certificates of a folder with the independent checker.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use deepconcolic_archive::State;
use deepconcolic_check::{Certificate, Deduction, Expectation, ProvenFacts, Slot, check, regions};
use deepconcolic_spec::criteria::BitSet;
use rayon::prelude::*;

use crate::arguments::ThreadArguments;
use crate::exit::{Failure, Status};
use crate::replay::{Replay, RunOnDisk};
use crate::verify_folder::read;
use crate::{Outcome, check_verify, exit, outcome, prove};

/// Requirements named that do not follow from certificates.
const SHOWN: usize = 5;

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
        check_verify::judge(&self.folder, self.model.as_deref())
    }

    /// A run: its suite is run again, its certificates are judged, and every requirement that it says
    /// is infeasible must follow from them.
    fn run_folder(&self) -> Outcome {
        let replayed = Replay::of(&self.folder, self.model.as_deref()).work()?;
        let run = RunOnDisk::open(&self.folder, self.model.as_deref())?;
        let mut out = exit::output();
        let boxes = regions(&run.space, &run.seeds).into_iter();
        let boxes = boxes.map(|part| part.region).collect();
        let mut facts = ProvenFacts::new(&run.network, run.digest, boxes);
        let files = certificates(&self.folder)?;
        let (mut accepted, mut by_executions) = (0, 0);
        for file in &files {
            let expectation = Expectation {
                model: &run.digest,
                regions: None,
                requirements: None,
            };
            let judged =
                Certificate::from_bytes(&read(file)?, &run.network).and_then(|certificate| {
                    let accepted = check(&run.network, &certificate, &expectation)?;
                    facts.add_accepted(&run.network, &accepted)?;
                    let entries = certificate.entries.iter();
                    Ok(entries.filter(|e| e.is_about_executions()).count())
                });
            match judged {
                Ok(count) => {
                    accepted += 1;
                    by_executions += count;
                }
                Err(reason) => writeln!(out, "{}: rejected: {reason}", file.display())?,
            }
        }
        let Infeasible {
            shown,
            unshown,
            executed,
        } = Infeasible::of(&run, &facts);
        for label in unshown.iter().take(SHOWN) {
            writeln!(out, "not shown to be infeasible: {label}")?;
        }
        if unshown.len() > SHOWN {
            writeln!(out, "and {} more", unshown.len() - SHOWN)?;
        }
        writeln!(
            out,
            "certificates: {accepted} of {} accepted; {} requirements cannot be met in the search region",
            files.len(),
            shown
        )?;
        if shown > 0 {
            writeln!(
                out,
                "for {executed} of them executions in single precision, in any order of summation, cannot \
                 meet them either"
            )?;
        }
        if by_executions > 0 {
            writeln!(
                out,
                "{by_executions} statements are about executions by this tool alone: in real numbers, or \
                 added up in another order, they may be met by a rounding error"
            )?;
        }
        let holds = replayed == Status::Done && accepted == files.len() && unshown.is_empty();
        Ok(if holds {
            Status::Done
        } else {
            Status::GateFailed
        })
    }
}

/// The certificates of a run, in order.
fn certificates(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folder = folder.join(prove::CERTIFICATES);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let unreadable =
        |e: io::Error| Failure::Usage(format!("{} cannot be read: {e}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|e| e == prove::EXTENSION) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// What becomes of the requirements that a run says are infeasible.
struct Infeasible {
    /// How many follow from the certificates.
    shown: usize,
    /// Which ones do not.
    unshown: Vec<String>,
    /// For how many of those that follow the same holds of executions.
    executed: usize,
}

impl Infeasible {
    fn of(run: &RunOnDisk, facts: &ProvenFacts) -> Self {
        let family = run.family.as_ref();
        let rows =
            (0..run.table.state.len()).filter(|&r| run.table.state[r] == State::Infeasible as u8);
        let rows: Vec<usize> = rows.collect();
        let slots: Vec<Option<Slot>> = rows.iter().map(|&r| run.table.slot(family, r)).collect();
        let label = |row: usize, slot: Option<Slot>| match slot {
            Some(slot) => family.label(slot.group as usize, slot.slot as usize),
            None => format!("row {row}"),
        };
        let follows = following(run, &slots, facts.real_numbers());
        let executed = following(run, &slots, facts.executions());
        let all = rows.iter().zip(&slots).zip(&follows);
        let not = all.filter(|(_, follows)| !**follows);
        let both = follows.iter().zip(&executed).filter(|(a, b)| **a && **b);
        Self {
            shown: follows.iter().filter(|follows| **follows).count(),
            unshown: not.map(|((&row, &slot), _)| label(row, slot)).collect(),
            executed: both.count(),
        }
    }
}

/// Which of some requirements of a run follow from what is known.
fn following(run: &RunOnDisk, slots: &[Option<Slot>], known: &Deduction) -> Vec<bool> {
    let family = run.family.as_ref();
    let place = |slot: Slot| (slot.group as usize, slot.slot as usize);
    if let Some(pairs) = family.pairs() {
        let sets = family.groups().iter().enumerate().map(|(group, content)| {
            let mut asked = BitSet::new(content.slots());
            let mine = slots.iter().flatten().map(|&slot| place(slot));
            mine.filter(|(g, _)| *g == group)
                .for_each(|(_, slot)| asked.insert(slot));
            let neurons = |layer: usize| run.network.layers()[layer].neurons();
            let (before, layer) = pairs.layers(group);
            let sizes = (neurons(before), neurons(layer));
            known.refuted_pairs(pairs, group, sizes, &asked)
        });
        let sets: Vec<BitSet> = sets.collect();
        let follows = |(group, slot): (usize, usize)| sets[group].contains(slot);
        let all = slots
            .iter()
            .map(|slot| slot.map(place).is_some_and(follows));
        all.collect()
    } else {
        let follows = |(group, slot): (usize, usize)| {
            let requirement = family.requirement(group, slot);
            requirement.is_ok_and(|requirement| known.refute(&requirement))
        };
        let all = slots.par_iter();
        all.map(|slot| slot.map(place).is_some_and(follows))
            .collect()
    }
}
