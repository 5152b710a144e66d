//! The steepest pair of tests of each region, where ratios are required: what is known whether or not it exceeds a
//! constant.

use deepconcolic_check::{PairClaim, Slot};
use deepconcolic_criteria::Family;

/// By slot of the group of ratios, the pair between whose tests the network is steepest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steepest {
    group: u32,
    pairs: Vec<Option<(PairClaim, f64)>>,
}

impl Steepest {
    /// Nothing known yet. Families of other things have no slopes.
    pub fn new(family: &dyn Family) -> Self {
        let (group, slots) = match family.ratios() {
            Some((group, _)) => (group, family.groups()[group].slots()),
            None => (0, 0),
        };
        Self {
            group: group as u32,
            pairs: vec![None; slots],
        }
    }

    /// The pair of a slot, and how steep it is.
    pub fn of(&self, slot: usize) -> Option<(PairClaim, f64)> {
        self.pairs.get(slot).copied().flatten()
    }

    /// Whether a slope is larger than what is known of its slot.
    pub fn is_beaten(&self, slot: Slot, slope: Option<f64>) -> bool {
        let known = self.of(slot.slot as usize).map_or(0.0, |(_, slope)| slope);
        slot.group == self.group && slope.is_some_and(|slope| slope > known)
    }

    /// Enters a pair, if it is steeper.
    pub fn enter(&mut self, claim: &PairClaim, slope: Option<f64>) {
        if let (true, Some(slope)) = (self.is_beaten(claim.slot, slope), slope)
            && let Some(place) = self.pairs.get_mut(claim.slot.slot as usize)
        {
            *place = Some((*claim, slope));
        }
    }
}
