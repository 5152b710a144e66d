//! Families with so many requirements for each neuron, measured one layer at a time: what nc, nbc,
//! snac, kmnc and tknc share.

use std::ops::Range;

use deepconcolic_language::{Formula, Inputs, Quantifier, Requirement};
use deepconcolic_network::{BitSet, Point, Seed, Trace, ones, vectorised};
use rayon::prelude::*;

use super::criterion::{Family, Group, NO_LAYER, Setting, Tally};
use super::guide::{Clearance, Guide, SampleView};
use super::sections::Sections;

/// Which neurons are being judged, and by what.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub layer: usize,
    /// The first of the neurons.
    pub first: usize,
    /// The sample's [`Rule::bar`].
    pub bar: f32,
}

/// One requirement: which neuron, and what of it.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub layer: usize,
    pub neuron: usize,
    pub part: usize,
}

/// Neighbours to beat.
#[derive(Clone, Copy)]
pub(super) struct Rivals {
    /// For a neuron outside the top.
    pub outside: usize,
    /// For one inside; none when everybody is.
    pub inside: Option<usize>,
}

impl Rivals {
    /// The one a value is measured against.
    fn of(self, value: f32, values: &[f32]) -> Option<usize> {
        if value >= values[self.outside] {
            self.inside
        } else {
            Some(self.outside)
        }
    }
}

/// Neurons that [`Rule::only_parts`] looks at together, and what it says of one that meets no part.
pub(super) const LANES: usize = 64;
pub(super) const NONE: i32 = -1;

/// Tests one layer's neurons.
pub(super) trait Rule: Send + Sync {
    /// Requirements for each neuron: slot `neuron * each + part`.
    fn each(&self) -> usize {
        1
    }

    /// Which side of the activation it looks at.
    fn point(&self, layer: usize) -> Point {
        Point::Pre(layer)
    }

    /// What its neurons are judged by that only the whole layer of a sample can tell.
    fn bar(&self, _values: &[f32]) -> f32 {
        0.0
    }

    /// Which tensor a search moves to change a neuron's value.
    fn lever(&self, layer: usize) -> Point {
        self.point(layer)
    }

    /// The neighbours that a neuron is compared with, for rules that compare: the one to beat for
    /// those that do not yet meet the rule, and for those that do.
    fn rivals(&self, _values: &[f32]) -> Option<Rivals> {
        None
    }

    /// The sections that its slots ask about, for a rule that asks where in a range a value lies.
    fn sections(&self, _layer: usize) -> Option<Sections<'_>> {
        None
    }

    /// How far a neuron is beyond what is asked of it (below 0: short of it), and whether that
    /// grows or falls with its value: 1 or -1. A rule with rivals is given the value to beat.
    fn excess(&self, at: Asked, value: f32, rival: f32) -> (f32, f32);

    /// Marks what one sample covers among the neurons `first..first + values.len()` of a layer;
    /// `first` is a multiple of 64 and `covered` begins at that neuron's first slot.
    fn mark(&self, at: At, values: &[f32], covered: &mut [u64]);

    /// For a rule of which a neuron meets at most one part at a time: the part that each of up to [`LANES`] neurons meets,
    /// or [`NONE`]. Says whether this is such a rule.
    fn only_parts(&self, _: At, _values: &[f32], _parts: &mut [i32; LANES]) -> bool {
        false
    }

    /// Marks what several samples cover among the same neurons, at most [`MAX_BLOCK`] of them.
    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for wide vectors"
    )]
    #[inline(always)]
    fn mark_samples<'v>(
        &self,
        samples: impl Iterator<Item = (At, &'v [f32])>,
        covered: &mut [u64],
    ) {
        for (at, values) in samples {
            self.mark(at, values, covered);
        }
    }

    /// Which slots of a selected neuron are requirements: the first so many.
    fn required_of(&self, _layer: usize, _neuron: usize) -> usize {
        self.each()
    }

    /// What is asked of the neuron, for a label; empty if there is but one thing.
    fn part_name(&self, _layer: usize, _neuron: usize, _part: usize) -> String {
        String::new()
    }

    /// The condition on one input.
    fn formula(&self, layer: usize, neuron: usize, part: usize) -> Result<Formula, String>;

    /// What the user should know.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A rule applied to the selected neurons of a network.
pub(super) struct NeuronFamily<R> {
    rule: R,
    groups: Vec<Group>,
    names: Vec<String>,
    layers: Vec<usize>,
}

