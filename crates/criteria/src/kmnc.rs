//! K-multisection neuron coverage: every section of a neuron's profiled range visited.
#![expect(
    clippy::float_cmp,
    reason = "ends of a range are stored numbers, equal or not to the bit"
)]

use deepconcolic_language::{Formula, Input, Linear, Relation, Var};

use super::boundary::required;
use super::criterion::{Criterion, Family, Setting};
use super::neuron::{Asked, At, NeuronFamily, Rule};
use super::profile::{LayerProfile, Profile};

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
            Sections {
                scales: scales.collect(),
                still: still.sum(),
                count: sections,
                profile: profile.clone(),
            },
        )?))
    }
}

struct Sections {
    profile: Profile,
    count: usize,
    /// By layer and neuron: sections per unit of u.
    scales: Vec<Vec<f32>>,
    /// Neurons that never moved on the profile data.
    still: usize,
}

/// Where section `s` begins; `s = count` is the upper end.
fn edge(profile: &LayerProfile, neuron: usize, count: usize, s: usize) -> f64 {
    let (low, high) = (
        f64::from(profile.low[neuron]),
        f64::from(profile.high[neuron]),
    );
    if s == count {
        high
    } else {
        low + (high - low) * (s as f64 / count as f64)
    }
}

/// The section a value falls into, if it is in range.
fn section(profile: &LayerProfile, neuron: usize, count: usize, u: f32) -> Option<usize> {
    let (low, high) = (profile.low[neuron], profile.high[neuron]);
    if !(low <= u && u <= high) {
        return None;
    }
    if low == high {
        return Some(0);
    }
    let value = f64::from(u);
    let part = (value - f64::from(low)) / (f64::from(high) - f64::from(low));
    // The quotient may round across an edge; the edges decide.
    let mut s = ((part * count as f64) as usize).min(count - 1);
    while s > 0 && value < edge(profile, neuron, count, s) {
        s -= 1;
    }
    while s + 1 < count && value >= edge(profile, neuron, count, s + 1) {
        s += 1;
    }
    Some(s)
}

impl Rule for Sections {
    fn excess(&self, at: Asked, u: f32, _: f32) -> (f32, f32) {
        let profile = self.profile.layer(at.layer);
        let edge = |s| edge(profile, at.neuron, self.count, s);
        let u = f64::from(u);
        let (above, below) = (u - edge(at.part), edge(at.part + 1) - u);
        if above < below {
            (above as f32, 1.0)
        } else {
            (below as f32, -1.0)
        }
    }

    fn each(&self) -> usize {
        self.count
    }

    /// In two steps: where each value lies, in single precision and without branches; then its bit.
    /// Whatever lies too near an edge for single precision is looked at exactly.
    #[inline(always)]
    fn mark(&self, At { layer, first, .. }: At, u: &[f32], covered: &mut [u64]) {
        const SURE: f32 = 1e-3;
        const SHIFT: f32 = 8_388_608.0;
        const OUTSIDE: i32 = -1;
        const LOOK: i32 = -2;
        let profile = self.profile.layer(layer);
        let scales = &self.scales[layer];
        let last = self.count as i32 - 1;
        for (block, u) in u.chunks(64).enumerate() {
            let start = first + block * 64;
            let ends = profile.low[start..].iter().zip(&profile.high[start..]);
            // A section, or what the exact look must decide.
            let mut sections = [LOOK; 64];
            for (((s, &u), (&low, &high)), &scale) in
                sections.iter_mut().zip(u).zip(ends).zip(&scales[start..])
            {
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
                *s = if low <= u && u <= high {
                    inside
                } else {
                    OUTSIDE
                };
            }
            for (i, &s) in sections[..u.len()].iter().enumerate() {
                let s = match s {
                    OUTSIDE => continue,
                    LOOK => section(profile, start + i, self.count, u[i]).unwrap_or(0),
                    s => s as usize,
                };
                let slot = (block * 64 + i) * self.count + s;
                covered[slot / 64] |= 1 << (slot % 64);
            }
        }
    }

    fn is_void(&self, layer: usize, neuron: usize, part: usize) -> bool {
        let profile = self.profile.layer(layer);
        part > 0 && profile.low[neuron] == profile.high[neuron]
    }

    fn part_name(&self, _: usize, _: usize, part: usize) -> String {
        format!("section {part}")
    }

    fn formula(&self, layer: usize, neuron: usize, part: usize) -> Result<Formula, String> {
        let profile = self.profile.layer(layer);
        let against = |s: usize, relation: Relation| {
            let mut u = Linear::variable(Var::u(Input::First, layer + 2, neuron));
            u.constant = -edge(profile, neuron, self.count, s);
            Formula::compare(u, relation)
        };
        let one = profile.low[neuron] == profile.high[neuron];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_decide_where_the_quotient_rounds() {
        let network = deepconcolic_testing::network(deepconcolic_testing::Family::Relu, 0);
        let parts = network.layers().iter().map(|l| {
            let n = l.neurons();
            (vec![-0.3; n], vec![0.7; n], 1.0)
        });
        let profile = Profile::from_parts(&network, 1, parts.collect()).unwrap();
        let layer = profile.layer(0);
        for count in [1, 3, 10, 1000] {
            for step in 0..=5000 {
                let u = -0.3f32 + step as f32 * 2e-4;
                let Some(s) = section(layer, 0, count, u) else {
                    assert!(u > 0.7);
                    continue;
                };
                let value = f64::from(u);
                assert!(edge(layer, 0, count, s) <= value);
                let end = edge(layer, 0, count, s + 1);
                assert!(
                    value < end || (s + 1 == count && value <= end),
                    "{value} {s}"
                );
            }
        }
    }
}
