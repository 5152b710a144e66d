//! K-multisection neuron coverage: every section of a neuron's profiled range visited.
#![expect(
    clippy::float_cmp,
    reason = "ends of a range are stored numbers, equal or not to the bit"
)]

use deepconcolic_language::{Formula, Input, Linear, Relation, Var};

use super::boundary::required;
use super::criterion::{Criterion, Family, Setting};
use super::neuron::{Asked, At, LANES, MAX_BLOCK, NONE, NeuronFamily, Rule};
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

/// Of a value: not in the range of its neuron.
const OUTSIDE: i32 = NONE;
/// Of a value: its section must be looked up exactly.
const LOOK: i32 = -2;

/// Asks for a value in a section.
struct InSection {
    profile: Profile,
    count: usize,
    /// By layer and neuron: sections per unit of u.
    scales: Vec<Vec<f32>>,
    /// Neurons that never moved on the profile data.
    still: usize,
}

/// Where up to 64 neurons' ranges lie, and how values are placed in them.
struct Ranges<'a> {
    low: &'a [f32],
    high: &'a [f32],
    scales: &'a [f32],
    /// How near an edge single precision cannot tell on which side a value is.
    near: f32,
    last: i32,
}

impl Ranges<'_> {
    /// Where a value of a neuron lies: a section, [`OUTSIDE`], or [`LOOK`] where single precision is too near an edge.
    /// Without branches, so that it runs on whole vectors.
    #[inline(always)]
    fn section(&self, (low, high, scale): (f32, f32, f32), u: f32) -> i32 {
        // From 2^23 to 2^24 floats are whole numbers, also a little below 3/4 of the way: places below one half.
        const SHIFT: f32 = 12_582_912.0;
        let place = (u - low) * scale;
        // Adding the shift leaves the nearest whole number in the low bits: a conversion that
        // works on whole vectors. Half below is the floor, but for ties, which are edges.
        let shifted = (place - 0.5) + SHIFT;
        let whole = (shifted.to_bits() & 0x3f_ffff) as i32;
        let rest = place - (shifted - SHIFT);
        let sure = rest > self.near && rest < 1.0 - self.near && whole <= self.last;
        // The ends are common (a dark corner gives every neuron its bias) and certain.
        let inside = if low < u && u < high {
            if sure { whole } else { LOOK }
        } else if u == low {
            0
        } else {
            self.last
        };
        if low <= u && u <= high {
            inside
        } else {
            OUTSIDE
        }
    }

    /// The ranges with values beside them.
    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for wide vectors"
    )]
    #[inline(always)]
    fn with<'u>(&self, u: &'u [f32]) -> impl Iterator<Item = ((f32, f32, f32), f32)> + use<'_, 'u> {
        let ends = self.low.iter().zip(self.high).zip(self.scales);
        ends.zip(u)
            .map(|(((&low, &high), &scale), &u)| ((low, high, scale), u))
    }
}

