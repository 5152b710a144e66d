//! Execution decides: a point that bounds suggest counts only when the network, run on it, meets the
//! goal.

use deepconcolic_check::{Case, Region};
use deepconcolic_network::{Network, Pass, Point, Trace};
use deepconcolic_spec::{Assignment, Evaluator, Formula, InputSpace, Observations, Signature};

/// Checks points of one alternative.
pub(crate) struct Executor<'a> {
    pub network: &'a Network,
    goal: &'a Formula,
    region: &'a Region,
    points: Vec<Point>,
    depth: usize,
    /// Where the input elements that do not matter stand.
    base: Vec<f64>,
    space: InputSpace,
}

impl<'a> Executor<'a> {
    /// Elements that a point leaves open stand at the centre of the region.
    pub fn new(network: &'a Network, goal: &'a Formula, case: &'a Case) -> Self {
        let mut points: Vec<Point> = Vec::new();
        for term in case.atoms.iter().flat_map(|atom| &atom.terms) {
            if !points.contains(&term.point) && term.point != Point::Input {
                points.push(term.point);
            }
        }
        let ends = case.region.lower.iter().zip(&case.region.upper);
        let centre = ends.map(|(l, u)| 0.5 * l + 0.5 * u);
        Self {
            network,
            goal,
            region: &case.region,
            points,
            depth: Signature::of(network).depth(),
            base: centre.collect(),
            space: InputSpace::default(),
        }
    }

    /// The input with these values at some elements, if it meets the goal when executed.
    pub fn confirm(&self, elements: &[usize], values: &[f64]) -> Option<Vec<f32>> {
        let mut input = self.base.clone();
        for (&element, &value) in elements.iter().zip(values) {
            input[element] = value;
        }
        let ends = self.region.lower.iter().zip(&self.region.upper);
        let input: Option<Vec<f32>> = input
            .iter()
            .zip(ends)
            .map(|(&x, (&l, &u))| inside(x, l, u))
            .collect();
        let input = input?;
        let trace = self
            .network
            .forward(&input, &Pass::keep(self.points.clone()));
        let seen = Seen {
            input: &input,
            trace: &trace,
            points: &self.points,
            depth: self.depth,
        };
        let evaluator = Evaluator::new(&seen, &self.space);
        evaluator
            .satisfies(self.goal, Assignment::One(0))
            .then_some(input)
    }
}

/// The single-precision number nearest to `x` within `[l, u]`, if there is one.
pub(crate) fn inside(x: f64, l: f64, u: f64) -> Option<f32> {
    let near = x.clamp(l, u) as f32;
    let near = if f64::from(near) > u {
        near.next_down()
    } else if f64::from(near) < l {
        near.next_up()
    } else {
        near
    };
    (l <= f64::from(near) && f64::from(near) <= u).then_some(near)
}

/// One run, as formulas see it.
struct Seen<'a> {
    input: &'a [f32],
    trace: &'a Trace<f32>,
    points: &'a [Point],
    depth: usize,
}

impl Seen<'_> {
    fn value(&self, point: Point, neuron: usize) -> f32 {
        // A value that no condition asks for is never looked at.
        if self.points.contains(&point) {
            self.trace.sample(point, 0)[neuron]
        } else {
            f32::NAN
        }
    }
}

impl Observations for Seen<'_> {
    fn tests(&self) -> usize {
        1
    }

    fn u(&self, _: usize, layer: usize, neuron: usize) -> f32 {
        if layer == self.depth {
            self.value(Point::Logits, neuron)
        } else {
            self.value(Point::Pre(layer - 2), neuron)
        }
    }

    fn v(&self, _: usize, layer: usize, neuron: usize) -> f32 {
        if layer == self.depth {
            self.value(Point::Logits, neuron)
        } else {
            self.value(Point::Post(layer - 2), neuron)
        }
    }

    fn input(&self, _: usize) -> &[f32] {
        self.input
    }
}