impl<R: Rule> NeuronFamily<R> {
    pub fn new(setting: &Setting<'_>, rule: R) -> Result<Self, String> {
        let layers: Vec<usize> = setting.selection.layers().collect();
        if layers.is_empty() {
            return Err(NO_LAYER.into());
        }
        let each = rule.each();
        let mut groups = Vec::new();
        for &layer in &layers {
            let neurons = setting.network.layers()[layer].neurons();
            // Slots are numbered in 32 bits.
            let slots = neurons.saturating_mul(each);
            if u32::try_from(slots).is_err() {
                let name = setting.network.layers()[layer].name();
                return Err(format!(
                    "{slots} requirements on the {neurons} neurons of layer `{name}` are more than can be told apart; \
                     choose --layers, or fewer --sections"
                ));
            }
            let mut group = Group::full(Some(layer), slots);
            for neuron in 0..neurons {
                let required = if setting.selection.has(layer, neuron) {
                    rule.required_of(layer, neuron)
                } else {
                    0
                };
                for part in required..each {
                    group.not_required.insert(neuron * each + part);
                }
            }
            groups.push(group);
        }
        Ok(Self {
            names: layers
                .iter()
                .map(|&l| setting.network.layers()[l].name().to_owned())
                .collect(),
            rule,
            groups,
            layers,
        })
    }
}

impl<R: Rule> NeuronFamily<R> {
    /// With the logits for one more layer, if the parameters ask for it.
    pub fn and_logits(mut self, setting: &Setting<'_>) -> Self {
        if setting.parameters.with_logits {
            let slots = setting.network.elements(Point::Logits) * self.rule.each();
            self.groups.push(Group::full(None, slots));
            self.names.push("output".into());
            self.layers.push(setting.network.layers().len());
        }
        self
    }

    /// The tensor a group is judged by; the logits have no activation.
    fn point(&self, group: usize) -> Point {
        match self.groups[group].layer {
            Some(layer) => self.rule.point(layer),
            None => Point::Logits,
        }
    }
}

impl<R: Rule> Family for NeuronFamily<R> {
    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn label(&self, group: usize, slot: usize) -> String {
        let (neuron, part) = (slot / self.rule.each(), slot % self.rule.each());
        let part = self.rule.part_name(self.layers[group], neuron, part);
        let space = if part.is_empty() { "" } else { " " };
        format!("{}:{neuron}{space}{part}", self.names[group])
    }

    fn requirement(&self, group: usize, slot: usize) -> Result<Requirement, String> {
        let (neuron, part) = (slot / self.rule.each(), slot % self.rule.each());
        Ok(Requirement {
            name: None,
            quantifier: Quantifier::Exists,
            inputs: Inputs::One,
            formula: self.rule.formula(self.layers[group], neuron, part)?,
        })
    }

    fn points(&self) -> Vec<Point> {
        (0..self.groups.len()).map(|g| self.point(g)).collect()
    }

    fn tally(&self) -> Box<dyn Tally + '_> {
        let covered = self.groups.iter().map(|g| BitSet::new(g.slots())).collect();
        Box::new(NeuronTally {
            family: self,
            covered,
            bars: Vec::new(),
        })
    }

    fn guide(&self) -> Result<&dyn Guide, String> {
        Ok(self)
    }

    fn notes(&self) -> Vec<String> {
        self.rule.notes()
    }
}

/// What one sample's layer looks like to a rule.
struct Sight<'a, R> {
    rule: &'a R,
    layer: usize,
    values: &'a [f32],
    rivals: Option<Rivals>,
}

impl<R: Rule> Sight<'_, R> {
    /// The slot of every neuron that meets one, for a rule of which no neuron meets two; says whether it is such a rule.
    /// What is met is looked up one by one: with many parts a neuron, marking it would take more words than neurons.
    fn each_part(&self, met: &mut impl FnMut(usize)) -> bool {
        let (layer, each) = (self.layer, self.rule.each());
        let mut parts = [NONE; LANES];
        for (block, values) in self.values.chunks(LANES).enumerate() {
            let first = block * LANES;
            let bar = 0.0;
            let at = At { layer, first, bar };
            let is_such = vectorised(
                #[inline(always)]
                || self.rule.only_parts(at, values, &mut parts),
            );
            if !is_such {
                return false;
            }
            for (neuron, &part) in (first..).zip(&parts[..values.len()]) {
                if part != NONE {
                    met(neuron * each + part as usize);
                }
            }
        }
        true
    }

    /// The excess of a slot, its direction, and the neighbour it depends on too.
    fn excess(&self, slot: usize) -> (f32, f32, Option<usize>) {
        let each = self.rule.each();
        let (neuron, part) = (slot / each, slot % each);
        let layer = self.layer;
        let value = self.values[neuron];
        let rival = self.rivals.and_then(|rivals| rivals.of(value, self.values));
        let bar = rival.map_or(f32::NEG_INFINITY, |rival| self.values[rival]);
        let asked = Asked {
            layer,
            neuron,
            part,
        };
        let (excess, direction) = self.rule.excess(asked, value, bar);
        (excess, direction, rival)
    }
}

