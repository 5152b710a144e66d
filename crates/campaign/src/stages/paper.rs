//! The paper's Algorithm 1, as written: the requirement and test with the best value, one linear
//! program in the test's cell, the test it gives; what failed is not tried again.

use deepconcolic_engines::{Origin, Reason, named};
use deepconcolic_language::Inputs;

use super::{Progress, Proposal, Proposals, StageSetting};
use crate::limits::{Limits, Passes};

/// The engine that takes the paper's step.
const ENGINE: &str = "paper";
/// Passes that an engine may make beyond the number it is given: rows of one solve and a run.
const STEP: usize = 64;

/// One step. No requirement tried means that all that are open have failed.
pub(super) fn propose(
    setting: &StageSetting<'_>,
    progress: &Progress,
    passes: &mut Passes,
    limits: &Limits<'_>,
) -> Option<Proposals> {
    if limits.left(*passes) <= STEP + 2 {
        return None;
    }
    let tried = setting.nearest(&progress.tried, 1);
    let mut result = Proposals {
        tried,
        ..Proposals::default()
    };
    let Some(&slot) = result.tried.first() else {
        return Some(result);
    };
    let (group, number) = (slot.group as usize, slot.slot as usize);
    let objective = setting.context.family.objective(group, number).ok();
    let Some(objective) = objective.filter(|of| of.inputs() == Inputs::One) else {
        return Some(result);
    };
    let Some(best) = setting.best(slot) else {
        return Some(result);
    };
    let Some(engine) = named(ENGINE) else {
        result
            .reasons
            .push(format!("there is no engine `{ENGINE}`"));
        return Some(result);
    };
    let test = &setting.suite.tests()[best];
    let origin = Origin {
        root: setting.seeds.input(test.provenance.root),
        starts: &[&test.input],
    };
    let maximum = limits.left(*passes).saturating_sub(STEP);
    let report = engine.search(
        &setting.goal(&[&[objective]], &[origin]),
        &limits.budget(Some(maximum), None),
    );
    passes.spend(report.effort);
    // That one program has no solution is how most of these searches end, and says nothing of the requirement.
    let beyond = |reason: &Reason| !matches!(reason, Reason::NotFound { .. });
    let reason = report.reason.filter(beyond);
    result
        .reasons
        .extend(reason.map(|reason| reason.to_string()));
    // The one input of the goal.
    let inputs = report.found.into_iter().flat_map(|found| found.tests);
    result.single.extend(inputs.map(|input| Proposal {
        input,
        root: test.provenance.root,
        parent: best,
    }));
    Some(result)
}
