//! Journals that are cut, damaged, spliced and edited.

use deepconcolic_campaign::{Added, AddedPair, Passes, Provenance, Stage, TestId, TestRef};
use deepconcolic_check::Slot;
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// Rounds, and now and then a proof with or without one.
fn entry(number: usize) -> JournalEntry {
    let round = round(number);
    let proof = |round| ProofRecord {
        asked: number as u64 * 0x1234_5678_9abc,
        taken_over: number as u32,
        wrote: number % 2 == 1,
        bounds: vec![(number as u32, -0.5), (3, f64::INFINITY)],
        reasons: vec![(number as u32, "too deep".into())],
        nodes: number * 11,
        cut: number.is_multiple_of(3),
        round,
    };
    let step = match number % 4 {
        2 => JournalStep::Proof(proof(Some(round))),
        3 => JournalStep::Proof(proof(None)),
        _ => JournalStep::Round(round),
    };
    let seconds = number as f64 * 0.5;
    JournalEntry { step, seconds }
}

fn round(number: usize) -> Round {
    Round {
        stage: Stage::ALL[number % Stage::ALL.len()],
        passes: Passes {
            forward: number * 100,
            vjp: number,
            lp: number / 2,
        },
        tests: (0..number % 3)
            .map(|t| Added {
                input: vec![t as f32 + 0.1; 5],
                provenance: Provenance {
                    root: t,
                    parent: Some(TestRef::Known(TestId::of(t, &[number as f32]))),
                    stage: Stage::Focus,
                },
            })
            .collect(),
        pairs: (0..number as u32 % 5)
            .map(|n| AddedPair {
                slot: Slot { group: n, slot: 9 },
                first: TestRef::Here(1),
                second: TestRef::Seed(n),
            })
            .collect(),
        tried: (0..number as u32 % 4)
            .map(|slot| Slot { group: 1, slot })
            .collect(),
        starts: (0..number as u32 % 4).map(TestRef::Seed).collect(),
        reasons: (0..number % 2).map(|n| format!("reason {n}")).collect(),
        gain: number * 7,
    }
}

