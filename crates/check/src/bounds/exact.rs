//! Bounds against exact rational arithmetic, without any tolerance: networks whose numbers are tiny, huge,
//! subnormal or cancel each other, so that a rounding in the wrong direction shows.

use deepconcolic_network::ops::{
    Abs, AveragePool, Binary, Clip, Dense, Elementwise, HardSigmoid, LeakyRelu, Max, MaxPool,
    PRelu, Relu, View, Window,
};
use deepconcolic_network::{Element, Network, NetworkBuilder, Point, Shape, StraightPart, Tensor};
use deepconcolic_testing::Random;
use num_rational::BigRational as Exact;

use crate::bounds::backward::{LANES, Pull, Reach, UnitLines};
use crate::bounds::cone::{Cone, Curves, Step};
use crate::bounds::context::Context;
use crate::bounds::float::margins;
use crate::bounds::leaf::Judge;
use crate::bounds::lines::{Line, lines, range};
use crate::bounds::narrow::{Layouts, Narrow};
use crate::certificate::{Leaf, Proof, Region, Split, Tree};
use crate::question::{Atom, Term};

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
            let slopes = (0..4).map(|_| nasty(random)).collect();
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
    for _ in 0..1 + random.below(3) {
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
    Region { lower, upper }
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
    let targets = (0..2).map(|k| network.element(Point::Logits, k));
    let targets: Vec<Element> = targets.collect();
    let cone = Cone::of(&network, &targets).expect("everything is known");
    Case {
        network,
        region,
        targets,
        cone,
    }
}

fn curve_at(parts: &[StraightPart], x: &Exact) -> Exact {
    let from = |part: &&StraightPart| part.from == f64::NEG_INFINITY || exact(part.from) <= *x;
    let part = parts.iter().rfind(from).expect("the first has no end");
    exact(part.slope) * x + exact(part.intercept)
}

impl Case {
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
        let Region { lower, upper } = &self.region;
        let ends = |&e: &usize| [lower[e], upper[e]];
        self.cone.inputs.iter().map(ends).collect()
    }

    /// Corners of a box and some points inside.
    fn points(&self, random: &mut Random, ends: &[[f64; 2]]) -> Vec<Vec<Exact>> {
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
        let mut context = Context::new(&self.network, &self.region);
        context.prepare(&self.targets).expect("supported");
        context
    }

    fn reach(&self, bounds: &[[f64; 2]]) -> Reach {
        let mut reach = Reach::of(&self.cone, &self.region);
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
        lines: &[[Line; 2]],
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
        lines: &[[Line; 2]],
        ends: &[[f64; 2]],
    ) -> Exact {
        let mut sum = vec![zero(); self.cone.variables];
        sum[variable] = exact(sign);
        let none = vec![[0.0; 2]; self.cone.units.len()];
        self.pulled(from, sum, zero(), lines, &none, ends)
    }

    fn all_lines(&self, bounds: &[[f64; 2]]) -> Vec<[Line; 2]> {
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

const CASES: u64 = 60;

#[test]
fn bounds_of_units_hold_exactly() {
    let mut tight = 0;
    for seed in 0..CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let context = case.context();
        let bounds = case.bounds(&context);
        let reach = case.reach(&bounds);
        let ends = case.ends();
        for point in case.points(&mut random, &ends) {
            let values = case.values(&point);
            for (variable, value) in values.iter().enumerate() {
                assert!(is_above(reach.size[variable], value), "case {seed}");
                assert!(is_below(-reach.size[variable], value), "case {seed}");
            }
            for (_, curves) in case.curves() {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let [l, u] = bounds[curves.first_unit + k];
                    let x = &values[input as usize];
                    assert!(is_below(l, x) && is_above(u, x), "case {seed}");
                    tight += usize::from(u - l < 10.0 && u > l);
                }
            }
        }
    }
    assert!(tight > 500, "{tight}");
}

