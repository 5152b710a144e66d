//! A goal ready to be searched: its tree, its region, the tensors it looks at.

use deepconcolic_language::{Assignment, Evaluator, Formula, Inputs};
use deepconcolic_network::{Head, Nature, Network, Point};

use crate::atom::Scales;
use crate::demands::Demands;
use crate::goal::{Effort, Goal, Reason, Witness};
use crate::observed::{Lens, Observed};
use crate::region::Region;
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
pub(crate) struct Task<'a> {
    pub network: &'a Network,
    pub inputs: Inputs,
    pub scales: Scales<'a>,
    pub tree: Tree,
    pub region: Region<'a>,
    pub points: Vec<Point>,
    /// Passes after which to give up.
    pub most: Option<usize>,
    /// The formula as it was written, for a last word on every witness.
    formula: Option<&'a Formula>,
}

impl<'a> Task<'a> {
    pub fn new(network: &'a Network, goal: &'a Goal<'a>) -> Result<Self, Reason> {
        let scales = Scales {
            network,
            means: goal.means,
            margin: goal.margin,
        };
        let tree = Tree::compile(goal.formula, true, &scales)?;
        let region = Region::of(goal.space, goal.root)?;
        let mut task = Self::of_tree(scales, goal.inputs, tree, region);
        task.formula = Some(goal.formula);
        task.most = goal.most;
        let hidden = network.layers().len();
        named_points(goal.formula, hidden, &mut task.points);
        Ok(task)
    }

    /// A task that no formula was written for.
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
            most: None,
            formula: None,
        }
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

    /// What to say when nothing was found.
    pub fn failure(&self, cells: usize, infeasible: usize) -> Reason {
        match self.tree.unsteered() {
            Some(part) => Reason::Unsupported {
                part: part.to_string(),
                why: "this can be checked of inputs that are found, but no row leads to it",
            },
            None => Reason::NotFound { cells, infeasible },
        }
    }

    /// A witness, if the inputs are tests and the formula as it was written holds of them.
    /// Distances are from `centre`.
    pub fn witness(
        &self,
        observed: &Observed,
        centre: &[f32],
        bound: Option<f64>,
    ) -> Option<Witness> {
        let tests = observed.inputs.iter().zip(&observed.moving);
        let allowed = |(x, moves): (&Vec<f32>, &bool)| !moves || self.region.allows(x);
        let lens = Lens {
            observed,
            hidden: self.network.layers().len(),
        };
        let evaluator = Evaluator::new(&lens, &self.region.space.units);
        let assignment = match self.inputs {
            Inputs::One => Assignment::One(0),
            Inputs::Two => Assignment::Two(0, 1),
        };
        let satisfied = |formula| evaluator.satisfies(formula, assignment);
        let holds = tests.clone().all(allowed) && self.formula.is_none_or(satisfied);
        holds.then(|| Witness {
            inputs: observed.inputs.clone(),
            distance: observed
                .moving_inputs()
                .map(|x| self.region.space.distance(x, centre))
                .fold(0.0, f64::max),
            bound,
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
