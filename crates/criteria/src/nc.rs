//! Neuron coverage: every neuron active on some test. In the paper's form (u >= 0), with a
//! threshold on the output, and in `DeepXplore`'s scaled form.

use deepconcolic_language::{Formula, Input, Linear, Relation, Requirement, Var};
use deepconcolic_network::{BitSet, Point, Seed, Trace, bits};

use super::criterion::{Criterion, Family, Group, NO_LAYER, Setting, Tally};
use super::guide::{Clearance, Guide, Means, SampleView};
use super::neuron::{Asked, At, NeuronFamily, Rule};

/// The criterion.
pub struct Nc;

impl Criterion for Nc {
    fn name(&self) -> &'static str {
        "nc"
    }

    fn definition(&self) -> &'static str {
        "per hidden neuron: some test has u >= 0 (with --threshold T: v > T; with --scaled: the \
         channel's mean, after scaling the layer's outputs to 0..1, exceeds T)"
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let threshold = setting.parameters.threshold;
        if setting.parameters.scaled {
            return Ok(Box::new(Channels::new(setting, threshold.unwrap_or(0.0))?));
        }
        match threshold {
            Some(threshold) => {
                let family = NeuronFamily::new(setting, Above { threshold })?;
                Ok(Box::new(family.and_logits(setting)))
            }
            None => Ok(Box::new(
                NeuronFamily::new(setting, Active)?.and_logits(setting),
            )),
        }
    }
}

/// u >= 0.
struct Active;

impl Rule for Active {
    fn excess(&self, _: Asked, u: f32, _: f32) -> (f32, f32) {
        (u, 1.0)
    }

    fn mark(&self, _: At, u: &[f32], covered: &mut [u64]) {
        for (word, u) in covered.iter_mut().zip(u.chunks(64)) {
            *word |= bits::reaching(u, 0.0);
        }
    }

    fn formula(&self, layer: usize, neuron: usize, _: usize) -> Result<Formula, String> {
        Ok(Formula::active(Input::First, layer + 2, neuron))
    }
}

/// v above a threshold.
struct Above {
    threshold: f64,
}

impl Rule for Above {
    fn point(&self, layer: usize) -> Point {
        Point::Post(layer)
    }

    /// Activations grow with u, and u has a slope where a Relu's output has none.
    fn lever(&self, layer: usize) -> Point {
        Point::Pre(layer)
    }

    fn excess(&self, _: Asked, v: f32, _: f32) -> (f32, f32) {
        ((f64::from(v) - self.threshold) as f32, 1.0)
    }

    fn mark(&self, _: At, v: &[f32], covered: &mut [u64]) {
        let above = |v: f32| f64::from(v) > self.threshold;
        for (word, bits) in covered.iter_mut().zip(bits::pack(v, above)) {
            *word |= bits;
        }
    }

    fn formula(&self, layer: usize, neuron: usize, _: usize) -> Result<Formula, String> {
        let mut v = Linear::variable(Var::v(Input::First, layer + 2, neuron));
        v.constant = -self.threshold;
        Ok(Formula::compare(v, Relation::Gt))
    }
}

/// `DeepXplore`'s form: one requirement a channel.
struct Channels {
    threshold: f64,
    groups: Vec<Group>,
    names: Vec<String>,
    /// Hidden layer, channels, elements of a channel.
    layers: Vec<(usize, usize, usize)>,
}

impl Channels {
    fn new(setting: &Setting<'_>, threshold: f64) -> Result<Self, String> {
        let mut family = Self {
            threshold,
            groups: Vec::new(),
            names: Vec::new(),
            layers: Vec::new(),
        };
        for layer in setting.selection.layers() {
            let hidden = &setting.network.layers()[layer];
            let shape = hidden.shape();
            // Channels come first in an image tensor; elsewhere every neuron is its own.
            let channels = match shape.without_batch() {
                [channels, _, _] => *channels,
                _ => hidden.neurons(),
            };
            family.groups.push(Group::full(Some(layer), channels));
            family.names.push(hidden.name().to_owned());
            family
                .layers
                .push((layer, channels, hidden.neurons() / channels.max(1)));
        }
        if family.groups.is_empty() {
            return Err(NO_LAYER.into());
        }
        Ok(family)
    }
}

/// What scaling makes of one sample's layer.
struct Scaled<'a> {
    row: &'a [f32],
    /// The smallest and largest outputs.
    low: usize,
    high: usize,
    each: usize,
}

impl<'a> Scaled<'a> {
    fn of(row: &'a [f32], each: usize) -> Self {
        let extreme = |better: fn(f32, f32) -> bool| {
            let all = row.iter().enumerate();
            let best = all.reduce(|best, next| if better(*next.1, *best.1) { next } else { best });
            best.map_or(0, |(at, _)| at)
        };
        Self {
            row,
            low: extreme(|a, b| a < b),
            high: extreme(|a, b| a > b),
            each,
        }
    }

