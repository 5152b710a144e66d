//! A goal ready to be searched: its tree, its region, the tensors it looks at.

use deepconcolic_criteria::Objective;
use deepconcolic_language::{Formula, Inputs};
use deepconcolic_network::{Head, Nature, Network, Point};

use crate::atom::Scales;
use crate::budget::{Budget, Effort};
use crate::demands::Demands;
use crate::goal::{Goal, Origin, Reason};
use crate::observed::{Lens, Observed};
use crate::pair_tree::pair_tree;
use crate::region::{Region, RegionOf};
use crate::tree::{Tree, Variant};

/// Which inputs move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moves {
    /// The only input, or the second of a pair, whose first is the start.
    Last,
    /// Both inputs of a pair.
    Both,
}

/// A goal that this engine can work on.
#[derive(Clone)]
pub(crate) struct Task<'a> {
    pub network: &'a Network,
    pub inputs: Inputs,
    pub scales: Scales<'a>,
    pub tree: Tree,
    pub region: Region<'a>,
    pub points: Vec<Point>,
    pub budget: Budget<'a>,
    /// The objective as it was given, for a last word on every witness.
    objective: Option<&'a Objective>,
}

/// Inputs that meet a task.
#[derive(Debug, Clone)]
pub(crate) struct Met {
    /// `x`, or `x1` and `x2`.
    pub inputs: Vec<Vec<f32>>,
    /// As of a [`Witness`](crate::Witness).
    pub distance: f64,
    pub bound: Option<f64>,
}

impl<'a> Task<'a> {
    /// The search for one objective from one origin, in a region of this making.
    pub fn new(
        goal: &Goal<'a>,
        objective: &'a Objective,
        origin: &Origin<'a>,
        region: RegionOf,
        budget: Budget<'a>,
    ) -> Result<Self, Reason> {
        let scales = Scales::of(goal);
        let tree = match objective {
            Objective::Formula { formula, .. } => Tree::compile(formula, true, &scales)?,
            Objective::PairOfChanges(pair) => pair_tree(pair, &scales)?,
            Objective::Ratio(_) => {
                return Err(Reason::Objective {
                    asked: objective.kind(),
                    takes: "formulas and pairs of neurons",
                });
            }
        };
        let region = region(goal.space, origin.root)?;
        let mut task = Self::of_tree(scales, objective.inputs(), tree, region);
        task.objective = Some(objective);
        task.budget = budget;
        if let Objective::Formula { formula, .. } = objective {
            let hidden = goal.network.layers().len();
            named_points(formula, hidden, &mut task.points);
        }
        Ok(task)
    }

    /// A task that no objective was written for.
    pub fn of_tree(scales: Scales<'a>, inputs: Inputs, tree: Tree, region: Region<'a>) -> Self {
        let mut points = Vec::new();
        tree.points(&mut points);
        Self {
            network: scales.network,
            inputs,
            scales,
            tree,
            region,
            points,
            budget: Budget::default(),
            objective: None,
        }
    }

    /// The same task in another region.
    pub fn within(&self, region: Region<'a>) -> Self {
        Self {
            region,
            ..self.clone()
        }
    }

    /// Whether the budget ends a search that took so much.
    pub fn is_over(&self, effort: Effort) -> bool {
        self.budget.stop(effort).is_some()
    }

    /// The network's answers at a start.
    pub fn observe(&self, start: &[f32], moves: Moves, effort: &mut Effort) -> Observed {
        let (inputs, moving) = match (self.inputs, moves) {
            (Inputs::One, _) => (1, vec![true]),
            (Inputs::Two, Moves::Last) => (2, vec![false, true]),
            (Inputs::Two, Moves::Both) => (2, vec![true, true]),
        };
        let inputs = vec![start.to_vec(); inputs];
        Observed::run(self.network, &self.points, inputs, moving, effort)
    }

    /// What one way of meeting the goal asks for; `None` when it is barred.
    pub fn demands(&self, reference: &Observed, now: &Observed, variant: usize) -> Option<Demands> {
        let mut demands = Demands::default();
        let mut variant = Variant(variant);
        self.tree
            .demands(reference, now, &self.scales, &mut variant, &mut demands)
            .then_some(demands)
    }

