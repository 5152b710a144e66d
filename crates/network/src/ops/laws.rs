//! What must hold of every operator, checked on random numbers. One suite for all: the file of an operator
//! has a function `tests::laws` that calls [`Laws::check`] with a few shapes and a range to draw from, inside its
//! domain. The table of operators (`ops/mod.rs`) makes a test of each, and does not compile without.
//!
//! Numbers are drawn as `f32`, so that both number types run on the same ones.

mod case;

use std::any::type_name;

use crate::operator::{Nature, Operator, Relaxation, Reordered, SparseRows};
use crate::plain::AffineRow;
use crate::{Order, Scalar, Shape};
use case::{Case, Inputs, Precision, bits, converted, stale};

/// The laws, and which operators were held to them.
#[derive(Default)]
pub(crate) struct Laws {
    checked: Vec<&'static str>,
}

impl Laws {
    /// Checks every law. `constants[i]` holds the numbers of input `i` if it is constant; inputs beyond
    /// the end of `constants` are variable.
    ///
    /// # Panics
    ///
    /// Where a law is broken.
    pub fn check<O: Operator>(
        &mut self,
        op: &O,
        shapes: &[&[usize]],
        constants: &[Option<Vec<f64>>],
        range: (f64, f64),
        seed: u64,
    ) {
        self.checked.push(type_name::<O>());
        let case = Case::new(op, shapes, constants, range);
        let mut random = Random(seed);
        batches_split::<f32>(&case, &mut random);
        batches_split::<f64>(&case, &mut random);
        places_do_not_matter::<f32>(&case, &mut Random(seed));
        places_do_not_matter::<f64>(&case, &mut Random(seed));
        precisions_agree(&case, &mut random);
        affine_maps_keep_midpoints(&case, &mut random);
        rows_are_the_map(&case, &mut random);
        cotangents_are_derivatives(&case, &mut random);
        cotangents_split::<f32>(&case, &mut random);
        cotangents_split::<f64>(&case, &mut random);
        ranges_hold_runs::<f32>(&case, &mut random);
        ranges_hold_runs::<f64>(&case, &mut random);
        relaxations_hold_runs::<f32>(&case, &mut random, 1e-6);
        relaxations_hold_runs::<f64>(&case, &mut random, 1e-9);
        reordering_commutes(&case, &mut random);
        cones_hold_influences(&case, &mut random);
    }
}

/// Checks an operator, by the function of its file. It must have been about that operator.
///
/// # Panics
///
/// Where a law is broken, or none was checked.
pub(crate) fn obeyed_by<O>(laws_of_file: fn(&mut Laws)) {
    let mut laws = Laws::default();
    laws_of_file(&mut laws);
    let name = type_name::<O>();
    assert!(
        laws.checked.iter().any(|checked| checked.contains(name)),
        "no law was checked of {name}: its function `laws` must call `Laws::check`"
    );
}

/// Splitmix64.
pub(crate) struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Uniform in `[low, high]`, a number that `f32` holds.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        let part = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        f64::from((low + part * (high - low)) as f32)
    }

    /// So many between -1 and 1.
    pub fn numbers(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.between(-1.0, 1.0)).collect()
    }

    fn order(&mut self, rank: usize) -> Order {
        let mut axes: Vec<usize> = (0..rank).collect();
        for i in (1..rank).rev() {
            axes.swap(i, self.below(i + 1));
        }
        Order::new(axes).unwrap()
    }
}

/// How a batch is split does not change a bit.
fn batches_split<T: Precision>(case: &Case<'_>, random: &mut Random) {
    let samples = 5;
    let inputs = case.draw(samples, random);
    let whole = case.run::<T>(samples, &inputs);
    assert_eq!(whole.len(), samples * case.output.elements());
    let single: Vec<T> = (0..samples)
        .flat_map(|s| case.run(1, &case.sample(&inputs, s)))
        .collect();
    assert_eq!(bits(&whole), bits(&single), "{:?} splits", case.op);

    let ends = case.boxes(samples, random);
    let whole = case.interval::<T>(samples, &ends);
    for s in 0..samples {
        let n = case.output.elements();
        let parts = case.interval::<T>(1, &ends.each_ref().map(|end| case.sample(end, s)));
        for (whole, part) in whole.iter().zip(&parts) {
            let whole = &whole[s * n..(s + 1) * n];
            assert_eq!(bits(whole), bits(part), "{:?} splits boxes", case.op);
        }
    }
}