impl<R: Rule> NeuronFamily<R> {
    fn sight<'a>(&'a self, look: SampleView<'a>, group: usize) -> Sight<'a, R> {
        let values = look.at(self.point(group));
        Sight {
            rule: &self.rule,
            layer: self.layers[group],
            values,
            rivals: self.rule.rivals(values),
        }
    }

    fn lever(&self, group: usize) -> Point {
        match self.groups[group].layer {
            Some(layer) => self.rule.lever(layer),
            None => Point::Logits,
        }
    }
}

impl<R: Rule> Guide for NeuronFamily<R> {
    fn met(
        &self,
        look: SampleView<'_>,
        among: &[BitSet],
        clearance: Clearance,
        into: &mut dyn FnMut(usize, usize),
    ) {
        for (group, among) in among.iter().enumerate() {
            let sight = self.sight(look, group);
            let margin = look.means.margin(sight.layer + 2) as f32;
            let mut clear = |slot: usize| {
                if clearance == Clearance::Exact || sight.excess(slot).0 >= margin {
                    into(group, slot);
                }
            };
            if sight.each_part(&mut |slot| {
                if among.contains(slot) {
                    clear(slot);
                }
            }) {
                continue;
            }
            let bar = self.rule.bar(sight.values);
            let size = block(self.rule.each());
            let mut words = vec![0u64; size / 64 * self.rule.each()];
            for (block, values) in sight.values.chunks(size).enumerate() {
                let first = block * size;
                let at = At {
                    layer: sight.layer,
                    first,
                    bar,
                };
                let start = first / 64 * self.rule.each();
                let wanted = &among.words()[start..];
                if wanted.iter().take(words.len()).all(|&w| w == 0) {
                    continue;
                }
                words.fill(0);
                vectorised(
                    #[inline(always)]
                    || self.rule.mark(at, values, &mut words),
                );
                for (word, wanted) in words.iter_mut().zip(wanted) {
                    *word &= wanted;
                }
                for bit in ones(&words) {
                    clear(start * 64 + bit);
                }
            }
        }
    }

    fn sections(&self, group: usize) -> Option<(Point, Sections<'_>)> {
        let layer = self.groups[group].layer?;
        Some((self.point(group), self.rule.sections(layer)?))
    }

    fn values(&self, look: SampleView<'_>, group: usize, slots: &[u32], out: &mut Vec<f32>) {
        let sight = self.sight(look, group);
        let scale = look.means.scale(sight.layer + 2) as f32;
        out.extend(
            slots
                .iter()
                .map(|&slot| sight.excess(slot as usize).0 / scale),
        );
    }

    fn pull(
        &self,
        look: SampleView<'_>,
        group: usize,
        slots: &[u32],
        enough: f32,
        seeds: &mut Vec<Seed<f32>>,
    ) -> f64 {
        let sight = self.sight(look, group);
        let weight = 1.0 / look.means.scale(sight.layer + 2) as f32;
        let point = self.lever(group);
        let seed = |element, weight| Seed {
            point,
            element,
            weight,
        };
        let mut total = 0.0;
        for &slot in slots {
            let (excess, direction, rival) = sight.excess(slot as usize);
            let value = excess * weight;
            total += f64::from(value.min(enough));
            if value < enough {
                let neuron = slot as usize / self.rule.each();
                seeds.push(seed(neuron, direction * weight));
                seeds.extend(rival.map(|rival| seed(rival, -direction * weight)));
            }
        }
        total
    }
}

struct NeuronTally<'a, R> {
    family: &'a NeuronFamily<R>,
    covered: Vec<BitSet>,
    /// Of each sample of the part that is being observed, its [`Rule::bar`].
    bars: Vec<f32>,
}

/// Neurons handled at a time, a multiple of 64: their state (16 KiB at most) stays in the nearest
/// cache while samples stream past, and no two threads share a word.
fn block(each: usize) -> usize {
    const BITS: usize = 1 << 17;
    (BITS / each.max(1) / 64 * 64).clamp(64, MAX_BLOCK)
}

/// Most neurons that are handled at a time.
pub(super) const MAX_BLOCK: usize = 1024;

impl<R: Rule> NeuronTally<'_, R> {
    fn neurons_of(&self, group: usize) -> usize {
        self.family.groups[group].slots() / self.family.rule.each().max(1)
    }
}