    /// Where each moving input may lie; `None` when the formula's boxes leave nothing.
    pub fn regions(&self, observed: &Observed, demands: &Demands) -> Option<Vec<Region<'a>>> {
        let mut regions = Vec::new();
        for (input, _) in observed.moving.iter().enumerate().filter(|(_, m)| **m) {
            let mut region = self.region.clone();
            let wanted = demands.boxes.iter().filter(|(of, _)| *of == input);
            for (_, each) in wanted {
                if !region.intersect(each) {
                    return None;
                }
            }
            // With the first input fixed this is a box; with both free it is left to the check.
            if !observed.moving[0] && demands.near.is_finite() {
                region.keep_to_ball(&observed.inputs[0], demands.near);
            }
            regions.push(region);
        }
        Some(regions)
    }

    /// Whether the goal's values are affine in a cell of the network. The answer of a final Softmax or
    /// Sigmoid is not, whatever comes before it.
    pub fn is_affine_in_cells(&self) -> bool {
        let smooth = self.network.head() != Head::Identity && self.points.contains(&Point::Answer);
        !smooth && self.network.nature() <= Nature::PiecewiseLinear
    }

    /// The hidden layers of which whole sets of signs must agree on both inputs.
    pub fn pairs_of_signs(&self) -> Vec<usize> {
        fn visit(tree: &Tree, into: &mut Vec<usize>) {
            match tree {
                Tree::Same(same) => {
                    if let Point::Pre(layer) = same.point {
                        into.push(layer);
                    }
                }
                Tree::All(of) | Tree::Any(of) | Tree::AtLeast(_, of) => {
                    for part in of {
                        visit(part, into);
                    }
                }
                _ => {}
            }
        }
        let mut layers = Vec::new();
        visit(&self.tree, &mut layers);
        layers
    }

    /// A part that no search leads to, if there is one.
    pub fn unsteered(&self) -> Option<Reason> {
        self.tree.unsteered().map(|part| Reason::Unsupported {
            part: part.to_string(),
            why: "this can be checked of inputs that are found, but no row leads to it",
        })
    }

    /// A witness, if the inputs are tests and the objective as it was given holds of them.
    /// Distances are from `centre`.
    pub fn witness(&self, observed: &Observed, centre: &[f32], bound: Option<f64>) -> Option<Met> {
        let tests = observed.inputs.iter().zip(&observed.moving);
        let allowed = |(x, moves): (&Vec<f32>, &bool)| !moves || self.region.allows(x);
        let lens = Lens {
            observed,
            hidden: self.network.layers().len(),
        };
        let units = &self.region.space.units;
        let satisfied = |objective: &Objective| objective.judge(&lens, units);
        let holds = tests.clone().all(allowed) && self.objective.is_none_or(satisfied);
        holds.then(|| Met {
            inputs: observed.inputs.clone(),
            distance: observed
                .moving_inputs()
                .map(|x| self.region.space.distance(x, centre))
                .fold(0.0, f64::max),
            // A bound is a distance in the norm of programs, which a count is not.
            bound: bound.filter(|_| self.region.space.norm.convex().is_ok()),
        })
    }
}

/// The tensors that a formula names.
fn named_points(formula: &Formula, hidden: usize, into: &mut Vec<Point>) {
    let mut visit = |part: &Formula| named_points(part, hidden, into);
    match formula {
        Formula::Compare(comparison) => {
            for (_, var) in &comparison.linear.terms {
                if var.layer < 2 {
                    continue;
                }
                let point = var.point(hidden);
                if !into.contains(&point) {
                    into.push(point);
                }
            }
        }
        Formula::Within { .. } | Formula::Distance { .. } => {}
        Formula::Not(inner) => visit(inner),
        Formula::And(of) | Formula::Or(of) | Formula::Count { of, .. } => {
            of.iter().for_each(visit);
        }
        Formula::Iff(a, b) | Formula::Xor(a, b) => {
            visit(a);
            visit(b);
        }
    }
}
