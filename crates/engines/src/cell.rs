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

use deepconcolic_network::Point;

use crate::attempt::Attempt;
use crate::budget::Effort;
use crate::cone::{Neurons, influence};
use crate::demands::Demands;
use crate::program::{Program, Solved, depth};
use crate::task::{Met, Moves, Task};

/// Ways of meeting the formula that are minimised over.
const VARIANTS: usize = 8;

/// Most cells slid through.
const SLIDES: usize = 16;
/// How far towards the root the next cell is looked for.
const SLIDE: f32 = 0.02;
/// Part of its old distance that a slide may leave and be worth another.
const HELPED: f64 = 0.999;

/// What a cell holds.
pub(crate) enum Found {
    Witness(Met),
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

/// The input nearest to the start in its cell, with the signs of all earlier layers kept.
pub(crate) fn nearest_to_start(task: &Task<'_>, start: &[f32], effort: &mut Effort) -> Found {
    Cell::new(task, start, start, Hold::Everything, 0).solve(effort)
}

/// The witness nearest to the root among those in the cells of the starts, for each way of meeting the
/// objective, with the certified optimum of its cell.
pub(crate) fn nearest_to_root(task: &Task<'_>, starts: &[&[f32]], effort: &mut Effort) -> Attempt {
    let variants = task.tree.variants(VARIANTS);
    let mut best: Option<Met> = None;
    let mut infeasible = 0;
    for start in starts {
        let mut empty = 0;
        for variant in 0..variants {
            if task.budget.interruption().is_some() {
                break;
            }
            let cell = Cell::new(task, start, task.region.root, Hold::Cone, variant);
            match cell.solve(effort) {
                Found::Witness(witness) => {
                    let witness = slide(task, start, variant, witness, effort);
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
        Some(met) => Attempt::Met(met),
        None => Attempt::Nothing {
            cells: starts.len(),
            infeasible,
        },
    }
}

/// The witness nearest to the root in the cell of a point, for the way of meeting the objective that is nearest
/// there, and in cells on the way from it to the root.
pub(crate) fn nearest_from(task: &Task<'_>, start: &[f32], effort: &mut Effort) -> Option<Met> {
    let cell = Cell::new(task, start, task.region.root, Hold::Cone, 0);
    match cell.solve(effort) {
        Found::Witness(witness) => Some(slide(task, start, 0, witness, effort)),
        Found::Infeasible | Found::Nothing => None,
    }
}

/// From cell to cell towards the root: a witness that its cell holds back is the end of the way only if
/// the cell on the other side has none that is nearer.
fn slide(
    task: &Task<'_>,
    start: &[f32],
    variant: usize,
    mut witness: Met,
    effort: &mut Effort,
) -> Met {
    // The root's own cell holds the whole way to the root, and pairs are tied to their first input.
    if start == task.region.root || witness.inputs.len() > 1 {
        return witness;
    }
    for _ in 0..SLIDES {
        if task.budget.interruption().is_some() {
            break;
        }
        let nearer = |(x, root): (&f32, &f32)| x + SLIDE * (root - x);
        let beyond: Vec<f32> = witness.inputs[0]
            .iter()
            .zip(task.region.root)
            .map(nearer)
            .collect();
        let cell = Cell::new(task, &beyond, task.region.root, Hold::Cone, variant);
        match cell.solve(effort) {
            Found::Witness(next) if next.distance < HELPED * witness.distance => witness = next,
            _ => break,
        }
    }
    witness
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
                task: self.task,
                centre: self.centre,
                variant: self.variant,
                points: &self.points,
                reference: &first,
                base: &base,
                regions: &regions,
                held: &held,
                depth,
                rows: Vec::new(),
            };
            match program.solve(effort) {
                Solved::At(point, bound) if stage == last => {
                    let exact = self.task.is_affine_in_cells();
                    let bound = exact.then_some(bound);
                    return match self.task.witness(&point, self.centre, bound) {
                        Some(witness) => Found::Witness(witness),
                        None => Found::Nothing,
                    };
                }
                Solved::At(point, _) => base = point,
                // That a shallower part cannot be met is certain whichever cell is read deeper down.
                Solved::Infeasible if self.task.is_affine_in_cells() => {
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