/// The exact ends of every variable by interval arithmetic, given bounds of the units.
fn intervals(case: &Case, bounds: &[[f64; 2]]) -> Vec<[Exact; 2]> {
    let mut all: Vec<[Exact; 2]> = case.ends().iter().map(|e| e.map(exact)).collect();
    for step in &case.cone.steps {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let mut both = [exact(sums.constants[k]), exact(sums.constants[k])];
                    for (v, w) in sums.terms(k) {
                        let turned = usize::from(w < 0.0);
                        both[0] += exact(w) * &all[v][turned];
                        both[1] += exact(w) * &all[v][1 - turned];
                    }
                    all.push(both);
                }
            }
            Step::Curves(curves) => {
                for k in 0..curves.inputs.len() {
                    let [l, u] = bounds[curves.first_unit + k];
                    all.push(range(&curves.parts, l, u).map(exact));
                }
            }
        }
    }
    all
}

#[test]
fn bounds_of_units_are_no_better_than_the_same_argument_without_rounding() {
    for seed in 0..CASES {
        let case = case(seed);
        let context = case.context();
        let bounds = case.bounds(&context);
        let (lines, ends) = (case.all_lines(&bounds), case.ends());
        let intervals = intervals(&case, &bounds);
        for (at, curves) in case.curves() {
            for (k, &input) in curves.inputs.iter().enumerate() {
                let input = input as usize;
                let [l, u] = bounds[curves.first_unit + k];
                let low = case.pulled_variable(at, (input, 1.0), &lines, &ends);
                let high = -case.pulled_variable(at, (input, -1.0), &lines, &ends);
                let [least, most] = &intervals[input];
                assert!(is_below(l, &low.max(least.clone())), "case {seed}");
                assert!(is_above(u, &high.min(most.clone())), "case {seed}");
            }
        }
    }
}

#[test]
fn a_pull_is_no_better_than_the_same_argument_without_rounding() {
    let mut finite = 0;
    for seed in 0..CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let context = case.context();
        let bounds = case.bounds(&context);
        let (reach, ends) = (case.reach(&bounds), case.ends());
        let steps = case.cone.steps.len();
        let mut base: Vec<[Line; 2]> = Vec::new();
        for (_, curves) in case.curves() {
            for k in 0..curves.inputs.len() {
                let [l, u] = bounds[curves.first_unit + k];
                let share = Some(random.between(0.0, 1.0));
                base.push(lines(&curves.parts, l, u, share));
            }
        }
        let unit_lines: Vec<UnitLines> = base.iter().map(|&l| UnitLines::all(l)).collect();
        let conditions: Vec<[f64; 2]> = base
            .iter()
            .map(|_| match random.below(3) {
                0 => [nasty(&mut random), nasty(&mut random)],
                _ => [0.0; 2],
            })
            .collect();
        let mut pull = Pull::new(&case.cone);
        let mut sums = Vec::new();
        for lane in 0..LANES {
            let mut sum = vec![zero(); case.cone.variables];
            for &target in &case.cone.targets {
                let weight = nasty(&mut random);
                pull.seed(target, lane, weight, &reach);
                sum[target] += exact(weight);
            }
            let constant = nasty(&mut random);
            pull.constant(lane, constant);
            sums.push((sum, exact(constant)));
        }
        let of = |unit: usize| Some(conditions[unit].map(|number| [number; LANES]));
        let box_ends = |input: usize| ends[input].map(|end| [end; LANES]);
        let found = pull.run(&case.cone, steps, &unit_lines, &reach, &of, box_ends);
        for (lane, (sum, constant)) in sums.into_iter().enumerate() {
            let without = case.pulled(steps, sum, constant, &base, &conditions, &ends);
            assert!(is_below(found[lane], &without), "case {seed}, lane {lane}");
            finite += usize::from(found[lane].is_finite());
        }
    }
    assert!(finite > 500, "{finite}");
}

