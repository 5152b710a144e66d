//! Pairs of neurons: a neuron that cannot change in a box, be it in sign or by a factor, is part of no
//! pair that asks for such a change there. So neurons are asked about, and pairs follow by the million.

use deepconcolic_check::Slot;
use deepconcolic_concolic::Campaign;
use deepconcolic_proofs::{Place, exists};
use deepconcolic_spec::criteria::{BitSet, Change, Pairs};
use deepconcolic_spec::{Comparison, Input, Linear, Relation, Requirement, Var};

use super::work::{FEW, Work};
use crate::exit::Failure;

/// Neurons asked about at once.
const NEURONS: usize = 2048;
/// Questions that balls may make together: one for each ball and neuron.
const MOST: usize = 1 << 18;

impl Work<'_> {
    /// All open pairs.
    pub fn pairs(&mut self, pairs: &dyn Pairs, campaign: &Campaign<'_>) -> Result<(), Failure> {
        let mut open: Vec<BitSet> = campaign.ledger().uncovered().to_vec();
        let neurons: usize = self
            .changing(pairs, &open)
            .iter()
            .map(|(_, _, n)| n.count())
            .sum();
        let each = self.boxes.len() <= FEW || neurons * self.boxes.len() <= MOST;
        let places = if each { self.boxes.len() } else { 1 };
        for number in 0..places {
            let mut place = if each {
                self.place(&self.boxes[number], campaign)
            } else {
                self.places(campaign).swap_remove(0)
            };
            for (layer, change, neurons) in self.changing(pairs, &open) {
                self.stuck(&mut place, layer, change, &neurons)?;
            }
            self.proven.nodes += place.nodes();
            if each {
                // A pair that is possible in one box is no more asked about.
                for (group, open) in open.iter_mut().enumerate() {
                    let sizes = self.sizes(pairs, group);
                    *open = self
                        .grounds
                        .refuted_pairs_in(number, pairs, group, sizes, open);
                }
            }
        }
        if !each {
            self.proven.notes.push(format!(
                "proofs for pairs were tried over one box that holds all {} balls, and not over each \
                 ball: that would be more than {MOST} questions",
                self.boxes.len()
            ));
        }
        for (group, open) in open.iter().enumerate() {
            let sizes = self.sizes(pairs, group);
            let refuted = self.grounds.refuted_pairs(pairs, group, sizes, open);
            for slot in refuted.iter() {
                self.refute(Slot {
                    group: group as u32,
                    slot: slot as u32,
                });
            }
        }
        Ok(())
    }

    fn sizes(&self, pairs: &dyn Pairs, group: usize) -> (usize, usize) {
        let (before, layer) = pairs.layers(group);
        let neurons = |layer: usize| self.stage.network.layers()[layer].neurons();
        (neurons(before), neurons(layer))
    }

    /// The neurons of open pairs, by layer and by how they have to change.
    fn changing(&self, pairs: &dyn Pairs, open: &[BitSet]) -> Vec<(usize, Change, BitSet)> {
        let mut all: Vec<(usize, Change, BitSet)> = Vec::new();
        let (condition, decision) = pairs.changes();
        for (group, open) in open.iter().enumerate() {
            let sizes = self.sizes(pairs, group);
            let (mut conditions, mut decisions) = (BitSet::new(sizes.0), BitSet::new(sizes.1));
            for slot in open.iter() {
                let (i, j) = pairs.neurons(group, slot);
                conditions.insert(i);
                decisions.insert(j);
            }
            let layers = pairs.layers(group);
            for (layer, change, neurons) in [
                (layers.0, condition, conditions),
                (layers.1, decision, decisions),
            ] {
                match all.iter_mut().find(|(l, c, _)| (*l, *c) == (layer, change)) {
                    Some((_, _, known)) => neurons.iter().for_each(|n| known.insert(n)),
                    None => all.push((layer, change, neurons)),
                }
            }
        }
        all.sort_by_key(|(layer, _, _)| *layer);
        all
    }

    /// Asks which neurons cannot change.
    fn stuck(
        &mut self,
        place: &mut Place<'_>,
        layer: usize,
        change: Change,
        neurons: &BitSet,
    ) -> Result<(), Failure> {
        let ranges = place.ranges(layer);
        let asked: Vec<Requirement> = neurons
            .iter()
            .flat_map(|neuron| questions(layer, neuron, change, ranges[neuron]))
            .collect();
        for (number, part) in asked.chunks(NEURONS).enumerate() {
            if self.is_over() {
                let left = asked.len() - number * NEURONS;
                let name = self.stage.network.layers()[layer].name();
                self.proven.notes.push(format!(
                    "the time for proofs was up before {left} questions about neurons of {name} that \
                     pairs hang on"
                ));
                return Ok(());
            }
            let settled = place.settle(part, &self.full());
            for why in settled.reasons.iter().flatten() {
                self.excuse(why);
            }
            self.learn(&settled)?;
        }
        Ok(())
    }
}

/// What must be impossible for a neuron not to change, as far as the range of its values seen leaves
/// that open.
fn questions(
    layer: usize,
    neuron: usize,
    change: Change,
    [low, high]: [f32; 2],
) -> Vec<Requirement> {
    let question = |relation: Relation, end: f64| {
        let mut linear = Linear::variable(Var::u(Input::First, layer + 2, neuron));
        linear.constant = 0.0 - end;
        exists(Comparison { linear, relation })
    };
    let (low, high) = (f64::from(low), f64::from(high));
    match change {
        Change::Sign if low >= 0.0 => vec![question(Relation::Lt, 0.0)],
        Change::Sign if high < 0.0 => vec![question(Relation::Ge, 0.0)],
        Change::Sign => Vec::new(),
        Change::Value(sigma) => {
            // As much room on either side, as factors.
            let room = |least: f64, most: f64| (0.999 * sigma * least / most).sqrt();
            let (below, above) = if low > 0.0 {
                let room = room(low, high);
                (low / room, high * room)
            } else if high < 0.0 {
                let room = room(-high, -low);
                (low * room, high / room)
            } else {
                return Vec::new();
            };
            if !(below < low && high < above) {
                return Vec::new();
            }
            vec![question(Relation::Le, below), question(Relation::Ge, above)]
        }
    }
}
