//! From a start towards a goal, linearising again after every step.
//!
//! No cell is held: if the network really meets the goal at the new point, it does not matter which
//! phases changed on the way. A step that helps is kept. One that does not is taken back; the signs
//! it broke become rows, and if it broke none the next one is shorter, so that in the end it stays
//! inside a cell, where the rows are exact.

use crate::atom::Atom;
use crate::budget::Effort;
use crate::demands::Demands;
use crate::observed::Observed;
use crate::region::Region;
use crate::solver::{self, Solution};
use crate::step::{Step, Target};
use crate::task::Task;

/// Most steps.
const STEPS: usize = 24;
/// Aim this many margins deep, so that rounding to floats does not undo a step.
const DEPTH: f64 = 1.5;
/// Part of its old cost that a step may leave and still be said to help.
const HELPED: f64 = 0.95;
/// Most rows of a step, each the price of a pass: of a neuron among the largest of a layer, as many comparisons are asked for
/// as the layer has neurons. What is left out is looked at again after the step.
pub const ROWS: usize = 63;
/// Steps shorter than this part of the domain are lost in rounding.
const SHORTEST: f64 = 1e-7;

/// Walks from a start; the observed inputs meet all atoms with their margins, or there are none.
pub(crate) fn walk(
    task: &Task<'_>,
    start: Observed,
    variant: usize,
    effort: &mut Effort,
) -> Option<Observed> {
    let mut walk = Walk::new(task, start, variant)?;
    for _ in 0..STEPS {
        if walk.demands.is_met() {
            return Some(walk.here);
        }
        if task.is_over(*effort) {
            return None;
        }
        walk.step(effort)?;
    }
    walk.demands.is_met().then_some(walk.here)
}

struct Walk<'a> {
    task: &'a Task<'a>,
    variant: usize,
    regions: Vec<Region<'a>>,
    root: Vec<Vec<f32>>,
    here: Observed,
    demands: Demands,
    cost: f64,
    /// Signs that steps broke, to be kept by the next.
    signs: Vec<Atom>,
    trust: f64,
    /// Grid losses to aim beyond the margin.
    cushion: f64,
}

impl<'a> Walk<'a> {
    fn new(task: &'a Task<'a>, here: Observed, variant: usize) -> Option<Self> {
        let demands = task.demands(&here, &here, variant)?;
        let regions = task.regions(&here, &demands)?;
        Some(Self {
            root: vec![task.region.root.to_vec(); regions.len()],
            cost: demands.cost(&here),
            task,
            variant,
            regions,
            here,
            demands,
            signs: Vec::new(),
            trust: 1.0,
            cushion: if task.region.space.has_grid() {
                0.05
            } else {
                0.0
            },
        })
    }

    /// One step; `None` when there is no way on.
    fn step(&mut self, effort: &mut Effort) -> Option<()> {
        self.remember_signs();
        let next = self.propose(effort)?;
        if next.inputs == self.here.inputs {
            return self.retreat();
        }
        let demands = self.task.demands(&next, &next, self.variant)?;
        let cost = demands.cost(&next);
        if demands.is_met() || cost < HELPED * self.cost {
            self.here = next;
            self.demands = demands;
            self.cost = cost;
            self.trust = (2.0 * self.trust).min(1.0);
            return Some(());
        }
        let known = self.signs.len();
        for sign in demands.signs {
            if !self.signs.contains(&sign) && self.here.meets(&sign) {
                self.signs.push(sign);
            }
        }
        if self.signs.len() == known {
            return self.retreat();
        }
        Some(())
    }

    fn retreat(&mut self) -> Option<()> {
        self.trust *= 0.25;
        self.cushion *= 2.0;
        (self.trust > SHORTEST).then_some(())
    }

    /// Signs demanded here replace remembered ones that say the opposite.
    fn remember_signs(&mut self) {
        let neuron = |atom: &Atom| {
            let term = atom.terms[0];
            (term.input, term.point, term.element)
        };
        let demanded: Vec<_> = self.demands.signs.iter().map(neuron).collect();
        self.signs.retain(|sign| !demanded.contains(&neuron(sign)));
        self.signs.extend(self.demands.signs.iter().cloned());
    }

    /// The nearest point where the linearised network meets what is asked.
    fn propose(&self, effort: &mut Effort) -> Option<Observed> {
        let network = self.task.network;
        let asked = self.demands.unmet.iter().chain(&self.demands.met);
        let atoms = self.here.furthest(asked.chain(&self.signs), ROWS);
        let rows = self.here.affine(network, &atoms, effort);
        let targets: Vec<Target<'_>> = atoms
            .iter()
            .zip(&rows)
            .map(|(atom, row)| Target {
                row,
                least: DEPTH * atom.margin + self.cushion * Step::grid_loss(&self.regions, row),
            })
            .collect();
        effort.lp += 1;
        // Where the ball is a box any point of it will do. The other balls are kept to by staying as near to
        // the root as possible.
        let region = &self.task.region;
        let here: Vec<Vec<f32>> = self.here.moving_inputs().map(<[f32]>::to_vec).collect();
        let any = region.is_box;
        let centre = if any { &here } else { &self.root };
        let mut step = Step::new(centre, &self.regions, &targets);
        step.keep_near(&here, self.trust);
        let solution = if any {
            solver::near(&step.problem, &self.task.budget)
        } else {
            solver::nearest(&step.problem, region.norm, &[], &self.task.budget)
        };
        let Solution::Nearest { displacement, .. } = solution else {
            return None;
        };
        let inputs = step.inputs(&self.here, &displacement);
        Some(self.here.moved(network, &self.task.points, inputs, effort))
    }
}