#[test]
fn bounds_of_small_boxes_hold_exactly() {
    for seed in 0..CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let context = case.context();
        let known = case.bounds(&context);
        let reach = case.reach(&known);
        let layouts = Layouts::of(&case.cone);
        let mut narrow = Narrow::new(&case.cone, &layouts, &reach);
        let part = |&[l, u]: &[f64; 2]| {
            let middle = l + random.between(0.0, 1.0) * (u - l);
            let middle = middle.clamp(l, u);
            [[l, middle], [middle, u]][random.below(2)]
        };
        let ends: Vec<[f64; 2]> = case.ends().iter().map(part).collect();
        // From nothing, so that each bound is that of one pull.
        let open = known.iter().map(|&[l, u]| {
            let size = l.abs().max(u.abs());
            [-size, size]
        });
        let mut bounds: Vec<[f64; 2]> = open.collect();
        let start = bounds.clone();
        assert!(narrow.settle(&ends, &mut bounds), "case {seed}");
        let lines = case.all_lines(&bounds);
        for (at, curves) in case.curves() {
            for (k, &input) in curves.inputs.iter().enumerate() {
                let unit = curves.first_unit + k;
                let low = case.pulled_variable(at, (input as usize, 1.0), &lines, &ends);
                let high = -case.pulled_variable(at, (input as usize, -1.0), &lines, &ends);
                let [l, u] = bounds[unit];
                assert!(is_below(l, &low.max(exact(start[unit][0]))), "case {seed}");
                assert!(is_above(u, &high.min(exact(start[unit][1]))), "case {seed}");
            }
        }
        for point in case.points(&mut random, &ends) {
            let values = case.values(&point);
            for (_, curves) in case.curves() {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let [l, u] = bounds[curves.first_unit + k];
                    let x = &values[input as usize];
                    assert!(is_below(l, x) && is_above(u, x), "case {seed}");
                }
            }
        }
    }
}

fn condition(random: &mut Random) -> Atom {
    let term = |element: usize, random: &mut Random| Term {
        point: Point::Logits,
        element,
        weight: nasty(random),
    };
    Atom {
        terms: vec![term(0, random), term(1, random)],
        constant: nasty(random),
        strict: random.below(2) == 0,
    }
}

/// A tree with random splits, slopes, factors and multipliers, all of them allowed.
fn tree(case: &Case, random: &mut Random, depth: usize, phases: usize, into: &mut Proof) {
    let open: Vec<usize> = (0..case.cone.units.len())
        .filter(|&unit| {
            let mut all = case.curves();
            all.any(|(_, c)| {
                (c.first_unit..c.first_unit + c.inputs.len()).contains(&unit) && c.parts.len() == 2
            })
        })
        .collect();
    let kind = random.below(3);
    if depth > 0 && kind == 0 && !open.is_empty() {
        let unit = case.cone.units[open[random.below(open.len())]];
        into.push(Tree::Split(Split::Phase(unit)));
        tree(case, random, depth - 1, phases + 1, into);
        tree(case, random, depth - 1, phases + 1, into);
    } else if depth > 0 && kind == 1 && !case.cone.inputs.is_empty() {
        let element = case.cone.inputs[random.below(case.cone.inputs.len())];
        let (l, u) = (case.region.lower[element], case.region.upper[element]);
        let at = l + random.between(0.0, 1.0) * (u - l);
        let element = element as u32;
        into.push(Tree::Split(Split::Input { element, at }));
        tree(case, random, depth - 1, phases, into);
        tree(case, random, depth - 1, phases, into);
    } else {
        let positive = |random: &mut Random| (nasty(random).abs() as f32).max(1e-30);
        let mut units = case.cone.units.clone();
        units.sort_unstable();
        let slopes = units.iter().map(|&unit| (unit, random.below(256) as u8));
        into.push(Tree::Leaf(Leaf {
            slopes: slopes.collect(),
            factors: (0..2).map(|atom| (atom, positive(random))).collect(),
            multipliers: (0..phases).map(|_| nasty(random).abs() as f32).collect(),
        }));
    }
}

