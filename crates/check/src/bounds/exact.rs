//! Bounds against exact rational arithmetic, without any tolerance: networks whose numbers are tiny, huge,
//! subnormal or cancel each other, so that a rounding in the wrong direction shows.

mod executions;
mod forward;
mod interpolation;
mod leaves;
mod units;

use deepconcolic_network::ops::{
    Abs, AveragePool, Binary, Clip, Dense, Elementwise, HardSigmoid, LeakyRelu, Max, MaxPool,
    PRelu, Relu, View, Window,
};
use deepconcolic_network::{Element, Network, NetworkBuilder, Point, Shape, StraightPart, Tensor};
use deepconcolic_testing::Random;
use num_rational::BigRational as Exact;

use crate::bounds::backward::Magnitudes;
use crate::bounds::cone::{Cone, Curves, Step};
use crate::bounds::context::Context;
use crate::bounds::lines::{RelaxationLine, lines};
use crate::certificate::Region;
use crate::until::Until;

fn exact(x: f64) -> Exact {
    Exact::from_float(x).expect("finite")
}

fn zero() -> Exact {
    exact(0.0)
}

/// At least, where minus infinity is a bound too.
fn is_below(bound: f64, value: &Exact) -> bool {
    bound == f64::NEG_INFINITY || exact(bound) <= *value
}

fn is_above(bound: f64, value: &Exact) -> bool {
    bound == f64::INFINITY || exact(bound) >= *value
}

/// A single-precision number that is good at showing errors.
fn nasty(random: &mut Random) -> f64 {
    let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
    let size = match random.below(12) {
        0 => 0.0,
        1 => 1.0,
        2 => random.between(1e6, 1e9),
        3 => random.between(1e-12, 1e-9),
        4 => 1e-42,
        5 => random.between(1e-36, 1e-30),
        _ => random.between(0.1, 2.0),
    };
    f64::from((sign * size) as f32)
}

fn dense(
    builder: &mut NetworkBuilder,
    random: &mut Random,
    input: Tensor,
    outputs: usize,
) -> Result<Tensor, String> {
    let inputs = builder.shape(input).elements();
    // Outputs in pairs that are almost each other's opposite: what is added up of them cancels.
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for output in 0..outputs {
        let fresh = (0..inputs).map(|_| nasty(random)).collect();
        let column = match columns.last() {
            Some(last) if output % 2 == 1 && random.below(2) == 0 => last
                .iter()
                .map(|&w| f64::from(-(w as f32) * (1.0 + 1e-6)))
                .collect(),
            _ => fresh,
        };
        columns.push(column);
    }
    let weights = (0..inputs).flat_map(|i| columns.iter().map(move |column| column[i]));
    let weights = weights.collect();
    let bias = (0..outputs).map(|_| nasty(random)).collect();
    builder.add(Dense::new(inputs, outputs, weights, bias)?, &[input], "")
}

/// One of the curves and maxima that certificates know; averages besides.
fn bend(
    builder: &mut NetworkBuilder,
    random: &mut Random,
    input: Tensor,
) -> Result<Tensor, String> {
    let each = |builder: &mut NetworkBuilder, pooled: bool, average: bool| {
        if !pooled {
            return Ok(input);
        }
        let image = View::new(Shape::new([1, 2, 2, 1])?);
        let image = builder.add(image, &[input], "")?;
        let window = Window::new([2, 2]);
        let pooled = if average {
            builder.add(AveragePool::new(&window, [2, 2, 1], false)?, &[image], "")?
        } else {
            builder.add(MaxPool::new(&window, [2, 2, 1])?, &[image], "")?
        };
        builder.add(View::new(Shape::new([1, 1])?), &[pooled], "")
    };
    match random.below(10) {
        0 | 1 => builder.add(Elementwise::new(Relu), &[input], ""),
        2 => builder.add(Elementwise::new(LeakyRelu::new(0.1)?), &[input], ""),
        3 => builder.add(Elementwise::new(Abs), &[input], ""),
        4 => builder.add(Elementwise::new(Clip::new(-0.4, 0.6)?), &[input], ""),
        5 => builder.add(Elementwise::new(HardSigmoid::new(0.2, 0.5)?), &[input], ""),
        6 => {
            let slopes: Vec<f64> = (0..4).map(|_| nasty(random)).collect();
            let slopes = builder.constant(Shape::new([4])?, slopes)?;
            builder.add(PRelu, &[input, slopes], "")
        }
        7 => {
            let other = dense(builder, random, input, 4)?;
            builder.add(Binary::new(Max), &[input, other], "")
        }
        8 => each(builder, true, false),
        _ => each(builder, true, true),
    }
}

fn built(random: &mut Random) -> Result<Network, String> {
    let inputs = 1 + random.below(3);
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, inputs])?);
    for _ in 0..=random.below(3) {
        x = dense(&mut builder, random, x, 4)?;
        x = bend(&mut builder, random, x)?;
    }
    let x = dense(&mut builder, random, x, 2)?;
    builder.finish(&[("y", x)], 0)
}

fn region(random: &mut Random, elements: usize) -> Region {
    let ends = (0..elements).map(|_| {
        let a = match random.below(4) {
            0 => 0.1,
            1 => 1e-300,
            2 => random.between(-1e-8, 1e-8),
            _ => random.between(-1.0, 1.0),
        };
        let b = a + [0.0, 1.0 / 3.0, 1.0, 1e-9][random.below(4)];
        (a, b)
    });
    let (lower, upper) = ends.unzip();
    Region {
        lower,
        upper,
        ..Region::default()
    }
}

/// What the check has of a network over a region, and the network's exact values.
struct Case {
    network: Network,
    region: Region,
    targets: Vec<Element>,
    cone: Cone,
}

fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let network = built(&mut random).expect("the shapes fit");
    let region = region(&mut random, network.input_elements());
    Case::of(network, region)
}

fn curve_at(parts: &[StraightPart], x: &Exact) -> Exact {
    let from = |part: &&StraightPart| part.from == f64::NEG_INFINITY || exact(part.from) <= *x;
    let part = parts.iter().rfind(from).expect("the first has no end");
    exact(part.slope) * x + exact(part.intercept)
}

impl Case {
    /// Of both logits.
    fn of(network: Network, region: Region) -> Self {
        let targets = (0..2).map(|k| network.element(Point::Logits, k));
        let targets: Vec<Element> = targets.collect();
        let cone = Cone::of(&network, &targets, Until::NEVER).expect("everything is known");
        Self {
            network,
            region,
            targets,
            cone,
        }
    }

    /// Every variable at a point of the cone's inputs.
    fn values(&self, point: &[Exact]) -> Vec<Exact> {
        let mut values = point.to_vec();
        for step in &self.cone.steps {
            match step {
                Step::Sums(sums) => {
                    for k in 0..sums.len() {
                        let terms = sums.terms(k).map(|(v, w)| exact(w) * &values[v]);
                        values.push(terms.fold(exact(sums.constants[k]), |a, b| a + b));
                    }
                }
                Step::Curves(curves) => {
                    for &input in &curves.inputs {
                        values.push(curve_at(&curves.parts, &values[input as usize]));
                    }
                }
            }
        }
        values
    }

    fn ends(&self) -> Vec<[f64; 2]> {
        let Region { lower, upper, .. } = &self.region;
        let ends = |&e: &usize| [lower[e], upper[e]];
        self.cone.inputs.iter().map(ends).collect()
    }

    /// Corners of a box and some points inside.
    fn points(random: &mut Random, ends: &[[f64; 2]]) -> Vec<Vec<Exact>> {
        let corners = 1usize << ends.len();
        let mut points: Vec<Vec<Exact>> = (0..corners)
            .map(|corner| {
                let end = |(e, ends): (usize, &[f64; 2])| exact(ends[corner >> e & 1]);
                ends.iter().enumerate().map(end).collect()
            })
            .collect();
        for _ in 0..6 {
            let inside = |&[l, u]: &[f64; 2]| {
                let share = exact(random.below(8) as f64) / exact(7.0);
                exact(l) + (exact(u) - exact(l)) * share
            };
            points.push(ends.iter().map(inside).collect());
        }
        points
    }

    fn curves(&self) -> impl Iterator<Item = (usize, &Curves)> {
        let steps = self.cone.steps.iter().enumerate();
        steps.filter_map(|(at, step)| match step {
            Step::Curves(curves) => Some((at, curves)),
            Step::Sums(_) => None,
        })
    }

    fn context(&self) -> Context<'_> {
        let mut context = Context::new(&self.network, &self.region, Until::NEVER);
        context.prepare(&self.targets).expect("supported");
        context
    }

    fn reach(&self, bounds: &[[f64; 2]]) -> Magnitudes {
        let mut reach = Magnitudes::of(&self.cone, &self.region);
        reach.advance(&self.cone, self.cone.steps.len(), |unit| bounds[unit]);
        reach
    }

    fn bounds(&self, context: &Context<'_>) -> Vec<[f64; 2]> {
        self.cone.units.iter().map(|u| context.known[u]).collect()
    }

    /// A sum pulled back through the steps before `from` without rounding.
    fn pulled(
        &self,
        from: usize,
        mut sum: Vec<Exact>,
        mut constant: Exact,
        lines: &[[RelaxationLine; 2]],
        conditions: &[[f64; 2]],
        ends: &[[f64; 2]],
    ) -> Exact {
        for step in self.cone.steps[..from].iter().rev() {
            match step {
                Step::Sums(sums) => {
                    for k in 0..sums.len() {
                        let a = std::mem::replace(&mut sum[sums.first + k], zero());
                        constant += &a * exact(sums.constants[k]);
                        for (v, w) in sums.terms(k) {
                            sum[v] += &a * exact(w);
                        }
                    }
                }
                Step::Curves(curves) => {
                    for (k, &input) in curves.inputs.iter().enumerate() {
                        let unit = curves.first_unit + k;
                        let a = std::mem::replace(&mut sum[curves.first + k], zero());
                        let line = lines[unit][usize::from(a < zero())];
                        let [pull, push] = conditions[unit];
                        sum[input as usize] += &a * exact(line.slope) - exact(pull);
                        constant += &a * exact(line.cut) + exact(push);
                    }
                }
            }
        }
        for (a, &[low, high]) in sum.iter().zip(ends) {
            constant += a * exact(if *a < zero() { high } else { low });
        }
        constant
    }

    /// One variable pulled back, as it is or negated.
    fn pulled_variable(
        &self,
        from: usize,
        (variable, sign): (usize, f64),
        lines: &[[RelaxationLine; 2]],
        ends: &[[f64; 2]],
    ) -> Exact {
        let mut sum = vec![zero(); self.cone.variables];
        sum[variable] = exact(sign);
        let none = vec![[0.0; 2]; self.cone.units.len()];
        self.pulled(from, sum, zero(), lines, &none, ends)
    }

    fn all_lines(&self, bounds: &[[f64; 2]]) -> Vec<[RelaxationLine; 2]> {
        let each = self.curves().flat_map(|(_, curves)| {
            let of = move |k: usize| {
                let [l, u] = bounds[curves.first_unit + k];
                lines(&curves.parts, l, u, None)
            };
            (0..curves.inputs.len()).map(of)
        });
        each.collect()
    }
}

/// Networks tried.
const CASES: u64 = 60;
