//! A round or a proof as bytes. What is read back is checked as far as it can be without the network: numbers are
//! finite, and lengths fit what there is.

use deepconcolic_campaign::{Added, AddedPair, Passes, Provenance, Round, Stage, TestRef};
use deepconcolic_check::Slot;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{JournalEntry, JournalStep, ProofRecord};

/// What a proof starts with, where a round has its stage.
const PROOF: u8 = 0xff;

pub fn encode(entry: &JournalEntry) -> Vec<u8> {
    let mut bytes = Vec::new();
    match &entry.step {
        JournalStep::Round(round) => {
            bytes.push(round.stage as u8);
            bytes.extend(entry.seconds.to_le_bytes());
            encode_round(&mut bytes, round);
        }
        JournalStep::Proof(proof) => {
            bytes.push(PROOF);
            bytes.extend(entry.seconds.to_le_bytes());
            encode_proof(&mut bytes, proof);
        }
    }
    bytes
}

fn encode_proof(bytes: &mut Vec<u8>, proof: &ProofRecord) {
    bytes.extend(proof.asked.to_le_bytes());
    bytes.extend((proof.nodes as u64).to_le_bytes());
    bytes.push(u8::from(proof.cut));
    bytes.push(u8::from(proof.wrote));
    bytes.extend(proof.taken_over.to_le_bytes());
    length(bytes, proof.bounds.len());
    for (number, bound) in &proof.bounds {
        bytes.extend(number.to_le_bytes());
        bytes.extend(bound.to_le_bytes());
    }
    length(bytes, proof.reasons.len());
    for (number, reason) in &proof.reasons {
        bytes.extend(number.to_le_bytes());
        text(bytes, reason);
    }
    match &proof.round {
        Some(round) => {
            bytes.push(round.stage as u8);
            encode_round(bytes, round);
        }
        None => bytes.push(PROOF),
    }
}

fn encode_round(bytes: &mut Vec<u8>, round: &Round) {
    let Passes { forward, vjp, lp } = round.passes;
    for count in [forward, vjp, lp, round.gain] {
        bytes.extend((count as u64).to_le_bytes());
    }
    length(bytes, round.tests.len());
    for test in &round.tests {
        json(bytes, &test.provenance);
        length(bytes, test.input.len());
        for value in &test.input {
            bytes.extend(value.to_le_bytes());
        }
    }
    length(bytes, round.pairs.len());
    for pair in &round.pairs {
        slot(bytes, pair.slot);
        json(bytes, &pair.first);
        json(bytes, &pair.second);
    }
    length(bytes, round.tried.len());
    for tried in &round.tried {
        slot(bytes, *tried);
    }
    length(bytes, round.starts.len());
    for start in &round.starts {
        json(bytes, start);
    }
    length(bytes, round.reasons.len());
    for reason in &round.reasons {
        text(bytes, reason);
    }
}

fn slot(bytes: &mut Vec<u8>, slot: Slot) {
    bytes.extend(slot.group.to_le_bytes());
    bytes.extend(slot.slot.to_le_bytes());
}

/// What says itself how it is written.
fn json(bytes: &mut Vec<u8>, value: &impl Serialize) {
    // Plain data without maps: there is nothing that could fail.
    text(bytes, &serde_json::to_string(value).unwrap_or_default());
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    length(bytes, text.len());
    bytes.extend(text.as_bytes());
}

/// Counts are of things in memory, each of several bytes, and a frame holds fewer than fit here.
fn length(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend((count as u32).to_le_bytes());
}

pub fn decode(contents: &[u8]) -> Option<JournalEntry> {
    let mut rest = Reader(contents);
    let kind = rest.byte()?;
    let seconds = f64::from_le_bytes(rest.take()?);
    if !(seconds.is_finite() && seconds >= 0.0) {
        return None;
    }
    let step = if kind == PROOF {
        JournalStep::Proof(rest.proof()?)
    } else {
        JournalStep::Round(rest.round(kind)?)
    };
    rest.0.is_empty().then_some(JournalEntry { step, seconds })
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

    fn byte(&mut self) -> Option<u8> {
        Some(self.take::<1>()?[0])
    }

    fn round(&mut self, stage: u8) -> Option<Round> {
        let stage = Stage::from_number(stage)?;
        let [forward, vjp, lp, gain] = [self.long()?, self.long()?, self.long()?, self.long()?];
        Some(Round {
            stage,
            passes: Passes { forward, vjp, lp },
            tests: self.list(Self::test)?,
            pairs: self.list(Self::pair)?,
            tried: self.list(Self::slot)?,
            starts: self.list(Self::json)?,
            reasons: self.list(Self::text)?,
            gain,
        })
    }

    fn proof(&mut self) -> Option<ProofRecord> {
        let asked = u64::from_le_bytes(self.take()?);
        let nodes = self.long()?;
        let (cut, wrote) = (self.flag()?, self.flag()?);
        let taken_over = self.short().filter(|&n| n < i32::MAX as u32)?;
        let bounds = self.list(Self::bound)?;
        let reasons = self.list(|own| Some((own.short()?, own.text()?)))?;
        let round = match self.byte()? {
            PROOF => None,
            stage => Some(self.round(stage)?),
        };
        Some(ProofRecord {
            asked,
            taken_over,
            wrote,
            bounds,
            reasons,
            nodes,
            cut,
            round,
        })
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn bound(&mut self) -> Option<(u32, f64)> {
        let (number, bound) = (self.short()?, f64::from_le_bytes(self.take()?));
        (!bound.is_nan()).then_some((number, bound))
    }

    fn short(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take()?))
    }

    /// A count small enough to be added to others without care.
    fn long(&mut self) -> Option<usize> {
        let number = u64::from_le_bytes(self.take()?);
        usize::try_from(number).ok().filter(|&n| n <= 1 << 53)
    }

    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.short()?;
        // Grown as things are found: a wrong count must not take memory.
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(one(self)?);
        }
        Some(list)
    }

    fn test(&mut self) -> Option<Added> {
        let provenance: Provenance<TestRef> = self.json()?;
        let elements = self.short()?;
        let bytes = self.bytes((elements as usize).checked_mul(4)?)?;
        let (values, _) = bytes.as_chunks::<4>();
        let input: Vec<f32> = values.iter().map(|v| f32::from_le_bytes(*v)).collect();
        let is_finite = input.iter().all(|value| value.is_finite());
        is_finite.then_some(Added { input, provenance })
    }

    fn pair(&mut self) -> Option<AddedPair> {
        Some(AddedPair {
            slot: self.slot()?,
            first: self.json()?,
            second: self.json()?,
        })
    }

    fn json<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_str(&self.text()?).ok()
    }

    fn slot(&mut self) -> Option<Slot> {
        let (group, slot) = (self.short()?, self.short()?);
        Some(Slot { group, slot })
    }

    fn text(&mut self) -> Option<String> {
        let length = self.short()?;
        let bytes = self.bytes(length as usize)?;
        Some(std::str::from_utf8(bytes).ok()?.to_owned())
    }
}
