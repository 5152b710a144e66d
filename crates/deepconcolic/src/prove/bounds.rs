//! Upper bounds on the values of requirements that stay open.
//!
//! The value of a requirement on one neuron is by how much an input meets it: what is left of the sign of
//! a comparison minus what is right, turned so that more is better; of several comparisons that must all
//! hold, the least. A bound holds for every input of the search region, in real arithmetic and, by the margin
//! that is added, in execution. It is none below 0: then the requirement would be infeasible, which only
//! a certificate says.

use std::collections::BTreeMap;

use deepconcolic_check::Slot;
use deepconcolic_criteria::Means;
use deepconcolic_language::{Formula, Inputs, Requirement, Var};

use super::work::AskedRequirement;

/// What is known of one requirement.
#[derive(Clone, Copy)]
struct Known {
    /// The largest bound of the places so far.
    maximum: f64,
    /// Which these are, a bit each.
    provers: u64,
}

/// Bounds by requirement.
#[derive(Default)]
pub struct RequirementBounds(BTreeMap<Slot, Known>);

impl RequirementBounds {
    /// Enters a bound over one place, by number.
    pub fn enter(
        &mut self,
        slot: Slot,
        requirement: &Requirement,
        bound: f64,
        prover: usize,
        means: &Means,
    ) {
        if let Some(margin) = margin(requirement, means) {
            self.add(slot, bound + margin, prover);
        }
    }

    /// Enters that requirements cannot be met in one place.
    pub fn enter_refuted(&mut self, refuted: &[AskedRequirement], prover: usize) {
        for (slot, _) in refuted {
            self.add(*slot, 0.0, prover);
        }
    }

    fn add(&mut self, slot: Slot, bound: f64, prover: usize) {
        let start = Known {
            maximum: 0.0,
            provers: 0,
        };
        let known = self.0.entry(slot).or_insert(start);
        known.maximum = known.maximum.max(bound);
        known.provers |= 1 << prover;
    }

    /// Enters a bound over the whole search region; of several the least holds.
    pub fn enter_whole(&mut self, slot: Slot, bound: f32) {
        let maximum = f64::from(bound);
        let known = self.0.entry(slot).or_insert(Known {
            maximum,
            provers: 1,
        });
        known.maximum = known.maximum.min(maximum);
    }

    /// Keeps what is known of all places, which together hold the search region.
    pub fn conclude(&mut self, provers: usize) {
        self.0
            .retain(|_, known| known.provers.count_ones() as usize == provers);
    }

    /// All of them, rounded up.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, f32)> + '_ {
        self.0
            .iter()
            .map(|(&slot, known)| (slot, up(known.maximum)))
    }
}

/// A number of single precision that is not below another.
fn up(bound: f64) -> f32 {
    let nearest = bound as f32;
    if f64::from(nearest) < bound {
        nearest.next_up()
    } else {
        nearest
    }
}

/// How far execution may be from real arithmetic, for a requirement on one neuron at one input.
fn margin(requirement: &Requirement, means: &Means) -> Option<f64> {
    let mut first: Option<Var> = None;
    let mut several = requirement.inputs != Inputs::One;
    requirement.formula.each_variable(&mut |var| {
        several |= *first.get_or_insert(var) != var;
    });
    if several {
        return None;
    }
    max_margin(&requirement.goal().nnf(), means)
}

/// The largest margin of comparisons that must all hold; none for another formula.
fn max_margin(formula: &Formula, means: &Means) -> Option<f64> {
    match formula {
        Formula::Compare(comparison) => {
            let terms = comparison.linear.terms.iter();
            Some(means.margin_of(terms.map(|(weight, var)| (*weight, var.layer))))
        }
        Formula::And(of) => {
            let margins: Option<Vec<f64>> = of.iter().map(|part| max_margin(part, means)).collect();
            Some(margins?.into_iter().fold(0.0, f64::max))
        }
        _ => None,
    }
}
