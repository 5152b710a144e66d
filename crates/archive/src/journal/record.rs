//! A round as bytes. What is read back is checked as far as it can be without the network: numbers are
//! finite, and lengths fit what there is.

use deepconcolic_check::{PairClaim, Slot};
use deepconcolic_concolic::{Added, Passes, Round, Stage};

use super::Entry;

pub fn encode(entry: &Entry) -> Vec<u8> {
    let round = &entry.round;
    let mut bytes = vec![round.stage as u8];
    bytes.extend(entry.seconds.to_le_bytes());
    let Passes { forward, vjp, lp } = round.passes;
    for count in [forward, vjp, lp, round.gain] {
        bytes.extend((count as u64).to_le_bytes());
    }
    length(&mut bytes, round.tests.len());
    for test in &round.tests {
        for number in [test.root, test.parent, test.input.len()] {
            length(&mut bytes, number);
        }
        for value in &test.input {
            bytes.extend(value.to_le_bytes());
        }
    }
    length(&mut bytes, round.pairs.len());
    for pair in &round.pairs {
        for number in [pair.slot.group, pair.slot.slot, pair.first, pair.second] {
            bytes.extend(number.to_le_bytes());
        }
    }
    length(&mut bytes, round.tried.len());
    for slot in &round.tried {
        bytes.extend(slot.group.to_le_bytes());
        bytes.extend(slot.slot.to_le_bytes());
    }
    length(&mut bytes, round.reasons.len());
    for reason in &round.reasons {
        length(&mut bytes, reason.len());
        bytes.extend(reason.as_bytes());
    }
    bytes
}

/// Counts are of things in memory, each of several bytes, and a frame holds fewer than fit here.
fn length(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend((count as u32).to_le_bytes());
}

pub fn decode(contents: &[u8]) -> Option<Entry> {
    let mut rest = Reader(contents);
    let stage = Stage::from_number(rest.take::<1>()?[0])?;
    let seconds = f64::from_le_bytes(rest.take()?);
    if !(seconds.is_finite() && seconds >= 0.0) {
        return None;
    }
    let [forward, vjp, lp, gain] = [rest.long()?, rest.long()?, rest.long()?, rest.long()?];
    let round = Round {
        stage,
        passes: Passes { forward, vjp, lp },
        tests: rest.list(Reader::test)?,
        pairs: rest.list(Reader::pair)?,
        tried: rest.list(Reader::slot)?,
        reasons: rest.list(Reader::text)?,
        gain,
    };
    rest.0.is_empty().then_some(Entry { round, seconds })
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
        let (root, parent, elements) = (self.short()?, self.short()?, self.short()?);
        let bytes = self.bytes((elements as usize).checked_mul(4)?)?;
        let (values, _) = bytes.as_chunks::<4>();
        let input: Vec<f32> = values.iter().map(|v| f32::from_le_bytes(*v)).collect();
        input
            .iter()
            .all(|value| value.is_finite())
            .then_some(Added {
                input,
                root: root as usize,
                parent: parent as usize,
            })
    }

    fn pair(&mut self) -> Option<PairClaim> {
        Some(PairClaim {
            slot: self.slot()?,
            first: self.short()?,
            second: self.short()?,
        })
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
