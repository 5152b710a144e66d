//! The journal: everything a run did, round by round, each on disk before it is reported.
//!
//! A file of frames: length, checksum, contents. The first holds the settings, each other one a round. A
//! process killed while it writes leaves a torn frame at the end, which is cut off when the journal is
//! opened again.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use deepconcolic_check::{PairClaim, Slot};
use deepconcolic_concolic::{Added, Passes, Round, Stage};
use deepconcolic_dataset::write::AtomicFile;
use serde_json::Value;

use crate::error::ArchiveError;

const MAGIC: &[u8; 8] = b"dcjrnl02";
/// No frame is longer; a length above this is damage.
const LONGEST: usize = 1 << 30;

/// A round as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it did.
    pub round: Round,
    /// Seconds of work up to its end, over all sittings.
    pub seconds: f64,
}

/// A journal open for writing.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Starts a journal.
    pub(crate) fn create(path: &Path, settings: &Value) -> Result<Self, ArchiveError> {
        // It appears with its settings or not at all: a run killed here was never begun.
        let mut file = AtomicFile::create(path)?;
        file.write_all(MAGIC)
            .and_then(|()| file.write_all(&frame(settings.to_string().as_bytes())))
            .map_err(ArchiveError::io(path, "write"))?;
        file.commit()?;
        let file = File::options()
            .append(true)
            .open(path)
            .map_err(ArchiveError::io(path, "open"))?;
        let path = path.to_owned();
        Ok(Self { file, path })
    }

    /// Opens a journal to go on with it: its settings and rounds.
    pub(crate) fn open(path: &Path) -> Result<(Self, Value, Vec<Entry>), ArchiveError> {
        let mut file = File::options()
            .read(true)
            .write(true)
            .open(path)
            .map_err(ArchiveError::io(path, "open"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(ArchiveError::io(path, "read"))?;
        let damaged = |detail: &str| ArchiveError::damaged(path, detail);
        let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
            return Err(damaged("it is no journal of a run"));
        };
        let settings = next_frame(&mut rest)
            .and_then(|contents| serde_json::from_slice(contents).ok())
            .ok_or_else(|| damaged("the run's settings are not readable"))?;
        let mut entries = Vec::new();
        let mut sound = bytes.len() - rest.len();
        while let Some(contents) = next_frame(&mut rest) {
            let entry = decode(contents)
                .ok_or_else(|| damaged("a round has a good checksum and makes no sense"))?;
            entries.push(entry);
            sound = bytes.len() - rest.len();
        }
        // What is left was being written when the process died.
        file.set_len(sound as u64)
            .and_then(|()| file.seek(SeekFrom::Start(sound as u64)))
            .map_err(ArchiveError::io(path, "repair"))?;
        let path = path.to_owned();
        Ok((Self { file, path }, settings, entries))
    }

    /// Adds a round; when this returns, it is on disk.
    pub fn append(&mut self, entry: &Entry) -> Result<(), ArchiveError> {
        self.write(&frame(&encode(entry)))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.file
            .write_all(bytes)
            .and_then(|()| self.file.sync_data())
            .map_err(ArchiveError::io(&self.path, "write"))
    }
}

fn frame(contents: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(contents.len() + 8);
    bytes.extend((contents.len() as u32).to_le_bytes());
    bytes.extend(crc32fast::hash(contents).to_le_bytes());
    bytes.extend(contents);
    bytes
}

/// The contents of the next frame, if it is whole.
fn next_frame<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (head, body) = rest.split_at_checked(8)?;
    let length = u32::from_le_bytes(head[..4].try_into().ok()?) as usize;
    let checksum = u32::from_le_bytes(head[4..].try_into().ok()?);
    if length > LONGEST {
        return None;
    }
    let (contents, after) = body.split_at_checked(length)?;
    (crc32fast::hash(contents) == checksum).then(|| {
        *rest = after;
        contents
    })
}

fn encode(entry: &Entry) -> Vec<u8> {
    let round = &entry.round;
    let mut bytes = vec![round.stage as u8];
    bytes.extend(entry.seconds.to_le_bytes());
    let Passes { forward, vjp, lp } = round.passes;
    for count in [forward, vjp, lp, round.gain] {
        bytes.extend((count as u64).to_le_bytes());
    }
    bytes.extend((round.tests.len() as u32).to_le_bytes());
    for test in &round.tests {
        for number in [test.root, test.parent, test.input.len()] {
            bytes.extend((number as u32).to_le_bytes());
        }
        for value in &test.input {
            bytes.extend(value.to_le_bytes());
        }
    }
    bytes.extend((round.pairs.len() as u32).to_le_bytes());
    for pair in &round.pairs {
        for number in [pair.slot.group, pair.slot.slot, pair.first, pair.second] {
            bytes.extend(number.to_le_bytes());
        }
    }
    bytes.extend((round.tried.len() as u32).to_le_bytes());
    for slot in &round.tried {
        bytes.extend(slot.group.to_le_bytes());
        bytes.extend(slot.slot.to_le_bytes());
    }
    bytes
}