/// The leaf of a tree that a point with these values belongs to.
fn leaf_of<'t>(
    case: &Case,
    proof: &'t Proof,
    at: &mut usize,
    values: Option<&[Exact]>,
) -> Option<&'t Leaf> {
    let node = &proof[*at];
    *at += 1;
    let first = match node {
        Tree::Leaf(leaf) => return values.map(|_| leaf),
        Tree::Corner => return None,
        Tree::Split(Split::Phase(unit)) => values.map(|values| {
            let number = case
                .cone
                .units
                .iter()
                .position(|u| u == unit)
                .expect("known");
            let mut all = case.curves();
            let (_, curves) = all
                .find(|(_, c)| (c.first_unit..c.first_unit + c.inputs.len()).contains(&number))
                .expect("a curve");
            let input = curves.inputs[number - curves.first_unit] as usize;
            values[input] <= exact(curves.parts[1].from)
        }),
        Tree::Split(Split::Input { element, at }) => values.map(|values| {
            let place = case
                .cone
                .inputs
                .iter()
                .position(|&e| e == *element as usize);
            values[place.expect("an input")] <= exact(*at)
        }),
    };
    let below = leaf_of(case, proof, at, values.filter(|_| first == Some(true)));
    let above = leaf_of(case, proof, at, values.filter(|_| first == Some(false)));
    below.or(above)
}

#[test]
fn leaves_hold_exactly() {
    let mut bounded = 0;
    for seed in 0..CASES {
        let mut case = case(seed);
        let mut random = Random::new(seed ^ 0xabcd);
        let atoms = [condition(&mut random), condition(&mut random)];
        let twice: Vec<Element> = case.targets.iter().chain(&case.targets).copied().collect();
        case.cone = Cone::of(&case.network, &twice).expect("everything is known");
        let context = case.context();
        let judge = Judge::new(&context, &case.cone, &atoms);
        for _ in 0..4 {
            let mut proof = Proof::new();
            tree(&case, &mut random, 3, 0, &mut proof);
            let found = judge.judge(&proof).expect("every number is allowed");
            bounded += usize::from(found.value.is_finite());
            for point in case.points(&mut random, &case.ends()) {
                let values = case.values(&point);
                let leaf = leaf_of(&case, &proof, &mut 0, Some(&values)).expect("a leaf");
                let mut sum = zero();
                for &(atom, factor) in &leaf.factors {
                    let atom = &atoms[atom as usize];
                    let mut value = exact(atom.constant);
                    for (term, &variable) in atom.terms.iter().zip(&case.cone.targets) {
                        value += exact(term.weight) * &values[variable];
                    }
                    sum += exact(f64::from(factor)) * value;
                }
                assert!(is_above(found.value, &sum), "case {seed}");
            }
        }
    }
    assert!(bounded > 100, "{bounded}");
}

/// An execution in single precision with sums in a random order, fused or not, and with subnormal numbers
/// kept or taken as 0.
fn executed(case: &Case, random: &mut Random, point: &[f32]) -> Vec<f32> {
    let flushes = random.below(2) == 0;
    let fuses = random.below(2) == 0;
    let flush = |x: f32| if flushes && x.is_subnormal() { 0.0 } else { x };
    let mut values: Vec<f32> = point.iter().map(|&x| flush(x)).collect();
    for step in &case.cone.steps {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let mut terms: Vec<(usize, f64)> = sums.terms(k).collect();
                    for place in (1..terms.len()).rev() {
                        terms.swap(place, random.below(place + 1));
                    }
                    let constant = flush(sums.constants[k] as f32);
                    let first = random.below(2) == 0;
                    let mut sum = if first { constant } else { 0.0 };
                    for (v, w) in terms {
                        let w = flush(w as f32);
                        sum = if fuses {
                            flush(w.mul_add(values[v], sum))
                        } else {
                            flush(flush(w * values[v]) + sum)
                        };
                    }
                    values.push(if first { sum } else { flush(sum + constant) });
                }
            }
            Step::Curves(curves) => {
                for &input in &curves.inputs {
                    let x = values[input as usize];
                    let part = curves.parts.iter().rfind(|p| p.from <= f64::from(x));
                    let part = part.unwrap_or(&curves.parts[0]);
                    let rise = flush(flush(part.slope as f32) * x);
                    values.push(flush(rise + flush(part.intercept as f32)));
                }
            }
        }
    }
    values
}

