//! Up to sixteen conditions side by side, on neurons that share a program.

use std::sync::atomic::Ordering;

use deepconcolic_check::Tree;

use crate::ascent::{Ascent, CLEAR, Part, Steps};
use crate::attack::Attack;
use crate::batch::{Batch, Found};
use crate::few_changes;
use crate::objective::Condition;
use crate::phases::{self, Effort, End};
use crate::program::{Program, Step};

/// Up to sixteen neurons of one pixel.
pub(crate) struct Chunk<'a> {
    pub batch: &'a Batch<'a>,
    /// The questions of the pixel, and the conditions of each.
    pub group: &'a [usize],
    pub conditions: &'a [Vec<Condition>],
    /// Which of them are taken up.
    pub members: &'a [usize],
}

impl Chunk<'_> {
    /// Plain bounds, then a look for witnesses, then branch and bound.
    pub fn decide(&self, ascent: &mut Ascent<'_>) -> Vec<Found> {
        let limits = self.batch.limits;
        let program = ascent.program;
        let lanes = |members: &[usize]| -> Vec<&[Condition]> {
            members.iter().map(|&m| &self.conditions[m][..]).collect()
        };
        // Plain bounds decide most.
        let first = Steps {
            maximum: 1,
            rate: 0.0,
        };
        let start = vec![ascent.start(1); self.members.len()];
        let reached = ascent.climb(&lanes(self.members), &start, first);
        self.batch
            .nodes
            .fetch_add(self.members.len(), Ordering::Relaxed);
        let mut found = Vec::new();
        let mut open = Vec::new();
        for (&member, reached) in self.members.iter().zip(reached) {
            if reached.bound > CLEAR {
                found.push(self.refuted(member, ascent, &reached.part));
            } else {
                open.push(member);
            }
        }
        let attack = Attack {
            batches: limits.attacks,
            steps: 30,
            until: self.batch.until,
        };
        let ends: Vec<[f64; 2]> = ascent.ends.iter().map(|e| e.map(|end| end[0])).collect();
        let asked = lanes(&open);
        let confirm = |question: usize, point: &[f64]| {
            let q = self.group[open[question]];
            self.batch.confirm(q, program, point)
        };
        // Steps in a box do not keep to few changes; the corners of bounds do.
        let limited = ascent.choice.is_some();
        let inputs = if limited {
            let mut found = vec![None; open.len()];
            for (lane, corner) in corners(ascent, &asked) {
                found[lane] = confirm(lane, &corner);
            }
            found
        } else {
            attack.run(program, &asked, &ends, open.len() as u64, &confirm)
        };
        let mut left = Vec::new();
        for (&member, input) in open.iter().zip(inputs) {
            match input {
                Some(input) => found.push((self.group[member], End::Witness(input))),
                None => left.push(member),
            }
        }
        // What rounding decides at the corner of a box it does not where few inputs move: which they are
        // depends on all of them.
        left.retain(|&member| match self.at_corner(member, program, &ends) {
            Some(decided) if !limited => {
                found.push(decided);
                false
            }
            _ => true,
        });
        found.extend(self.climb(ascent, &left));
        found
    }

    /// The corner of the box that is best for a condition on one sum of inputs.
    fn best_corner(&self, member: usize, program: &Program, ends: &[[f64; 2]]) -> Option<Vec<f64>> {
        let ([Step::Sums(sums)], [condition]) = (&program.steps[..], &self.conditions[member][..])
        else {
            return None;
        };
        let [(variable, weight)] = condition.terms[..] else {
            return None;
        };
        let (inputs, weights) = sums.rows.row(variable.checked_sub(sums.first)?);
        let mut corner: Vec<f64> = ends.iter().map(|[low, _]| *low).collect();
        for (&input, of_input) in inputs.iter().zip(weights) {
            let [low, high] = ends[input as usize];
            corner[input as usize] = if weight * of_input > 0.0 { high } else { low };
        }
        Some(corner)
    }

    /// What bounds leave open of a sum of inputs is a matter of rounding, and of executions: the best
    /// corner decides. None for other conditions.
    fn at_corner(&self, member: usize, program: &Program, ends: &[[f64; 2]]) -> Option<Found> {
        let q = self.group[member];
        let corner = self.best_corner(member, program, ends)?;
        Some(match self.batch.confirm(q, program, &corner) {
            Some(input) => (q, End::Witness(input)),
            None => (q, End::Refuted(vec![Tree::Corner])),
        })
    }

    fn climb(&self, ascent: &mut Ascent<'_>, left: &[usize]) -> Vec<Found> {
        let limits = self.batch.limits;
        if left.is_empty() || limits.steps == 0 {
            return Vec::new();
        }
        let program = ascent.program;
        let root = Steps {
            maximum: limits.steps,
            rate: 0.25,
        };
        let effort = Effort {
            nodes: limits.nodes.min(limits.work / program.terms().max(1)),
            below: Steps {
                maximum: 8,
                rate: 0.15,
            },
            until: self.batch.until,
            spent: self.batch.nodes,
        };
        let asked: Vec<&[Condition]> = left.iter().map(|&m| &self.conditions[m][..]).collect();
        let start = vec![ascent.start(1); left.len()];
        let reached = ascent.climb(&asked, &start, root);
        let mut found = Vec::new();
        for (&member, reached) in left.iter().zip(reached) {
            let q = self.group[member];
            if self.batch.until.is_over() {
                found.push((q, End::Open(-reached.bound)));
                continue;
            }
            let confirm = |point: &[f64]| self.batch.confirm(q, program, point);
            let conditions = &self.conditions[member];
            let end = match self.batch.few_changes() {
                Some(place) if reached.bound <= CLEAR => {
                    let bounds = self.batch.bounds(program);
                    let program = (program, &bounds[..]);
                    few_changes::refute(program, conditions, place, &effort, &confirm)
                }
                _ => phases::refute(ascent, conditions, reached, &effort, &confirm),
            };
            found.push((q, end));
        }
        found
    }

    fn refuted(&self, member: usize, ascent: &Ascent<'_>, part: &Part) -> Found {
        let leaf = phases::leaf(ascent, part);
        let proof = vec![Tree::Leaf(leaf)];
        (self.group[member], End::Refuted(proof))
    }
}

/// The corners of plain bounds that meet the conditions, by lane.
fn corners(ascent: &mut Ascent<'_>, asked: &[&[Condition]]) -> Vec<(usize, Vec<f64>)> {
    if asked.is_empty() {
        return Vec::new();
    }
    let start = vec![ascent.start(1); asked.len()];
    let plain = Steps {
        maximum: 1,
        rate: 0.0,
    };
    ascent.climb(asked, &start, plain);
    ascent.witnesses(asked)
}
