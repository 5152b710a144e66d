//! Proofs under way: requirements of one input, group by group and part by part.

use std::collections::BTreeSet;
use std::time::Instant;

use deepconcolic_campaign::{Campaign, Limits};
use deepconcolic_check::{ProvenFacts, Region, Slot};
use deepconcolic_language::{Inputs, Requirement};
use deepconcolic_network::BitSet;
use deepconcolic_proofs::{BatchLimits, ProverLimits, RegionProver, regions};
use rayon::prelude::*;

use super::bounds::RequirementBounds;
use super::consult::{How, Question};
use super::obstacles::{LATE, Obstacles, SPENT};
use super::{ProofStage, Proven, Recorder};
use crate::error::Error;

/// Neurons whose requirements are taken up at once, and requirements of a file.
const NEURONS: usize = 512;
const WRITTEN: usize = 128;
/// Most requirements taken up at once: time is asked for between such parts, and each is a formula.
const AT_ONCE: usize = 1 << 13;
/// More balls than this are first proven over as one box that holds them all.
pub const FEW: usize = 4;
/// Parts of the region that proofs may bound for every pass that is allowed, and what a requirement that is asked about
/// counts as: most are decided, or given up, by a few passes through its cone.
const WORK_OF_PASS: usize = 64;
pub const WORK_OF_QUESTION: usize = 4;
/// Values of neurons that requirements taken up at once may name, and all open ones of a group.
const NAMED: usize = 1 << 19;
const MAX_NAMED: usize = 1 << 28;

/// The reason when they name more.
const LARGE: &str = "together they name too many neurons";

/// A slot by its numbers.
pub fn at(group: usize, slot: usize) -> Slot {
    Slot {
        group: group as u32,
        slot: slot as u32,
    }
}

/// A requirement and its place.
pub type AskedRequirement = (Slot, Requirement);

pub struct Work<'a> {
    pub stage: &'a ProofStage<'a>,
    pub limits: &'a Limits<'a>,
    /// The boxes of the search region, each with a point in it.
    pub boxes: Vec<(Region, Vec<f32>)>,
    pub facts: ProvenFacts,
    pub proven: Proven,
    /// The number of the next certificate.
    pub number: i32,
    /// The place that bounds are entered for, by number, if they are.
    pub prover: Option<usize>,
    /// What was in the way of questions that belong to no requirement.
    pub said: BTreeSet<String>,
    /// What was taken of what a limit on passes allows: parts of the region, and some for every requirement.
    pub spent: usize,
}

impl<'a> Work<'a> {
    pub fn new(stage: &'a ProofStage<'a>, limits: &'a Limits<'a>, mut proven: Proven) -> Self {
        let seeds: Vec<Vec<f32>> = stage.seeds.iter().map(<[f32]>::to_vec).collect();
        let boxes = regions(stage.space, &seeds);
        let plain = || boxes.iter().map(|(region, _)| region.clone()).collect();
        let facts = proven.facts.take();
        let none = || ProvenFacts::new(stage.network, stage.model, plain());
        Self {
            facts: facts.unwrap_or_else(none),
            number: proven.written,
            spent: proven.spent,
            stage,
            limits,
            boxes,
            // What is open is tried anew.
            proven: Proven {
                obstacles: Obstacles::default(),
                bounds: RequirementBounds::default(),
                ..proven
            },
            prover: None,
            said: BTreeSet::new(),
        }
    }

    /// Whether nothing more can be asked or recalled.
    pub fn is_over(&self) -> bool {
        let recalls = self.stage.recorded && self.proven.recall.has_more();
        (self.time_is_up() || self.is_spent()) && !recalls
    }

    /// Whether to end without a look at what there would be to ask. Behind the last question that the journal recalls there
    /// may have been nothing more to ask, and only a look tells.
    pub fn gives_up(&self) -> bool {
        self.is_over() && (self.is_spent() || self.is_stopped())
    }

    /// Whether proofs have taken their part of a limit on passes.
    pub fn is_spent(&self) -> bool {
        self.allowance() == Some(0)
    }

    /// What is left for proofs under a limit on passes.
    fn allowance(&self) -> Option<usize> {
        let all = self.limits.executions?.saturating_mul(WORK_OF_PASS);
        Some(all.saturating_sub(self.spent))
    }

