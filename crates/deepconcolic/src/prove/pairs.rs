//! Pairs of neurons: a neuron that cannot change in a box, be it in sign or by a factor, is part of no
//! pair that asks for such a change there. So neurons are asked about, and pairs follow by the million.
//! What is left is asked about pair by pair, both inputs at once.

use std::collections::BTreeSet;

use deepconcolic_campaign::Campaign;
use deepconcolic_check::Slot;
use deepconcolic_criteria::{Change, Contrast, Pairs};
use deepconcolic_language::{
    Comparison, Input, Inputs, Linear, Quantifier, Relation, Requirement, Var,
};
use deepconcolic_network::BitSet;
use deepconcolic_proofs::{RegionProver, exists};

use super::Recorder;
use super::consult::{How, Question};
use super::work::{AskedRequirement, FEW, Work, at};
use crate::error::Error;

/// Neurons asked about at once.
const NEURONS: usize = 2048;
/// Pairs asked about at once, and most of them in all boxes.
const TOGETHER: usize = 64;
const MAX_TOGETHER: usize = 1 << 14;
/// Questions that balls may make together: one for each ball and neuron.
const MAX: usize = 1 << 18;

/// A group of pairs, and how many neurons the layers of conditions and decisions have.
struct PairGroup<'a> {
    group: usize,
    pairs: &'a dyn Pairs,
    sizes: (usize, usize),
}

impl<'a> Work<'a> {
    /// What single neurons tell of all open pairs.
    pub fn neurons(
        &mut self,
        campaign: &mut Campaign,
        record: &mut Recorder<'_>,
    ) -> Result<(), Error> {
        let mut open = self.open_pairs(campaign);
        let neurons: usize = self.changing(&open).iter().map(|(_, _, n)| n.count()).sum();
        let each = self.boxes.len() <= FEW || neurons * self.boxes.len() <= MAX;
        let provers = if each { self.boxes.len() } else { 1 };
        for number in 0..provers {
            if self.gives_up() {
                self.note_obstacle_of_all(self.end(), &open);
                break;
            }
            let mut prover = if each {
                self.prover(&self.boxes[number], campaign)
            } else {
                self.provers(campaign).swap_remove(0)
            };
            for (layer, change, neurons) in self.changing(&open) {
                let obstacles =
                    self.cannot_change(&mut prover, layer, change, &neurons, campaign, record)?;
                for why in obstacles {
                    self.hinder(&why, layer, &open);
                }
            }
            self.proven.nodes += prover.nodes();
            if each {
                self.keep_refuted(number, &mut open);
            }
        }
        if !each {
            let why = format!(
                "they were tried over one box that holds all {} balls, and not over each ball: that would be \
                 more than {MAX} questions",
                self.boxes.len()
            );
            self.note_obstacle_of_all(&why, &open);
        }
        self.conclude(&open);
        Ok(())
    }

    /// Pairs that no test shows, group by group.
    fn open_pairs(&self, campaign: &Campaign) -> Vec<BitSet> {
        let mut open = campaign.ledger().uncovered().to_vec();
        for group in self.formula_groups() {
            open[group] = BitSet::new(open[group].len());
        }
        open
    }

    /// Pairs that are still open, both inputs of each at once.
    pub fn pairs(
        &mut self,
        campaign: &mut Campaign,
        record: &mut Recorder<'_>,
    ) -> Result<(), Error> {
        let mut open = self.open_pairs(campaign);
        for (group, open) in open.iter_mut().enumerate() {
            for slot in self.proven.of_group(group, open.len()).iter() {
                open.remove(slot);
            }
        }
        let untried = keep_first(&mut open, MAX_TOGETHER / self.boxes.len().max(1));
        let why = format!(
            "no single neuron rules them out, and at most {MAX_TOGETHER} pairs are tried pair by pair, all balls \
             together"
        );
        self.note_obstacle_of_all(&why, &untried);
        for number in 0..self.boxes.len() {
            if self.gives_up() {
                self.note_obstacle_of_all(self.end(), &open);
                break;
            }
            let mut prover = self.prover(&self.boxes[number], campaign);
            self.together(&mut prover, number, &open, campaign, record)?;
            self.proven.nodes += prover.nodes();
            self.keep_refuted(number, &mut open);
        }
        self.conclude(&open);
        Ok(())
    }

