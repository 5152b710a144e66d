//! `MatMul` of two tensors of which at least one depends on the input: attention, and constant stacks of
//! matrices. A product with one constant matrix is [`super::Dense`], which is faster.

use std::collections::BTreeSet;

use super::affine;
use super::binary::{Ends, Pairwise, held, known};
use super::mul::Mul;
use super::outward::{sum_down, sum_up};
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, Range, Relaxation, Scratch,
    SparseRows,
};
use crate::plain::AffineRow;
use crate::vectorised::vectorised;
use crate::{Scalar, Shape};

/// Matrix products along the last two axes; the axes before them broadcast.
#[derive(Clone, Copy, Debug)]
pub struct MatMul;

/// Which matrices meet: the sizes of one product, and for each product the numbers of its factors.
struct Stack {
    rows: usize,
    depth: usize,
    columns: usize,
    factors: Vec<(usize, usize)>,
}

impl Stack {
    fn new(a: &Shape, b: &Shape) -> Result<Self, String> {
        let unfit = || format!("shapes {a} and {b} do not fit a matrix product");
        let ([before_a @ .., rows, depth], [before_b @ .., depth_b, columns]) =
            (a.dims(), b.dims())
        else {
            return Err(unfit());
        };
        if depth != depth_b {
            return Err(unfit());
        }
        let (before_a, before_b) = (Shape::new(before_a)?, Shape::new(before_b)?);
        let before = before_a.broadcast(&before_b).map_err(|_| unfit())?;
        let factors = (0..before.elements()).map(|number| {
            let of = |shape: &Shape| shape.broadcast_element(&before, number);
            (of(&before_a), of(&before_b))
        });
        Ok(Self {
            rows: *rows,
            depth: *depth,
            columns: *columns,
            factors: factors.collect(),
        })
    }

    /// Of shapes that have met before.
    fn met(a: &Shape, b: &Shape) -> Self {
        Self::new(a, b).unwrap_or(Self {
            rows: 0,
            depth: 0,
            columns: 0,
            factors: Vec::new(),
        })
    }

    fn size_a(&self) -> usize {
        self.rows * self.depth
    }

    fn size_b(&self) -> usize {
        self.depth * self.columns
    }

    fn size(&self) -> usize {
        self.rows * self.columns
    }

    /// The elements of both tensors that are multiplied for an element of the output, in the order
    /// they are added up.
    fn terms(&self, element: usize) -> impl Iterator<Item = (usize, usize)> + use<'_> {
        let (a, b) = self.factors[element / self.size()];
        let (row, column) = (element % self.size() / self.columns, element % self.columns);
        let a = a * self.size_a() + row * self.depth;
        let b = b * self.size_b() + column;
        (0..self.depth).map(move |k| (a + k, b + k * self.columns))
    }

    /// `output = a b` for one sample.
    #[expect(clippy::inline_always, reason = "compiled anew for wide vectors")]
    #[inline(always)]
    fn multiply<T: Scalar>(&self, a: &[T], b: &[T], output: &mut [T]) {
        output.fill(T::ZERO);
        for (output, &(x, y)) in output
            .chunks_exact_mut(self.size().max(1))
            .zip(&self.factors)
        {
            let a = &a[x * self.size_a()..(x + 1) * self.size_a()];
            let b = &b[y * self.size_b()..(y + 1) * self.size_b()];
            for (a, output) in a
                .chunks_exact(self.depth.max(1))
                .zip(output.chunks_exact_mut(self.columns.max(1)))
            {
                for (&a, b) in a.iter().zip(b.chunks_exact(self.columns.max(1))) {
                    for (sum, &b) in output.iter_mut().zip(b) {
                        *sum += a * b;
                    }
                }
            }
        }
    }

    /// Adds `cotangent b'` to `result`.
    #[expect(clippy::inline_always, reason = "compiled anew for wide vectors")]
    #[inline(always)]
    fn pull_a<T: Scalar>(&self, cotangent: &[T], b: &[T], result: &mut [T]) {
        for (cotangent, &(x, y)) in cotangent
            .chunks_exact(self.size().max(1))
            .zip(&self.factors)
        {
            let b = &b[y * self.size_b()..(y + 1) * self.size_b()];
            let result = &mut result[x * self.size_a()..(x + 1) * self.size_a()];
            for (cotangent, result) in cotangent
                .chunks_exact(self.columns.max(1))
                .zip(result.chunks_exact_mut(self.depth.max(1)))
            {
                for (result, b) in result.iter_mut().zip(b.chunks_exact(self.columns.max(1))) {
                    for (&c, &b) in cotangent.iter().zip(b) {
                        *result += c * b;
                    }
                }
            }
        }
    }

    /// Adds `a' cotangent` to `result`.
    #[expect(clippy::inline_always, reason = "compiled anew for wide vectors")]
    #[inline(always)]
    fn pull_b<T: Scalar>(&self, cotangent: &[T], a: &[T], result: &mut [T]) {
        for (cotangent, &(x, y)) in cotangent
            .chunks_exact(self.size().max(1))
            .zip(&self.factors)
        {
            let a = &a[x * self.size_a()..(x + 1) * self.size_a()];
            let result = &mut result[y * self.size_b()..(y + 1) * self.size_b()];
            for (a, cotangent) in a
                .chunks_exact(self.depth.max(1))
                .zip(cotangent.chunks_exact(self.columns.max(1)))
            {
                for (&a, result) in a.iter().zip(result.chunks_exact_mut(self.columns.max(1))) {
                    for (result, &c) in result.iter_mut().zip(cotangent) {
                        *result += a * c;
                    }
                }
            }
        }
    }
}

