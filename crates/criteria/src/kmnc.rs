//! K-multisection neuron coverage: every section of a neuron's profiled range visited.
#![expect(
    clippy::float_cmp,
    reason = "ends of a range are stored numbers, equal or not to the bit"
)]
#![expect(
    clippy::inline_always,
    reason = "it must be compiled inside `vectorised`"
)]

use deepconcolic_language::{Formula, Input, Linear, Relation, Var};

use super::boundary::required;
use super::criterion::{Criterion, Family, Setting};
use super::neuron::{Asked, At, LANES, NONE, NeuronFamily, Rule};
use super::profile::{LayerProfile, Profile};
use super::sections::Sections;

/// The criterion.
pub struct Kmnc;

impl Criterion for Kmnc {
    fn name(&self) -> &'static str {
        "kmnc"
    }

    fn definition(&self) -> &'static str {
        "k per hidden neuron (--sections): some test has u in the i-th of k equal sections of the \
         range [l, h] seen on the profile data; sections are closed below, the last on both sides"
    }

    fn needs_profile(&self) -> bool {
        true
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let sections = setting.parameters.sections;
        if sections == 0 {
            return Err("--sections must be at least 1".into());
        }
        let profile = required(setting)?;
        let still = setting.selection.layers().map(|layer| {
            let part = profile.layer(layer);
            let pairs = part.low.iter().zip(&part.high);
            pairs.filter(|(l, h)| l == h).count()
        });
        if sections > 1 << 14 {
            return Err("--sections must be at most 16384".into());
        }
        let scales = (0..setting.network.layers().len()).map(|layer| {
            let part = profile.layer(layer);
            let ends = part.low.iter().zip(&part.high);
            ends.map(|(l, h)| sections as f32 / (h - l)).collect()
        });
        Ok(Box::new(NeuronFamily::new(
            setting,
            InSection {
                scales: scales.collect(),
                still: still.sum(),
                count: sections,
                profile: profile.clone(),
            },
        )?))
    }
}

/// Asks for a value in a section.
struct InSection {
    profile: Profile,
    count: usize,
    /// By layer and neuron: sections per unit of u.
    scales: Vec<Vec<f32>>,
    /// Neurons that never moved on the profile data.
    still: usize,
}

impl InSection {
    /// The section of each of up to [`LANES`] values: in single precision and without branches first. Whatever lies too
    /// near an edge for single precision is looked at exactly.
    #[inline(always)]
    fn locate(&self, At { layer, first, .. }: At, u: &[f32], sections: &mut [i32; LANES]) {
        const SURE: f32 = 1e-3;
        const SHIFT: f32 = 8_388_608.0;
        const LOOK: i32 = -2;
        let exact = self.of_layer(layer);
        let last = self.count as i32 - 1;
        let ends = exact.low[first..].iter().zip(&exact.high[first..]);
        let scales = &self.scales[layer][first..];
        for (((s, &u), (&low, &high)), &scale) in sections.iter_mut().zip(u).zip(ends).zip(scales) {
            let place = (u - low) * scale;
            // Adding 2^23 leaves the nearest whole number in the low bits: a conversion that
            // works on whole vectors. Half below is the floor, but for ties, which are edges.
            let shifted = (place - 0.5) + SHIFT;
            let whole = (shifted.to_bits() & 0x7f_ffff) as i32;
            let rest = place - (shifted - SHIFT);
            let sure = rest > SURE && rest < 1.0 - SURE && whole < last;
            // The ends are common (a dark corner gives every neuron its bias) and certain.
            let inside = if low < u && u < high {
                if sure { whole } else { LOOK }
            } else if u == low {
                0
            } else {
                last
            };
            *s = if low <= u && u <= high { inside } else { NONE };
        }
        for (i, (s, &u)) in sections.iter_mut().zip(u).enumerate() {
            if *s == LOOK {
                *s = exact
                    .of(first + i, u)
                    .map_or(NONE, |section| section as i32);
            }
        }
    }

    fn of_layer(&self, layer: usize) -> Sections<'_> {
        let LayerProfile { low, high, .. } = self.profile.layer(layer);
        Sections {
            low,
            high,
            count: self.count,
        }
    }
}

impl Rule for InSection {
    fn excess(&self, at: Asked, u: f32, _: f32) -> (f32, f32) {
        let sections = self.of_layer(at.layer);
        sections.excess(at.neuron, at.part, u)
    }

    fn sections(&self, layer: usize) -> Option<Sections<'_>> {
        Some(self.of_layer(layer))
    }

    fn each(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn mark(&self, at: At, u: &[f32], covered: &mut [u64]) {
        let mut sections = [NONE; LANES];
        for (block, u) in u.chunks(LANES).enumerate() {
            let first = at.first + block * LANES;
            self.locate(At { first, ..at }, u, &mut sections);
            for (i, &section) in sections[..u.len()].iter().enumerate() {
                if section != NONE {
                    let slot = (block * LANES + i) * self.count + section as usize;
                    covered[slot / 64] |= 1 << (slot % 64);
                }
            }
        }
    }

    #[inline(always)]
    fn only_parts(&self, at: At, u: &[f32], parts: &mut [i32; LANES]) -> bool {
        self.locate(at, u, parts);
        true
    }

    fn required_of(&self, layer: usize, neuron: usize) -> usize {
        let Sections { low, high, count } = self.of_layer(layer);
        if low[neuron] == high[neuron] {
            1
        } else {
            count
        }
    }

    fn part_name(&self, _: usize, _: usize, part: usize) -> String {
        format!("section {part}")
    }

    fn formula(&self, layer: usize, neuron: usize, part: usize) -> Result<Formula, String> {
        let Sections { low, high, .. } = self.of_layer(layer);
        let against = |s: usize, relation: Relation| {
            let mut u = Linear::variable(Var::u(Input::First, layer + 2, neuron));
            u.constant = -self.of_layer(layer).edge(neuron, s);
            Formula::compare(u, relation)
        };
        let one = low[neuron] == high[neuron];
        let last = one || part + 1 == self.count;
        let (end, above) = if last {
            (self.count, Relation::Le)
        } else {
            (part + 1, Relation::Lt)
        };
        Ok(Formula::And(vec![
            against(part, Relation::Ge),
            against(end, above),
        ]))
    }

    fn notes(&self) -> Vec<String> {
        match self.still {
            0 => Vec::new(),
            still => vec![format!(
                "{still} neurons have one value on all profile data; each counts as one section"
            )],
        }
    }
}