impl InSection {
    /// The ranges of neurons from one on.
    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for wide vectors"
    )]
    #[inline(always)]
    fn ranges(&self, layer: usize, start: usize) -> Ranges<'_> {
        let Sections { low, high, .. } = self.of_layer(layer);
        Ranges {
            low: &low[start..],
            high: &high[start..],
            scales: &self.scales[layer][start..],
            // Four roundings lie between a place and its edges, each of 2^-24 of at most `count`.
            near: (self.count as f32 * 5e-7).max(1e-5),
            last: self.count as i32 - 1,
        }
    }

    /// Where up to 64 values lie, from one neuron on.
    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for wide vectors"
    )]
    #[inline(always)]
    fn sections_of(&self, layer: usize, start: usize, u: &[f32]) -> [i32; 64] {
        let ranges = self.ranges(layer, start);
        let mut sections = [OUTSIDE; 64];
        for (s, (range, u)) in sections.iter_mut().zip(ranges.with(u)) {
            *s = ranges.section(range, u);
        }
        sections
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

/// The sections of neurons, a word each, as bits of one list: `count` for each neuron.
fn put_side_by_side(visited: &[u32], count: usize, bits: &mut [u64]) {
    for (neurons, bits) in visited.chunks(64).zip(bits.chunks_mut(count)) {
        let (mut word, mut filled, mut at) = (0, 0, 0);
        for &sections in neurons {
            let sections = u64::from(sections);
            word |= sections << filled;
            filled += count;
            if filled >= 64 {
                filled -= 64;
                if let Some(bits) = bits.get_mut(at) {
                    *bits |= word;
                }
                at += 1;
                word = sections >> (count - filled);
            }
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

    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for wide vectors"
    )]
    #[inline(always)]
    fn mark(&self, At { layer, first, .. }: At, u: &[f32], covered: &mut [u64]) {
        for (block, u) in u.chunks(64).enumerate() {
            let start = first + block * 64;
            let sections = self.sections_of(layer, start, u);
            for (i, &s) in sections[..u.len()].iter().enumerate() {
                let s = match s {
                    OUTSIDE => continue,
                    LOOK => self.of_layer(layer).of(start + i, u[i]).unwrap_or(0),
                    s => s as usize,
                };
                let slot = (block * 64 + i) * self.count + s;
                covered[slot / 64] |= 1 << (slot % 64);
            }
        }
    }

    /// Where all sections of a neuron fit into a word, they are gathered there, on whole vectors, before they are put
    /// side by side.
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
        if self.count > u32::BITS as usize {
            for (at, u) in samples {
                self.mark(at, u, covered);
            }
            return;
        }
        let mut visited = [0u32; MAX_BLOCK];
        for (At { layer, first, .. }, u) in samples {
            for (block, u) in u.chunks(64).enumerate() {
                let start = first + block * 64;
                let visited = &mut visited[block * 64..][..64];
                let ranges = self.ranges(layer, start);
                let mut lowest = 0;
                for (visited, (range, u)) in visited.iter_mut().zip(ranges.with(u)) {
                    let s = ranges.section(range, u);
                    *visited |= if s >= 0 { 1 << (s & 31) } else { 0 };
                    lowest = s.min(lowest);
                }
                if lowest == LOOK {
                    for (i, (visited, (range, u))) in
                        visited.iter_mut().zip(ranges.with(u)).enumerate()
                    {
                        if ranges.section(range, u) == LOOK {
                            let s = self.of_layer(layer).of(start + i, u).unwrap_or(0);
                            *visited |= 1 << s;
                        }
                    }
                }
            }
        }
        put_side_by_side(&visited, self.count, covered);
    }

    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for wide vectors"
    )]
    #[inline(always)]
    fn only_parts(&self, At { layer, first, .. }: At, u: &[f32], parts: &mut [i32; LANES]) -> bool {
        *parts = self.sections_of(layer, first, u);
        for (i, (part, &u)) in parts.iter_mut().zip(u).enumerate() {
            if *part == LOOK {
                let section = self.of_layer(layer).of(first + i, u);
                *part = section.map_or(NONE, |section| section as i32);
            }
        }
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

#[cfg(test)]
mod tests {
    use deepconcolic_network::ops::{Dense, Elementwise, Relu};
    use deepconcolic_network::{Network, NetworkBuilder, Shape};

    use super::*;

    /// One hidden layer of so many neurons.
    fn network(neurons: usize) -> Network {
        let (mut builder, input) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
        let dense = Dense::new(1, neurons, vec![1.0; neurons], vec![0.0; neurons]).unwrap();
        let u = builder.add(dense, &[input], "u").unwrap();
        let v = builder.add(Elementwise::new(Relu), &[u], "v").unwrap();
        let last = Dense::new(neurons, 2, vec![1.0; 2 * neurons], vec![0.0; 2]).unwrap();
        let output = builder.add(last, &[v], "y").unwrap();
        builder.finish(&[("y", output)], 0).unwrap()
    }

    fn rule(neurons: usize, count: usize) -> InSection {
        let low: Vec<f32> = (0..neurons).map(|n| (n % 7) as f32 * 0.1 - 0.5).collect();
        // Every ninth neuron has one value.
        let width = |n: usize| {
            if n.is_multiple_of(9) {
                0.0
            } else {
                0.3 + n as f32 * 1e-3
            }
        };
        let high: Vec<f32> = (0..neurons).map(|n| low[n] + width(n)).collect();
        let ends = low.iter().zip(&high);
        InSection {
            scales: vec![ends.map(|(l, h)| count as f32 / (h - l)).collect()],
            profile: Profile::from_parts(&network(neurons), 2, vec![(low, high, 1.0)]).unwrap(),
            count,
            still: 0,
        }
    }

    #[test]
    fn samples_together_mark_the_sections_that_each_value_is_in() {
        for (neurons, count) in [(1, 1), (40, 3), (64, 10), (130, 10), (1000, 32), (70, 33)] {
            let rule = rule(neurons, count);
            let Sections { low, high, .. } = rule.of_layer(0);
            // Ends, edges, and values inside and outside of the range.
            let value = |n: usize, step: i32| low[n] + (high[n] - low[n]) * step as f32 / 20.0;
            let samples: Vec<Vec<f32>> = (-2..=22)
                .map(|step| (0..neurons).map(|n| value(n, step)).collect())
                .collect();
            let mut wanted = vec![0u64; (neurons * count).div_ceil(64)];
            for sample in &samples {
                for (n, &u) in sample.iter().enumerate() {
                    if let Some(s) = rule.of_layer(0).of(n, u) {
                        wanted[(n * count + s) / 64] |= 1 << ((n * count + s) % 64);
                    }
                }
            }
            let at = At {
                layer: 0,
                first: 0,
                bar: 0.0,
            };
            let mut marked = vec![0u64; wanted.len()];
            rule.mark_samples(samples.iter().map(|u| (at, u.as_slice())), &mut marked);
            assert_eq!(marked, wanted, "{neurons} neurons, {count} sections");
            let mut one_by_one = vec![0u64; wanted.len()];
            for u in &samples {
                rule.mark(at, u, &mut one_by_one);
            }
            assert_eq!(one_by_one, wanted, "{neurons} neurons, {count} sections");
        }
    }

    #[test]
    fn a_section_that_needs_no_exact_look_is_the_exact_one() {
        let neurons = 64;
        for count in [1, 2, 10, 32, 100, 1000, 16384] {
            let rule = rule(neurons, count);
            let exact = rule.of_layer(0);
            let steps = 997;
            let mut sure = 0;
            for step in 0..=steps {
                // Edges themselves, and values between them.
                let value = |n: usize| match (step + n) % 2 {
                    0 => exact.edge(n, step * count / steps) as f32,
                    _ => exact.low[n] + (exact.high[n] - exact.low[n]) * step as f32 / steps as f32,
                };
                let u: Vec<f32> = (0..neurons).map(value).collect();
                for (n, &s) in rule.sections_of(0, 0, &u).iter().enumerate() {
                    match s {
                        LOOK => {}
                        OUTSIDE => assert_eq!(exact.of(n, u[n]), None),
                        s => {
                            sure += 1;
                            assert_eq!(exact.of(n, u[n]), Some(s as usize), "{count} sections");
                        }
                    }
                }
            }
            assert!(sure > neurons * steps / 3, "{count} sections: {sure} sure");
        }
    }
}