    fn width(&self) -> f64 {
        f64::from(self.row[self.high]) - f64::from(self.row[self.low])
    }

    /// The channel's mean, scaled, minus the threshold; a layer that is constant scales to nothing,
    /// and covers nothing.
    fn excess(&self, channel: usize, threshold: f64) -> f64 {
        let part = &self.row[channel * self.each..(channel + 1) * self.each];
        let mean = part.iter().map(|&v| f64::from(v)).sum::<f64>() / self.each as f64;
        let width = self.width();
        if width > 0.0 {
            (mean - f64::from(self.row[self.low])) / width - threshold
        } else {
            -1.0
        }
    }
}

impl Channels {
    fn scaled<'a>(&self, look: SampleView<'a>, group: usize) -> Scaled<'a> {
        let (layer, _, each) = self.layers[group];
        Scaled::of(look.at(Point::Post(layer)), each)
    }
}

impl Guide for Channels {
    fn met(
        &self,
        look: SampleView<'_>,
        among: &[BitSet],
        clearance: Clearance,
        into: &mut dyn FnMut(usize, usize),
    ) {
        // A scaled value is relative already.
        let margin = match clearance {
            Clearance::Exact => 0.0,
            Clearance::Firm => Means::from_layers(Vec::new()).margin(0),
        };
        for (group, among) in among.iter().enumerate() {
            let scaled = self.scaled(look, group);
            for slot in among.iter() {
                let excess = scaled.excess(slot, self.threshold);
                if excess > 0.0 && excess >= margin {
                    into(group, slot);
                }
            }
        }
    }

    fn values(&self, look: SampleView<'_>, group: usize, slots: &[u32], out: &mut Vec<f32>) {
        let scaled = self.scaled(look, group);
        out.extend(
            slots
                .iter()
                .map(|&slot| scaled.excess(slot as usize, self.threshold) as f32),
        );
    }

    /// Where the smallest and largest outputs stay the same, the mean minus what it must exceed is
    /// linear in the outputs.
    fn pull(
        &self,
        look: SampleView<'_>,
        group: usize,
        slots: &[u32],
        enough: f32,
        seeds: &mut Vec<Seed<f32>>,
    ) -> f64 {
        let scaled = self.scaled(look, group);
        let weight = 1.0 / scaled.width().max(1e-6);
        let point = Point::Pre(self.layers[group].0);
        let mut push = |element, weight: f64| {
            seeds.push(Seed {
                point,
                element,
                weight: weight as f32,
            });
        };
        let mut total = 0.0;
        for &slot in slots {
            let excess = scaled.excess(slot as usize, self.threshold);
            total += excess.min(f64::from(enough));
            if excess < f64::from(enough) {
                let first = slot as usize * scaled.each;
                for element in first..first + scaled.each {
                    push(element, weight / scaled.each as f64);
                }
                push(scaled.low, -weight * (1.0 - self.threshold));
                push(scaled.high, -weight * self.threshold);
            }
        }
        total
    }
}

impl Family for Channels {
    fn guide(&self) -> Result<&dyn Guide, String> {
        Ok(self)
    }

    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn label(&self, group: usize, slot: usize) -> String {
        format!("{}:channel {slot}", self.names[group])
    }

    fn requirement(&self, _: usize, _: usize) -> Result<Requirement, String> {
        Err(
            "scaling divides by the range of the layer's outputs on the test, which is not linear"
                .into(),
        )
    }

    fn points(&self) -> Vec<Point> {
        self.layers
            .iter()
            .map(|(layer, _, _)| Point::Post(*layer))
            .collect()
    }

    fn tally(&self) -> Box<dyn Tally + '_> {
        let covered = self.groups.iter().map(|g| BitSet::new(g.slots())).collect();
        Box::new(ChannelTally {
            family: self,
            covered,
        })
    }
}

struct ChannelTally<'a> {
    family: &'a Channels,
    covered: Vec<BitSet>,
}

impl Tally for ChannelTally<'_> {
    fn observe(&mut self, trace: &Trace<f32>) {
        for (covered, (layer, channels, each)) in self.covered.iter_mut().zip(&self.family.layers) {
            for row in trace
                .get(Point::Post(*layer))
                .chunks_exact((channels * each).max(1))
            {
                let scaled = Scaled::of(row, *each);
                for channel in 0..*channels {
                    if scaled.excess(channel, self.family.threshold) > 0.0 {
                        covered.insert(channel);
                    }
                }
            }
        }
    }

    fn covered(&self) -> &[BitSet] {
        &self.covered
    }
}
