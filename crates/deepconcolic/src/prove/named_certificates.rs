//! Which certificate a requirement rests on that cannot be met: the one that completes its proof. The
//! requirement follows from it and those with smaller numbers, and not from those with smaller numbers
//! alone.

use std::ops::Range;

use deepconcolic_campaign::Limits;
use deepconcolic_check::{Accepted, Digest, ProvenFacts};
use deepconcolic_criteria::Family;
use deepconcolic_network::{BitSet, Network};
use rayon::prelude::*;

use super::Proven;
use crate::error::Error;

impl Proven {
    /// Names for every infeasible requirement the certificate that completes its proof. When time is up, a later one:
    /// the requirement follows from it and those with smaller numbers all the same.
    pub fn name_certificates(
        &mut self,
        network: &Network,
        family: &dyn Family,
        model: Digest,
        limits: &Limits<'_>,
    ) -> Result<(), Error> {
        let Some(facts) = &self.facts else {
            return Ok(());
        };
        let start = ProvenFacts::new(network, model, facts.boxes().to_vec());
        let groups = family.groups().iter().enumerate();
        let slots = groups.map(|(g, group)| self.of_group(g, group.slots()));
        let slots: Vec<BitSet> = slots.collect();
        let mut named = std::mem::take(&mut self.certificates);
        let order = Order {
            network,
            family,
            accepted: &self.accepted,
            limits,
        };
        let all = 0..self.accepted.len();
        order.divide(all, start, &slots, &mut |completed, number| {
            for (numbers, completed) in named.iter_mut().zip(completed) {
                completed.iter().for_each(|slot| numbers[slot] = number);
            }
        })?;
        self.certificates = named;
        Ok(())
    }
}

/// Certificates in their order.
pub(super) struct Order<'a> {
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub accepted: &'a [(i32, Accepted)],
    pub limits: &'a Limits<'a>,
}

impl Order<'_> {
    /// Of requirements that follow once a range of certificates is added to what is known, and do not
    /// before, says which certificate of the range completes each: halves are tried first.
    fn divide(
        &self,
        range: Range<usize>,
        known: ProvenFacts,
        slots: &[BitSet],
        name: &mut dyn FnMut(&[BitSet], i32),
    ) -> Result<(), Error> {
        if slots.iter().all(|group| group.count() == 0) {
            return Ok(());
        }
        if range.len() <= 1 || self.limits.check().is_err() {
            if let Some((number, _)) = self.accepted[range].last() {
                name(slots, *number);
            }
            return Ok(());
        }
        let middle = usize::midpoint(range.start, range.end);
        let mut first = known.clone();
        for (_, accepted) in &self.accepted[range.start..middle] {
            let added = first.add_accepted(self.network, accepted);
            added.map_err(|why| Error::Internal(why.to_string()))?;
        }
        let early = self.refuted(&first, slots);
        let late = slots
            .iter()
            .zip(&early)
            .map(|(all, early)| all.without(early));
        let late: Vec<BitSet> = late.collect();
        self.divide(range.start..middle, known, &early, name)?;
        self.divide(middle..range.end, first, &late, name)
    }

    /// Of some requirements those that follow.
    pub fn refuted(&self, facts: &ProvenFacts, slots: &[BitSet]) -> Vec<BitSet> {
        let groups = slots.iter().enumerate();
        let refuted = groups.map(|(group, slots)| {
            if let Some(pairs) = self.family.pairs(group) {
                let (before, layer) = pairs.layers(group);
                let neurons = |layer: usize| self.network.layers()[layer].neurons();
                facts.refuted_pairs(pairs, group, (neurons(before), neurons(layer)), slots)
            } else {
                let all: Vec<usize> = slots.iter().collect();
                let follows = |&slot: &usize| {
                    let requirement = self.family.requirement(group, slot);
                    requirement.is_ok_and(|requirement| facts.refute(&requirement))
                };
                let found: Vec<usize> = all.into_par_iter().filter(follows).collect();
                let mut refuted = BitSet::new(slots.len());
                for slot in found {
                    refuted.insert(slot);
                }
                refuted
            }
        });
        refuted.collect()
    }
}
