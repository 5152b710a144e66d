//! Rounds that were recorded earlier: numbers read from a file are checked before they are used.

use deepconcolic_check::{Claim, Confirmed, Slot, Standing};

use super::{Campaign, Round};
use crate::suite::Stage;

impl Campaign {
    /// Takes over what rounds of an earlier, identical campaign did.
    pub fn restore(&mut self, round: &Round) -> Result<(), String> {
        self.fits(round)?;
        let claims: Vec<Claim<'_>> = round.tests.iter().map(|test| self.claim(test)).collect();
        let (open, uncovered) = (self.ledger.open(), self.ledger.uncovered());
        let confirmed = self.witnesses().confirm(&claims, open, uncovered);
        let tests: Vec<Confirmed> = confirmed.into_iter().collect::<Result<_, _>>()?;
        let first = self.suite.len();
        let standings = self.stand(
            &round.pairs,
            &|test| match (test as usize).checked_sub(first) {
                Some(new) => &round.tests[new].input,
                None => &self.suite.tests()[test as usize].input,
            },
        )?;
        if standings.contains(&Standing::False) {
            return Err("two of its tests do not meet what they were recorded for".into());
        }
        let gain = self.take(round, &tests, &standings);
        if gain == round.gain {
            Ok(())
        } else {
            Err(format!(
                "its tests meet {gain} requirements where {} were recorded",
                round.gain
            ))
        }
    }

    /// Whether every number of a round names something that is there.
    fn fits(&self, round: &Round) -> Result<(), String> {
        let subject = &self.subject;
        if round.stage == Stage::Measure {
            return Err("seeds are measured, not recorded".into());
        }
        let (now, then) = (self.passes, round.passes);
        if then.forward < now.forward || then.vjp < now.vjp || then.lp < now.lp {
            return Err("it counts fewer passes than the round before".into());
        }
        let tests = self.suite.len();
        for (new, test) in round.tests.iter().enumerate() {
            if test.root >= subject.seeds.len() {
                return Err(format!(
                    "seed {} is named as a root, and there are {}",
                    test.root,
                    subject.seeds.len()
                ));
            }
            if test.parent >= tests + new {
                return Err(format!(
                    "test {} is its parent before it was made",
                    test.parent
                ));
            }
            let elements = subject.network.input_elements();
            if test.input.len() != elements {
                return Err(format!(
                    "a test has {} elements where the network takes {elements}",
                    test.input.len()
                ));
            }
        }
        let tests = tests + round.tests.len();
        for pair in &round.pairs {
            self.is_required(pair.slot)?;
            if let Some(test) = [pair.first, pair.second]
                .iter()
                .find(|&&t| t as usize >= tests)
            {
                return Err(format!(
                    "test {test} is part of a pair, and there are {tests}"
                ));
            }
        }
        round
            .tried
            .iter()
            .try_for_each(|&slot| self.is_required(slot))
    }

    fn is_required(&self, slot: Slot) -> Result<(), String> {
        let group = self.subject.family.groups().get(slot.group as usize);
        let number = slot.slot as usize;
        match group {
            Some(group) if number < group.slots() && !group.void.contains(number) => Ok(()),
            _ => Err(format!(
                "there is no requirement {number} in group {}",
                slot.group
            )),
        }
    }
}