    /// Why nothing more can be asked.
    pub fn end(&self) -> &'static str {
        if self.is_spent() && !self.is_stopped() {
            SPENT
        } else {
            LATE
        }
    }

    /// Whether nothing more can be asked.
    pub fn time_is_up(&self) -> bool {
        self.stage.closed || self.is_stopped()
    }

    /// Whether the clock or the user ends proofs now.
    fn is_stopped(&self) -> bool {
        let is_late = || self.stage.deadline.is_some_and(|end| Instant::now() >= end);
        self.limits.is_interrupted() || is_late()
    }

    /// One box for each part of the search region; one that holds them all when they are many.
    fn few_boxes(&self) -> Vec<(Region, Vec<f32>)> {
        if self.boxes.len() <= FEW {
            return self.boxes.clone();
        }
        let (first, seed) = &self.boxes[0];
        let (mut hull, seed) = (first.hull(), seed.clone());
        for (region, _) in &self.boxes {
            for (low, other) in hull.lower.iter_mut().zip(&region.lower) {
                *low = low.min(*other);
            }
            for (high, other) in hull.upper.iter_mut().zip(&region.upper) {
                *high = high.max(*other);
            }
        }
        vec![(hull, seed)]
    }

    /// Few boxes, ready for questions.
    pub fn provers(&self, campaign: &Campaign) -> Vec<RegionProver<'a>> {
        let boxes = self.few_boxes();
        boxes.iter().map(|b| self.prover(b, campaign)).collect()
    }

    pub fn prover(&self, region: &(Region, Vec<f32>), campaign: &Campaign) -> RegionProver<'a> {
        let tests = campaign.suite().tests().iter().map(|t| &t.input[..]);
        RegionProver::new(self.stage.network, &self.stage.model, region, tests)
    }

    /// Plain bounds and nothing more.
    pub fn cheap(&self) -> ProverLimits<'a> {
        ProverLimits {
            conditions: self.until(BatchLimits::cheap()),
            ..ProverLimits::cheap()
        }
    }

    /// How far to go for each of so many requirements.
    pub fn full(&self, requirements: usize) -> ProverLimits<'a> {
        let limits = ProverLimits::default();
        ProverLimits {
            conditions: self.joint(requirements),
            nodes: limits.nodes.min(self.share(requirements)),
        }
    }

    /// The same for requirements on two inputs.
    pub fn joint(&self, requirements: usize) -> BatchLimits<'a> {
        let limits = self.until(BatchLimits::default());
        BatchLimits {
            nodes: limits.nodes.min(self.share(requirements)),
            ..limits
        }
    }

    /// Parts of the region for each of so many requirements, under a limit on passes.
    fn share(&self, requirements: usize) -> usize {
        let allowance = self.allowance().unwrap_or(usize::MAX);
        (allowance / requirements.max(1)).max(1)
    }

    /// The same limits, and the user's.
    pub fn until(&self, limits: BatchLimits<'a>) -> BatchLimits<'a> {
        BatchLimits {
            deadline: self.stage.deadline,
            interrupt: self.limits.interrupt,
            ..limits
        }
    }

    /// The groups whose requirements are formulas; pairs of neurons and ratios are asked about otherwise.
    pub fn formula_groups(&self) -> impl Iterator<Item = usize> + use<'a> {
        let family = self.stage.family;
        (0..family.groups().len()).filter(|&group| !family.asks_for_two(group))
    }

    /// Every formula that is open, over few boxes.
    pub fn all(&mut self, campaign: &mut Campaign, record: &mut Recorder<'_>) -> Result<(), Error> {
        let mut provers = self.provers(campaign);
        for group in self.formula_groups() {
            let mut open = campaign.ledger().uncovered()[group].clone();
            let named = self.named(group, open.iter().next());
            if named * open.count() > MAX_NAMED {
                self.note_obstacle_of_group(LARGE, group, open);
                continue;
            }
            let size = self.size(group).min(NAMED / named.max(1)).max(1);
            loop {
                let slots: Vec<usize> = open.iter().take(size).collect();
                if slots.is_empty() || self.is_over() {
                    break;
                }
                for &slot in &slots {
                    open.remove(slot);
                }
                let mut left = self.asked(group, &slots);
                let mut open: Vec<AskedRequirement> = Vec::new();
                for (number, prover) in provers.iter_mut().enumerate() {
                    self.prover = Some(number);
                    // Of what an earlier box leaves open, only a bound is wanted here.
                    let cheap = self.cheap();
                    let gone = self.narrow(prover, open.clone(), &cheap, campaign, record)?;
                    self.proven.bounds.enter_refuted(&gone, number);
                    let limits = self.full(left.len());
                    let before = left.clone();
                    left = self.narrow(prover, left, &limits, campaign, record)?;
                    self.proven.bounds.enter_refuted(&left, number);
                    let is_gone =
                        |a: &AskedRequirement| left.binary_search_by_key(&a.0, |l| l.0).is_ok();
                    open.extend(before.into_iter().filter(|a| !is_gone(a)));
                }
                self.prover = None;
                for (slot, _) in left {
                    self.refute(slot);
                }
            }
            let open = self.askable(group, open);
            self.note_obstacle_of_group(self.end(), group, open);
        }
        self.proven.nodes += provers.iter().map(RegionProver::nodes).sum::<usize>();
        self.proven.bounds.conclude(provers.len());
        Ok(())
    }

    /// Slots taken up at once.
    fn size(&self, group: usize) -> usize {
        let group = &self.stage.family.groups()[group];
        match group.layer {
            Some(layer) => {
                let neurons = self.stage.network.layers()[layer].neurons();
                let each = group.slots().div_ceil(neurons.max(1)).max(1);
                (NEURONS * each).min(AT_ONCE)
            }
            None => WRITTEN,
        }
    }

    /// How many values an open requirement of a group names; those of a layer are all alike.
    fn named(&self, group: usize, first: Option<usize>) -> usize {
        let alike = self.stage.family.groups()[group].layer.is_some();
        let first = first.filter(|_| alike);
        let first = first.and_then(|slot| self.stage.family.requirement(group, slot).ok());
        let mut each = 0;
        if let Some(requirement) = first {
            requirement.formula.each_variable(&mut |_| each += 1);
        }
        each
    }

    pub fn asked(&mut self, group: usize, slots: &[usize]) -> Vec<AskedRequirement> {
        let mut asked = Vec::with_capacity(slots.len());
        for &slot in slots {
            match self.stage.family.requirement(group, slot) {
                Ok(requirement) => asked.push((at(group, slot), requirement)),
                Err(why) => self.note_obstacle(&why, [at(group, slot)]),
            }
        }
        asked
    }

    /// Of requirements that are left when proofs end those that could have been asked about; the others get the reason why not,
    /// as they do when there is time. Those of a layer are all alike and can be asked about.
    fn askable(&mut self, group: usize, open: BitSet) -> BitSet {
        if self.stage.family.groups()[group].layer.is_some() || self.is_stopped() {
            return open;
        }
        let slots: Vec<usize> = open.iter().collect();
        let mut left = BitSet::new(open.len());
        for (slot, _) in self.asked(group, &slots) {
            left.insert(slot.slot as usize);
        }
        left
    }

    /// Of some requirements those that cannot be met in a place.
    pub fn narrow(
        &mut self,
        prover: &mut RegionProver<'_>,
        asked: Vec<AskedRequirement>,
        limits: &ProverLimits<'_>,
        campaign: &mut Campaign,
        record: &mut Recorder<'_>,
    ) -> Result<Vec<AskedRequirement>, Error> {
        let question: Vec<(Option<Slot>, Requirement)> = asked
            .iter()
            .map(|(slot, requirement)| (Some(*slot), requirement.clone()))
            .collect();
        let question = Question {
            asked: &question,
            how: How::Apart(limits),
        };
        if !self.consult(prover, &question, campaign, record)? {
            self.note_obstacle(self.end(), asked.iter().map(|(slot, _)| *slot));
        }
        let is_joint = |(_, r): &AskedRequirement| r.inputs == Inputs::Two && limits.nodes > 0;
        let parts = self.parts_of(prover.region());
        let refuted = |work: &Self, a: &AskedRequirement| work.is_refuted(&parts, &a.1);
        let (mut gone, left): (Vec<AskedRequirement>, Vec<AskedRequirement>) =
            asked.into_iter().partition(|a| refuted(self, a));
        let joint: Vec<AskedRequirement> = left.into_iter().filter(is_joint).collect();
        self.jointly(prover, &joint, campaign, record)?;
        gone.extend(joint.into_iter().filter(|a| refuted(self, a)));
        gone.sort_by_key(|(slot, _)| *slot);
        Ok(gone)
    }

    /// The parts of the search region that lie in another region. Found once for many requirements: it takes a look at
    /// every element of every part.
    pub fn parts_of(&self, region: &Region) -> Vec<usize> {
        let lies_in = |&part: &usize| region.contains(&self.boxes[part].0);
        (0..self.boxes.len()).filter(lies_in).collect()
    }

    /// Whether what is known rules a requirement out in some parts of the search region.
    pub fn is_refuted(&self, parts: &[usize], requirement: &Requirement) -> bool {
        if parts.len() == self.boxes.len() {
            return self.facts.refute(requirement);
        }
        let mut parts = parts.iter();
        parts.all(|&part| self.facts.refute_in(part, requirement))
    }

    /// Tries requirements on two inputs in a place. Pairs of inputs found on the way enter the suite.
    pub fn jointly(
        &mut self,
        prover: &mut RegionProver<'_>,
        asked: &[AskedRequirement],
        campaign: &mut Campaign,
        record: &mut Recorder<'_>,
    ) -> Result<(), Error> {
        let question: Vec<(Option<Slot>, Requirement)> = asked
            .iter()
            .map(|(slot, requirement)| (Some(*slot), requirement.clone()))
            .collect();
        let question = Question {
            asked: &question,
            how: How::Jointly,
        };
        if !self.consult(prover, &question, campaign, record)? {
            self.note_obstacle(self.end(), asked.iter().map(|(slot, _)| *slot));
        }
        Ok(())
    }

    /// Notes what is in the way of requirements.
    pub fn note_obstacle(&mut self, why: &str, slots: impl IntoIterator<Item = Slot>) {
        let family = self.stage.family;
        self.proven.obstacles.enter(family, why, slots);
    }

    /// The same of a set of a group, which can be of many millions.
    fn note_obstacle_of_group(&mut self, why: &str, group: usize, set: BitSet) {
        let groups = self.stage.family.groups().iter();
        let mut sets: Vec<BitSet> = groups.map(|of| BitSet::new(of.slots())).collect();
        sets[group] = set;
        self.note_obstacle_of_all(why, &sets);
    }

    /// The same of whole sets, group by group.
    pub fn note_obstacle_of_all(&mut self, why: &str, sets: &[BitSet]) {
        let family = self.stage.family;
        self.proven.obstacles.enter_all(family, why, sets);
    }

    /// Enters that a requirement is infeasible.
    pub fn refute(&mut self, slot: Slot) {
        // Which certificate completed the proof is found out in the end.
        let last = (self.number - 1).max(0);
        self.proven.refute(self.stage.family, slot, last);
    }

    /// Witnesses with the seed each lies nearest to, without those that lie in nobody's ball: over a box that holds
    /// many balls most do.
    pub fn proposals(&self, witnesses: Vec<Vec<f32>>) -> Vec<(Vec<f32>, usize)> {
        let (space, seeds) = (self.stage.space, self.stage.seeds);
        let root = |input: &[f32]| {
            let mut nearest = None;
            let mut limit = space.radius().unwrap_or(f64::INFINITY);
            for (number, seed) in seeds.iter().enumerate() {
                // Most seeds are seen to be further away by their first elements.
                if (space.norm).is_within(input, seed, limit, &space.units) {
                    let distance = space.distance(input, seed);
                    if nearest.is_none() || distance < limit {
                        (nearest, limit) = (Some(number), distance);
                    }
                }
            }
            nearest
        };
        let proposal = |input: Vec<f32>| root(&input).map(|root| (input, root));
        witnesses.into_par_iter().filter_map(proposal).collect()
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.stage.certificates.write(self.number, bytes)?;
        self.number += 1;
        Ok(())
    }

    /// What came of it all.
    pub fn finish(mut self) -> Proven {
        self.proven.facts = Some(self.facts);
        self.proven.spent = self.spent;
        self.proven.written = self.number;
        self.proven
    }
}
