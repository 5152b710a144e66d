//! The operator that combines two tensors element by element, with broadcasting. What it computes
//! is a [`Pairwise`].

use std::fmt::Debug;

use super::broadcast::Broadcast;
use super::outward::{product, sum_down, sum_up};
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operand, Operator, Phase, PhaseRow, Range,
    Relaxation, Reordered, Scratch, SparseRows,
};
use crate::plain::AffineRow;
use crate::{Order, Scalar, Shape};

/// An interval: its lower and its upper end.
pub(super) type Ends<T> = [T; 2];

/// A linear function of two numbers.
#[derive(Clone, Copy, Debug)]
pub struct Plane<T> {
    /// Coefficients of the two.
    pub slopes: [T; 2],
    /// The constant.
    pub constant: T,
}

/// A function of two numbers.
///
/// Its [`Nature`] decides what a pass remembers: nothing if affine or discrete, the operand taken if
/// piecewise linear, both operands if smooth.
pub trait Pairwise: Debug + Send + Sync + 'static {
    /// Its name in ONNX.
    fn kind(&self) -> &'static str;

    /// How it depends on its operands, told which are constant.
    fn nature(&self, constant: [bool; 2]) -> Nature;

    /// The value.
    fn at<T: Scalar>(&self, x: T, y: T) -> T;

    /// For a piecewise-linear function: whether it takes `x` here, else `y`.
    fn takes_first<T: Scalar>(&self, _x: T, _y: T) -> bool {
        true
    }

    /// Whether it is the larger of the two.
    fn is_larger(&self) -> bool {
        false
    }

    /// Whether it is the smaller of the two.
    fn is_smaller(&self) -> bool {
        false
    }

    /// The cotangent pulled back to an operand. Where the function is affine, an operand that it
    /// cannot depend on may be missing (0).
    fn pull<T: Scalar>(&self, input: usize, cotangent: T, x: T, y: T) -> T {
        if self.takes_first(x, y) == (input == 0) {
            cotangent
        } else {
            T::ZERO
        }
    }

    /// The range over two intervals, computed values included.
    fn interval<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> Ends<T>;

    /// The function itself where it is affine in the operands that are not known. The coefficient of a
    /// known operand means nothing.
    fn plane(&self, _x: Option<f64>, _y: Option<f64>) -> Option<Plane<f64>> {
        None
    }

    /// Functions below and above over two intervals with finite ends; the range, if there is
    /// nothing better.
    fn planes<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> [Plane<T>; 2] {
        self.interval(x, y).map(Plane::level)
    }
}

impl<T: Scalar> Plane<T> {
    /// The same everywhere.
    pub fn level(constant: T) -> Self {
        Self {
            slopes: [T::ZERO; 2],
            constant,
        }
    }

    /// One of the two operands.
    pub fn operand(input: usize) -> Self {
        let mut plane = Self::level(T::ZERO);
        plane.slopes[input] = T::ONE;
        plane
    }
}

/// Two tensors combined element by element.
#[derive(Clone, Debug)]
pub struct Binary<P> {
    pair: P,
}

impl<P: Pairwise> Binary<P> {
    /// Combines by `pair`.
    pub fn new(pair: P) -> Self {
        Self { pair }
    }
}

impl<P: Pairwise> Operator for Binary<P> {
    fn kind(&self) -> &'static str {
        self.pair.kind()
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        match inputs {
            [x, y] => x.broadcast(y),
            _ => Err(format!(
                "{} takes two inputs, not {}",
                self.kind(),
                inputs.len()
            )),
        }
    }

    fn nature(&self, constant: &[bool]) -> Nature {
        self.pair.nature([constant[0], constant[1]])
    }

    fn takes_largest(&self) -> bool {
        self.pair.is_larger()
    }

    fn takes_smallest(&self) -> bool {
        self.pair.is_smaller()
    }

    fn cone(
        &self,
        input: usize,
        inputs: &[&Shape],
        output: &Shape,
        elements: &[usize],
    ) -> Vec<usize> {
        let meets = |&e: &usize| inputs[input].broadcast_element(output, e);
        elements.iter().map(meets).collect()
    }

    fn affine_row(
        &self,
        element: usize,
        inputs: &[(&Shape, Option<&[f64]>)],
        output: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let &[x, y] = inputs else { return false };
        let place = |shape: &Shape| shape.broadcast_element(output, element);
        let places = [place(x.0), place(y.0)];
        let known = [x.1.map(|x| x[places[0]]), y.1.map(|y| y[places[1]])];
        let Some(plane) = self.pair.plane(known[0], known[1]) else {
            return false;
        };
        row.constant = plane.constant;
        for input in 0..2 {
            if known[input].is_none() && plane.slopes[input] != 0.0 {
                let place = places[input] as u32;
                row.terms.push((input as u32, place, plane.slopes[input]));
            }
        }
        true
    }

    fn reordered(&self, _order: &Order) -> Reordered {
        Reordered::Same
    }
}

