//! Rounds that were recorded earlier: numbers read from a file are checked before they are used.

use deepconcolic_check::{Claim, Confirmed, Slot, Standing};

use super::{Campaign, Round};
use crate::provenance::{Provenance, Stage};

impl Campaign {
    /// Takes over what rounds of an earlier, identical campaign did.
    pub fn restore(&mut self, round: &Round) -> Result<(), String> {
        self.fits(round)?;
        let claims: Vec<Claim<'_>> = round.tests.iter().map(|test| self.claim(test)).collect();
        let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
        let confirmed = self.witnesses().confirm(&claims, open, uncovered);
        let tests: Vec<Confirmed> = confirmed.into_iter().collect::<Result<_, _>>()?;
        let standings = self.stand(&round.pairs, &round.tests)?;
        if standings.contains(&Standing::False) {
            return Err("two of its tests do not meet what they were recorded for".into());
        }
        let numbers = self.resolve(round)?;
        let gain = self.take(round, numbers, &tests, &standings);
        if gain == round.gain {
            Ok(())
        } else {
            Err(format!(
                "its tests meet {gain} requirements where {} were recorded",
                round.gain
            ))
        }
    }

    /// Whether everything that a round names is there.
    fn fits(&self, round: &Round) -> Result<(), String> {
        self.fits_elsewhere(round)?;
        self.resolve(round)?;
        round
            .tried
            .iter()
            .try_for_each(|&slot| self.is_required(slot))
    }

    /// Whether a round, perhaps of another campaign, names seeds and requirements that are there and has
    /// inputs that the network takes.
    pub(super) fn fits_elsewhere(&self, round: &Round) -> Result<(), String> {
        let subject = &self.subject;
        if round.stage == Stage::Measure {
            return Err("seeds are measured, not recorded".into());
        }
        for test in &round.tests {
            let Provenance {
                root,
                parent,
                stage,
            } = test.provenance;
            if root >= subject.seeds.len() {
                return Err(format!(
                    "seed {root} is named as a root, and there are {}",
                    subject.seeds.len()
                ));
            }
            if parent.is_none() || !stage.makes_tests() {
                return Err("a test has no parent or no stage that made it, and is no seed".into());
            }
            let elements = subject.network.input_elements();
            if test.input.len() != elements {
                return Err(format!(
                    "a test has {} elements where the network takes {elements}",
                    test.input.len()
                ));
            }
        }
        let mut pairs = round.pairs.iter();
        pairs.try_for_each(|pair| self.is_required(pair.slot))
    }

    fn is_required(&self, slot: Slot) -> Result<(), String> {
        let group = self.subject.family.groups().get(slot.group as usize);
        let number = slot.slot as usize;
        match group {
            Some(group) if number < group.slots() && !group.not_required.contains(number) => Ok(()),
            _ => Err(format!(
                "there is no requirement {number} in group {}",
                slot.group
            )),
        }
    }
}
