//! What earlier sittings of a run proved. A question that is in the journal is answered from there, and its
//! certificate is judged by the checker again: nothing is searched for twice. Certificates that no journal
//! speaks of, because time was up or the user wanted an end, are taken over the same way.

use std::collections::{HashMap, VecDeque};

use deepconcolic_campaign::Campaign;
use deepconcolic_check::steepness::SlopeCertificate;
use deepconcolic_check::{Certificate, Expectation, Region, Rejection, Until, check};
use deepconcolic_record::ProofRecord;

use super::Proven;
use super::slopes::judge as judge_slope;
use super::work::Work;
use crate::error::Error;
use crate::folder::certificates::{CertificateStore, Stored};

/// Answers that the journal holds, by the fingerprint of their question.
#[derive(Default)]
pub struct Recall {
    /// Each with the number of the certificate that came of it, if one did.
    answers: HashMap<u64, VecDeque<(i32, ProofRecord)>>,
    /// Certificates that the journal has numbered.
    certificates: i32,
}

impl Recall {
    /// The answers of a journal, in their order.
    pub fn new(proofs: impl Iterator<Item = ProofRecord>) -> Self {
        let mut recall = Self::default();
        for proof in proofs {
            let number = recall.hear(&proof);
            let answers = recall.answers.entry(proof.asked).or_default();
            answers.push_back((number, proof));
        }
        recall
    }

    /// Counts the certificates of a question that the journal has or gets. Returns the number of the one
    /// that came of it, if one did.
    pub fn hear(&mut self, proof: &ProofRecord) -> i32 {
        let taken_over = i32::try_from(proof.taken_over).unwrap_or(i32::MAX);
        let number = self.certificates.saturating_add(taken_over);
        self.certificates = number.saturating_add(i32::from(proof.wrote));
        number
    }

    /// Whether there are answers that were not asked for yet.
    pub fn has_more(&self) -> bool {
        self.answers.values().any(|answers| !answers.is_empty())
    }

    fn next(&mut self, asked: u64) -> Option<(i32, ProofRecord)> {
        self.answers.get_mut(&asked)?.pop_front()
    }
}

/// What is remembered of a question.
pub enum Remembered {
    /// Nothing: it is to be asked.
    Nothing,
    /// The journal has it, but its certificate is not there: it is asked again, and not recorded again.
    Unwritten,
    /// Everything that came of it; whether some of it is still to be tried.
    Answer(Box<ProofRecord>),
}

/// A fingerprint of what provers are asked (FNV-1a).
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Of a kind of question over a region.
    pub fn of(kind: &str, region: &Region) -> Self {
        let mut print = Self(0xcbf2_9ce4_8422_2325);
        print.add(kind.as_bytes());
        for end in region.lower.iter().chain(&region.upper) {
            print.add(&end.to_le_bytes());
        }
        if let Some(changes) = &region.changes {
            print.add(&changes.allowed.to_le_bytes());
            for number in &changes.centre {
                print.add(&number.to_le_bytes());
            }
            for position in &*changes.positions {
                print.add(&position.to_le_bytes());
            }
        }
        print
    }

    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub fn finish(self) -> u64 {
        self.0
    }
}

impl Work<'_> {
    /// What the journal has of a question. What it says is taken over: certificate, round, bounds.
    pub fn remember(&mut self, asked: u64, campaign: &mut Campaign) -> Result<Remembered, Error> {
        if !self.stage.recorded {
            return Ok(Remembered::Nothing);
        }
        let Some((number, mut proof)) = self.proven.recall.next(asked) else {
            return Ok(Remembered::Nothing);
        };
        // These were taken over before the question was asked.
        while self.number < number && self.take_over()? {}
        // One that is missing keeps its number.
        self.number = self.number.max(number);
        // One below was judged already, with those that were taken over.
        if proof.wrote && number >= self.number {
            let missing = !self.is_stored()?;
            if missing && !self.stage.closed {
                // The process was killed between the two.
                return Ok(Remembered::Unwritten);
            }
            if missing {
                self.number += 1;
                self.note(&format!(
                    "certificate {number} is missing: what rests on it is open again"
                ));
            }
            proof.cut |= missing || !self.accept_stored()?;
        }
        if let Some(round) = &proof.round {
            campaign.restore(round).map_err(|why| {
                Error::Request(format!(
                    "a round that proofs recorded in the journal cannot be repeated: {why}; the model or this \
                     program may have changed since"
                ))
            })?;
        }
        self.proven.nodes += proof.nodes;
        Ok(Remembered::Answer(Box::new(proof)))
    }

    /// Takes over all certificates that no journal speaks of.
    pub fn take_over_all(&mut self) -> Result<(), Error> {
        while self.take_over()? {}
        // The journal has given the numbers before these away.
        self.number = self.number.max(self.proven.recall.certificates);
        Ok(())
    }

    /// Certificates before the next one that the journal does not know of.
    pub fn unheard(&self) -> u32 {
        let known = self.proven.recall.certificates;
        u32::try_from(self.number.saturating_sub(known)).unwrap_or_default()
    }

    /// Takes over the next certificate, if there is one.
    fn take_over(&mut self) -> Result<bool, Error> {
        if !self.is_stored()? {
            return Ok(false);
        }
        self.proven.taken_over |= self.accept_stored()?;
        Ok(true)
    }

    /// Whether the next certificate is kept, if only set aside.
    fn is_stored(&self) -> Result<bool, Error> {
        let stored = self.stage.certificates.read(self.number)?;
        Ok(!matches!(stored, Stored::Missing))
    }

    /// Judges the next certificate that is kept. One that is not accepted is set aside.
    fn accept_stored(&mut self) -> Result<bool, Error> {
        let number = self.number;
        self.number += 1;
        let Stored::Bytes(bytes) = self.stage.certificates.read(number)? else {
            self.note(&format!(
                "certificate {number} was not accepted in an earlier sitting and is set aside"
            ));
            return Ok(false);
        };
        let network = self.stage.network;
        let judged = if SlopeCertificate::begins(&bytes) {
            let slope = judge_slope(network, &bytes, &self.stage.model, Until::NEVER);
            slope.map(|slope| self.proven.accepted_slopes.push((number, slope)))
        } else {
            self.accept(number, &bytes)
        };
        let Err(reason) = judged else {
            return Ok(true);
        };
        let aside = self.stage.certificates.set_aside(number)?;
        self.note(&format!(
            "certificate {number} was not accepted ({reason}) and is set aside as {aside}: what rests on it is \
             open again"
        ));
        Ok(false)
    }

    /// Judges a certificate, and takes over what it says.
    fn accept(&mut self, number: i32, bytes: &[u8]) -> Result<(), Rejection> {
        let network = self.stage.network;
        let expectation = Expectation {
            model: &self.stage.model,
            regions: None,
            requirements: None,
        };
        let certificate = Certificate::from_bytes(bytes, network)?;
        let accepted = check(network, &certificate, &expectation)?;
        self.facts.add_accepted(network, &accepted)?;
        self.proven.accepted.push((number, accepted));
        Ok(())
    }

    fn note(&mut self, words: &str) {
        self.proven.notes.push(words.to_owned());
    }
}

/// Removes certificates that nothing rests on: those of an earlier sitting that the search made needless.
pub fn remove_needless(certificates: &dyn CertificateStore, proven: &Proven) -> Result<(), Error> {
    certificates.truncate(proven.written)
}