impl<P: Pairwise, T: Scalar> Evaluate<T> for Binary<P> {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _scratch: &mut Scratch<T>) {
        let [x, y] = operands(batch.inputs);
        let broadcast = Broadcast::new(x.shape, y.shape);
        let samples = output.chunks_exact_mut(batch.output.elements().max(1));
        for (s, output) in samples.enumerate() {
            broadcast.combine(x.sample(s), y.sample(s), output, |x, y| self.pair.at(x, y));
        }
    }

    fn phase(&self, batch: &Batch<'_, T>, _output: &[T]) -> Phase<T> {
        let [x, y] = operands(batch.inputs);
        match self.pair.nature([x.constant, y.constant]) {
            Nature::Affine | Nature::Discrete => Phase::Fixed,
            Nature::PiecewiseLinear => self.taken(batch),
            Nature::Smooth => held(batch),
        }
    }

    fn vjp(
        &self,
        input: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _scratch: &mut Scratch<T>,
    ) {
        let [x, y] = call.inputs else { return };
        let broadcast = Broadcast::new(x.0, y.0);
        // By number, not by chunks: an empty output still pulls back zeros.
        let (each, size) = (call.output.elements(), call.inputs[input].0.elements());
        for (row, phase) in call.phases.iter().enumerate() {
            let cotangent = &cotangent[row * each..(row + 1) * each];
            let result = &mut result[row * size..(row + 1) * size];
            if let PhaseRow::Signs(bits) = phase {
                pull_taken(&broadcast, bits, input, cotangent, result);
            } else {
                let [x, y] = known(call, phase);
                broadcast.collect(input, result, |o, i, j| {
                    self.pair.pull(input, cotangent[o], x.at(i), y.at(j))
                });
            }
        }
    }

    fn interval(
        &self,
        boxes: &Boxes<'_, T>,
        lower: &mut [T],
        upper: &mut [T],
        _scratch: &mut Scratch<T>,
    ) {
        let broadcast = Broadcast::new(boxes.inputs[0].lower.shape, boxes.inputs[1].lower.shape);
        let each = boxes.output.elements().max(1);
        let samples = lower
            .chunks_exact_mut(each)
            .zip(upper.chunks_exact_mut(each));
        for (s, (lower, upper)) in samples.enumerate() {
            let [x, y] = [0, 1].map(|i| Ranges::new(&boxes.inputs[i], s));
            broadcast.visit(|o, i, j| {
                [lower[o], upper[o]] = self.pair.interval(x.at(i), y.at(j));
            });
        }
    }

    fn relax(&self, boxes: &Boxes<'_, T>, _scratch: &mut Scratch<T>) -> Relaxation<T> {
        let broadcast = Broadcast::new(boxes.inputs[0].lower.shape, boxes.inputs[1].lower.shape);
        let [x, y] = [0, 1].map(|i| Ranges::new(&boxes.inputs[i], 0));
        let (mut lower, mut upper) = (rows(), rows());
        broadcast.visit(|_, i, j| {
            let (a, b) = (x.at(i), y.at(j));
            let finite = a.iter().chain(&b).all(|end| end.f64().is_finite());
            let [below, above] = if finite {
                self.pair.planes(a, b)
            } else {
                self.pair.interval(a, b).map(Plane::level)
            };
            let constants = [x.constant.then_some(a[0]), y.constant.then_some(b[0])];
            push(&mut lower, below, [i, j], constants, 0);
            push(&mut upper, above, [i, j], constants, 1);
        });
        Relaxation::Sparse { lower, upper }
    }
}