#[test]
fn executions_in_any_order_stay_within_the_margin() {
    let mut known = 0;
    for seed in 0..CASES {
        let mut case = case(seed);
        let mut random = Random::new(seed ^ 0x77);
        // An execution has single-precision inputs.
        let to_single = |ends: &mut Vec<f64>| {
            ends.iter_mut()
                .for_each(|end| *end = f64::from(*end as f32));
        };
        to_single(&mut case.region.lower);
        to_single(&mut case.region.upper);
        let atoms = [0, 1].map(|element| Atom {
            terms: vec![Term {
                point: Point::Logits,
                element,
                weight: 1.0,
            }],
            constant: 0.0,
            strict: false,
        });
        let context = case.context();
        let reach = case.reach(&case.bounds(&context));
        let margins = margins(&case.cone, &reach, &atoms);
        for _ in 0..10 {
            let point = case.ends().into_iter().map(|ends| ends[random.below(2)]);
            let point: Vec<f64> = point.collect();
            let single: Vec<f32> = point.iter().map(|&x| x as f32).collect();
            let run = executed(&case, &mut random, &single);
            let values = case.values(&point.iter().map(|&x| exact(x)).collect::<Vec<Exact>>());
            for (&target, &margin) in case.cone.targets.iter().zip(&margins) {
                if !margin.is_finite() {
                    continue;
                }
                known += 1;
                let off = exact(f64::from(run[target])) - &values[target];
                assert!(
                    is_above(margin, &off) && is_above(margin, &-off),
                    "case {seed}"
                );
            }
        }
    }
    assert!(known > 500, "{known}");
}

#[test]
fn lines_lie_below_and_above_exactly() {
    let relu = [(f64::NEG_INFINITY, 0.0, 0.0), (0.0, 1.0, 0.0)];
    let leaky = [(f64::NEG_INFINITY, f64::from(0.1f32), 0.0), (0.0, 1.0, 0.0)];
    let clip = [
        (f64::NEG_INFINITY, 0.0, -0.4),
        (-0.4, 1.0, 0.0),
        (0.6, 0.0, 0.6),
    ];
    // The kinks of a clipped line as doubles.
    let (a, b) = (f64::from(0.2f32), f64::from(0.5f32) + 1e-9);
    let hard = [
        (f64::NEG_INFINITY, 0.0, 0.0),
        (-b / a, a, b),
        ((1.0 - b) / a, 0.0, 1.0),
    ];
    let part = |&(from, slope, intercept): &(f64, f64, f64)| StraightPart {
        from,
        slope,
        intercept,
    };
    let clipped = |x: &Exact| (exact(a) * x + exact(b)).max(zero()).min(exact(1.0));
    let mut random = Random::new(11);
    for number in 0..4000 {
        let of = [&relu[..], &leaky, &clip, &hard][number % 4];
        let parts: Vec<StraightPart> = of.iter().map(part).collect();
        let mut near = || {
            let kink = parts[1 + random.below(parts.len() - 1)].from;
            match random.below(4) {
                0 => kink,
                1 => kink + nasty(&mut random) * 1e-9,
                2 => [kink.next_up(), kink.next_down()][random.below(2)],
                _ => kink + random.between(-3.0, 3.0),
            }
        };
        let (a, b) = (near(), near());
        let (l, u) = (a.min(b), a.max(b));
        let share = [None, Some(random.between(0.0, 1.0))][random.below(2)];
        let [low, high] = lines(&parts, l, u, share);
        let [least, most] = range(&parts, l, u);
        let kinks = parts[1..]
            .iter()
            .map(|p| p.from)
            .filter(|&k| l < k && k < u);
        for x in kinks.chain([l, u]) {
            let x = exact(x);
            let mut values = vec![curve_at(&parts, &x)];
            if number % 4 == 3 {
                values.push(clipped(&x));
            }
            for y in values {
                assert!(
                    exact(low.slope) * &x + exact(low.cut) <= y,
                    "{number} {l} {u}"
                );
                assert!(
                    exact(high.slope) * &x + exact(high.cut) >= y,
                    "{number} {l} {u}"
                );
                assert!(
                    is_below(least, &y) && is_above(most, &y),
                    "{number} {l} {u}"
                );
            }
        }
    }
}