/// The range of one factor of one box.
fn ends<T: Scalar>(range: &Range<'_, T>, sample: usize, element: usize) -> Ends<T> {
    [
        range.lower.sample(sample)[element],
        range.upper.sample(sample)[element],
    ]
}

/// The range of one element of the output in one box, computed values included.
fn range<T: Scalar>(stack: &Stack, boxes: &Boxes<'_, T>, sample: usize, element: usize) -> Ends<T> {
    let (mut low, mut high, mut magnitude) = (T::ZERO, T::ZERO, T::ZERO);
    for (a, b) in stack.terms(element) {
        let a = ends(&boxes.inputs[0], sample, a);
        let b = ends(&boxes.inputs[1], sample, b);
        let [least, maximum] = Mul.interval(a, b);
        low = sum_down(low, least);
        high = sum_up(high, maximum);
        magnitude = sum_up(magnitude, least.abs().max(maximum.abs()));
    }
    // A sum of rounded products, in any order, errs by at most this.
    let two = T::ONE + T::ONE;
    let error = two * affine::gamma::<T>(stack.depth) * magnitude;
    let (low, high) = (sum_down(low, -error), sum_up(high, error));
    if low <= high {
        [low, high]
    } else {
        [T::NEG_INFINITY, T::INFINITY]
    }
}

impl<T: Scalar> Evaluate<T> for MatMul {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        let [a, b] = [&batch.inputs[0], &batch.inputs[1]];
        let stack = Stack::met(a.shape, b.shape);
        let samples = output.chunks_exact_mut(batch.output.elements().max(1));
        for (s, output) in samples.enumerate() {
            vectorised(|| stack.multiply(a.sample(s), b.sample(s), output));
        }
    }

    fn phase(&self, batch: &Batch<'_, T>, _output: &[T]) -> Phase<T> {
        if batch.inputs.iter().any(|input| input.constant) {
            Phase::Fixed
        } else {
            held(batch)
        }
    }

    fn vjp(
        &self,
        input: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        let stack = Stack::met(call.inputs[0].0, call.inputs[1].0);
        let (each, size) = (call.output.elements(), call.inputs[input].0.elements());
        result.fill(T::ZERO);
        for (row, phase) in call.phases.iter().enumerate() {
            let cotangent = &cotangent[row * each..(row + 1) * each];
            let result = &mut result[row * size..(row + 1) * size];
            let [a, b] = known(call, phase);
            let other = if input == 0 { b.0 } else { a.0 };
            let Some(other) = other else { continue };
            vectorised(|| {
                if input == 0 {
                    stack.pull_a(cotangent, other, result);
                } else {
                    stack.pull_b(cotangent, other, result);
                }
            });
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let stack = Stack::met(boxes.inputs[0].lower.shape, boxes.inputs[1].lower.shape);
        let each = boxes.output.elements();
        for s in 0..boxes.samples {
            for e in 0..each {
                let at = s * each + e;
                [lower[at], upper[at]] = range(&stack, boxes, s, e);
            }
        }
    }

    /// A plane below and one above each product, added up.
    fn relax(&self, boxes: &Boxes<'_, T>, _: &mut Scratch<T>) -> Relaxation<T> {
        let stack = Stack::met(boxes.inputs[0].lower.shape, boxes.inputs[1].lower.shape);
        let (mut lower, mut upper) = (
            SparseRows::constants(Vec::new()),
            SparseRows::constants(Vec::new()),
        );
        for element in 0..boxes.output.elements() {
            let terms = || {
                stack.terms(element).map(|(a, b)| {
                    let (x, y) = (ends(&boxes.inputs[0], 0, a), ends(&boxes.inputs[1], 0, b));
                    ((a, x), (b, y))
                })
            };
            let bounded = |end: &T| end.f64().is_finite();
            if !terms().all(|((_, x), (_, y))| x.iter().chain(&y).all(bounded)) {
                let [low, high] = range(&stack, boxes, 0, element);
                lower.push([], low);
                upper.push([], high);
                continue;
            }
            let (mut below, mut above) = (Vec::new(), Vec::new());
            let (mut low, mut high) = (T::ZERO, T::ZERO);
            for ((a, x), (b, y)) in terms() {
                let [under, over] = Mul.planes(x, y);
                low = sum_down(low, under.constant);
                high = sum_up(high, over.constant);
                for (plane, entries) in [(under, &mut below), (over, &mut above)] {
                    entries.push((0, a as u32, plane.slopes[0]));
                    entries.push((1, b as u32, plane.slopes[1]));
                }
            }
            lower.push(below, low);
            upper.push(above, high);
        }
        Relaxation::Sparse { lower, upper }
    }
}