/// Where an operator can work in the place of its input, that changes no bit.
fn places_do_not_matter<T: Precision>(case: &Case<'_>, random: &mut Random) {
    let inputs = case.draw(3, random);
    let [input] = inputs.as_slice() else { return };
    let mut numbers = converted::<T>(input);
    if T::of_operator(case.op).forward_in_place(&mut numbers) {
        let expected = case.run::<T>(3, &inputs);
        assert_eq!(bits(&numbers), bits(&expected), "{:?} in place", case.op);
    }
}

/// `f32` is `f64` with less precision. (Not so for what rounds by design.)
fn precisions_agree(case: &Case<'_>, random: &mut Random) {
    if case.nature() == Nature::Discrete {
        return;
    }
    let inputs = case.draw(4, random);
    let single = case.run::<f32>(4, &inputs);
    for (&a, b) in single.iter().zip(case.run::<f64>(4, &inputs)) {
        let a = f64::from(a);
        let off = (a - b).abs();
        assert!(
            off <= 1e-4 * (1.0 + b.abs()) || a.to_bits() == b.to_bits(),
            "{:?}: {a} in f32, {b} in f64",
            case.op
        );
    }
}

/// `f((x + y) / 2) = (f(x) + f(y)) / 2` for what calls itself affine.
fn affine_maps_keep_midpoints(case: &Case<'_>, random: &mut Random) {
    if case.nature() != Nature::Affine {
        return;
    }
    let (x, y) = (case.draw(2, random), case.draw(2, random));
    let middle: Inputs = (x.iter().zip(&y))
        .map(|(x, y)| x.iter().zip(y).map(|(x, y)| 0.5 * (x + y)).collect())
        .collect();
    let [fx, fy, fm] = [x, y, middle].map(|x| case.run::<f64>(2, &x));
    for (m, (x, y)) in fm.iter().zip(fx.iter().zip(&fy)) {
        let off = (m - 0.5 * (x + y)).abs();
        assert!(off <= 1e-9 * (1.0 + x.abs() + y.abs()), "{:?}", case.op);
    }
}

/// What calls itself affine states the rows of the map it runs, over variable inputs only and no element
/// twice; nothing else states rows.
fn rows_are_the_map(case: &Case<'_>, random: &mut Random) {
    let known = case.constants.iter().map(Option::as_deref);
    let inputs: Vec<_> = case.shapes.iter().zip(known).collect();
    let x = case.draw(1, random);
    let run = case.run::<f64>(1, &x);
    for (element, &expected) in run.iter().enumerate() {
        let mut row = AffineRow::default();
        let stated = case.op.affine_row(element, &inputs, &case.output, &mut row);
        let affine = case.nature() == Nature::Affine;
        assert_eq!(stated, affine, "{:?}: a row of {element}", case.op);
        if !affine {
            return;
        }
        let (mut sum, mut size) = (row.constant, row.constant.abs());
        let mut seen = std::collections::BTreeSet::new();
        for &(input, place, weight) in &row.terms {
            let (input, place) = (input as usize, place as usize);
            assert!(inputs[input].1.is_none(), "{:?}: a constant", case.op);
            assert!(seen.insert((input, place)), "{:?}: twice {place}", case.op);
            sum += weight * x[input][place];
            size += (weight * x[input][place]).abs();
        }
        assert!(
            (sum - expected).abs() <= 1e-14 * (1.0 + row.terms.len() as f64) * size,
            "{:?}: element {element} is {expected}, its row gives {sum}",
            case.op
        );
    }
}

