//! Rounds of another campaign on the same subject, say of another worker: everything that it found is run
//! again here, and nothing is taken twice.

use std::collections::HashMap;

use deepconcolic_check::{Claim, Confirmed, Slot, Standing};

use super::{Added, AddedPair, Campaign, Round};
use crate::identity::{TestId, TestRef};
use crate::provenance::Stage;

impl Campaign {
    /// Takes over what a round of another campaign found. The other's rounds come in their order; what else
    /// was taken over before does not matter. Returns the round as this campaign would record it: tests that
    /// were here already are not in it, and its gain is what was open here.
    pub fn join(&mut self, round: &Round) -> Result<Round, String> {
        self.fits_elsewhere(round)?;
        let (tests, names) = self.new_tests(round)?;
        let claims: Vec<Claim<'_>> = tests.iter().map(|test| self.claim(test)).collect();
        let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
        let confirmed = self.witnesses().confirm(&claims, open, uncovered);
        let confirmed: Vec<Confirmed> = confirmed.into_iter().collect::<Result<_, _>>()?;
        // What is met already needs no other two tests, and nothing is claimed of them.
        let is_wanted = |pair: &&AddedPair| !self.is_met(pair.slot);
        let pair = |pair: &AddedPair| {
            Ok(AddedPair {
                slot: pair.slot,
                first: here(&names, pair.first)?,
                second: here(&names, pair.second)?,
            })
        };
        let pairs: Vec<AddedPair> = round
            .pairs
            .iter()
            .filter(is_wanted)
            .map(pair)
            .collect::<Result<_, String>>()?;
        let (pairs, standings) = self.new_pairs(&pairs, &tests, &confirmed)?;
        let reasons = round.reasons.iter();
        let mut joined = Round {
            stage: Stage::Merge,
            passes: round.passes,
            tests,
            pairs,
            tried: Vec::new(),
            starts: Vec::new(),
            reasons: reasons
                .filter(|reason| !self.has_reason(reason))
                .cloned()
                .collect(),
            gain: 0,
        };
        let numbers = self.resolve(&joined)?;
        joined.gain = self.take(&joined, numbers, &confirmed, &standings);
        Ok(joined)
    }

    /// Whether nothing is gained by two more tests that meet a requirement. Of ratios the largest is wanted.
    pub fn is_met(&self, slot: Slot) -> bool {
        let uncovered = &self.ledger.uncovered()[slot.group as usize];
        self.subject.family.ratios().is_none()
            && !self.ledger.is_open(slot)
            && !uncovered.contains(slot.slot as usize)
    }

    /// The tests of a round that are not here yet, and what all of its tests are called then.
    fn new_tests(&self, round: &Round) -> Result<(Vec<Added>, Vec<TestRef>), String> {
        let mut new: Vec<Added> = Vec::new();
        let mut names: Vec<TestRef> = Vec::new();
        let mut seen: HashMap<TestId, TestRef> = HashMap::new();
        for test in &round.tests {
            let id = TestId::of(test.provenance.root, &test.input);
            if let Some(number) = self.suite.find(id) {
                names.push(self.suite.name(number));
            } else if let Some(&name) = seen.get(&id) {
                names.push(name);
            } else {
                let provenance = test.provenance.rename(|&parent| here(&names, parent))?;
                let name = TestRef::Here(new.len() as u32);
                names.push(name);
                seen.insert(id, name);
                new.push(Added {
                    input: test.input.clone(),
                    provenance,
                });
            }
        }
        Ok((new, names))
    }

    /// Of pairs those that nothing here meets as well, with their standing. All that are given must be what they
    /// are said to be.
    fn new_pairs(
        &self,
        pairs: &[AddedPair],
        tests: &[Added],
        confirmed: &[Confirmed],
    ) -> Result<(Vec<AddedPair>, Vec<Standing>), String> {
        if pairs.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let standings = self.stand(pairs, tests)?;
        if standings.contains(&Standing::False) {
            return Err("two of its tests do not meet what they were recorded for".into());
        }
        let mut after = self.ledger.clone();
        for test in confirmed {
            after.enter(test);
        }
        let slopes = self.slopes(pairs, tests);
        let judged = pairs.iter().copied().zip(standings).enumerate();
        Ok(judged
            .filter(|(number, (pair, standing))| {
                let slope = slopes.get(*number).copied().flatten();
                after.enter_pair(pair.slot, *standing) != Standing::False
                    || self.steepest.is_beaten(pair.slot, slope)
            })
            .map(|(_, judged)| judged)
            .unzip())
    }
}

/// What a test is called here that the round calls so.
fn here(names: &[TestRef], name: TestRef) -> Result<TestRef, String> {
    match name {
        TestRef::Here(number) => names
            .get(number as usize)
            .copied()
            .ok_or_else(|| format!("{name} is not there")),
        known => Ok(known),
    }
}
