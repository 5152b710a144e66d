//! Many requirements at once: a batch of climbers, each with a random few of what is open.
//!
//! A climber leads with one requirement, and starts from the test nearest to it. The others come
//! along: so few that they do not pull each other apart, so many that a test is worth keeping.

use deepconcolic_check::Slot;
use deepconcolic_geometry::{AllowedRegion, Random};
use deepconcolic_network::BitSet;

use super::{Proposal, STEPS, StageSetting, schedule};
use crate::ascent::{Climber, Targets, climb};
use crate::limits::{Limits, Passes};

/// Rounds in a row that may bring little before the stage ends.
pub(super) const PATIENCE: usize = 3;
/// Passes that a requirement met may cost before a round counts as bringing little: about what
/// aiming at a single requirement costs.
pub(super) const WORTH: usize = 16;
/// Climbers of a round: few enough that a round knows what the one before it met.
const CLIMBERS: usize = 24;
/// Fewest and most requirements that come along.
pub(super) const COMPANY: (f32, f32) = (8.0, 32.0);

/// The best points that a round's climbers passed.
pub(super) fn propose(
    setting: &StageSetting<'_>,
    round: u64,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Vec<Proposal>> {
    let network = setting.context.network;
    let (count, steps) = super::climbers(CLIMBERS, STEPS, network, *passes, limits)?;
    let mut random = Random::of(&[setting.rng_seed, round]);
    let mut climbers: Vec<Climber<'_>> = crews(setting, count, &mut random)
        .into_iter()
        .filter_map(|crew| climber(setting, crew, &mut random))
        .collect();
    climb(
        &setting.context,
        &mut climbers,
        &schedule(setting.space, steps),
        passes,
        limits,
    );
    Some(super::proposals(climbers))
}

/// The requirements of each climber, the one it leads with first.
fn crews(setting: &StageSetting<'_>, count: usize, random: &mut Random) -> Vec<Vec<Slot>> {
    let total = setting.context.open.iter().map(BitSet::count).sum();
    let (fewest, maximum) = COMPANY;
    let sizes: Vec<usize> = (0..count)
        .map(|_| 1 + (fewest * (maximum / fewest).powf(random.part())) as usize)
        .collect();
    let ranks: Vec<usize> = (0..sizes.iter().sum())
        .map(|_| random.below(total))
        .collect();
    let mut picked = pick(setting.context.open, &ranks).into_iter();
    let guide = setting.context.guide;
    // Those that can be met in one place only are aimed at one by one.
    let is_free = |slot: &Slot| {
        let (group, slot) = (slot.group as usize, slot.slot as usize);
        guide.confinement(group, slot, 0).is_none() && guide.refusal(group, slot).is_none()
    };
    let crew = |size: &usize| picked.by_ref().take(*size).filter(is_free).collect();
    sizes.iter().map(crew).collect()
}

/// The open requirements with these ranks, in the order of the ranks given.
fn pick(open: &[BitSet], ranks: &[usize]) -> Vec<Slot> {
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by_key(|&i| ranks[i]);
    let mut picked = vec![Slot { group: 0, slot: 0 }; ranks.len()];
    let (mut rest, mut before) = (&order[..], 0);
    for (group, open) in open.iter().enumerate() {
        let count = open.count();
        let here = rest.partition_point(|&i| ranks[i] < before + count);
        let (mine, others) = rest.split_at(here);
        let ranks: Vec<usize> = mine.iter().map(|&i| ranks[i] - before).collect();
        for (&i, slot) in mine.iter().zip(open.of_ranks(&ranks)) {
            let (group, slot) = (group as u32, slot as u32);
            picked[i] = Slot { group, slot };
        }
        (rest, before) = (others, before + count);
    }
    picked
}

fn climber<'a>(
    setting: &StageSetting<'a>,
    mut crew: Vec<Slot>,
    random: &mut Random,
) -> Option<Climber<'a>> {
    let parent = setting.best(*crew.first()?)?;
    crew.sort_unstable();
    crew.dedup();
    let test = &setting.suite.tests()[parent];
    let seed = setting.seeds.input(test.provenance.root);
    let reach = AllowedRegion::new(setting.space, seed, None, random.below(usize::MAX))?;
    let targets: Targets = crew
        .chunk_by(|a, b| a.group == b.group)
        .map(|group| {
            let slots = group.iter().map(|slot| slot.slot).collect();
            (group[0].group as usize, slots)
        })
        .collect();
    Some(Climber::new(
        test.provenance.root,
        parent,
        reach,
        test.input.clone(),
        targets,
        random.split(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_pick_the_open_requirements_in_order() {
        let mut open = vec![BitSet::new(100), BitSet::new(5), BitSet::new(70)];
        let members = [(0, 3), (0, 64), (0, 99), (2, 0), (2, 69)];
        for (group, slot) in members {
            open[group].insert(slot);
        }
        let ranks = vec![4, 0, 2, 2, 3, 1];
        let found: Vec<(usize, usize)> = pick(&open, &ranks)
            .iter()
            .map(|slot| (slot.group as usize, slot.slot as usize))
            .collect();
        let expected: Vec<(usize, usize)> = ranks.iter().map(|&rank| members[rank]).collect();
        assert_eq!(found, expected);
    }
}
