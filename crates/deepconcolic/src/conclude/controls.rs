//! What else covers how much: random inputs from the same region, and the user's data.

use deepconcolic_campaign::{Answers, Inputs, Limits, Measurement, Scatter, Seeds, measure_within};
use deepconcolic_criteria::{Decision, Family, Group, Truth};
use deepconcolic_geometry::{SearchSpace, Together};
use deepconcolic_network::{BitSet, Network};
use deepconcolic_record::LayerControls;

use crate::criterion::properties;
use crate::settings::Settings;

/// Most inputs of the data that are run for comparison.
pub const CONTROL: usize = 10_000;

/// What is measured.
#[derive(Clone, Copy)]
pub struct Controls<'a> {
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub decision: &'a Decision,
    pub settings: &'a Settings,
}

impl Controls<'_> {
    /// What so many random inputs of the search region cover, or as many as there is time
    /// for, and how many those are.
    pub fn random(
        &self,
        space: &SearchSpace,
        seeds: &Seeds,
        inputs: usize,
        rng_seed: u64,
        limits: &Limits<'_>,
    ) -> (Reached, usize) {
        let random = Scatter::new(space, seeds, inputs, rng_seed);
        let mut drawn = vec![0.0; inputs * self.network.input_elements()];
        random.gather(&(0..inputs).collect::<Vec<_>>(), &mut drawn);
        // Pairs are counted as in the run: of one ball or box.
        let together = if self.family.has_pairs() {
            Together::of(space, seeds.values(), &drawn)
        } else {
            Together::any()
        };
        let families = [self.family];
        let (network, decision) = (self.network, self.decision);
        let measured = measure_within(network, &random, &families, decision, &together, limits);
        let reached = self.reached(&measured.covered[0]);
        (reached, measured.inputs)
    }

    /// What the network says of the first so many inputs of the data, or of as many as there is time for, and how many
    /// those are.
    pub fn answers(
        &self,
        inputs: &dyn Inputs,
        len: usize,
        limits: &Limits<'_>,
    ) -> (Answers, usize) {
        let measured = self.measure(&[], inputs, len, limits);
        (measured.answers, measured.inputs)
    }

    /// What the first so many inputs of the data cover, or as many as there is time for;
    /// what the network says of them, and how many they are.
    pub fn data(
        &self,
        inputs: &dyn Inputs,
        len: usize,
        limits: &Limits<'_>,
    ) -> (Reached, Answers, usize) {
        let measured = self.measure(&[self.family], inputs, len, limits);
        let reached = self.reached(&measured.covered[0]);
        (reached, measured.answers, measured.inputs)
    }

    fn measure(
        &self,
        families: &[&dyn Family],
        inputs: &dyn Inputs,
        len: usize,
        limits: &Limits<'_>,
    ) -> Measurement {
        let first = First { inputs, len };
        let (network, any) = (self.network, Together::any());
        measure_within(network, &first, families, self.decision, &any, limits)
    }
}

impl Controls<'_> {
    /// What is counted, group by group: goals, and properties only where nothing else is required, since no share says
    /// anything of both. Ratios are compared in a way of their own.
    fn counted(&self) -> Vec<BitSet> {
        let mut goals = Vec::new();
        let mut properties = properties(self.settings, self.family);
        let groups = self.family.groups().iter();
        for (number, (group, properties)) in groups.zip(&mut properties).enumerate() {
            if self.family.is_about_ratios(number) {
                *properties = BitSet::new(group.slots());
                goals.push(BitSet::new(group.slots()));
            } else {
                goals.push(group.not_required.complement().without(properties));
            }
        }
        if goals.iter().all(|set| set.count() == 0) {
            properties
        } else {
            goals
        }
    }

    fn reached(&self, covered: &[BitSet]) -> Reached {
        Reached::of(self.family.groups(), &self.counted(), covered)
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

/// Requirements that some inputs cover.
pub struct Reached {
    /// Their share of all that are counted.
    pub share: f64,
    /// How many there are by layer, in the order in which layers come first.
    layers: Vec<(Option<usize>, usize)>,
}

impl Reached {
    fn of(groups: &[Group], counted: &[BitSet], covered: &[BitSet]) -> Self {
        let mut layers: Vec<(Option<usize>, usize)> = Vec::new();
        for ((group, covered), counted) in groups.iter().zip(covered).zip(counted) {
            let done = covered.count_without(&counted.complement());
            match layers.iter_mut().find(|(layer, _)| *layer == group.layer) {
                Some((_, known)) => *known += done,
                None => layers.push((group.layer, done)),
            }
        }
        let total: usize = counted.iter().map(BitSet::count).sum();
        let done: usize = layers.iter().map(|(_, done)| done).sum();
        Self {
            share: done as f64 / total.max(1) as f64,
            layers,
        }
    }

    /// What both controls cover, layer by layer.
    pub fn beside(&self, data: &Self) -> Vec<LayerControls> {
        let pairs = self.layers.iter().zip(&data.layers);
        pairs
            .map(|(&(_, random), &(_, data))| LayerControls { random, data })
            .collect()
    }
}
