//! The paper's Algorithm 1, as written: the requirement and test with the best value, one linear
//! program in the test's cell, the test it gives; what failed is not tried again.

use deepconcolic_engines::{Goal, Margin, Outcome, paper_step};
use deepconcolic_language::Inputs;

use super::{Progress, Proposal, Setting, Yield};
use crate::limits::{Limits, Passes};

/// Passes that an engine may make beyond the number it is given: rows of one solve and a run.
const STEP: usize = 64;

/// One step. No requirement tried means that all that are open have failed.
pub(super) fn propose(
    setting: &Setting<'_>,
    progress: &Progress,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Yield> {
    if limits.left(*passes) <= STEP + 2 {
        return None;
    }
    let tried = setting.ranking.nearest(&progress.tried, 1);
    let mut result = Yield {
        tried,
        ..Yield::default()
    };
    let Some(&slot) = result.tried.first() else {
        return Some(result);
    };
    let (group, number) = (slot.group as usize, slot.slot as usize);
    let requirement = setting.ground.family.requirement(group, number).ok();
    let Some(requirement) = requirement.filter(|r| r.inputs == Inputs::One) else {
        return Some(result);
    };
    let Some(best) = setting.ranking.best(slot) else {
        return Some(result);
    };
    let test = &setting.suite.tests()[best];
    let formula = requirement.goal();
    let report = paper_step(
        setting.ground.network,
        &Goal {
            formula: &formula,
            inputs: Inputs::One,
            root: setting.seeds.input(test.provenance.root),
            starts: &[&test.input],
            space: setting.space,
            means: setting.ground.means.layers(),
            margin: Margin::default(),
            most: Some(limits.left(*passes).saturating_sub(STEP)),
        },
        &test.input,
    );
    passes.spend(report.effort);
    match report.outcome {
        Outcome::Witness(witness) => {
            // The one input of the goal.
            result
                .proposals
                .extend(witness.inputs.into_iter().map(|input| Proposal {
                    input,
                    root: test.provenance.root,
                    parent: best,
                }));
        }
        Outcome::GaveUp(reason) => result.reasons.push(reason.to_string()),
    }
    Some(result)
}
