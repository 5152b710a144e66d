//! One requirement at a time, symbolically: the engines search the linear pieces round the tests that
//! are nearest to it.

use deepconcolic_check::Slot;
use deepconcolic_engines::{Effort, Goal, Margin, Outcome, Reason, search};
use deepconcolic_spec::Inputs;
use rayon::prelude::*;

use super::{PairProposal, Progress, Proposal, Setting, Yield};
use crate::limits::{Limits, Passes};

/// Requirements aimed at in a round.
const BATCH: usize = 16;
/// Passes that one of them may cost. Walking to a witness takes a few dozen; a goal that needs more is
/// deep, and its cells are mostly empty.
const EACH: usize = 160;
/// Passes that an engine may make beyond the number it is given: rows of one solve and a run.
const STEP: usize = 64;
/// Seeds that a requirement on two inputs is searched from.
const PAIR_STARTS: usize = 4;

/// What came of one goal.
struct Aimed {
    slot: Slot,
    root: usize,
    parent: usize,
    /// One input, or two.
    inputs: Vec<Vec<f32>>,
}

/// Witnesses of the next requirements in line, and which those were.
pub(super) fn propose(
    setting: &Setting<'_>,
    progress: &Progress,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Yield> {
    let count = BATCH.min(limits.left(*passes) / (EACH + STEP + 2));
    if count == 0 {
        return None;
    }
    let next = setting.ranking.nearest(&progress.tried, count);
    let found: Vec<(Effort, Result<Option<Aimed>, Reason>)> = next
        .par_iter()
        .map(|&slot| {
            if limits.is_over() {
                return (Effort::default(), Ok(None));
            }
            aim(setting, slot)
        })
        .collect();
    let mut result = Yield {
        tried: next,
        ..Yield::default()
    };
    for (effort, outcome) in found {
        passes.spend(effort);
        match outcome {
            Ok(Some(aimed)) => result.add(aimed),
            Ok(None) => {}
            Err(reason) => result.reasons.push(reason.to_string()),
        }
    }
    result.reasons.dedup();
    Some(result)
}

impl Yield {
    fn add(&mut self, aimed: Aimed) {
        let Aimed {
            slot, root, parent, ..
        } = aimed;
        let mut inputs = aimed.inputs.into_iter();
        match (inputs.next(), inputs.next()) {
            (Some(input), None) => self.proposals.push(Proposal {
                input,
                root,
                parent,
            }),
            (Some(first), Some(second)) => self.pairs.push(PairProposal {
                root,
                tests: vec![first, second],
                pairs: vec![(slot, 0, 1)],
            }),
            _ => {}
        }
    }
}

fn aim(setting: &Setting<'_>, slot: Slot) -> (Effort, Result<Option<Aimed>, Reason>) {
    let (group, number) = (slot.group as usize, slot.slot as usize);
    let none = (Effort::default(), Ok(None));
    let Ok(requirement) = setting.ground.family.requirement(group, number) else {
        return none;
    };
    let formula = requirement.goal();
    let (root, parent, starts) = starts(setting, slot, requirement.inputs);
    let starts: Vec<&[f32]> = starts.iter().map(Vec::as_slice).collect();
    let report = search(
        setting.ground.network,
        &Goal {
            formula: &formula,
            inputs: requirement.inputs,
            root: setting.seeds.input(root),
            starts: &starts,
            space: setting.space,
            means: setting.ground.means.layers(),
            margin: Margin::default(),
            most: Some(EACH),
        },
    );
    let outcome = match report.outcome {
        Outcome::Witness(witness) => Ok(Some(Aimed {
            slot,
            root,
            parent,
            inputs: witness.inputs,
        })),
        Outcome::GaveUp(Reason::NotFound { .. }) => Ok(None),
        Outcome::GaveUp(reason) => Err(reason),
    };
    (report.effort, outcome)
}

/// Root, parent and the points whose cells are tried.
fn starts(setting: &Setting<'_>, slot: Slot, inputs: Inputs) -> (usize, usize, Vec<Vec<f32>>) {
    let seed = |number: usize| setting.seeds.input(number).to_vec();
    match (inputs, setting.ranking.best(slot)) {
        (Inputs::One, Some(best)) => {
            let test = &setting.suite.tests()[best];
            let mut starts = vec![test.input.clone()];
            if best != test.root {
                starts.push(seed(test.root));
            }
            (test.root, best, starts)
        }
        (Inputs::One, None) => (0, 0, vec![seed(0)]),
        // The region of a pair is the ball round one root, so all starts must be near it.
        (Inputs::Two, _) => {
            let root = slot.slot as usize % setting.seeds.len();
            let near = setting.suite.tests().iter().filter(|t| t.root == root);
            let starts = near.take(PAIR_STARTS).map(|t| t.input.clone());
            (root, root, starts.collect())
        }
    }
}