/// The elements of both tensors that are multiplied for one element of the output, by the definition and
/// for that element alone.
fn terms_of(
    a: &Shape,
    b: &Shape,
    output: &Shape,
    element: usize,
) -> Option<impl Iterator<Item = (usize, usize)>> {
    let ([before_a @ .., rows, depth], [before_b @ .., _, columns]) = (a.dims(), b.dims()) else {
        return None;
    };
    let (rows, depth, columns) = (*rows, *depth, *columns);
    let [before @ .., _, _] = output.dims() else {
        return None;
    };
    let before = Shape::new(before).ok()?;
    let product = element / (rows * columns);
    let number = |dims: &[usize]| Some(Shape::new(dims).ok()?.broadcast_element(&before, product));
    let (row, column) = (element / columns % rows, element % columns);
    let a = (number(before_a)? * rows + row) * depth;
    let b = number(before_b)? * depth * columns + column;
    Some((0..depth).map(move |k| (a + k, b + k * columns)))
}

impl Operator for MatMul {
    fn kind(&self) -> &'static str {
        "MatMul"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let [a, b] = inputs else {
            return Err(format!("MatMul takes two inputs, not {}", inputs.len()));
        };
        let stack = Stack::new(a, b)?;
        let before = |shape: &Shape| Shape::new(&shape.dims()[..shape.rank() - 2]);
        let before = before(a)?.broadcast(&before(b)?)?;
        let last = [stack.rows, stack.columns];
        Shape::new([before.dims(), &last].concat())
    }

    fn nature(&self, constant: &[bool]) -> Nature {
        if constant.contains(&true) {
            Nature::Affine
        } else {
            Nature::Smooth
        }
    }

    fn affine_row(
        &self,
        element: usize,
        inputs: &[(&Shape, Option<&[f64]>)],
        output: &Shape,
        row: &mut AffineRow,
    ) -> bool {
        let &[(a, known_a), (b, known_b)] = inputs else {
            return false;
        };
        let Some(terms) = terms_of(a, b, output, element) else {
            return false;
        };
        match (known_a, known_b) {
            (Some(a), None) => row.terms.extend(terms.map(|(i, j)| (1, j as u32, a[i]))),
            (None, Some(b)) => row.terms.extend(terms.map(|(i, j)| (0, i as u32, b[j]))),
            _ => return false,
        }
        true
    }

    fn cone(&self, input: usize, inputs: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        let stack = Stack::met(inputs[0], inputs[1]);
        let terms = elements.iter().flat_map(|&e| stack.terms(e));
        let own = terms.map(|(a, b)| if input == 0 { a } else { b });
        let own: BTreeSet<usize> = own.collect();
        own.into_iter().collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::laws::{Laws, Random};
    use super::*;

    const SHAPES: [[&[usize]; 2]; 6] = [
        [&[1, 3, 4], &[1, 4, 2]],
        [&[2, 3], &[3, 5]],
        [&[1, 2, 3, 4], &[1, 2, 4, 3]],
        [&[1, 2, 3, 4], &[4, 1]],
        [&[3, 2], &[1, 2, 2, 2]],
        [&[2, 1, 2, 3], &[1, 3, 3, 2]],
    ];

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let mut random = Random(5);
        for shapes in SHAPES {
            let mut numbers = |i: usize| random.numbers(shapes[i].iter().product());
            let (a, b) = (numbers(0), numbers(1));
            laws.check(&MatMul, &shapes, &[], (-2.0, 2.0), 1);
            laws.check(&MatMul, &shapes, &[None, Some(b)], (-2.0, 2.0), 2);
            laws.check(&MatMul, &shapes, &[Some(a), None], (-2.0, 2.0), 3);
        }
    }

    #[test]
    fn leading_axes_broadcast_and_the_inner_ones_must_meet() {
        let shape = |dims: &[usize]| Shape::new(dims).unwrap();
        let of = |a: &[usize], b: &[usize]| MatMul.output_shape(&[&shape(a), &shape(b)]);
        assert_eq!(of(&[2, 1, 4, 3], &[5, 3, 6]).unwrap().dims(), [2, 5, 4, 6]);
        assert!(of(&[2, 3], &[2, 3]).is_err());
        assert!(of(&[2, 4, 3], &[3, 3, 6]).is_err());
        assert!(of(&[3], &[3, 2]).is_err());
    }
}
