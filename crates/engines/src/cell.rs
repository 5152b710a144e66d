//! The nearest witness inside one cell: all earlier signs kept, distances minimal and certified.
//!
//! Within a cell the network is affine, so this is the linear program of the paper's Section 8.1. Its
//! thousands of sign rows are added lazily: the problem is solved with the goal's own rows, the
//! network is run at the solution, and rows that are broken there join the problem. A problem with
//! few rows has the smaller optimum, so its certified bound holds for the cell; once nothing is
//! broken, the point attains it.
//!
//! A goal may itself ask for another cell: sign-sign pairs flip a condition, and the decision must be
//! read with that flip. Then the goal is met layer by layer: when the shallower atoms are met, their
//! solution is a point of the wanted cell, and rows of deeper values are taken there.

use deepconcolic_network::{Nature, Network, Point};

use crate::atom::{Atom, Term};
use crate::cone::{Neurons, influence};
use crate::goal::{Effort, Goal, Outcome, Report, Witness};
use crate::observed::{Affine, Observed, steers};
use crate::region::Region;
use crate::solver::{self, Solution};
use crate::step::{Step, Target};
use crate::task::{Moves, Task};
use crate::tree::Demands;

/// Most solves of one program while rows are added to it.
const SOLVES: usize = 200;
/// Most rows added after one solve, the most broken first.
const ADDED: usize = 24;
/// Aim this many margins deep, so that rounding to floats does not undo the solution.
const DEPTH: f64 = 1.5;
/// Times that a row which rounding breaks is asked for with twice the depth.
const DEEPER: usize = 6;
/// Ways of meeting the formula that are minimised over.
const VARIANTS: usize = 8;

/// What a cell holds.
pub(crate) enum Found {
    Witness(Witness),
    /// Certainly no witness.
    Infeasible,
    /// No witness was found.
    Nothing,
}

/// Which earlier signs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// Those that the goal depends on.
    Cone,
    /// All.
    Everything,
}

/// The witness nearest to the root among those in the cells of the starts, for each way of meeting the
/// formula, with the certified optimum of its cell.
pub fn nearest(network: &Network, goal: &Goal<'_>) -> Report {
    let mut effort = Effort::default();
    let outcome = match Task::new(network, goal) {
        Ok(task) => best_of_starts(&task, goal.starts, &mut effort),
        Err(reason) => Outcome::GaveUp(reason),
    };
    Report { outcome, effort }
}

/// One step of the paper's algorithm, as written: the input nearest to the start in its cell, with the
/// signs of all earlier layers kept, that meets the goal. The ball round the root is whatever the
/// goal's space says; the paper's own program has none.
pub fn paper_step(network: &Network, goal: &Goal<'_>, start: &[f32]) -> Report {
    let mut effort = Effort::default();
    let outcome = match Task::new(network, goal) {
        Ok(task) => {
            let cell = Cell::new(&task, start, start, Hold::Everything, 0);
            match cell.solve(&mut effort) {
                Found::Witness(witness) => Outcome::Witness(witness),
                Found::Infeasible => Outcome::GaveUp(task.failure(1, 1)),
                Found::Nothing => Outcome::GaveUp(task.failure(1, 0)),
            }
        }
        Err(reason) => Outcome::GaveUp(reason),
    };
    Report { outcome, effort }
}

fn best_of_starts(task: &Task<'_>, starts: &[&[f32]], effort: &mut Effort) -> Outcome {
    let variants = task.tree.variants(VARIANTS);
    let mut best: Option<Witness> = None;
    let mut infeasible = 0;
    for start in starts {
        let mut empty = 0;
        for variant in 0..variants {
            let cell = Cell::new(task, start, task.region.root, Hold::Cone, variant);
            match cell.solve(effort) {
                Found::Witness(witness) => {
                    if best.as_ref().is_none_or(|b| witness.distance < b.distance) {
                        best = Some(witness);
                    }
                }
                Found::Infeasible => empty += 1,
                Found::Nothing => {}
            }
        }
        infeasible += usize::from(empty == variants);
    }
    match best {
        Some(witness) => Outcome::Witness(witness),
        None => Outcome::GaveUp(task.failure(starts.len(), infeasible)),
    }
}

/// Some witness in the cell of a start, for a search that found none without holding it.
pub(crate) fn in_cell_of(task: &Task<'_>, start: &[f32], effort: &mut Effort) -> Found {
    Cell::new(task, start, task.region.root, Hold::Cone, 0).solve(effort)
}

/// A search inside one cell.
struct Cell<'a> {
    task: &'a Task<'a>,
    start: &'a [f32],
    centre: &'a [f32],
    hold: Hold,
    variant: usize,
    points: Vec<Point>,
}

/// A row of the program.
struct Kept {
    atom: Atom,
    row: Affine,
    /// Whether it is the goal's; else it holds the cell.
    wanted: bool,
    /// How many margins deep it is asked for.
    depth: f64,
}

impl<'a> Cell<'a> {
    fn new(
        task: &'a Task<'a>,
        start: &'a [f32],
        centre: &'a [f32],
        hold: Hold,
        variant: usize,
    ) -> Self {
        let mut points = task.points.clone();
        let layers = task.network.layers().len();
        for point in (0..layers).map(Point::Pre) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        Self {
            task,
            start,
            centre,
            hold,
            variant,
            points,
        }
    }

