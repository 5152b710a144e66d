//! Boundary criteria: neurons driven beyond what the profile data drove them to.

use deepconcolic_language::{Formula, Input, Linear, Relation, Var};
use deepconcolic_network::bits;

use super::criterion::{Criterion, Family, Setting};
use super::neuron::{Asked, At, NeuronFamily, Rule};
use super::profile::Profile;

/// Neuron boundary coverage: above the largest and below the smallest value of the profile.
pub struct Nbc;

/// Strong neuron activation coverage: above the largest value of the profile.
pub struct Snac;

impl Criterion for Nbc {
    fn name(&self) -> &'static str {
        "nbc"
    }

    fn definition(&self) -> &'static str {
        "two per hidden neuron: some test has u > h; some test has u < l; h and l are the largest \
         and smallest u on the profile data"
    }

    fn needs_profile(&self) -> bool {
        true
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let both = Both(required(setting)?.clone());
        Ok(Box::new(NeuronFamily::new(setting, both)?))
    }
}

impl Criterion for Snac {
    fn name(&self) -> &'static str {
        "snac"
    }

    fn definition(&self) -> &'static str {
        "per hidden neuron: some test has u > h, the largest u on the profile data"
    }

    fn needs_profile(&self) -> bool {
        true
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let upper = Upper(required(setting)?.clone());
        Ok(Box::new(NeuronFamily::new(setting, upper)?))
    }
}

/// The profile that a criterion cannot do without.
pub(super) fn required<'a>(setting: &Setting<'a>) -> Result<&'a Profile, String> {
    match setting.profile {
        Some(profile) if profile.samples() > 0 => Ok(profile),
        _ => Err("it compares with bounds seen in data; give --profile".into()),
    }
}

/// `u > bound`, or `u < bound`.
fn beyond(layer: usize, neuron: usize, bound: f32, relation: Relation) -> Formula {
    let mut u = Linear::variable(Var::u(Input::First, layer + 2, neuron));
    u.constant = -f64::from(bound);
    Formula::compare(u, relation)
}

struct Upper(Profile);

impl Rule for Upper {
    fn excess(&self, at: Asked, u: f32, _: f32) -> (f32, f32) {
        (u - self.0.layer(at.layer).high[at.neuron], 1.0)
    }

    fn mark(&self, At { layer, first, .. }: At, u: &[f32], covered: &mut [u64]) {
        let high = &self.0.layer(layer).high[first..];
        for ((word, u), high) in covered.iter_mut().zip(u.chunks(64)).zip(high.chunks(64)) {
            let high = &high[..u.len()];
            *word |= bits::larger(u, high);
        }
    }

    fn formula(&self, layer: usize, neuron: usize, _: usize) -> Result<Formula, String> {
        let high = self.0.layer(layer).high[neuron];
        Ok(beyond(layer, neuron, high, Relation::Gt))
    }
}

struct Both(Profile);

impl Rule for Both {
    fn excess(&self, at: Asked, u: f32, _: f32) -> (f32, f32) {
        let profile = self.0.layer(at.layer);
        match at.part {
            0 => (u - profile.high[at.neuron], 1.0),
            _ => (profile.low[at.neuron] - u, -1.0),
        }
    }

    fn each(&self) -> usize {
        2
    }

    fn mark(&self, At { layer, first, .. }: At, u: &[f32], covered: &mut [u64]) {
        let profile = self.0.layer(layer);
        let (low, high) = (&profile.low[first..], &profile.high[first..]);
        for (block, u) in u.chunks(64).enumerate() {
            let at = block * 64;
            let above = bits::larger(u, &high[at..at + u.len()]);
            let below = bits::larger(&low[at..at + u.len()], u);
            covered[2 * block] |= interleave(above as u32, below as u32);
            if let Some(word) = covered.get_mut(2 * block + 1) {
                *word |= interleave((above >> 32) as u32, (below >> 32) as u32);
            }
        }
    }

    fn part_name(&self, _: usize, _: usize, part: usize) -> String {
        if part == 0 { "upper" } else { "lower" }.into()
    }

    fn formula(&self, layer: usize, neuron: usize, part: usize) -> Result<Formula, String> {
        let profile = self.0.layer(layer);
        Ok(match part {
            0 => beyond(layer, neuron, profile.high[neuron], Relation::Gt),
            _ => beyond(layer, neuron, profile.low[neuron], Relation::Lt),
        })
    }
}

/// Bits of `even` at even places, of `odd` at odd ones.
fn interleave(even: u32, odd: u32) -> u64 {
    fn spread(bits: u32) -> u64 {
        let mut x = u64::from(bits);
        x = (x | x << 16) & 0x0000_ffff_0000_ffff;
        x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
        x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        x = (x | x << 2) & 0x3333_3333_3333_3333;
        (x | x << 1) & 0x5555_5555_5555_5555
    }
    spread(even) | spread(odd) << 1
}

#[cfg(test)]
mod tests {
    use super::interleave;

    #[test]
    fn interleaving_alternates_bits() {
        assert_eq!(interleave(u32::MAX, 0), 0x5555_5555_5555_5555);
        assert_eq!(interleave(0, u32::MAX), 0xaaaa_aaaa_aaaa_aaaa);
        for bit in 0..32 {
            assert_eq!(interleave(1 << bit, 0), 1 << (2 * bit));
            assert_eq!(interleave(0, 1 << bit), 1 << (2 * bit + 1));
        }
    }
}