    /// Of open pairs those that are impossible in a box: one that is possible there is no more asked
    /// about.
    fn keep_refuted(&self, number: usize, open: &mut [BitSet]) {
        for PairGroup {
            group,
            pairs,
            sizes,
        } in self.pair_groups()
        {
            let open = &mut open[group];
            *open = self
                .facts
                .refuted_pairs_in(number, pairs, group, sizes, open);
        }
    }

    /// Enters the pairs that are impossible everywhere.
    fn conclude(&mut self, open: &[BitSet]) {
        for PairGroup {
            group,
            pairs,
            sizes,
        } in self.pair_groups()
        {
            let refuted = self.facts.refuted_pairs(pairs, group, sizes, &open[group]);
            for slot in refuted.iter() {
                self.refute(at(group, slot));
            }
        }
    }

    /// Tries pairs that no single neuron rules out in a box.
    fn together(
        &mut self,
        prover: &mut RegionProver<'_>,
        number: usize,
        open: &[BitSet],
        campaign: &mut Campaign,
        record: &mut Recorder<'_>,
    ) -> Result<(), Error> {
        let mut asked = Vec::new();
        for PairGroup {
            group,
            pairs,
            sizes,
        } in self.pair_groups()
        {
            let open = &open[group];
            let decided = self
                .facts
                .refuted_pairs_in(number, pairs, group, sizes, open);
            let left = open.iter().filter(|&slot| !decided.contains(slot));
            asked.extend(left.map(|slot| (group, slot)));
        }
        for (number, part) in asked.chunks(TOGETHER).enumerate() {
            if self.is_over() {
                let left = &asked[number * TOGETHER..];
                self.note_obstacle(
                    self.end(),
                    left.iter().map(|&(group, slot)| at(group, slot)),
                );
                break;
            }
            let is_open = |&&(group, slot): &&(usize, usize)| {
                campaign.ledger().uncovered()[group].contains(slot)
            };
            let questions = part.iter().filter(is_open).filter_map(|&(group, slot)| {
                let pairs = self.stage.family.pairs(group)?;
                let (i, j) = pairs.neurons(group, slot);
                let before = self.stage.network.layers()[pairs.layers(group).0].neurons();
                let kept = (0..before).filter(|&n| pairs.slot(group, n, j).is_some());
                let kept: Vec<usize> = kept.filter(|&n| n != i).collect();
                let requirement = Requirement {
                    name: None,
                    quantifier: Quantifier::Exists,
                    inputs: Inputs::Two,
                    formula: pairs.requirement(group, slot).formula_about(&kept),
                };
                Some((at(group, slot), requirement))
            });
            let questions: Vec<AskedRequirement> = questions.collect();
            self.jointly(prover, &questions, campaign, record)?;
        }
        Ok(())
    }