impl<P: Pairwise> Binary<P> {
    /// A bit per output: whether it takes the first operand.
    fn taken<T: Scalar>(&self, batch: &Batch<'_, T>) -> Phase<T> {
        let [x, y] = operands(batch.inputs);
        let broadcast = Broadcast::new(x.shape, y.shape);
        let words = batch.output.elements().div_ceil(64);
        let mut bits = vec![0u64; batch.samples * words];
        for (s, bits) in bits.chunks_exact_mut(words.max(1)).enumerate() {
            let (x, y) = (x.sample(s), y.sample(s));
            broadcast.visit(|o, i, j| {
                bits[o / 64] |= u64::from(self.pair.takes_first(x[i], y[j])) << (o % 64);
            });
        }
        Phase::Signs { bits, words }
    }
}

fn operands<'a, T>(inputs: &'a [Operand<'a, T>]) -> [&'a Operand<'a, T>; 2] {
    [&inputs[0], &inputs[1]]
}

/// Cotangents behind outputs that took one of the operands. It knows of no pair, so that one copy serves all.
#[inline(never)]
fn pull_taken<T: Scalar>(
    broadcast: &Broadcast,
    bits: &[u64],
    input: usize,
    cotangent: &[T],
    result: &mut [T],
) {
    broadcast.collect(input, result, |o, _, _| {
        let first = bits[o / 64] >> (o % 64) & 1 == 1;
        if first == (input == 0) {
            cotangent[o]
        } else {
            T::ZERO
        }
    });
}

/// The numbers of the variable operands, the first before the second.
pub(super) fn held<T: Scalar>(batch: &Batch<'_, T>) -> Phase<T> {
    let variable: Vec<_> = batch.inputs.iter().filter(|i| !i.constant).collect();
    let each = variable.iter().map(|i| i.shape.elements()).sum();
    let mut values = Vec::with_capacity(batch.samples * each);
    for s in 0..batch.samples {
        for input in &variable {
            values.extend_from_slice(input.sample(s));
        }
    }
    Phase::Values { values, each }
}

/// The numbers of an operand where they are known, else zeros.
pub(super) struct Known<'a, T>(pub Option<&'a [T]>);

impl<T: Scalar> Known<'_, T> {
    fn at(&self, index: usize) -> T {
        self.0.map_or(T::ZERO, |values| values[index])
    }
}

/// Both operands, from the model or from what [`held`] kept.
pub(super) fn known<'a, T: Scalar>(
    call: &Backward<'a, T>,
    phase: &PhaseRow<'a, T>,
) -> [Known<'a, T>; 2] {
    let mut rest = match *phase {
        PhaseRow::Values(values) => Some(values),
        _ => None,
    };
    [0, 1].map(|i| {
        let (shape, constant) = call.inputs[i];
        Known(constant.or_else(|| {
            let (own, others) = rest?.split_at(shape.elements());
            rest = Some(others);
            Some(own)
        }))
    })
}

/// The ranges of one operand in one box.
struct Ranges<'a, T> {
    lower: &'a [T],
    upper: &'a [T],
    constant: bool,
}

impl<'a, T: Scalar> Ranges<'a, T> {
    fn new(range: &Range<'a, T>, s: usize) -> Self {
        Self {
            lower: range.lower.sample(s),
            upper: range.upper.sample(s),
            constant: range.lower.constant,
        }
    }

    fn at(&self, index: usize) -> Ends<T> {
        [self.lower[index], self.upper[index]]
    }
}

fn rows<T: Scalar>() -> SparseRows<T> {
    SparseRows::constants(Vec::new())
}

