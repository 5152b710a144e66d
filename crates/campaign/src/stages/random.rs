//! Inputs drawn from the search region: evenly, which is the baseline, or as patterns.

use deepconcolic_geometry::{AllowedRegion, ImageShape, Random, SearchSpace};
use deepconcolic_network::Network;
use rayon::prelude::*;

use super::{Proposal, StageSetting, Strategy};
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
    drawn: Drawn,
}

/// How inputs are drawn round their seeds.
#[derive(Clone, Copy)]
enum Drawn {
    /// Evenly from all that is in reach.
    Evenly,
    /// As patterns; of an image, if the network takes such.
    AsPatterns(Option<ImageShape>),
}

impl<'a> Scatter<'a> {
    /// Inputs drawn evenly, by a seed of random numbers.
    pub fn new(space: &'a SearchSpace, seeds: &'a Seeds, len: usize, rng_seed: u64) -> Self {
        Self {
            space,
            seeds,
            len,
            rng_seed,
            drawn: Drawn::Evenly,
        }
    }

    /// The same number of patterns; of images, if inputs of the network are such.
    fn of_patterns(self, network: &Network) -> Self {
        let image = ImageShape::of(network.input_shape().without_batch());
        Self {
            drawn: Drawn::AsPatterns(image),
            ..self
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
            let mut point = match &self.drawn {
                Drawn::AsPatterns(image) => reach.draw_pattern(image.as_ref(), &mut random),
                Drawn::Evenly => reach.draw(&mut random),
            };
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
    let network = setting.context.network;
    let portion = portion::passes(network);
    let count = BATCH.min(portion).min(limits.left(passes));
    if count == 0 {
        return None;
    }
    let mut scatter = Scatter::new(setting.space, setting.seeds, usize::MAX, setting.rng_seed);
    if setting.strategy != Strategy::Random {
        scatter = scatter.of_patterns(network);
    }
    let proposals = (0..count).into_par_iter().map(|i| {
        let mut input = vec![0.0; network.input_elements()];
        let root = scatter.draw(round * BATCH as u64 + i as u64, &mut input);
        Proposal {
            input,
            root,
            parent: root,
        }
    });
    Some(proposals.collect())
}
