//! What else covers how much: random inputs from the same region, and the user's data.

use deepconcolic_campaign::{Answers, Inputs, Scatter, Seeds, measure, measure_together};
use deepconcolic_criteria::{Decision, Family, Group, Truth};
use deepconcolic_geometry::{SearchSpace, Together};
use deepconcolic_network::{BitSet, Network};

/// Most inputs of the data that are run for comparison.
pub const CONTROL: usize = 10_000;

/// What is measured.
#[derive(Clone, Copy)]
pub struct Controls<'a> {
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub decision: &'a Decision,
}

impl Controls<'_> {
    /// The share of requirements that so many random inputs of the search region cover.
    pub fn random(&self, space: &SearchSpace, seeds: &Seeds, inputs: usize, rng_seed: u64) -> f64 {
        let random = Scatter::new(space, seeds, inputs, rng_seed);
        let mut drawn = vec![0.0; inputs * self.network.input_elements()];
        random.gather(&(0..inputs).collect::<Vec<_>>(), &mut drawn);
        // Pairs are counted as in the run: of one ball or box.
        let together = Together::of(space, seeds.values(), &drawn);
        let families = [self.family];
        let measured = measure_together(self.network, &random, &families, self.decision, &together);
        share(self.family.groups(), &measured.covered[0])
    }

    /// What the network says of the first so many inputs of the data.
    pub fn answers(&self, inputs: &dyn Inputs, len: usize) -> Answers {
        let first = First { inputs, len };
        measure(self.network, &first, &[], self.decision).answers
    }

    /// The share of requirements that the first so many inputs of the data cover, and what the network
    /// says of them.
    pub fn data(&self, inputs: &dyn Inputs, len: usize) -> (f64, Answers) {
        let first = First { inputs, len };
        let measured = measure(self.network, &first, &[self.family], self.decision);
        let share = share(self.family.groups(), &measured.covered[0]);
        (share, measured.answers)
    }
}

/// The first so many inputs.
struct First<'a> {
    inputs: &'a dyn Inputs,
    len: usize,
}

impl Inputs for First<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        self.inputs.gather(indices, into);
    }

    fn truth(&self, index: usize) -> Option<Truth> {
        self.inputs.truth(index)
    }
}

fn share(groups: &[Group], covered: &[BitSet]) -> f64 {
    let total: usize = groups.iter().map(Group::total).sum();
    let done: usize = groups
        .iter()
        .zip(covered)
        .map(|(group, covered)| covered.count_without(&group.not_required))
        .sum();
    done as f64 / total.max(1) as f64
}