/// A journal of some rounds, and where each frame ends: the settings first.
struct Written {
    folder: TempDir,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Written {
    fn new(rounds: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let length = || std::fs::metadata(&path).unwrap().len() as usize;
        let mut journal = Journal::create(&path, &json!({"a": 1})).unwrap();
        let mut ends = vec![length()];
        for number in 0..rounds {
            journal.append(&entry(number)).unwrap();
            ends.push(length());
        }
        let bytes = std::fs::read(&path).unwrap();
        Self {
            folder,
            bytes,
            ends,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    fn frame(&self, number: usize) -> &[u8] {
        &self.bytes[self.ends[number - 1]..self.ends[number]]
    }

    /// Opens the journal with other contents.
    fn open(&self, bytes: &[u8], on_damage: OnDamage) -> Result<Vec<JournalEntry>, ArchiveError> {
        std::fs::write(self.path(), bytes).unwrap();
        let (_, settings, entries) = Journal::open(&self.path(), on_damage)?;
        assert_eq!(settings, json!({"a": 1}));
        Ok(entries)
    }
}

fn first(count: usize) -> Vec<JournalEntry> {
    (0..count).map(entry).collect()
}

#[test]
fn a_journal_cut_anywhere_keeps_every_whole_round() {
    let written = Written::new(8);
    for cut in written.ends[0]..=written.bytes.len() {
        let entries = written
            .open(&written.bytes[..cut], OnDamage::Refuse)
            .unwrap();
        let complete = written.ends.iter().filter(|&&end| end <= cut).count() - 1;
        assert_eq!(entries, first(complete), "cut at {cut}");
        // And it goes on from there.
        let (mut journal, _, _) = Journal::open(&written.path(), OnDamage::Refuse).unwrap();
        journal.append(&entry(99)).unwrap();
        drop(journal);
        let (_, _, entries) = Journal::open(&written.path(), OnDamage::Refuse).unwrap();
        assert_eq!(entries.len(), complete + 1);
    }
}

#[test]
fn a_changed_byte_in_the_last_frame_is_a_torn_end() {
    let written = Written::new(4);
    for at in written.ends[3]..written.bytes.len() {
        let mut bytes = written.bytes.clone();
        bytes[at] ^= 1;
        let entries = written.open(&bytes, OnDamage::Refuse).unwrap();
        assert_eq!(entries, first(3), "byte {at}");
    }
}

#[test]
fn a_changed_byte_before_the_last_frame_is_damage_and_what_is_good_is_said() {
    let written = Written::new(6);
    for at in written.ends[2]..written.ends[3] {
        let mut bytes = written.bytes.clone();
        bytes[at] ^= 0x40;
        let error = written.open(&bytes, OnDamage::Refuse).unwrap_err();
        let expected = Lost::Bytes {
            from: written.ends[2] as u64,
            to: written.ends[3] as u64,
            after: 3,
        };
        let ArchiveError::Lost { good: 2, lost, .. } = &error else {
            panic!("byte {at}: {error}");
        };
        assert_eq!(*lost, expected, "byte {at}");
        for part in [
            "2 rounds before it are good",
            "--accept-loss",
            "3 rounds after",
        ] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        // Nothing was changed by looking.
        assert_eq!(std::fs::read(written.path()).unwrap(), bytes);
    }
}

#[test]
fn what_is_lost_can_be_given_up_and_stays_in_a_copy() {
    let written = Written::new(6);
    let mut bytes = written.bytes.clone();
    bytes[written.ends[2] + 20] ^= 1;
    assert_eq!(written.open(&bytes, OnDamage::Drop).unwrap(), first(2));
    let copy = written.folder.path().join("journal.damaged");
    assert_eq!(std::fs::read(copy).unwrap(), bytes);
    let (mut journal, _, _) = Journal::open(&written.path(), OnDamage::Refuse).unwrap();
    journal.append(&entry(2)).unwrap();
    drop(journal);
    assert_eq!(
        std::fs::read(written.path()).unwrap(),
        &written.bytes[..written.ends[3]]
    );
}

#[test]
fn frames_that_are_missing_doubled_or_out_of_order_are_damage() {
    let written = Written::new(5);
    let start = &written.bytes[..written.ends[0]];
    let order = |numbers: &[usize]| {
        let frames = numbers.iter().flat_map(|&n| written.frame(n));
        start.iter().chain(frames).copied().collect::<Vec<u8>>()
    };
    for (numbers, good) in [
        (&[1, 3, 4, 5][..], 1),
        (&[2], 0),
        (&[1, 2, 2], 2),
        (&[1, 2, 3, 5, 4], 3),
        (&[5, 4, 3, 2, 1], 0),
    ] {
        let error = written.open(&order(numbers), OnDamage::Refuse).unwrap_err();
        let is_right = matches!(&error, ArchiveError::Lost { good: g, .. } if *g == good);
        assert!(is_right, "{numbers:?}: {error}");
    }
}

#[test]
fn a_length_above_the_limit_takes_no_memory() {
    let written = Written::new(2);
    let mut bytes = written.bytes.clone();
    bytes[written.ends[0] + 8..written.ends[0] + 12].fill(0xff);
    let error = written.open(&bytes, OnDamage::Refuse).unwrap_err();
    assert!(
        matches!(error, ArchiveError::Lost { good: 0, .. }),
        "{error}"
    );
    // A long frame that the file does not hold is not believed either.
    let mut bytes = written.bytes[..written.ends[0]].to_vec();
    bytes.extend([
        0xd5, b'd', b'c', 0x8f, 1, 0, 0, 0, 0, 0, 0, 0x3f, 0, 0, 0, 0,
    ]);
    assert_eq!(written.open(&bytes, OnDamage::Refuse).unwrap(), []);
}

#[test]
fn contents_that_could_not_be_read_back_are_not_written() {
    assert!(frame(1, &[0; 16]).is_some());
    // Zeroed memory that nobody touches costs nothing.
    assert!(frame(1, &vec![0; LONGEST + 1]).is_none());
}

#[test]
fn a_round_that_makes_no_sense_is_refused_with_the_way_out() {
    let with = |spoil: &dyn Fn(&mut Round)| {
        let mut round = round(4);
        spoil(&mut round);
        JournalStep::Round(round)
    };
    let infinite = |round: &mut Round| {
        round.tests = vec![Added {
            input: vec![f32::INFINITY],
            provenance: Provenance {
                root: 0,
                parent: Some(TestRef::Seed(0)),
                stage: Stage::Ascend,
            },
        }];
    };
    let bound = ProofRecord {
        bounds: vec![(0, f64::NAN)],
        ..ProofRecord::default()
    };
    let senseless = [
        (JournalStep::Round(round(4)), f64::NAN),
        (JournalStep::Round(round(4)), -1.0),
        (with(&|round| round.passes.forward = usize::MAX), 1.0),
        (with(&infinite), 1.0),
        (JournalStep::Proof(bound), 1.0),
    ];
    for (step, seconds) in senseless {
        let written = Written::new(2);
        let (mut journal, _, _) = Journal::open(&written.path(), OnDamage::Refuse).unwrap();
        journal.append(&JournalEntry { step, seconds }).unwrap();
        drop(journal);
        let error = Journal::open(&written.path(), OnDamage::Refuse).unwrap_err();
        let ArchiveError::Lost { good: 2, lost, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(lost, Lost::Senseless);
    }
}

#[test]
fn other_files_are_no_journals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    for text in ["", "hello", "dcjrnl05", "dcjrnl05\u{1}\u{1}\u{1}\u{1}????"] {
        std::fs::write(&path, text).unwrap();
        assert!(Journal::open(&path, OnDamage::Drop).is_err(), "{text}");
    }
    std::fs::write(&path, "dcjrnl03\u{1}").unwrap();
    let message = Journal::open(&path, OnDamage::Refuse).unwrap_err();
    assert!(message.to_string().contains("another version"), "{message}");
}

/// A stream of numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }

    /// Changes bytes, cuts, doubles or moves a piece.
    fn edit(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let (a, b) = (self.below(bytes.len() + 1), self.below(bytes.len() + 1));
            let (low, high) = (a.min(b), a.max(b));
            match self.below(6) {
                0 if !bytes.is_empty() => {
                    let at = self.below(bytes.len());
                    bytes[at] ^= 1 << self.below(8);
                }
                1 => bytes.truncate(a),
                2 => drop(bytes.drain(low..high)),
                3 => {
                    let piece = bytes[low..high].to_vec();
                    let at = self.below(bytes.len() + 1);
                    bytes.splice(at..at, piece);
                }
                4 => bytes[low..high].fill(self.below(256) as u8),
                _ => {
                    let count = self.below(64);
                    let noise: Vec<u8> = (0..count).map(|_| self.below(256) as u8).collect();
                    bytes.splice(a..a, noise);
                }
            }
        }
    }
}

#[test]
fn no_edit_of_a_journal_panics_or_invents_a_round() {
    let written = Written::new(7);
    let mut dice = Dice(2026);
    let (mut opened, mut lost) = (0, 0);
    for _ in 0..1000 {
        let mut bytes = written.bytes.clone();
        dice.edit(&mut bytes);
        std::fs::write(written.path(), &bytes).unwrap();
        match Journal::open(&written.path(), OnDamage::Refuse) {
            Ok((_, _, entries)) => {
                assert_eq!(entries, first(entries.len()));
                opened += 1;
            }
            Err(ArchiveError::Lost { good, .. }) => {
                let (_, _, entries) = Journal::open(&written.path(), OnDamage::Drop).unwrap();
                assert_eq!(entries, first(good));
                lost += 1;
            }
            Err(ArchiveError::Damaged { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert!(
        opened > 100 && lost > 100,
        "{opened} opened, {lost} damaged"
    );
}

#[test]
fn no_contents_of_a_frame_panic() {
    let written = Written::new(0);
    let mut dice = Dice(7);
    for _ in 0..1000 {
        let mut contents = record::encode(&entry(dice.below(60)));
        dice.edit(&mut contents);
        if let Some(found) = record::decode(&contents) {
            assert!(found.seconds.is_finite());
            if let JournalStep::Round(round) = found.step {
                let mut values = round.tests.iter().flat_map(|test| &test.input);
                assert!(values.all(|value| value.is_finite()));
            }
        }
        let mut bytes = written.bytes.clone();
        bytes.extend(frame(1, &contents).unwrap());
        // With a good checksum it is a round, or it is said to be none.
        match written.open(&bytes, OnDamage::Refuse) {
            Ok(entries) => assert_eq!(entries.len(), 1),
            Err(ArchiveError::Lost {
                good: 0,
                lost: Lost::Senseless,
                ..
            }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}