fn decode(contents: &[u8]) -> Option<Entry> {
    let mut rest = Reader(contents);
    let stage = Stage::from_number(rest.take::<1>()?[0])?;
    let seconds = f64::from_le_bytes(rest.take()?);
    let [forward, vjp, lp, gain] = [rest.long()?, rest.long()?, rest.long()?, rest.long()?];
    let count = rest.short()?;
    let mut tests = Vec::new();
    for _ in 0..count {
        let (root, parent, elements) = (rest.short()?, rest.short()?, rest.short()?);
        let bytes = rest.bytes(elements.checked_mul(4)?)?;
        let (values, _) = bytes.as_chunks::<4>();
        tests.push(Added {
            input: values.iter().map(|v| f32::from_le_bytes(*v)).collect(),
            root,
            parent,
        });
    }
    let count = rest.short()?;
    let mut pairs = Vec::new();
    for _ in 0..count {
        let [group, slot, first, second] = [
            rest.short()? as u32,
            rest.short()? as u32,
            rest.short()? as u32,
            rest.short()? as u32,
        ];
        pairs.push(PairClaim {
            slot: Slot { group, slot },
            first,
            second,
        });
    }
    let count = rest.short()?;
    let mut tried = Vec::new();
    for _ in 0..count {
        let (group, slot) = (rest.short()? as u32, rest.short()? as u32);
        tried.push(Slot { group, slot });
    }
    rest.0.is_empty().then_some(Entry {
        round: Round {
            stage,
            passes: Passes { forward, vjp, lp },
            tests,
            pairs,
            tried,
            gain,
        },
        seconds,
    })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn short(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(self.take()?) as usize)
    }

    fn long(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take()?)).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(number: usize) -> Entry {
        Entry {
            round: Round {
                stage: Stage::ALL[number % Stage::ALL.len()],
                passes: Passes {
                    forward: number * 100,
                    vjp: number,
                    lp: number / 2,
                },
                tests: (0..number % 3)
                    .map(|t| Added {
                        input: vec![t as f32 + 0.1; 5],
                        root: t,
                        parent: number,
                    })
                    .collect(),
                pairs: (0..number as u32 % 5)
                    .map(|n| PairClaim {
                        slot: Slot { group: n, slot: 9 },
                        first: 1,
                        second: n,
                    })
                    .collect(),
                tried: (0..number as u32 % 4)
                    .map(|slot| Slot { group: 1, slot })
                    .collect(),
                gain: number * 7,
            },
            seconds: number as f64 * 0.5,
        }
    }

    #[test]
    fn a_journal_cut_anywhere_keeps_every_whole_round() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let settings = json!({"a": 1});
        let mut journal = Journal::create(&path, &settings).unwrap();
        let mut ends = vec![std::fs::metadata(&path).unwrap().len()];
        for number in 0..8 {
            journal.append(&entry(number)).unwrap();
            ends.push(std::fs::metadata(&path).unwrap().len());
        }
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        for cut in ends[0]..=*ends.last().unwrap() {
            std::fs::write(&path, &whole[..cut as usize]).unwrap();
            let (mut journal, found, entries) = Journal::open(&path).unwrap();
            assert_eq!(found, settings);
            let complete = ends.iter().filter(|&&end| end <= cut).count() - 1;
            let expected: Vec<Entry> = (0..complete).map(entry).collect();
            assert_eq!(entries, expected, "cut at {cut}");
            // And it goes on from there.
            journal.append(&entry(99)).unwrap();
            drop(journal);
            let (_, _, entries) = Journal::open(&path).unwrap();
            assert_eq!(entries.len(), complete + 1);
        }
    }

    #[test]
    fn a_changed_byte_ends_the_journal_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::create(&path, &json!({})).unwrap();
        journal.append(&entry(5)).unwrap();
        let end = std::fs::metadata(&path).unwrap().len() as usize;
        journal.append(&entry(6)).unwrap();
        drop(journal);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[end + 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let (_, _, entries) = Journal::open(&path).unwrap();
        assert_eq!(entries, [entry(5)]);
    }

    #[test]
    fn other_files_are_no_journals() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        for text in ["", "hello", "dcjrnl02", "dcjrnl02\u{1}\u{1}\u{1}\u{1}????"] {
            std::fs::write(&path, text).unwrap();
            assert!(Journal::open(&path).is_err(), "{text}");
        }
    }
}
