//! One requirement at a time, from the test that is nearest to it.

use deepconcolic_check::Slot;
use deepconcolic_criteria::Confinement;

use super::{Progress, Proposals, STEPS, StageSetting, Sweep, passes_of_climb, schedule};
use crate::ascent::{Climber, climb};
use crate::limits::{Limits, Passes};
use deepconcolic_geometry::{AllowedRegion, Random};

/// How often every open requirement is aimed at, at most: first from the test nearest to it, then
/// from places drawn at random, as long as that is cheap or brings much.
const SWEEPS: usize = 4;
/// Passes that a further sweep may cost where the one before brought little. Thousands of requirements left are mostly
/// impossible: on the network that this was measured on, a second sweep brought three of 3,588.
const CHEAP: usize = 20_000;
/// A sweep brings much when it meets this part of what it aims at.
const MUCH: usize = 8;
/// Requirements aimed at in a round.
const BATCH: usize = 64;

/// Whether there is another sweep after so many, the last of which brought this, with so much open.
pub(super) fn goes_on(sweeps: usize, last: Sweep, open: usize) -> bool {
    let is_cheap = open * passes_of_climb(steps(sweeps)) <= CHEAP;
    let was_worth_it = last.met * MUCH >= last.aimed;
    sweeps == 0 || (sweeps < SWEEPS && (is_cheap || was_worth_it))
}

/// Steps of a climb in the sweep after so many: twice as many as in the one before, since what is left needs longer
/// climbs rather than more.
fn steps(sweeps: usize) -> usize {
    STEPS << sweeps
}

/// The best points on the way to the next requirements in line, and which those were. No
/// requirement means that all open ones were aimed at.
pub(super) fn propose(
    setting: &StageSetting<'_>,
    progress: &Progress,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Proposals> {
    let network = setting.context.network;
    let steps = steps(progress.sweeps);
    let (count, steps) = super::climbers(BATCH, steps, network, *passes, limits)?;
    let next = setting.nearest(&progress.tried, count);
    let mut climbers: Vec<Climber<'_>> = next
        .iter()
        .filter_map(|&slot| climber(setting, slot, progress))
        .collect();
    climb(
        &setting.context,
        &mut climbers,
        &schedule(setting.space, steps),
        passes,
        limits,
    );
    Some(Proposals {
        single: super::proposals(climbers),
        tried: next,
        ..Proposals::default()
    })
}

fn climber<'a>(setting: &StageSetting<'a>, slot: Slot, progress: &Progress) -> Option<Climber<'a>> {
    let turn = progress.sweeps;
    let (group, number) = (slot.group as usize, slot.slot as usize);
    let guide = setting.context.guide;
    if guide.refusal(group, number).is_some() {
        return None;
    }
    let confinement = guide.confinement(group, number, turn);
    let (mut root, mut parent, mut start) = setting.start(slot, confinement.as_ref());
    let names = [
        setting.rng_seed,
        progress.rounds,
        group as u64,
        number as u64,
    ];
    let mut random = Random::of(&names);
    if turn > 0 && confinement.is_none() {
        root = random.below(setting.seeds.len());
        parent = root;
    }
    let seed = setting.seeds.input(root);
    let confined_to = match &confinement {
        Some(Confinement::Box(low, high)) => Some((low.as_slice(), high.as_slice())),
        _ => None,
    };
    let reach = AllowedRegion::new(setting.space, seed, confined_to, turn)?;
    if turn > 0 {
        start = reach.draw(&mut random);
    }
    let targets = vec![(group, vec![slot.slot])];
    Some(Climber::new(root, parent, reach, start, targets, random))
}

impl StageSetting<'_> {
    /// Where a search for a requirement starts: root, parent and point.
    fn start(&self, slot: Slot, confinement: Option<&Confinement>) -> (usize, usize, Vec<f32>) {
        let seed = |number: usize| (number, number, self.seeds.input(number).to_vec());
        match (confinement, self.best(slot)) {
            (Some(&Confinement::Seed(number)), _) => seed(number),
            (_, Some(best)) => {
                let test = &self.suite.tests()[best];
                (test.provenance.root, best, test.input.clone())
            }
            // No test has a value: all lie outside the box it is confined to.
            (Some(Confinement::Box(low, high)), None) => seed(self.nearest_seed(low, high)),
            (None, None) => seed(0),
        }
    }

    /// The seed that is nearest to a box.
    fn nearest_seed(&self, low: &[f32], high: &[f32]) -> usize {
        let distance = |number: usize| {
            let seed = self.seeds.input(number);
            let inside: Vec<f32> = seed
                .iter()
                .zip(low.iter().zip(high))
                .map(|(x, (&low, &high))| x.max(low).min(high))
                .collect();
            self.space.distance(seed, &inside)
        };
        let all = (0..self.seeds.len()).map(|number| (distance(number), number));
        all.min_by(|a, b| a.0.total_cmp(&b.0))
            .map_or(0, |(_, number)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_go_on_while_they_are_cheap_or_bring_much() {
        let brought = |met| Sweep { aimed: 800, met };
        let none = Sweep::default();
        assert!(goes_on(0, none, 1_000_000));
        // 700 climbs of 24 steps are too many, 300 are not.
        assert!(!goes_on(1, brought(99), 700));
        assert!(goes_on(1, brought(100), 700));
        assert!(goes_on(1, brought(0), 300));
        // Climbs become longer.
        assert!(!goes_on(2, brought(0), 300));
        assert!(!goes_on(SWEEPS, brought(800), 1));
    }
}
