//! Inputs drawn from the search region: the baseline.

use super::{Proposal, Setting};
use crate::limits::{Limits, Passes};
use crate::random::Random;
use crate::reach::Reach;

/// Inputs drawn in a round.
const BATCH: usize = 256;

/// The inputs of a round.
pub(super) fn propose(
    setting: &Setting<'_>,
    round: u64,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Vec<Proposal>> {
    let count = BATCH.min(limits.left(*passes));
    if count == 0 {
        return None;
    }
    let proposals = (0..count).filter_map(|i| {
        let mut random = Random::of(&[setting.rng_seed, round, i as u64]);
        draw(setting, &mut random)
    });
    Some(proposals.collect())
}

/// One input.
fn draw(setting: &Setting<'_>, random: &mut Random) -> Option<Proposal> {
    let root = random.below(setting.seeds.len());
    let seed = setting.seeds.input(root);
    let reach = Reach::new(setting.space, seed, None, random.below(usize::MAX))?;
    let mut point = reach.draw(random);
    let mut input = vec![0.0; point.len()];
    reach.settle(&mut point, &mut input);
    Some(Proposal {
        input,
        root,
        parent: root,
    })
}
