//! Inputs drawn from the search region: the baseline.

use deepconcolic_geometry::{AllowedRegion, Random, SearchSpace};

use super::{Proposal, StageSetting};
use crate::Inputs;
use crate::limits::{Limits, Passes};
use crate::portion;
use crate::suite::Seeds;

/// Inputs drawn in a round.
const BATCH: usize = 256;

/// So many inputs drawn from the search region; each depends on its number and the seed of the
/// random numbers alone.
pub struct Scatter<'a> {
    space: &'a SearchSpace,
    seeds: &'a Seeds,
    len: usize,
    rng_seed: u64,
}

impl<'a> Scatter<'a> {
    /// The inputs of a seed of random numbers.
    pub fn new(space: &'a SearchSpace, seeds: &'a Seeds, len: usize, rng_seed: u64) -> Self {
        Self {
            space,
            seeds,
            len,
            rng_seed,
        }
    }

    /// An input and the number of its root. Where a box leaves a root nothing, the root itself.
    fn draw(&self, number: u64, input: &mut [f32]) -> usize {
        let mut random = Random::of(&[self.rng_seed, number]);
        let root = random.below(self.seeds.len());
        let seed = self.seeds.input(root);
        input.copy_from_slice(seed);
        let turn = random.below(usize::MAX);
        if let Some(reach) = AllowedRegion::new(self.space, seed, None, turn) {
            let mut point = reach.draw(&mut random);
            reach.settle(&mut point, input);
        }
        root
    }
}

impl Inputs for Scatter<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        let each = self.space.domain.lower().len();
        for (&index, input) in indices.iter().zip(into.chunks_exact_mut(each.max(1))) {
            self.draw(index as u64, input);
        }
    }
}

/// The inputs of a round.
pub(super) fn propose(
    setting: &StageSetting<'_>,
    round: u64,
    passes: Passes,
    limits: &Limits<'_>,
) -> Option<Vec<Proposal>> {
    let portion = portion::passes(setting.context.network);
    let count = BATCH.min(portion).min(limits.left(passes));
    if count == 0 {
        return None;
    }
    let scatter = Scatter::new(setting.space, setting.seeds, usize::MAX, setting.rng_seed);
    let proposals = (0..count).map(|i| {
        let mut input = vec![0.0; setting.context.network.input_elements()];
        let root = scatter.draw(round * BATCH as u64 + i as u64, &mut input);
        Proposal {
            input,
            root,
            parent: root,
        }
    });
    Some(proposals.collect())
}
