//! One requirement at a time, symbolically: the engines search the linear pieces round the tests that
//! are nearest to it.

use deepconcolic_check::Slot;
use deepconcolic_criteria::SampleView;
use deepconcolic_engines::{Effort, Origin, ROWS_OF_A_STEP, Reason, supporting};
use deepconcolic_language::Inputs;
use deepconcolic_network::Pass;
use rayon::prelude::*;

use super::{PairProposal, Progress, Proposal, Proposals, StageSetting};
use crate::limits::{Limits, Passes};
use crate::portion;

/// Requirements aimed at in a round.
const BATCH: usize = 16;
/// Passes that one of them may cost. Walking to a witness takes a few dozen; a goal that needs more is
/// deep, and its cells are mostly empty.
const EACH: usize = 160;
/// Passes that an engine may make beyond the number it is given: rows of one solve and a run.
const STEP: usize = ROWS_OF_A_STEP + 1;
/// Further seeds that a requirement on one input is searched from.
const MORE_ROOTS: usize = 3;
/// Seeds run at a time.
const SEEDS: usize = 64;
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
    setting: &StageSetting<'_>,
    progress: &Progress,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Proposals> {
    let goal = EACH + STEP + 2;
    let left = limits.left(*passes);
    if left < goal {
        return None;
    }
    // Further seeds as far as the passes go: all seeds are looked at first.
    let others = setting.seeds.len().saturating_sub(1).min(MORE_ROOTS);
    let paid = left.saturating_sub(setting.seeds.len()) / goal;
    let more = others.min(paid.saturating_sub(1));
    let left = if more > 0 {
        left - setting.seeds.len()
    } else {
        left
    };
    let portion = portion::passes(setting.context.network);
    let batch = BATCH.min(portion / EACH).max(1);
    let count = batch.min(left / ((1 + more) * goal));
    let next = setting.nearest(&progress.tried, count);
    let roots = more_roots(setting, &next, more, passes);
    let found: Vec<(Effort, Result<Option<Aimed>, Reason>)> = next
        .par_iter()
        .zip(&roots)
        .map(|(&slot, roots)| {
            if limits.is_over() {
                return (Effort::default(), Ok(None));
            }
            aim(setting, slot, roots, limits)
        })
        .collect();
    let mut result = Proposals {
        tried: next,
        ..Proposals::default()
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

impl Proposals {
    fn add(&mut self, aimed: Aimed) {
        let Aimed {
            slot, root, parent, ..
        } = aimed;
        let mut inputs = aimed.inputs.into_iter();
        match (inputs.next(), inputs.next()) {
            (Some(input), None) => self.single.push(Proposal {
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

/// For each slot on one input, the seeds nearest to meeting it: what cannot be met round the best test may
/// be met round another.
fn more_roots(
    setting: &StageSetting<'_>,
    slots: &[Slot],
    maximum: usize,
    passes: &mut Passes,
) -> Vec<Vec<usize>> {
    let mut best: Vec<Vec<(f32, usize)>> = vec![Vec::new(); slots.len()];
    if maximum > 0 {
        let context = &setting.context;
        let pass = Pass::keep(context.family.points());
        let seeds: Vec<&[f32]> = setting.seeds.iter().collect();
        passes.forward += seeds.len();
        let mut value = Vec::new();
        for (batch, inputs) in seeds.chunks(SEEDS).enumerate() {
            let trace = context.network.forward(&inputs.concat(), &pass);
            for sample in 0..inputs.len() {
                let look = SampleView {
                    trace: &trace,
                    sample,
                    means: context.means,
                };
                for (best, slot) in best.iter_mut().zip(slots) {
                    value.clear();
                    let group = slot.group as usize;
                    context.guide.values(look, group, &[slot.slot], &mut value);
                    best.push((value[0], batch * SEEDS + sample));
                }
            }
        }
    }
    best.into_iter()
        .map(|mut seeds| {
            seeds.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            seeds
                .into_iter()
                .map(|(_, seed)| seed)
                .take(maximum)
                .collect()
        })
        .collect()
}

/// Searches round the best test, then round further seeds.
fn aim(
    setting: &StageSetting<'_>,
    slot: Slot,
    roots: &[usize],
    limits: &Limits<'_>,
) -> (Effort, Result<Option<Aimed>, Reason>) {
    let (group, number) = (slot.group as usize, slot.slot as usize);
    let Ok(objective) = setting.context.family.objective(group, number) else {
        return (Effort::default(), Ok(None));
    };
    let (root, parent, tests) = starts(setting, slot, objective.inputs());
    let mut numbers = vec![(root, parent)];
    if objective.inputs() == Inputs::One {
        let others = roots.iter().filter(|&&other| other != root);
        numbers.extend(others.map(|&other| (other, other)));
    }
    let tests: Vec<&[f32]> = tests.iter().map(Vec::as_slice).collect();
    let inputs: Vec<&[f32]> = numbers.iter().map(|n| setting.seeds.input(n.0)).collect();
    let mut origins: Vec<Origin<'_>> = inputs.iter().map(Origin::seed).collect();
    origins[0].starts = &tests;
    let objectives = [objective];
    let objectives = [&objectives[..]];
    let goal = setting.goal(&objectives, &origins);
    let engine = match supporting(&goal) {
        Ok(engine) => engine,
        Err(reason) => return (Effort::default(), Err(reason)),
    };
    let report = engine.search(&goal, &limits.budget(None, Some(EACH)));
    let aimed = report.found.into_iter().next().map(|found| Aimed {
        slot,
        root: numbers[found.origin].0,
        parent: numbers[found.origin].1,
        inputs: found.tests,
    });
    let outcome = match report.reason {
        None | Some(Reason::NotFound { .. }) => Ok(aimed),
        Some(reason) => Err(reason),
    };
    (report.effort, outcome)
}

/// Root, parent and the points whose cells are tried.
fn starts(setting: &StageSetting<'_>, slot: Slot, inputs: Inputs) -> (usize, usize, Vec<Vec<f32>>) {
    let seed = |number: usize| setting.seeds.input(number).to_vec();
    match (inputs, setting.best(slot)) {
        (Inputs::One, Some(best)) => {
            let test = &setting.suite.tests()[best];
            let mut starts = vec![test.input.clone()];
            if best != test.provenance.root {
                starts.push(seed(test.provenance.root));
            }
            (test.provenance.root, best, starts)
        }
        (Inputs::One, None) => (0, 0, vec![seed(0)]),
        // The region of a pair is the ball round one root, so all starts must be near it.
        (Inputs::Two, _) => {
            let root = slot.slot as usize % setting.seeds.len();
            let near = setting
                .suite
                .tests()
                .iter()
                .filter(|t| t.provenance.root == root);
            let starts = near.take(PAIR_STARTS).map(|t| t.input.clone());
            (root, root, starts.collect())
        }
    }
}
