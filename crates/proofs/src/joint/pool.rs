//! Inputs that were run, and how they stand to formulas.

use std::sync::Arc;

use deepconcolic_language::{Comparison, Formula, Input, Linear, Var};
use deepconcolic_network::{Network, Pass, Point, Trace};

/// A run of the network on one of several inputs.
#[derive(Clone)]
pub(super) struct Seen {
    trace: Arc<Trace<f32>>,
    row: usize,
}

impl Seen {
    pub fn input(&self) -> &[f32] {
        self.trace.sample(Point::Input, self.row)
    }
}

/// Inputs that were run, and which tensors were kept.
pub(super) struct Pool {
    pub seen: Vec<Seen>,
    points: Vec<Point>,
    hidden: usize,
}

impl Pool {
    pub fn new(network: &Network, goals: &[Formula], samples: &[f32]) -> Self {
        let hidden = network.layers().len();
        let mut points = vec![Point::Input];
        for goal in goals {
            goal.each_variable(&mut |var: Var| {
                let point = var.point(hidden);
                if !points.contains(&point) {
                    points.push(point);
                }
            });
        }
        let trace = Arc::new(network.forward(samples, &Pass::keep(points.clone())));
        let rows = 0..trace.samples();
        Self {
            seen: rows
                .map(|row| Seen {
                    trace: Arc::clone(&trace),
                    row,
                })
                .collect(),
            points,
            hidden,
        }
    }

    pub fn run(&self, network: &Network, input: &[f32]) -> Seen {
        let trace = network.forward(input, &Pass::keep(self.points.clone()));
        Seen {
            trace: Arc::new(trace),
            row: 0,
        }
    }

    /// The value of a sum on two inputs.
    pub fn value(&self, linear: &Linear, inputs: [&Seen; 2]) -> f64 {
        let terms = linear.terms.iter().map(|(weight, var)| {
            let seen = inputs[usize::from(var.input == Input::Second)];
            let values = seen.trace.sample(var.point(self.hidden), seen.row);
            weight * f64::from(values[var.neuron])
        });
        terms.sum::<f64>() + linear.constant
    }

    /// How far a formula in normal form is from holding; 0 where it does. What is not linear counts as
    /// held: it is not made use of.
    pub fn distance(&self, formula: &Formula, inputs: [&Seen; 2]) -> f64 {
        let part = |part: &Formula| self.distance(part, inputs);
        match formula {
            Formula::Compare(comparison) => {
                let value = self.value(&comparison.linear, inputs);
                if comparison.relation.holds(&value, &0.0) {
                    0.0
                } else {
                    value.abs().max(f64::MIN_POSITIVE)
                }
            }
            Formula::And(of) => of.iter().map(part).fold(0.0, f64::max),
            Formula::Or(of) => of.iter().map(part).fold(f64::INFINITY, f64::min),
            _ => 0.0,
        }
    }

    pub fn holds(&self, conditions: &[Comparison], seen: &Seen) -> bool {
        let mut conditions = conditions.iter();
        conditions.all(|c| c.relation.holds(&self.value(&c.linear, [seen; 2]), &0.0))
    }
}
