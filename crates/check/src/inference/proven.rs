//! What accepted certificates say of a search region.
//!
//! A certificate refutes statements about one input. Many requirements follow from few of them: a
//! section of a neuron's range from a bound of the neuron, a cardinality from enough of its members,
//! thousands of pairs of neurons from one neuron whose sign never changes. So requirements need not be
//! named by a certificate: [`Deduction`] works out what follows.

use deepconcolic_criteria::Pairs;
use deepconcolic_language::{Formula, Requirement, Signature};
use deepconcolic_network::{BitSet, Network};

use crate::accepted::Accepted;
use crate::answer::{Answer, on_logits};
use crate::certificate::{Entry, Region};
use crate::digest::Digest;
use crate::error::Rejection;
use crate::inference::deduction::{Deduction, Fact};
use crate::question::{Atom, cases};
use crate::until::Until;
use crate::verdict::parse;

/// What accepted certificates say of one model in a region that is a union of boxes.
#[derive(Debug, Clone)]
pub struct ProvenFacts {
    signature: Signature,
    model: Digest,
    boxes: Vec<Region>,
    /// What holds in real numbers; besides, requirements that no execution by this tool meets.
    real: Deduction,
    /// What holds of executions too: facts whose bounds clear their margins.
    executed: Deduction,
}

impl ProvenFacts {
    /// Nothing yet, of a model with this fingerprint.
    pub fn new(network: &Network, model: Digest, boxes: Vec<Region>) -> Self {
        let signature = Signature::of(network);
        let nothing = |answer| Deduction::new(signature.depth(), boxes.len(), answer);
        let real = nothing(Answer::of(network));
        // What follows for real answers of a Softmax need not for executed ones.
        let executed = nothing(None);
        Self {
            signature,
            model,
            boxes,
            real,
            executed,
        }
    }

    /// Takes over what a certificate says, for the boxes of the region that lie in its own.
    pub fn add_accepted(
        &mut self,
        network: &Network,
        accepted: &Accepted,
    ) -> Result<(), Rejection> {
        if *accepted.model() != self.model {
            return Err(Rejection::other_model(accepted.model(), &self.model));
        }
        let regions = &accepted.certificate().regions;
        let within = |number: &usize| {
            let inner = &self.boxes[*number];
            regions.iter().any(|region| region.contains(inner))
        };
        let about: Vec<usize> = (0..self.boxes.len()).filter(within).collect();
        for (number, (entry, bound)) in accepted.entries().enumerate() {
            let fact = self.fact(network, &regions[0], entry);
            let fact = fact.map_err(|reason| Rejection::Question {
                entry: number,
                reason,
            })?;
            self.real.add(&fact, &about);
            if bound.covers_executions() {
                self.executed.add(&fact, &about);
            }
        }
        Ok(())
    }

    fn fact(&self, network: &Network, region: &Region, entry: &Entry) -> Result<Fact, String> {
        let requirement = parse(&entry.requirement, &self.signature)?;
        // What holds of executions alone is kept apart from what holds of real numbers: together
        // they would imply things of neither.
        let atoms = if entry.is_about_executions() {
            Vec::new()
        } else {
            conditions(network, &requirement, region)
        };
        let whole = (atoms.len() != 1).then(|| requirement.to_string());
        Ok(Fact { atoms, whole })
    }

    /// The boxes.
    pub fn boxes(&self) -> &[Region] {
        &self.boxes
    }

    /// What follows for executions in single precision, each sum in any order: no fact is used whose bound
    /// does not clear its margin.
    pub fn executions(&self) -> &Deduction {
        &self.executed
    }

    /// What follows in real numbers, besides requirements that no execution by this tool meets.
    pub fn real_numbers(&self) -> &Deduction {
        &self.real
    }

    /// Whether no input of the region (no two inputs of one box, if it is about two) meets a
    /// requirement.
    pub fn refute(&self, requirement: &Requirement) -> bool {
        self.real.refute(requirement)
    }

    /// Whether no input of one box (no two inputs of it) meets a requirement.
    pub fn refute_in(&self, number: usize, requirement: &Requirement) -> bool {
        self.real.refute_in(number, requirement)
    }

    /// As [`Deduction::refuted_pairs`], in real numbers.
    pub fn refuted_pairs(
        &self,
        pairs: &dyn Pairs,
        group: usize,
        sizes: (usize, usize),
        among: &BitSet,
    ) -> BitSet {
        self.real
            .refuted_pairs(pairs, group, sizes, among, Until::NEVER)
    }

    /// As [`Deduction::refuted_pairs_in`], in real numbers.
    pub fn refuted_pairs_in(
        &self,
        number: usize,
        pairs: &dyn Pairs,
        group: usize,
        sizes: (usize, usize),
        among: &BitSet,
    ) -> BitSet {
        self.real
            .refuted_pairs_in(number, pairs, group, sizes, among, Until::NEVER)
    }
}

/// The conditions that a requirement is, all of them together; none if it is anything else or asks for a
/// box of its own.
fn conditions(network: &Network, requirement: &Requirement, region: &Region) -> Vec<Atom> {
    if !is_conjunction(&on_logits(requirement, network).0) {
        return Vec::new();
    }
    let alternatives = cases(requirement, network, region).unwrap_or_default();
    let case = alternatives.into_iter().next();
    case.map_or(Vec::new(), |case| case.atoms)
}

fn is_conjunction(formula: &Formula) -> bool {
    match formula {
        Formula::Compare(_) => true,
        Formula::And(of) => of.iter().all(is_conjunction),
        _ => false,
    }
}