/// Cotangents pulled back are derivatives, by central differences. The difference of the one-sided
/// slopes is allowed as error, which covers kinks and curvature.
fn cotangents_are_derivatives(case: &Case<'_>, random: &mut Random) {
    if case.nature() == Nature::Discrete {
        return;
    }
    let h = 1e-6;
    for _ in 0..3 {
        let x = case.draw(1, random);
        let (output, phase) = case.traced::<f64>(1, &x);
        let cotangent: Vec<f64> = output.iter().map(|_| random.between(-1.0, 1.0)).collect();
        let weighted = |x: &Inputs| -> f64 {
            let output = case.run::<f64>(1, x);
            output.iter().zip(&cotangent).map(|(y, c)| y * c).sum()
        };
        let size: f64 = output.iter().map(|y| y.abs()).sum();
        let largest = x.iter().flatten().fold(1.0f64, |m, x| m.max(x.abs()));
        for input in case.variable() {
            let pulled = case.pull(input, &[phase.row(0)], &cotangent);
            let n = case.shapes[input].elements();
            for _ in 0..n.min(12) {
                let e = random.below(n);
                let value = |step: f64| {
                    let mut moved = x.clone();
                    moved[input][e] += step;
                    weighted(&moved)
                };
                let (left, here, right) = (value(-h), value(0.0), value(h));
                let slope = (right - left) / (2.0 * h);
                let bend = ((right - here) - (here - left)).abs() / h;
                // A step is off by a rounding of the numbers it is added to.
                let relative = 2e-6 + 4.0 * f64::EPSILON * largest / h;
                let allowed = relative * (1.0 + slope.abs()) + 1e-9 * size + bend;
                assert!(
                    (pulled[e] - slope).abs() <= allowed,
                    "{:?}: input {input}[{e}] at {}: pulled {}, slope {slope}",
                    case.op,
                    x[input][e],
                    pulled[e]
                );
            }
        }
    }
}

/// Rows of a backward call do not touch each other, whichever samples they belong to.
fn cotangents_split<T: Precision>(case: &Case<'_>, random: &mut Random) {
    let samples = 3;
    let inputs = case.draw(samples, random);
    let (_, phase) = case.traced::<T>(samples, &inputs);
    let phases: Vec<_> = [2, 0, 0, 1].map(|s| phase.row(s)).into();
    let n = case.output.elements();
    let cotangent: Vec<T> = (0..phases.len() * n)
        .map(|_| T::of(random.between(-1.0, 1.0)))
        .collect();
    for input in case.variable() {
        let whole = case.pull(input, &phases, &cotangent);
        let single: Vec<T> = (0..phases.len())
            .flat_map(|r| case.pull(input, &phases[r..=r], &cotangent[r * n..(r + 1) * n]))
            .collect();
        assert_eq!(bits(&whole), bits(&single), "{:?} splits rows", case.op);
    }
}

/// Every run inside a box lands in the range of the box: exactly, rounding included.
fn ranges_hold_runs<T: Precision>(case: &Case<'_>, random: &mut Random) {
    let samples = 4;
    for _ in 0..8 {
        let ends = case.boxes(samples, random);
        let [lower, upper] = case.interval::<T>(samples, &ends);
        for _ in 0..12 {
            let point = case.inside(&ends, random);
            for (e, y) in case.run::<T>(samples, &point).into_iter().enumerate() {
                assert!(
                    lower[e] <= y && y <= upper[e],
                    "{:?}: element {e} is {y}, outside {}..{}",
                    case.op,
                    lower[e],
                    upper[e]
                );
            }
        }
    }
}

/// The linear functions lie below and above every run inside the box.
fn relaxations_hold_runs<T: Precision>(case: &Case<'_>, random: &mut Random, tolerance: f64) {
    if case.nature() == Nature::Affine {
        return;
    }
    for _ in 0..16 {
        let ends = case.boxes(1, random);
        let relaxation = case.ranges::<T, _>(1, &ends, |op, boxes| op.relax(boxes, &mut stale(3)));
        for _ in 0..12 {
            let point = case.inside(&ends, random);
            let output = case.run::<f64>(1, &point);
            for (e, y) in output.into_iter().enumerate() {
                let [(low, low_size), (high, high_size)] = lines(case, &relaxation, e, &point);
                let allowed = |size: f64| tolerance * (size + y.abs());
                assert!(
                    low == f64::NEG_INFINITY || low <= y + allowed(low_size),
                    "{:?}: element {e} is {y}, below its lower line {low}",
                    case.op
                );
                assert!(
                    high == f64::INFINITY || high >= y - allowed(high_size),
                    "{:?}: element {e} is {y}, above its upper line {high}",
                    case.op
                );
            }
        }
    }
}

/// Both lines of an output at a point, each with the size of its terms.
fn lines<T: Scalar>(
    case: &Case<'_>,
    relaxation: &Relaxation<T>,
    e: usize,
    point: &Inputs,
) -> [(f64, f64); 2] {
    match relaxation {
        Relaxation::Elementwise { lower, upper } => {
            let input = case.variable().next().expect("one variable input");
            assert_eq!(case.variable().count(), 1, "elementwise in one input");
            [lower, upper].map(|(slopes, constants)| {
                let share = slopes[e].f64() * point[input][e];
                let constant = constants[e].f64();
                (share + constant, share.abs() + constant.abs())
            })
        }
        Relaxation::Sparse { lower, upper } => {
            [lower, upper].map(|rows| sparse_line(case, rows, e, point))
        }
    }
}

