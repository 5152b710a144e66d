//! The journal: everything a run did, round by round, each on disk before it is reported.
//!
//! A file of frames. The first holds the settings, each other one a round of the search or a question to the
//! provers. A process killed while it
//! writes leaves a torn frame at the end, which is cut off when the journal is opened again. A frame that is
//! not sound with sound ones behind it is no torn end but damage, and is reported.

mod frames;
mod record;

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use deepconcolic_campaign::Round;
use deepconcolic_dataset::write::AtomicFile;
use frames::{Frames, LONGEST, Tail, frame};
use serde_json::Value;

use crate::error::{ArchiveError, Lost};

const MAGIC: &[u8; 8] = b"dcjrnl05";
/// What the magic of every version starts with.
const KIN: &[u8] = b"dcjrnl";
/// What a journal is renamed to before its damaged part is cut off, after its own name.
const DAMAGED: &str = "damaged";

/// A step of a run as it was recorded. It counts nothing but itself: totals are sums over steps.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry {
    /// What it was.
    pub step: JournalStep,
    /// Seconds of work since the step before it, or since the sitting began.
    pub seconds: f64,
}

impl JournalEntry {
    /// What it says, as bytes, but for how long it took: the same work has the same.
    pub(crate) fn content(&self) -> Vec<u8> {
        record::encode(&Self {
            step: self.step.clone(),
            seconds: 0.0,
        })
    }

    /// What came into the suite with it: its own round, or that of what proofs found on the way.
    pub fn admitted(&self) -> Option<&Round> {
        match &self.step {
            JournalStep::Round(round) => Some(round),
            JournalStep::Proof(proof) => proof.round.as_ref(),
        }
    }

    /// The round of the search that it is, if it is one.
    pub fn round(&self) -> Option<&Round> {
        match &self.step {
            JournalStep::Round(round) => Some(round),
            JournalStep::Proof(_) => None,
        }
    }

    /// The question to the provers that it is, if it is one.
    pub fn proof(&self) -> Option<&ProofRecord> {
        match &self.step {
            JournalStep::Proof(proof) => Some(proof),
            JournalStep::Round(_) => None,
        }
    }
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalStep {
    /// A round of the search.
    Round(Round),
    /// A question to the provers, with what came of it.
    Proof(ProofRecord),
}

/// A question to the provers, with what came of it; what was proven is in the certificate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProofRecord {
    /// A fingerprint of what was asked.
    pub asked: u64,
    /// How many certificates were taken over before it that no step of the journal speaks of.
    pub taken_over: u32,
    /// Whether there was one more after it: certificates have their numbers from the order of steps.
    pub wrote: bool,
    /// Upper bounds found, by the number of a requirement in the question.
    pub bounds: Vec<(u32, f64)>,
    /// Why requirements are beyond proofs, by their numbers in the question.
    pub reasons: Vec<(u32, String)>,
    /// Parts of the region that were bounded.
    pub nodes: usize,
    /// Whether time was up before all of it was tried.
    pub cut: bool,
    /// The round that took in what was found on the way.
    pub round: Option<Round>,
}

/// What to do about a journal that is damaged in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDamage {
    /// Say what is lost, and change nothing.
    Refuse,
    /// Keep a copy, and go on from the rounds before the damage.
    Drop,
}

/// A journal open for writing.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// The number of the next frame.
    number: u32,
}

impl Journal {
    /// Starts a journal.
    pub(crate) fn create(path: &Path, settings: &Value) -> Result<Self, ArchiveError> {
        // It appears with its settings or not at all: a run killed here was never begun.
        let mut file = AtomicFile::create(path)?;
        let first = whole_frame(path, 0, settings.to_string().as_bytes())?;
        file.write_all(MAGIC)
            .and_then(|()| file.write_all(&first))
            .map_err(ArchiveError::io(path, "write"))?;
        file.commit()?;
        let file = File::options()
            .append(true)
            .open(path)
            .map_err(ArchiveError::io(path, "open"))?;
        let path = path.to_owned();
        let number = 1;
        Ok(Self { file, path, number })
    }

    /// Opens a journal to go on with it: its settings and rounds.
    pub(crate) fn open(
        path: &Path,
        on_damage: OnDamage,
    ) -> Result<(Self, Value, Vec<JournalEntry>), ArchiveError> {
        let mut file = File::options()
            .read(true)
            .write(true)
            .open(path)
            .map_err(ArchiveError::io(path, "open"))?;
        let Contents {
            settings,
            entries,
            sound,
            lost,
        } = Contents::read(path, &mut file)?;
        if let Some(lost) = lost {
            accept(path, entries.len(), lost, on_damage)?;
        }
        // What is left was being written when the process died, or is given up.
        file.set_len(sound)
            .and_then(|()| file.seek(SeekFrom::Start(sound)))
            .map_err(ArchiveError::io(path, "repair"))?;
        let path = path.to_owned();
        let number = entries.len() as u32 + 1;
        Ok((Self { file, path, number }, settings, entries))
    }