    fn solve(&self, effort: &mut Effort) -> Found {
        let mut base = self.task.observe(self.start, Moves::Last, effort);
        base = base.moved(self.task.network, &self.points, base.inputs.clone(), effort);
        let first = base.clone();
        let Some(demands) = self.task.demands(&first, &base, self.variant) else {
            return Found::Infeasible;
        };
        let Some(regions) = self.task.regions(&base, &demands) else {
            return Found::Infeasible;
        };
        let held = self.held(&demands);
        let depths = self.depths(&demands);
        let last = depths.len().saturating_sub(1);
        for (stage, depth) in depths.into_iter().enumerate() {
            let program = Program {
                cell: self,
                reference: &first,
                base: &base,
                regions: &regions,
                held: &held,
                depth,
                rows: Vec::new(),
            };
            match program.solve(effort) {
                Solved::At(point, bound) if stage == last => {
                    let exact = self.task.network.nature() <= Nature::PiecewiseLinear;
                    let bound = exact.then_some(bound);
                    return match self.task.witness(&point, self.centre, bound) {
                        Some(witness) => Found::Witness(witness),
                        None => Found::Nothing,
                    };
                }
                Solved::At(point, _) => base = point,
                // That a shallower part cannot be met is certain whichever cell is read deeper down.
                Solved::Infeasible if self.task.network.nature() <= Nature::PiecewiseLinear => {
                    return Found::Infeasible;
                }
                Solved::Infeasible | Solved::Stalled => return Found::Nothing,
            }
        }
        Found::Nothing
    }

    /// The neurons whose signs make up the cell.
    fn held(&self, demands: &Demands) -> Vec<Neurons> {
        let everything = self.hold == Hold::Everything || !self.task.pairs_of_signs().is_empty();
        if everything {
            return vec![Neurons::All; self.task.network.layers().len()];
        }
        let atoms = demands.unmet.iter().chain(&demands.met);
        let values: Vec<(Point, usize)> = atoms
            .flat_map(|atom| atom.terms.iter().map(|t| (t.point, t.element)))
            .collect();
        influence(self.task.network, &values)
    }

    /// How deep the goal's parts lie, ascending: one, unless a shallower part is to be changed, which
    /// changes how deeper values are read.
    fn depths(&self, demands: &Demands) -> Vec<usize> {
        let network = self.task.network;
        let all = demands.unmet.iter().chain(&demands.met);
        let same = self.task.pairs_of_signs();
        let deepest = all
            .map(|atom| depth(network, atom))
            .chain(same.iter().copied())
            .max()
            .unwrap_or(0);
        let mut depths: Vec<usize> = demands.unmet.iter().map(|a| depth(network, a)).collect();
        depths.push(deepest);
        depths.sort_unstable();
        depths.dedup();
        depths
    }
}

/// How many hidden layers must keep their signs for an atom to be affine.
fn depth(network: &Network, atom: &Atom) -> usize {
    let of = |term: &Term| match term.point {
        Point::Input => 0,
        Point::Pre(layer) => layer,
        Point::Post(layer) => layer + usize::from(!steers(network, term)),
        Point::Logits | Point::Output(_) => network.layers().len(),
    };
    atom.terms.iter().map(of).max().unwrap_or(0)
}

/// One linear program, growing.
struct Program<'a> {
    cell: &'a Cell<'a>,
    /// Where choices of the formula are made.
    reference: &'a Observed,
    /// A point of the cell.
    base: &'a Observed,
    regions: &'a [Region<'a>],
    held: &'a [Neurons],
    /// Layers below this are held; atoms deeper than this are left for later.
    depth: usize,
    rows: Vec<Kept>,
}

enum Solved {
    /// The nearest point and its certified bound.
    At(Observed, f64),
    Infeasible,
    Stalled,
}

impl Program<'_> {
    fn solve(mut self, effort: &mut Effort) -> Solved {
        let task = self.cell.task;
        let norm = task.region.space.norm;
        let centre = vec![self.cell.centre.to_vec(); self.regions.len()];
        let mut now = self.base.clone();
        let mut deeper = 0;
        // Rows only join, so what bounds an earlier solution bounds later ones.
        let mut known = Vec::new();
        for _ in 0..SOLVES {
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
            let step = Step::new(&centre, self.regions, &self.targets(true));
            effort.lp += 1;
            match solver::nearest(&step.problem, norm, &known) {
                Solution::Nearest {
                    displacement,
                    multipliers,
                } => {
                    let inputs = step.inputs(self.base, &displacement);
                    now = now.moved(task.network, &self.cell.points, inputs, effort);
                    if self.broken(&now).is_empty() {
                        let plain = Step::new(&centre, self.regions, &self.targets(false));
                        return Solved::At(now, plain.problem.bound(&multipliers, norm));
                    }
                    known = multipliers;
                }
                claim @ Solution::Infeasible(_) => {
                    // The rows ask for a little more than the goal; the claim must stand without.
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
                return if kept.wanted { kept.atom.margin } else { 0.0 };
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

    fn add(&mut self, atoms: Vec<(Atom, bool)>, effort: &mut Effort) {
        let (atoms, wanted): (Vec<Atom>, Vec<bool>) = atoms.into_iter().unzip();
        let rows = self.base.affine(self.cell.task.network, &atoms, effort);
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
        let task = self.cell.task;
        let network = task.network;
        let left = (0..self.depth.min(network.layers().len()))
            .map(|layer| self.signs_left(layer, now))
            .find(|atoms| !atoms.is_empty());
        if let Some(mut atoms) = left {
            atoms.truncate(ADDED);
            return atoms.into_iter().map(|atom| (atom, false)).collect();
        }
        let Some(demands) = task.demands(self.reference, now, self.cell.variant) else {
            return Vec::new();
        };
        let goal = demands.unmet.into_iter().chain(demands.signs);
        goal.filter(|atom| depth(network, atom) <= self.depth)
            .map(|atom| (atom, true))
            .collect()
    }

    /// The signs of one layer that are not those of the cell, the most broken first.
    fn signs_left(&self, layer: usize, now: &Observed) -> Vec<Atom> {
        let task = self.cell.task;
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
