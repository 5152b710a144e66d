//! Neuron coverage: every neuron active on some test. In the paper's form (u >= 0), with a
//! threshold on the output, and in `DeepXplore`'s scaled form.

use deepconcolic_network::{Point, Trace, bits};

use super::bit_set::BitSet;
use super::criterion::{Criterion, Family, Group, Setting, Tally};
use super::neuron::{At, NeuronFamily, Rule};
use crate::{Formula, Input, Linear, Relation, Requirement, Var};

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
            return Err("the network has no hidden layer to cover".into());
        }
        Ok(family)
    }
}

impl Family for Channels {
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
                let low = row.iter().fold(f32::INFINITY, |m, &v| m.min(v));
                let high = row.iter().fold(f32::NEG_INFINITY, |m, &v| m.max(v));
                let (low, width) = (f64::from(low), f64::from(high) - f64::from(low));
                for (channel, part) in row.chunks_exact((*each).max(1)).enumerate() {
                    let mean = part.iter().map(|&v| f64::from(v)).sum::<f64>() / *each as f64;
                    // A layer that is constant scales to nothing, and covers nothing.
                    if width > 0.0 && (mean - low) / width > self.family.threshold {
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