    /// The settings and rounds of a journal that nobody goes on with. Nothing is changed; what was being
    /// written when the process died is left out.
    pub(crate) fn read(path: &Path) -> Result<(Value, Vec<JournalEntry>), ArchiveError> {
        let mut file = File::open(path).map_err(ArchiveError::io(path, "open"))?;
        let contents = Contents::read(path, &mut file)?;
        match contents.lost {
            None => Ok((contents.settings, contents.entries)),
            Some(lost) => Err(ArchiveError::Lost {
                path: path.to_owned(),
                good: contents.entries.len(),
                lost,
            }),
        }
    }

    /// The settings of a journal, and the rounds before any damage. Nothing is changed.
    pub(crate) fn begun(path: &Path) -> Result<(Value, Vec<JournalEntry>), ArchiveError> {
        let mut file = File::open(path).map_err(ArchiveError::io(path, "open"))?;
        let contents = Contents::read(path, &mut file)?;
        Ok((contents.settings, contents.entries))
    }

    /// Adds a step; when this returns, it is on disk. A question that nothing came of may be lost with the
    /// machine, though not with the process: there can be thousands, and to ask again costs little.
    pub fn append(&mut self, entry: &JournalEntry) -> Result<(), ArchiveError> {
        let bytes = whole_frame(&self.path, self.number, &record::encode(entry))?;
        let is_vain = |proof: &ProofRecord| !proof.wrote && proof.round.is_none();
        let written = self.file.write_all(&bytes);
        let synced = written.and_then(|()| match entry.proof() {
            Some(proof) if is_vain(proof) => Ok(()),
            _ => self.file.sync_data(),
        });
        synced.map_err(ArchiveError::io(&self.path, "write"))?;
        self.number += 1;
        Ok(())
    }
}

/// What a journal holds.
struct Contents {
    settings: Value,
    entries: Vec<JournalEntry>,
    /// Where the last sound frame ends, in bytes.
    sound: u64,
    /// What is damaged behind it, if it is more than a torn end.
    lost: Option<Lost>,
}

impl Contents {
    fn read(path: &Path, file: &mut File) -> Result<Self, ArchiveError> {
        let unreadable = |error| ArchiveError::io(path, "read")(error);
        check_magic(path, file)?;
        let mut frames = Frames::new(file, MAGIC.len() as u64).map_err(unreadable)?;
        let settings = frames.next().map_err(unreadable)?;
        let settings = settings
            .and_then(|contents| serde_json::from_slice(&contents).ok())
            .ok_or_else(|| {
                ArchiveError::damaged(
                    path,
                    "the run's settings at its start are not readable, so that it cannot be gone on with; \
                     put a copy of the file back, or start again with another --out",
                )
            })?;
        let mut entries = Vec::new();
        let mut sound = frames.at();
        let mut lost = None;
        while let Some(contents) = frames.next().map_err(unreadable)? {
            let Some(entry) = record::decode(&contents) else {
                lost = Some(Lost::Senseless);
                break;
            };
            entries.push(entry);
            sound = frames.at();
        }
        if lost.is_none()
            && let Tail::Damage { resumes, after } = frames.tail().map_err(unreadable)?
        {
            lost = Some(Lost::Bytes {
                from: sound,
                to: resumes,
                after,
            });
        }
        Ok(Self {
            settings,
            entries,
            sound,
            lost,
        })
    }
}

fn check_magic(path: &Path, file: &mut File) -> Result<(), ArchiveError> {
    let mut magic = Vec::new();
    file.take(MAGIC.len() as u64)
        .read_to_end(&mut magic)
        .map_err(ArchiveError::io(path, "read"))?;
    if magic == MAGIC {
        Ok(())
    } else if magic.starts_with(KIN) {
        Err(ArchiveError::damaged(
            path,
            "it is the journal of another version of this program, which this one cannot go on with; \
             start again with another --out",
        ))
    } else {
        Err(ArchiveError::damaged(path, "it is no journal of a run"))
    }
}

/// A frame, or why there can be none.
fn whole_frame(path: &Path, number: u32, contents: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    frame(number, contents).ok_or_else(|| {
        ArchiveError::damaged(
            path,
            format!(
                "a record of {} bytes is not written: at most {LONGEST} can be read back; start from \
                 fewer seeds",
                contents.len()
            ),
        )
    })
}

/// Gives up what is lost, if the user wants that, and keeps a copy of the journal as it was.
fn accept(path: &Path, good: usize, lost: Lost, on_damage: OnDamage) -> Result<(), ArchiveError> {
    if on_damage == OnDamage::Refuse {
        return Err(ArchiveError::Lost {
            path: path.to_owned(),
            good,
            lost,
        });
    }
    let copy = path.with_extension(DAMAGED);
    fs::copy(path, &copy).map_err(ArchiveError::io(&copy, "write"))?;
    Ok(())
}

#[cfg(test)]
mod tests;
