//! The linear program of one cell, growing: rows join when a run of the network shows them broken.

use deepconcolic_network::{Network, Point};

use crate::atom::{Atom, Term};
use crate::budget::Effort;
use crate::cone::Neurons;
use crate::observed::{Affine, Observed, steers};
use crate::region::Region;
use crate::solver::{self, Solution};
use crate::step::{Step, Target};
use crate::task::Task;

/// Most solves of one program while rows are added to it.
const SOLVES: usize = 200;
/// Most rows added after one solve, the most broken first.
const ADDED: usize = 24;
/// Aim this many margins deep, so that rounding to floats does not undo the solution.
const DEPTH: f64 = 1.5;
/// Most rows: what needs more is given up, so that one program takes seconds at most.
const MAX: usize = 256;
/// With more rows than this, those that do nothing are left out.
const MANY: usize = 48;
/// How far, in units of the domain, a solution stays clear of a row that does nothing.
const IDLE: f64 = 1e-7;
/// Times that a row which rounding breaks is asked for with twice the depth.
const DEEPER: usize = 6;

/// A row of the program.
pub(crate) struct Kept {
    atom: Atom,
    row: Affine,
    /// Whether it is the goal's; else it holds the cell.
    wanted: bool,
    /// How many margins deep it is asked for.
    depth: f64,
}

/// How many hidden layers must keep their signs for an atom to be affine.
pub(crate) fn depth(network: &Network, atom: &Atom) -> usize {
    let of = |term: &Term| match term.point {
        Point::Input => 0,
        Point::Pre(layer) => layer,
        Point::Post(layer) => layer + usize::from(!steers(network, term)),
        Point::Logits | Point::Answer | Point::Output(_) => network.layers().len(),
    };
    atom.terms.iter().map(of).max().unwrap_or(0)
}

/// One linear program, growing.
pub(crate) struct Program<'a> {
    pub task: &'a Task<'a>,
    /// Distances are from here.
    pub centre: &'a [f32],
    /// Which way of meeting the formula.
    pub variant: usize,
    /// The tensors to keep of runs.
    pub points: &'a [Point],
    /// Where choices of the formula are made.
    pub reference: &'a Observed,
    /// A point of the cell.
    pub base: &'a Observed,
    pub regions: &'a [Region<'a>],
    pub held: &'a [Neurons],
    /// Layers below this are held; atoms deeper than this are left for later.
    pub depth: usize,
    pub rows: Vec<Kept>,
}

pub(crate) enum Solved {
    /// The nearest point found, and a distance that no point of the cell which meets the goal, by the margin
    /// or not, is below.
    At(Observed, f64),
    Infeasible,
    Stalled,
}