    /// The groups of pairs.
    fn pair_groups(&self) -> Vec<PairGroup<'a>> {
        let (network, family) = (self.stage.network, self.stage.family);
        let neurons = |layer: usize| network.layers()[layer].neurons();
        let of_group = |group: usize| {
            let pairs = family.pairs(group)?;
            let (before, layer) = pairs.layers(group);
            let sizes = (neurons(before), neurons(layer));
            Some(PairGroup {
                group,
                pairs,
                sizes,
            })
        };
        (0..family.groups().len()).filter_map(of_group).collect()
    }

    /// The neurons of open pairs, by layer and by how they have to change.
    fn changing(&self, open: &[BitSet]) -> Vec<(usize, Change, BitSet)> {
        let mut all: Vec<(usize, Change, BitSet)> = Vec::new();
        for PairGroup {
            group,
            pairs,
            sizes,
        } in self.pair_groups()
        {
            let (condition, decision) = pairs.changes();
            let (mut conditions, mut decisions) = (BitSet::new(sizes.0), BitSet::new(sizes.1));
            pairs.each_pair(group, &open[group], &mut |_, (i, j)| {
                conditions.insert(i);
                decisions.insert(j);
            });
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

    /// Asks which neurons cannot change. What was in the way of it.
    fn cannot_change(
        &mut self,
        prover: &mut RegionProver<'_>,
        layer: usize,
        change: Change,
        neurons: &BitSet,
        campaign: &mut Campaign,
        record: &mut Recorder<'_>,
    ) -> Result<BTreeSet<String>, Error> {
        if self.gives_up() {
            return Ok(BTreeSet::from([self.end().to_owned()]));
        }
        let ranges = prover.ranges(layer);
        let asked: Vec<(Option<Slot>, Requirement)> = neurons
            .iter()
            .flat_map(|neuron| questions(layer, neuron, change, ranges[neuron]))
            .map(|requirement| (None, requirement))
            .collect();
        self.said.clear();
        for part in asked.chunks(NEURONS) {
            let limits = self.full(part.len());
            let question = Question {
                asked: part,
                how: How::Apart(&limits),
            };
            if self.is_over() || !self.consult(prover, &question, campaign, record)? {
                self.said.insert(self.end().to_owned());
                break;
            }
        }
        Ok(std::mem::take(&mut self.said))
    }

    /// Notes what is in the way of open pairs that depend on neurons of a layer.
    fn hinder(&mut self, why: &str, layer: usize, open: &[BitSet]) {
        let family = self.stage.family;
        let depends = |(group, set): (usize, &BitSet)| {
            let layers = family.pairs(group).map(|pairs| pairs.layers(group));
            match layers {
                Some((before, after)) if before == layer || after == layer => set.clone(),
                _ => BitSet::new(set.len()),
            }
        };
        let sets: Vec<BitSet> = open.iter().enumerate().map(depends).collect();
        self.note_obstacle_of_all(why, &sets);
    }
}

/// All slots of sets, group by group.
fn slots(sets: &[BitSet]) -> impl Iterator<Item = Slot> + '_ {
    let groups = sets.iter().enumerate();
    groups.flat_map(|(group, set)| set.iter().map(move |slot| at(group, slot)))
}

/// Keeps the first so many slots; the others.
fn keep_first(open: &mut [BitSet], maximum: usize) -> Vec<BitSet> {
    let mut others = open.to_vec();
    for slot in slots(open).take(maximum) {
        others[slot.group as usize].remove(slot.slot as usize);
    }
    for (open, others) in open.iter_mut().zip(&others) {
        *open = open.without(others);
    }
    others
}

/// What must be impossible for a neuron not to change, as far as the range of its values seen leaves
/// that open.
fn questions(layer: usize, neuron: usize, change: Change, range: [f32; 2]) -> Vec<Requirement> {
    let contrasts = change.contrasts();
    contrasts
        .flat_map(|contrast| conditions(contrast, range))
        .map(|(relation, end)| {
            let mut linear = Linear::variable(Var::u(Input::First, layer + 2, neuron));
            linear.constant = 0.0 - end;
            exists(Comparison { linear, relation })
        })
        .collect()
}

/// Which ends u must not reach for a neuron never to show what is asked of it.
fn conditions(contrast: Contrast, [low, high]: [f32; 2]) -> Vec<(Relation, f64)> {
    let (low, high) = (f64::from(low), f64::from(high));
    match contrast {
        Contrast::SignChanges if low >= 0.0 => vec![(Relation::Lt, 0.0)],
        Contrast::SignChanges if high < 0.0 => vec![(Relation::Ge, 0.0)],
        // Any input together with itself shows that a sign stays.
        Contrast::SignChanges | Contrast::SignStays => Vec::new(),
        Contrast::Grows(factor) => {
            // As much room on either side, as factors.
            let room = |least: f64, maximum: f64| (0.999 * factor * least / maximum).sqrt();
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
            vec![(Relation::Le, below), (Relation::Ge, above)]
        }
    }
}
