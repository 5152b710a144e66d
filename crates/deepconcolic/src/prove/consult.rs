//! Asking provers: once for each question of a run, however often it is stopped. What comes of a question is
//! taken in here and nowhere else.

use deepconcolic_campaign::{Campaign, FoundPair};
use deepconcolic_check::{Accepted, Region, Slot};
use deepconcolic_language::Requirement;
use deepconcolic_proofs::{ProverLimits, RegionProver};
use deepconcolic_record::ProofRecord;

use super::Recorder;
use super::obstacles::{LATE, SPENT};
use super::recall::{Fingerprint, Remembered};
use super::work::{WORK_OF_QUESTION, Work};
use crate::error::Error;

/// Passes that running a pair again takes at most: each input, and both together.
const PASSES_OF_PAIR: usize = 4;

/// A question over one place: requirements, those of the family with their slots.
pub struct Question<'q> {
    pub asked: &'q [(Option<Slot>, Requirement)],
    pub how: How<'q>,
}

/// How requirements are tried.
#[derive(Clone, Copy)]
pub enum How<'q> {
    /// Each for itself.
    Apart(&'q ProverLimits<'q>),
    /// Both inputs of each at once.
    Jointly,
}

/// What provers found.
struct Found {
    accepted: Accepted,
    bounds: Vec<(u32, f64)>,
    reasons: Vec<(u32, String)>,
    witnesses: Vec<Vec<f32>>,
    pairs: Vec<FoundPair>,
}

impl Question<'_> {
    fn fingerprint(&self, region: &Region, admits: bool) -> u64 {
        let kind = match self.how {
            How::Apart(limits) if limits.nodes > 0 => "apart",
            How::Apart(_) => "apart, cheaply",
            How::Jointly => "jointly",
        };
        let mut print = Fingerprint::of(kind, region);
        print.add(&[u8::from(admits)]);
        for (slot, requirement) in self.asked {
            match slot {
                Some(slot) => {
                    print.add(&slot.group.to_le_bytes());
                    print.add(&slot.slot.to_le_bytes());
                }
                None => print.add(requirement.to_string().as_bytes()),
            }
        }
        print.finish()
    }
}