impl<R: Rule> Tally for NeuronTally<'_, R> {
    fn observe(&mut self, trace: &Trace<f32>) {
        for part in 0..self.parts() {
            self.observe_part(trace, part);
        }
    }

    fn parts(&self) -> usize {
        self.covered.len()
    }

    fn observe_part(&mut self, trace: &Trace<f32>, group: usize) {
        let neurons = self.neurons_of(group);
        self.observe_neurons(trace, group, 0..neurons);
    }

    fn neurons(&self, group: usize) -> Option<usize> {
        Some(self.neurons_of(group))
    }

    fn observe_neurons(&mut self, trace: &Trace<f32>, group: usize, stretch: Range<usize>) {
        let rule = &self.family.rule;
        let layer = self.family.layers[group];
        let values = trace.get(self.family.point(group));
        let neurons = values.len() / trace.samples().max(1);
        if stretch.start == 0 {
            let bars = values.par_chunks_exact(neurons.max(1));
            self.bars = bars.map(|row| rule.bar(row)).collect();
        }
        let bars = &self.bars;
        let size = block(rule.each());
        let words = size / 64 * rule.each();
        let first_word = stretch.start / 64 * rule.each();
        let end_word = stretch.end.div_ceil(64) * rule.each();
        let covered = self.covered[group].words_mut();
        let end_word = end_word.min(covered.len());
        let blocks = covered[first_word..end_word].par_chunks_mut(words);
        blocks.enumerate().for_each(|(block, covered)| {
            let first = stretch.start + block * size;
            let samples = values.chunks_exact(neurons.max(1)).zip(bars);
            vectorised(
                #[inline(always)]
                || {
                    let samples = samples.map(|(row, &bar)| {
                        let part = &row[first..stretch.end.min(first + size)];
                        (At { layer, first, bar }, part)
                    });
                    rule.mark_samples(samples, covered);
                },
            );
        });
    }

    fn covered(&self) -> &[BitSet] {
        &self.covered
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_geometry::InputSpace;
    use deepconcolic_network::ops::{Dense, Elementwise, Relu};
    use deepconcolic_network::{Network, NetworkBuilder, Pass, Shape};

    use super::*;
    use crate::{ALL, Decision, Parameters, Profile, Selection};

    /// One hidden layer of so many neurons, each with a slope and a bias of its own.
    fn network(neurons: usize) -> Network {
        let (mut builder, input) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
        let slopes = (0..neurons).map(|n| (n * 37 % 101) as f64 / 50.0 - 1.0);
        let biases = (0..neurons).map(|n| (n * 53 % 97) as f64 / 48.0 - 1.0);
        let dense = Dense::new(1, neurons, slopes.collect(), biases.collect()).unwrap();
        let u = builder.add(dense, &[input], "u").unwrap();
        let v = builder.add(Elementwise::new(Relu), &[u], "v").unwrap();
        let last = Dense::new(neurons, 2, vec![1.0; 2 * neurons], vec![0.0; 2]).unwrap();
        let output = builder.add(last, &[v], "y").unwrap();
        builder.finish(&[("y", output)], 0).unwrap()
    }

    #[test]
    fn a_layer_observed_in_stretches_is_the_layer_observed_as_a_whole() {
        let neurons = 2500;
        let network = network(neurons);
        let mut profile = Profile::new(&network);
        let pass = Pass::keep(Profile::points(&network));
        profile.observe(&network.forward(&[-0.5, 0.25], &pass));
        let parameters = Parameters {
            sections: 7,
            ..Parameters::default()
        };
        let setting = Setting {
            network: &network,
            selection: &Selection::everything(&network),
            parameters: &parameters,
            decision: &Decision::shown(&network),
            seeds: &[],
            space: &InputSpace::default(),
            profile: Some(&profile),
        };
        let names = ["nc", "nbc", "snac", "kmnc", "tknc"];
        for criterion in ALL.iter().filter(|c| names.contains(&c.name())) {
            let family = criterion.family(&setting).unwrap();
            let pass = Pass::keep(family.points());
            let trace = network.forward(&[-1.0, -0.2, 0.1, 0.9], &pass);
            let mut whole = family.tally();
            whole.observe(&trace);
            assert!(whole.covered()[0].count() > 0, "{}", criterion.name());
            for size in [64, 1024, 2048, 4096] {
                let mut tally = family.tally();
                assert_eq!(tally.neurons(0), Some(neurons));
                for first in (0..neurons).step_by(size) {
                    tally.observe_neurons(&trace, 0, first..neurons.min(first + size));
                }
                let name = criterion.name();
                assert!(tally.covered() == whole.covered(), "{name}, {size} neurons");
            }
        }
    }
}