fn sparse_line<T: Scalar>(
    case: &Case<'_>,
    rows: &SparseRows<T>,
    e: usize,
    point: &Inputs,
) -> (f64, f64) {
    assert_eq!(rows.constants.len(), case.output.elements());
    assert_eq!(rows.starts.len(), rows.constants.len() + 1);
    let constant = rows.constants[e].f64();
    let mut line = (constant, constant.abs());
    for &(input, element, slope) in &rows.entries[rows.starts[e]..rows.starts[e + 1]] {
        let (input, element) = (input as usize, element as usize);
        assert!(
            case.constants[input].is_none(),
            "{:?} relaxes over a constant",
            case.op
        );
        let share = slope.f64() * point[input][element];
        line = (line.0 + share, line.1 + share.abs());
    }
    line
}

/// `f(reorder(x)) = reorder(f'(x))` for the operator `f'` it names.
fn reordering_commutes(case: &Case<'_>, random: &mut Random) {
    let rank = case.output.rank();
    if rank == 0 || case.shapes.iter().any(|shape| shape.rank() != rank) {
        return;
    }
    let mut orders: Vec<Order> = (0..4).map(|_| random.order(rank)).collect();
    if rank > 2 {
        orders.push(Order::channels_last(rank));
        orders.push(Order::channels_last(rank).inverse());
    }
    for order in orders {
        let other = case.op.reordered(&order);
        let op = match &other {
            Reordered::Same => case.op,
            Reordered::By(op) => op.as_ref(),
            Reordered::No => continue,
        };
        let ordered = case.draw(1, random);
        let back = order.inverse();
        let original: Inputs = (ordered.iter().zip(&case.shapes))
            .map(|(x, shape)| reorder(x, shape, &back))
            .collect();
        let shapes: Vec<Shape> = case.shapes.iter().map(|s| s.permuted(&back)).collect();
        let dims: Vec<&[usize]> = shapes.iter().map(Shape::dims).collect();
        let constants: Vec<_> = (original.iter().zip(&case.constants))
            .map(|(x, constant)| constant.as_ref().map(|_| x.clone()))
            .collect();
        let primed = Case::new(op, &dims, &constants, case.range);
        assert_eq!(primed.output.permuted(&order), case.output);
        let expected = reorder(&primed.run::<f64>(1, &original), &primed.output, &order);
        for (a, b) in case.run::<f64>(1, &ordered).iter().zip(&expected) {
            assert!(
                (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
                "{:?} reordered by {order:?}: {a} is not {b}",
                case.op
            );
        }
    }
}

/// The tensor with its axes in another order.
fn reorder(x: &[f64], shape: &Shape, order: &Order) -> Vec<f64> {
    let result = shape.permuted(order);
    let (from, to) = (shape.strides(), result.strides());
    (0..x.len())
        .map(|e| {
            let place = |a: usize| e / to[a] % result.dims()[a];
            x[(0..shape.rank())
                .map(|a| place(a) * from[order.axes()[a]])
                .sum::<usize>()]
        })
        .collect()
}

/// What lies outside the cone of an output does not change it.
fn cones_hold_influences(case: &Case<'_>, random: &mut Random) {
    let shapes: Vec<&Shape> = case.shapes.iter().collect();
    let tries = if case.output.elements() == 0 { 0 } else { 4 };
    for _ in 0..tries {
        let element = random.below(case.output.elements());
        let mut inputs = case.draw(1, random);
        let before = case.run::<f64>(1, &inputs)[element];
        let others = case.draw(1, random);
        for i in case.variable().collect::<Vec<_>>() {
            let cone = case.op.cone(i, &shapes, &case.output, &[element]);
            for (e, x) in inputs[i].iter_mut().enumerate() {
                if !cone.contains(&e) {
                    *x = others[i][e];
                }
            }
        }
        let after = case.run::<f64>(1, &inputs)[element];
        assert_eq!(
            before.to_bits(),
            after.to_bits(),
            "{:?}: {element}",
            case.op
        );
        let other = random.below(case.output.elements());
        for i in case.variable() {
            let cone = |e| case.op.cone(i, &shapes, &case.output, &[e]);
            if case.op.shares_cone(element, other) {
                assert_eq!(cone(element), cone(other), "{:?}: {element}", case.op);
            }
        }
    }
}
