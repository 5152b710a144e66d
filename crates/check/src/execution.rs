//! One input, executed: whether it meets a formula.

use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{Assignment, Evaluator, Formula, Input, Observations, Var};
use deepconcolic_network::{Network, Pass, Point, Trace};

/// Whether an input, run in single precision, meets a formula about one input.
pub fn meets(network: &Network, formula: &Formula, input: &[f32]) -> bool {
    let hidden = network.layers().len();
    let mut points: Vec<Point> = Vec::new();
    formula.each_variable(&mut |var| {
        let point = var.point(hidden);
        if point != Point::Input && !points.contains(&point) {
            points.push(point);
        }
    });
    let seen = Seen {
        input,
        trace: &network.forward(input, &Pass::keep(points)),
        hidden,
    };
    let space = InputSpace::default();
    Evaluator::new(&seen, &space).satisfies(formula, Assignment::One(0))
}

/// One run, as formulas see it.
struct Seen<'a> {
    input: &'a [f32],
    trace: &'a Trace<f32>,
    hidden: usize,
}

impl Seen<'_> {
    fn value(&self, var: Var) -> f32 {
        self.trace.sample(var.point(self.hidden), 0)[var.neuron]
    }
}

impl Observations for Seen<'_> {
    fn tests(&self) -> usize {
        1
    }

    fn u(&self, _: usize, layer: usize, neuron: usize) -> f32 {
        self.value(Var::u(Input::First, layer, neuron))
    }

    fn v(&self, _: usize, layer: usize, neuron: usize) -> f32 {
        self.value(Var::v(Input::First, layer, neuron))
    }

    fn input(&self, _: usize) -> &[f32] {
        self.input
    }
}