impl Program<'_> {
    pub fn solve(mut self, effort: &mut Effort) -> Solved {
        let task = self.task;
        let norm = task.region.norm;
        let centre = vec![self.centre.to_vec(); self.regions.len()];
        let mut now = self.base.clone();
        let mut deeper = 0;
        // Rows that bound a solution stay, so what bounds an earlier solution bounds later ones.
        let mut known = Vec::new();
        let mut dropped_at = 0.0;
        for _ in 0..SOLVES {
            if task.is_over(*effort) {
                return Solved::Stalled;
            }
            let broken = self.broken(&now);
            let fresh: Vec<(Atom, bool)> = broken
                .iter()
                .filter(|(atom, _)| !self.rows.iter().any(|kept| kept.atom == *atom))
                .cloned()
                .collect();
            if fresh.is_empty() && !broken.is_empty() {
                // Rounding to floats, or to the grid, broke rows that the solution met.
                deeper += 1;
                if deeper > DEEPER {
                    return Solved::Stalled;
                }
                for kept in &mut self.rows {
                    if broken.iter().any(|(atom, _)| *atom == kept.atom) {
                        kept.depth *= 2.0;
                    }
                }
            }
            self.add(fresh, effort);
            if self.rows.len() > MAX {
                return Solved::Stalled;
            }
            let step = Step::new(&centre, self.regions, &self.targets(true));
            effort.lp += 1;
            match solver::nearest(&step.problem, norm, &known, &task.budget) {
                Solution::Nearest {
                    displacement,
                    multipliers,
                } => {
                    let inputs = step.inputs(self.base, &displacement);
                    now = now.moved(task.network, self.points, inputs, effort);
                    if self.broken(&now).is_empty() {
                        let plain = Step::new(&centre, self.regions, &self.targets(false));
                        return Solved::At(now, plain.problem.bound(&multipliers, norm));
                    }
                    known = multipliers;
                    if self.rows.len() > MANY {
                        let reached = step.problem.bound(&known, norm);
                        // Were rows dropped without gain, the same ones could come and go forever.
                        if reached > dropped_at {
                            dropped_at = reached;
                            self.drop_idle(&step.problem.slacks(&displacement), &mut known);
                        }
                    }
                }
                claim @ Solution::Infeasible(_) => {
                    // The rows ask for more than the goal; the claim must stand without.
                    let plain = Step::new(&centre, self.regions, &self.targets(false));
                    return if plain.problem.excludes(&claim) {
                        Solved::Infeasible
                    } else {
                        Solved::Stalled
                    };
                }
                Solution::Stalled => return Solved::Stalled,
            }
        }
        Solved::Stalled
    }

    fn targets(&self, with_depth: bool) -> Vec<Target<'_>> {
        let least = |kept: &Kept| {
            if !with_depth {
                // An execution that meets the row may miss it by rounding in real numbers, by less than
                // the margin; what is certified holds of it all the same.
                return -kept.atom.margin;
            }
            let grid = Step::grid_loss(self.regions, &kept.row);
            let grid = if kept.depth > DEPTH {
                0.1 * kept.depth * grid
            } else {
                0.0
            };
            let depth = if kept.wanted {
                kept.depth
            } else {
                kept.depth - 1.0
            };
            depth * kept.atom.margin + grid
        };
        self.rows
            .iter()
            .map(|kept| Target {
                row: &kept.row,
                least: least(kept),
            })
            .collect()
    }

    /// Leaves out the rows of the cell that neither bound the solution nor touch it.
    fn drop_idle(&mut self, slacks: &[f64], known: &mut Vec<f64>) {
        let stays: Vec<bool> = self
            .rows
            .iter()
            .zip(slacks.iter().zip(&*known))
            .map(|(kept, (&slack, &y))| kept.wanted || y > 0.0 || slack < IDLE)
            .collect();
        let mut stay = stays.iter();
        self.rows.retain(|_| stay.next().is_none_or(|s| *s));
        let mut stay = stays.iter();
        known.retain(|_| stay.next().is_none_or(|s| *s));
    }

    fn add(&mut self, atoms: Vec<(Atom, bool)>, effort: &mut Effort) {
        let (atoms, wanted): (Vec<Atom>, Vec<bool>) = atoms.into_iter().unzip();
        let rows = self.base.affine(self.task.network, &atoms, effort);
        for ((atom, row), wanted) in atoms.into_iter().zip(rows).zip(wanted) {
            self.rows.push(Kept {
                atom,
                row,
                wanted,
                depth: DEPTH,
            });
        }
    }

    /// Atoms that do not hold now: the goal's, and signs of the first layer that left the cell. What
    /// lies behind that layer is not read with this cell's pieces, so it says nothing.
    fn broken(&self, now: &Observed) -> Vec<(Atom, bool)> {
        let task = self.task;
        let network = task.network;
        let left = (0..self.depth.min(network.layers().len()))
            .map(|layer| self.signs_left(layer, now))
            .find(|atoms| !atoms.is_empty());
        if let Some(mut atoms) = left {
            atoms.truncate(ADDED);
            return atoms.into_iter().map(|atom| (atom, false)).collect();
        }
        let Some(demands) = task.demands(self.reference, now, self.variant) else {
            return Vec::new();
        };
        let goal = demands.unmet.iter().chain(&demands.signs);
        let shallow = goal.filter(|atom| depth(network, atom) <= self.depth);
        let furthest = now.furthest(shallow, ADDED).into_iter();
        furthest.map(|atom| (atom, true)).collect()
    }

    /// The signs of one layer that are not those of the cell, the most broken first.
    fn signs_left(&self, layer: usize, now: &Observed) -> Vec<Atom> {
        let task = self.task;
        // Only where the kink is at 0 do signs tell phases.
        let kinds = ["Relu", "LeakyRelu", "PRelu", "Abs"];
        if !kinds.contains(&task.network.layers()[layer].kind()) {
            return Vec::new();
        }
        let point = Point::Pre(layer);
        let input = self.base.inputs.len() - 1;
        let (before, after) = (self.base.values(input, point), now.values(input, point));
        let mut left: Vec<usize> = (0..before.len())
            .filter(|&n| (before[n] >= 0.0) != (after[n] >= 0.0) && self.held[layer].has(n))
            .collect();
        left.sort_by(|&a, &b| after[b].abs().total_cmp(&after[a].abs()));
        left.into_iter()
            .map(|n| task.scales.sign(input, point, n, before[n] >= 0.0))
            .collect()
    }
}