impl Work<'_> {
    /// Asks a question, or recalls what came of it. Returns whether either was possible: time may be up.
    pub fn consult(
        &mut self,
        prover: &mut RegionProver<'_>,
        question: &Question<'_>,
        campaign: &mut Campaign,
        record: &mut Recorder<'_>,
    ) -> Result<bool, Error> {
        if question.asked.is_empty() {
            return Ok(true);
        }
        let asked = question.fingerprint(prover.region(), self.stage.admits);
        let was_spent = self.is_spent();
        self.spent += question.asked.len() * WORK_OF_QUESTION;
        let mut answered = false;
        loop {
            let again = match self.remember(asked, campaign)? {
                Remembered::Answer(proof) => {
                    self.spent += proof.nodes;
                    self.enter(question, &proof);
                    answered = true;
                    if proof.cut || self.can_go_on(&proof, campaign) {
                        continue;
                    }
                    return Ok(true);
                }
                Remembered::Unwritten => true,
                Remembered::Nothing => false,
            };
            if self.time_is_up() || was_spent {
                return Ok(answered);
            }
            if !again {
                self.take_over_all()?;
            }
            let left = self.left(question, prover.region(), campaign, answered);
            if !left.is_empty() {
                let mut proof = ProofRecord {
                    asked,
                    taken_over: self.unheard(),
                    ..ProofRecord::default()
                };
                let accepted = self.ask(prover, question, &left, &mut proof, campaign)?;
                self.spent += proof.nodes;
                self.enter(question, &proof);
                // What the user cut short is not recorded: it is tried again.
                if self.stage.recorded && !again && !self.limits.is_interrupted() {
                    self.proven.recall.hear(&proof);
                    record(campaign, &proof)?;
                }
                if proof.wrote {
                    let certificate = accepted.certificate();
                    self.write(&certificate.to_bytes(self.stage.network))?;
                }
            }
            return Ok(true);
        }
    }

    /// Whether there are passes now to run again what there were none for when the question was answered.
    fn can_go_on(&self, proof: &ProofRecord, campaign: &Campaign) -> bool {
        let is_spent = proof.reasons.iter().any(|(_, why)| why == SPENT);
        is_spent && self.limits.left(campaign.passes()) >= PASSES_OF_PAIR
    }

    /// The requirements of a question that are still to be asked about.
    fn left(
        &self,
        question: &Question<'_>,
        region: &Region,
        campaign: &Campaign,
        answered: bool,
    ) -> Vec<usize> {
        let uncovered = campaign.ledger().uncovered();
        // Only where there was something to learn from.
        let parts = (answered || self.proven.taken_over).then(|| self.parts_of(region));
        let is_covered = |slot: &Slot| !uncovered[slot.group as usize].contains(slot.slot as usize);
        let is_done = |(slot, requirement): &(Option<Slot>, Requirement)| {
            let covered = answered && slot.as_ref().is_some_and(is_covered);
            let is_refuted = |parts: &Vec<usize>| self.is_refuted(parts, requirement);
            covered || parts.as_ref().is_some_and(is_refuted)
        };
        let all = question.asked.iter().enumerate();
        all.filter(|(_, asked)| !is_done(asked))
            .map(|(i, _)| i)
            .collect()
    }

    /// Asks about some requirements of a question, and takes in what is found.
    fn ask(
        &mut self,
        prover: &mut RegionProver<'_>,
        question: &Question<'_>,
        left: &[usize],
        proof: &mut ProofRecord,
        campaign: &mut Campaign,
    ) -> Result<Accepted, Error> {
        let nodes = prover.nodes();
        let found = self.find(prover, question, left);
        proof.nodes = prover.nodes() - nodes;
        proof.wrote = !found.accepted.is_empty();
        proof.bounds = found.bounds;
        proof.reasons = found.reasons;
        if proof.wrote {
            let added = self.facts.add_accepted(self.stage.network, &found.accepted);
            added.map_err(|why| Error::Internal(why.to_string()))?;
            let numbered = (self.number, found.accepted.clone());
            self.proven.accepted.push(numbered);
        }
        proof.cut = self.time_is_up();
        if self.stage.admits && !self.limits.is_interrupted() {
            let inputs = self.proposals(found.witnesses);
            let admitted = campaign.admit(inputs, found.pairs, self.limits);
            let spent = |number: u32| (number, SPENT.to_owned());
            if admitted.inputs_left > 0 {
                // Which of them an input meets is not known before it is run.
                let known: Vec<u32> = proof.reasons.iter().map(|(number, _)| *number).collect();
                let others = left.iter().map(|&i| i as u32);
                let others = others.filter(|number| !known.contains(number));
                proof.reasons.extend(others.map(spent));
            }
            let is_left = |&&i: &&usize| {
                let slot = question.asked[i].0;
                slot.is_some_and(|slot| admitted.pairs_left.contains(&slot))
            };
            let pairs = left.iter().filter(is_left);
            proof.reasons.extend(pairs.map(|&i| spent(i as u32)));
            proof.round = admitted.round;
        }
        Ok(found.accepted)
    }

    fn find(
        &self,
        prover: &mut RegionProver<'_>,
        question: &Question<'_>,
        left: &[usize],
    ) -> Found {
        let requirements = left.iter().map(|&i| question.asked[i].1.clone());
        let requirements: Vec<Requirement> = requirements.collect();
        match question.how {
            How::Apart(limits) => {
                let decided = prover.decide(&requirements, limits);
                let bounds = left.iter().zip(decided.bounds);
                let bounds = bounds.filter_map(|(&i, bound)| Some((i as u32, bound?)));
                Found {
                    bounds: bounds.collect(),
                    accepted: decided.accepted,
                    reasons: numbered(left, decided.reasons),
                    witnesses: decided.witnesses,
                    pairs: Vec::new(),
                }
            }
            How::Jointly => {
                let limits = self.joint(left.len());
                let found = prover.decide_jointly(&requirements, &limits);
                let pairs = found.met.into_iter().filter_map(|(number, inputs)| {
                    let both = |b: &usize| inputs.iter().all(|input| self.boxes[*b].0.has(input));
                    let part = (0..self.boxes.len()).find(both)?;
                    Some(FoundPair {
                        slot: question.asked[left[number]].0?,
                        root: self.seed_of(part),
                        inputs,
                    })
                });
                Found {
                    pairs: self.firmer(pairs.collect()),
                    accepted: found.accepted,
                    bounds: Vec::new(),
                    reasons: numbered(left, found.reasons),
                    witnesses: Vec::new(),
                }
            }
        }
    }

    /// The seed whose ball a box is, by number; the first if it is none's.
    fn seed_of(&self, part: usize) -> usize {
        let seeds = self.stage.seeds;
        let is_own = |&seed: &usize| seeds.input(seed) == &self.boxes[part].1[..];
        (0..seeds.len()).find(is_own).unwrap_or(0)
    }

    /// Enters bounds, and what was in the way.
    fn enter(&mut self, question: &Question<'_>, proof: &ProofRecord) {
        for &(number, bound) in &proof.bounds {
            if let (Some((Some(slot), requirement)), Some(prover)) =
                (question.asked.get(number as usize), self.prover)
            {
                let means = self.stage.means;
                let bounds = &mut self.proven.bounds;
                bounds.enter(*slot, requirement, bound, prover, means);
            }
        }
        let slots: Vec<Slot> = question.asked.iter().filter_map(|asked| asked.0).collect();
        if proof.cut {
            self.said.insert(LATE.to_owned());
            self.note_obstacle(LATE, slots);
        } else {
            let obstacles = &mut self.proven.obstacles;
            for slot in slots {
                obstacles.in_time(slot);
            }
        }
        for (number, why) in &proof.reasons {
            match question.asked.get(*number as usize) {
                Some((Some(slot), _)) => self.note_obstacle(why, [*slot]),
                _ => {
                    self.said.insert(why.clone());
                }
            }
        }
    }
}

/// What was in the way of some requirements of a question, by their numbers there.
fn numbered(left: &[usize], reasons: Vec<Option<String>>) -> Vec<(u32, String)> {
    let all = left.iter().zip(reasons);
    all.filter_map(|(&number, why)| Some((number as u32, why?)))
        .collect()
}