/// Appends a plane over the variable operands; what constant ones add goes into the constant,
/// rounded down (`side` 0) or up.
fn push<T: Scalar>(
    rows: &mut SparseRows<T>,
    plane: Plane<T>,
    indices: [usize; 2],
    constants: [Option<T>; 2],
    side: usize,
) {
    let mut constant = plane.constant;
    let mut entries = Vec::with_capacity(2);
    for input in 0..2 {
        let slope = plane.slopes[input];
        if let Some(value) = constants[input] {
            let share = product(slope, value)[side];
            constant = if side == 0 {
                sum_down(constant, share)
            } else {
                sum_up(constant, share)
            };
        } else if slope != T::ZERO {
            entries.push((input as u32, indices[input] as u32, slope));
        }
    }
    rows.push(entries, constant);
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
mod tests {
    use super::super::laws::{Laws, Random};
    use super::super::{Add, Div, Max, Min, Mul, Sub};
    use super::*;

    const SHAPES: [[&[usize]; 2]; 9] = [
        [&[1, 70], &[1, 70]],
        [&[1, 3, 2, 5], &[1, 3, 1, 1]],
        [&[1, 2, 5, 3], &[1, 1, 1, 3]],
        [&[2, 1, 3], &[1, 4, 1]],
        [&[2, 3], &[]],
        [&[], &[2, 3]],
        [&[3, 1], &[2, 1, 4]],
        [&[], &[]],
        [&[1, 0], &[1, 1]],
    ];

    impl Laws {
        /// The laws with both operands variable, and with either constant. `range` is where the function is
        /// defined.
        pub fn pairwise<P: Pairwise>(&mut self, pair: P, range: (f64, f64)) {
            let op = Binary::new(pair);
            let mut random = Random(11);
            for shapes in SHAPES {
                let mut numbers = |i: usize| -> Vec<f64> {
                    (0..shapes[i].iter().product())
                        .map(|_| random.between(range.0, range.1))
                        .collect()
                };
                let (x, y) = (numbers(0), numbers(1));
                self.check(&op, &shapes, &[], range, 1);
                self.check(&op, &shapes, &[None, Some(y)], range, 2);
                self.check(&op, &shapes, &[Some(x), None], range, 3);
            }
        }
    }

    #[test]
    fn natures_follow_the_constants() {
        use Nature::{Affine, PiecewiseLinear, Smooth};
        let nature = |op: &dyn Operator| {
            [[false, false], [true, false], [false, true]].map(|constant| op.nature(&constant))
        };
        assert_eq!(nature(&Binary::new(Add)), [Affine; 3]);
        assert_eq!(nature(&Binary::new(Mul)), [Smooth, Affine, Affine]);
        assert_eq!(nature(&Binary::new(Div)), [Smooth, Smooth, Affine]);
        assert_eq!(nature(&Binary::new(Max)), [PiecewiseLinear; 3]);
    }

    #[test]
    fn nan_wins_every_comparison() {
        for (x, y) in [(f32::NAN, 1.0), (1.0, f32::NAN)] {
            assert!(Max.at(x, y).is_nan() && Min.at(x, y).is_nan());
        }
        assert_eq!((Max.at(1.0, 2.0), Min.at(1.0, 2.0)), (2.0, 1.0));
    }

    #[test]
    fn equal_operands_take_the_first() {
        assert!(Max.takes_first(1.0, 1.0) && Min.takes_first(1.0, 1.0));
        assert!(Max.takes_first(2.0, 1.0) && !Min.takes_first(2.0, 1.0));
    }

    #[test]
    fn a_divisor_that_may_be_zero_bounds_nothing() {
        let all = [f64::NEG_INFINITY, f64::INFINITY];
        assert_eq!(Div.interval([1.0, 2.0], [-1.0, 1.0]), all);
        assert_eq!(Div.interval([1.0, 2.0], [0.0, 1.0]), all);
    }

    #[test]
    fn infinite_ends_give_no_nan() {
        let ends = [f64::NEG_INFINITY, -1.0, 0.0, 2.0, f64::INFINITY];
        let intervals = || (0..5).flat_map(|i| (i..5).map(move |j| [ends[i], ends[j]]));
        for x in intervals() {
            for y in intervals() {
                let all = [
                    Add.interval(x, y),
                    Sub.interval(x, y),
                    Mul.interval(x, y),
                    Div.interval(x, y),
                    Max.interval(x, y),
                ];
                assert!(all.iter().all(|[low, high]| low <= high), "{x:?} {y:?}");
            }
        }
    }

    #[test]
    fn the_larger_operand_relaxes_to_itself() {
        let [below, above] = Max.planes([2.0, 3.0], [0.0, 1.0]);
        assert_eq!((below.slopes, below.constant), ([1.0, 0.0], 0.0));
        assert_eq!((above.slopes, above.constant), ([1.0, 0.0], 0.0));
        // Against 0 the upper plane is the chord of Relu.
        let [below, above] = Max.planes([-1.0, 3.0], [0.0, 0.0]);
        assert_eq!(below.slopes, [1.0, 0.0]);
        assert_eq!(above.slopes, [0.75, 0.25]);
        assert!(above.constant >= 0.75 && above.constant < 0.75 + 1e-13);
    }
}
