//! Requirements that a user wrote, evaluated over inputs.
//!
//! A requirement on one input is judged batch by batch. One on two inputs needs every pair of tests,
//! so what it looks at is kept for all tests, and each costs a formula per pair.

use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{
    Assignment, Error, Evaluator, Formula, Input, Inputs as Arity, Observations, Quantifier,
    Requirement, RequirementSet, Var,
};
use deepconcolic_network::{Network, Point, Trace};

use crate::Inputs;
use crate::batches::each_batch;
use crate::limits::Limits;

/// What a suite says about one requirement. Where no test decides it, it says nothing: some other input may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether one input is wanted, or all are meant.
    pub quantifier: Quantifier,
    /// The first tests that decide it, the same number twice for one input: they meet an `exists`, or break a `forall`.
    pub decided_by: Option<(usize, usize)>,
}

/// Evaluates requirements over all inputs that have an answer, in their order.
pub fn answer(
    network: &Network,
    inputs: &dyn Inputs,
    requirements: &RequirementSet,
    space: &InputSpace,
) -> Result<Vec<Answer>, Error> {
    let all: Vec<Requirement> = requirements.iter().collect::<Result<_, _>>()?;
    let points = points(network, &all);
    // A requirement is decided by one assignment that satisfies its goal: the witness of an
    // exists, the counterexample of a forall.
    let goals: Vec<Formula> = all.iter().map(Requirement::goal).collect();
    let mut decisive: Vec<Option<(usize, usize)>> = vec![None; all.len()];
    let has_pairs = all.iter().any(|r| r.inputs == Arity::Two);
    let mut kept = Kept::new(network, &points);
    let mut run = Vec::new();
    let limits = Limits::default();
    each_batch(
        network,
        inputs,
        inputs.len(),
        &points,
        &limits,
        |numbers, trace| {
            let batch = Kept::of(network, trace, &points);
            let evaluator = Evaluator::new(&batch, space);
            for ((requirement, goal), found) in all.iter().zip(&goals).zip(&mut decisive) {
                if requirement.inputs == Arity::One && found.is_none() {
                    let test = (0..trace.samples())
                        .find(|&t| evaluator.satisfies(goal, Assignment::One(t)));
                    *found = test.map(|t| (numbers[t], numbers[t]));
                }
            }
            if has_pairs {
                kept.extend(&batch);
                run.extend(numbers);
            }
        },
    );
    if has_pairs {
        let evaluator = Evaluator::new(&kept, space);
        for ((requirement, goal), found) in all.iter().zip(&goals).zip(&mut decisive) {
            if requirement.inputs == Arity::Two {
                *found = evaluator
                    .assignments(Arity::Two)
                    .find(|&tests| evaluator.satisfies(goal, tests))
                    .map(|tests| match tests {
                        Assignment::One(t) => (run[t], run[t]),
                        Assignment::Two(a, b) => (run[a], run[b]),
                    });
            }
        }
    }
    Ok(all
        .iter()
        .zip(decisive)
        .map(|(requirement, decided_by)| Answer {
            quantifier: requirement.quantifier,
            decided_by,
        })
        .collect())
}

/// The tensors that requirements look at.
fn points(network: &Network, requirements: &[Requirement]) -> Vec<Point> {
    let mut points = vec![Point::Input];
    for requirement in requirements {
        requirement.formula.each_variable(&mut |var: Var| {
            let point = var.point(network.layers().len());
            if !points.contains(&point) {
                points.push(point);
            }
        });
    }
    points
}

/// What requirements look at, for many tests.
struct Kept<'a> {
    network: &'a Network,
    tests: usize,
    tensors: Vec<(Point, Vec<f32>)>,
}

impl<'a> Kept<'a> {
    fn new(network: &'a Network, points: &[Point]) -> Self {
        Self {
            network,
            tests: 0,
            tensors: points.iter().map(|&p| (p, Vec::new())).collect(),
        }
    }

    fn of(network: &'a Network, trace: &Trace<f32>, points: &[Point]) -> Self {
        let tensors = points.iter().map(|&p| (p, trace.get(p).to_vec()));
        Self {
            network,
            tests: trace.samples(),
            tensors: tensors.collect(),
        }
    }

    fn extend(&mut self, batch: &Self) {
        self.tests += batch.tests;
        for ((_, all), (_, part)) in self.tensors.iter_mut().zip(&batch.tensors) {
            all.extend_from_slice(part);
        }
    }

    fn row(&self, point: Point, test: usize) -> &[f32] {
        let found = self.tensors.iter().find(|(kept, _)| *kept == point);
        found.map_or(&[], |(_, data)| {
            let each = data.len() / self.tests.max(1);
            &data[test * each..(test + 1) * each]
        })
    }
}

impl Observations for Kept<'_> {
    fn tests(&self) -> usize {
        self.tests
    }

    fn u(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        let var = Var::u(Input::First, layer, neuron);
        self.row(var.point(self.network.layers().len()), test)[neuron]
    }

    fn v(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        let var = Var::v(Input::First, layer, neuron);
        self.row(var.point(self.network.layers().len()), test)[neuron]
    }

    fn input(&self, test: usize) -> &[f32] {
        self.row(Point::Input, test)
    }
}
