//! Top-k neuron coverage: every neuron among the k most active of its layer on some test.

use deepconcolic_language::{Formula, Input, Linear, Relation, Var};
use deepconcolic_network::{Layer, bits};

use super::criterion::{Criterion, Family, Setting};
use super::neuron::{Asked, At, NeuronFamily, Rivals, Rule};

/// The criterion.
pub struct Tknc;

impl Criterion for Tknc {
    fn name(&self) -> &'static str {
        "tknc"
    }

    fn definition(&self) -> &'static str {
        "per hidden neuron: on some test fewer than k neurons of its layer have a larger u (--top)"
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let count = setting.parameters.top;
        if count == 0 {
            return Err("--top must be at least 1".into());
        }
        let sizes = setting.network.layers().iter().map(Layer::neurons);
        let rule = Top {
            count,
            sizes: sizes.collect(),
        };
        Ok(Box::new(NeuronFamily::new(setting, rule)?))
    }
}

struct Top {
    count: usize,
    sizes: Vec<usize>,
}

impl Rule for Top {
    /// The k-th largest, and the one after it.
    fn rivals(&self, values: &[f32]) -> Option<Rivals> {
        let bar = self.bar(values);
        let outside = values.iter().position(|v| v.total_cmp(&bar).is_eq())?;
        let ahead = values.iter().filter(|&&v| v >= bar).count();
        let inside = if ahead > self.count {
            // Several share the last place: they are each other's rivals.
            Some(outside)
        } else {
            let behind = values.iter().enumerate().filter(|(_, v)| **v < bar);
            behind.max_by(|a, b| a.1.total_cmp(b.1)).map(|(i, _)| i)
        };
        Some(Rivals { outside, inside })
    }

    fn excess(&self, _: Asked, u: f32, rival: f32) -> (f32, f32) {
        if rival == f32::NEG_INFINITY {
            (f32::MAX, 1.0)
        } else {
            (u - rival, 1.0)
        }
    }

    /// The k-th largest value: who reaches it has fewer than k larger neighbours.
    fn bar(&self, values: &[f32]) -> f32 {
        let count = self.count.min(values.len());
        // Ascending; a value enters only above the smallest.
        if count == 0 {
            return f32::NEG_INFINITY;
        }
        let mut top = vec![f32::NEG_INFINITY; count];
        for part in values.chunks(64) {
            // Most parts hold nothing that large, and cost one comparison of vectors.
            let mut reaching = bits::reaching(part, top[0]);
            while reaching != 0 {
                let value = part[reaching.trailing_zeros() as usize];
                reaching &= reaching - 1;
                if value > top[0] {
                    let at = top.partition_point(|&t| t < value);
                    top.copy_within(1..at, 0);
                    top[at - 1] = value;
                }
            }
        }
        top[0]
    }

    fn mark(&self, at: At, u: &[f32], covered: &mut [u64]) {
        for (word, u) in covered.iter_mut().zip(u.chunks(64)) {
            *word |= bits::reaching(u, at.bar);
        }
    }

    fn formula(&self, layer: usize, neuron: usize, _: usize) -> Result<Formula, String> {
        let larger = |other: usize| {
            let mut difference = Linear::variable(Var::u(Input::First, layer + 2, other));
            let own = Linear::variable(Var::u(Input::First, layer + 2, neuron));
            difference.add(-1.0, &own);
            Formula::compare(difference, Relation::Gt)
        };
        let others = (0..self.sizes[layer]).filter(|&other| other != neuron);
        Ok(Formula::Count {
            of: others.map(larger).collect(),
            relation: Relation::Lt,
            count: self.count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_the_kth_largest_with_ties() {
        let top = |count| Top {
            count,
            sizes: Vec::new(),
        };
        let values = [3.0, 1.0, 5.0, 5.0, -2.0];
        for (count, bar) in [(1, 5.0), (2, 5.0), (3, 3.0), (4, 1.0), (9, -2.0)] {
            assert_eq!(
                top(count).bar(&values).to_bits(),
                f32::to_bits(bar),
                "{count}"
            );
        }
    }
}
