//! Where: one of two tensors, element by element, as a third one says. With the choice fixed it is affine; where
//! the choice changes it may jump, so no symbolic engine sees through it.

use super::comparison::truth;
use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Phase, PhaseRow, Relaxation, Reordered,
    Scratch, SparseRows,
};
use crate::{Order, Scalar, Shape};

/// The second input where the first is not 0, elsewhere the third. All have one shape.
#[derive(Clone, Copy, Debug)]
pub struct Choose;

impl<T: Scalar> Evaluate<T> for Choose {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        let each = batch.output.elements();
        for s in 0..batch.samples {
            let [condition, x, y] = [0, 1, 2].map(|i| batch.inputs[i].sample(s));
            let output = &mut output[s * each..(s + 1) * each];
            for (e, output) in output.iter_mut().enumerate() {
                *output = if condition[e] == T::ZERO { y[e] } else { x[e] };
            }
        }
    }

    fn phase(&self, batch: &Batch<'_, T>, _: &[T]) -> Phase<T> {
        Phase::signs(batch.samples, &batch.inputs[0], |c| c != T::ZERO)
    }

    fn vjp(
        &self,
        input: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        _: &mut Scratch<T>,
    ) {
        result.fill(T::ZERO);
        let each = call.output.elements();
        for (row, phase) in call.phases.iter().enumerate() {
            let PhaseRow::Signs(signs) = phase else {
                continue;
            };
            let span = row * each..(row + 1) * each;
            let pairs = result[span.clone()].iter_mut().zip(&cotangent[span]);
            for (e, (x, &g)) in pairs.enumerate() {
                if input > 0 && (signs[e / 64] >> (e % 64) & 1 == 1) == (input == 1) {
                    *x = g;
                }
            }
        }
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        let each = boxes.output.elements();
        for s in 0..boxes.samples {
            let [condition, x, y] = [0, 1, 2].map(|i| {
                let input = &boxes.inputs[i];
                (input.lower.sample(s), input.upper.sample(s))
            });
            for e in 0..each {
                let (x, y) = ([x.0[e], x.1[e]], [y.0[e], y.1[e]]);
                let [l, u] = match truth([condition.0[e], condition.1[e]]) {
                    Some(true) => x,
                    Some(false) => y,
                    None => [x[0].min(y[0]), x[1].max(y[1])],
                };
                lower[s * each + e] = l;
                upper[s * each + e] = u;
            }
        }
    }

    /// Itself where the choice is the same over the box.
    fn relax(&self, boxes: &Boxes<'_, T>, scratch: &mut Scratch<T>) -> Relaxation<T> {
        let each = boxes.output.elements();
        let (mut low, mut high) = (vec![T::ZERO; each], vec![T::ZERO; each]);
        self.interval(boxes, &mut low, &mut high, scratch);
        let condition = &boxes.inputs[0];
        let (from, to) = (condition.lower.sample(0), condition.upper.sample(0));
        let empty = || SparseRows::constants(Vec::new());
        let (mut lower, mut upper) = (empty(), empty());
        for e in 0..each {
            let taken = truth([from[e], to[e]]).map(|first| if first { 1 } else { 2 });
            if let Some(input) = taken.filter(|&i| !boxes.inputs[i].lower.constant) {
                let entry = (input as u32, e as u32, T::ONE);
                lower.push([entry], T::ZERO);
                upper.push([entry], T::ZERO);
            } else {
                lower.push([], low[e]);
                upper.push([], high[e]);
            }
        }
        Relaxation::Sparse { lower, upper }
    }
}

impl Operator for Choose {
    fn kind(&self) -> &'static str {
        "Where"
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        match inputs {
            [condition, x, y] if condition == x && x == y => Ok((*x).clone()),
            _ => Err("Where takes three inputs of one shape".into()),
        }
    }

    fn nature(&self, _: &[bool]) -> Nature {
        Nature::Discrete
    }

    fn cone(&self, _: usize, _: &[&Shape], _: &Shape, elements: &[usize]) -> Vec<usize> {
        elements.to_vec()
    }

    fn reordered(&self, _: &Order) -> Reordered {
        Reordered::Same
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
pub(super) mod tests {
    use super::super::laws::Laws;
    use super::*;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let shapes: [&[usize]; 3] = [&[1, 2, 3]; 3];
        let numbers = vec![0.5, -1.0, 2.0, 0.25, 3.0, -0.75];
        laws.check(&Choose, &shapes, &[], (-1.0, 1.0), 1);
        laws.check(&Choose, &shapes, &[None, Some(numbers)], (0.0, 1.0), 2);
    }

    #[test]
    fn the_gradient_goes_to_the_one_that_is_taken() {
        let shape = Shape::new([2]).unwrap();
        let inputs = [(&shape, None); 3];
        let signs = [PhaseRow::Signs(&[0b10])];
        let call = Backward {
            rows: 1,
            phases: &signs,
            inputs: &inputs,
            output: &shape,
        };
        let pulled = |input: usize| {
            let mut result = [9.0f32; 2];
            Choose.vjp(input, &call, &[3.0, 5.0], &mut result, &mut Vec::new());
            result
        };
        assert_eq!(pulled(0), [0.0, 0.0]);
        assert_eq!(pulled(1), [0.0, 5.0]);
        assert_eq!(pulled(2), [3.0, 0.0]);
    }
}
