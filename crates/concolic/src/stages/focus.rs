//! One requirement at a time, from the test that is nearest to it.

use deepconcolic_check::Slot;
use deepconcolic_spec::criteria::Confinement;

use super::{Progress, Proposal, Setting, schedule};
use crate::ascent::{Climber, climb};
use crate::limits::{Limits, Passes};
use crate::reach::Reach;

/// How often every open requirement is aimed at. A second time, from other tests, brought three of 3,588
/// on the network that this was measured on.
pub(super) const SWEEPS: usize = 1;
/// Requirements aimed at in a round.
const BATCH: usize = 64;
/// Steps of a climber.
const STEPS: usize = 12;

/// The best points on the way to the next requirements in line, and which those were. No
/// requirement means that all open ones were aimed at.
pub(super) fn propose(
    setting: &Setting<'_>,
    progress: &Progress,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<(Vec<Proposal>, Vec<Slot>)> {
    // A climber costs a run and a derivative a step, a last run, and one to confirm it.
    let each = 2 * STEPS + 2;
    let left = limits.left(*passes);
    let count = BATCH.min(left / each).max(1);
    let steps = STEPS.min((left / count).saturating_sub(2) / 2);
    if steps == 0 {
        return None;
    }
    let next = setting.ranking.nearest(&progress.tried, count);
    let mut climbers: Vec<Climber<'_>> = next
        .iter()
        .filter_map(|&slot| climber(setting, slot, progress.sweeps))
        .collect();
    climb(
        &setting.ground,
        &mut climbers,
        &schedule(setting.space, steps),
        passes,
        limits,
    );
    Some((super::proposals(climbers), next))
}

fn climber<'a>(setting: &Setting<'a>, slot: Slot, turn: usize) -> Option<Climber<'a>> {
    let (group, number) = (slot.group as usize, slot.slot as usize);
    let guide = setting.ground.guide;
    if guide.refusal(group, number).is_some() {
        return None;
    }
    let confinement = guide.confinement(group, number, turn);
    let (root, parent, start) = setting.start(slot, confinement.as_ref());
    let seed = setting.seeds.input(root);
    let reach = Reach::new(setting.space, seed, confinement.as_ref(), turn)?;
    let targets = vec![(group, vec![slot.slot])];
    Some(Climber::new(root, parent, reach, start, targets))
}

impl Setting<'_> {
    /// Where a search for a requirement starts: root, parent and point.
    fn start(&self, slot: Slot, confinement: Option<&Confinement>) -> (usize, usize, Vec<f32>) {
        let seed = |number: usize| (number, number, self.seeds.input(number).to_vec());
        match (confinement, self.ranking.best(slot)) {
            (Some(&Confinement::Seed(number)), _) => seed(number),
            (_, Some(best)) => {
                let test = &self.suite.tests()[best];
                (test.root, best, test.input.clone())
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
