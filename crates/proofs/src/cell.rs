//! Conditions that one input must meet together. A condition that puts a unit on one side of its kink
//! fixes the unit's phase, as a split would; its multiplier becomes the factor of the condition.

use deepconcolic_check::{Proof, Region, Tree, Unsupported, cases};
use deepconcolic_language::Requirement;
use deepconcolic_network::Network;

use crate::ascent::{Ascent, Steps};
use crate::attack::Walker;
use crate::confirm::Executor;
use crate::few_changes::{self, few};
use crate::knowledge::Knowledge;
use crate::lanes::LANES;
use crate::objective::{Condition, program_of};
use crate::phases::{self, Effort, End};
use crate::program::Program;
use crate::relaxed;

/// Steps of ascent before anything is split.
const ROOT: Steps = Steps {
    maximum: 40,
    rate: 0.2,
};
/// Gradient steps from each point that a witness may be near to.
const WALK: usize = 40;

/// One box, with what is known of it.
pub(crate) struct Cells<'a> {
    pub network: &'a Network,
    pub region: &'a Region,
    pub knowledge: &'a Knowledge<'a>,
    /// Most parts times coefficients of the conditions' cone.
    pub work: usize,
}

impl Cells<'_> {
    /// Refutes a conjunction of conditions on one input, or finds an input that meets it; `near` are
    /// inputs that come close. Bounds of all units that matter must be known.
    pub fn decide(
        &self,
        requirement: &Requirement,
        near: &[&[f32]],
        effort: &Effort<'_>,
    ) -> Result<End, Unsupported> {
        let mut alternatives = cases(requirement, self.network, self.region)?;
        let (Some(case), 0) = (alternatives.pop(), alternatives.len()) else {
            return Err(Unsupported::NotOneCondition);
        };
        let (program, mut conditions) = program_of(self.network, &[&case], effort.until)?;
        let conditions = conditions.pop().unwrap_or_default();
        let goal = requirement.goal();
        let executor = Executor::new(self.network, &goal, &case, 0.0);
        let confirm = |point: &[f64]| executor.confirm(&program.inputs, point);
        let bounds = self.knowledge.bounds(&program);
        let mut ascent = Ascent::new(&program, self.knowledge, &bounds, effort.until);
        let given = Given::of(&ascent, &conditions);
        let rest: Vec<Condition> = given.rest.iter().map(|&c| conditions[c].clone()).collect();
        let mut start = ascent.start(rest.len());
        for &(_, unit, above) in &given.phases {
            start.phases.push((unit, above));
            start.multipliers.push(0.0);
        }
        let end = relaxed::refute(&mut ascent, &rest, start.clone(), effort, &confirm);
        let end = end.unwrap_or_else(|| {
            // A pass over a large cone takes longer than a few pivots.
            let effort = Effort {
                nodes: effort.nodes.min(self.work / program.terms().max(1)).max(1),
                ..*effort
            };
            let walker = Walker::new(&program, effort.until);
            if let Some(input) = self.walk(walker, &program, &conditions, near, &confirm) {
                return End::Witness(input);
            }
            let root = ascent.climb(&[&rest], &[start], ROOT).swap_remove(0);
            phases::refute(&mut ascent, &rest, root, &effort, &confirm)
        });
        Ok(match (end, few(&case.region)) {
            (End::Refuted(proof), _) => End::Refuted(given.rewrite(proof)),
            // Programs know of no limit on changes.
            (End::Open(_), Some(changes)) => {
                let place = (&case.region, changes);
                let program = (&program, &bounds[..]);
                few_changes::refute(program, &conditions, place, effort, &confirm)
            }
            (end, _) => end,
        })
    }

    /// Gradient steps from points near by, and from others.
    fn walk(
        &self,
        mut walker: Walker<'_>,
        program: &Program,
        conditions: &[Condition],
        near: &[&[f32]],
        confirm: &phases::Confirm<'_>,
    ) -> Option<Vec<f32>> {
        let ends = |&e: &usize| [self.region.lower[e], self.region.upper[e]];
        let ends: Vec<[f64; 2]> = program.inputs.iter().map(ends).collect();
        for lane in 0..LANES {
            let point: Vec<f64> = match near.get(lane % near.len().max(1)) {
                Some(input) => program
                    .inputs
                    .iter()
                    .map(|&e| f64::from(input[e]))
                    .collect(),
                None => ends
                    .iter()
                    .map(|[low, high]| 0.5 * low + 0.5 * high)
                    .collect(),
            };
            walker.place(lane, &point, &ends);
        }
        let mut found = None;
        let lanes = vec![conditions; LANES.min(near.len().max(1))];
        walker.walk(&lanes, &ends, WALK, &mut |_, point| {
            found = confirm(point);
            found.is_some()
        });
        found
    }
}

/// Conditions by how they are made use of.
struct Given {
    /// Condition, free unit, and whether the unit lies above its kink.
    phases: Vec<(usize, u32, bool)>,
    /// The others.
    rest: Vec<usize>,
}

impl Given {
    fn of(ascent: &Ascent<'_>, conditions: &[Condition]) -> Self {
        let mut given = Self {
            phases: Vec::new(),
            rest: Vec::new(),
        };
        for (number, condition) in conditions.iter().enumerate() {
            let side = side(ascent, condition);
            let side = side.filter(|(unit, _)| given.phases.iter().all(|known| known.1 != *unit));
            match side {
                Some((unit, above)) => given.phases.push((number, unit, above)),
                None => given.rest.push(number),
            }
        }
        // Something must be shown to be impossible.
        if given.rest.is_empty() {
            given
                .rest
                .extend(given.phases.pop().map(|(number, _, _)| number));
        }
        given
    }

    /// Numbers of the conditions as the certificate counts them, multipliers of conditions as factors.
    fn rewrite(&self, mut proof: Proof) -> Proof {
        for node in &mut proof {
            if let Tree::Leaf(leaf) = node {
                for (condition, _) in &mut leaf.factors {
                    *condition = self.rest[*condition as usize] as u32;
                }
                let own = leaf.multipliers.drain(..self.phases.len());
                let factors = self
                    .phases
                    .iter()
                    .zip(own)
                    .filter(|(_, factor)| *factor > 0.0);
                let factors = factors.map(|(&(number, _, _), factor)| (number as u32, factor));
                leaf.factors.extend(factors);
            }
        }
        proof
    }
}

/// The free unit that a condition puts on one side of its kink, and whether above.
#[expect(clippy::float_cmp, reason = "only a kink hit exactly fixes a phase")]
fn side(ascent: &Ascent<'_>, condition: &Condition) -> Option<(u32, bool)> {
    let [(variable, weight)] = condition.terms[..] else {
        return None;
    };
    let unit = ascent.free.iter().position(|free| free.input == variable)?;
    let kink = ascent.free[unit].kink;
    let there = weight.abs() == 1.0 && weight * kink + condition.constant == 0.0;
    there.then_some((unit as u32, weight > 0.0))
}
