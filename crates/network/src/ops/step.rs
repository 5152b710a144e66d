//! Functions that jump: Floor, Ceil, Round, Sign, and the fraction dropped by a conversion to integers. They run and can be bounded; their derivative is zero.

use crate::operator::{
    Backward, Batch, Boxes, Evaluate, Nature, Operator, Reordered, Scratch, shape_of_one,
};
use crate::{Order, Scalar, Shape};

/// A function of one number that is constant between jumps and never falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The largest integer that is not above.
    Floor,
    /// The smallest integer that is not below.
    Ceil,
    /// The nearest integer, halves to the even one.
    Round,
    /// -1, 0 or 1.
    Sign,
    /// Without its fraction: the nearest integer that is not farther from zero.
    Truncate,
}

impl Step {
    fn at<T: Scalar>(self, x: T) -> T {
        let x = x.f64();
        T::of(match self {
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
            Self::Round => x.round_ties_even(),
            Self::Sign if x == 0.0 => 0.0,
            Self::Sign if x.is_nan() => x,
            Self::Sign => x.signum(),
            Self::Truncate => x.trunc(),
        })
    }

    fn each<T: Scalar>(self, input: &[T], output: &mut [T]) {
        for (y, &x) in output.iter_mut().zip(input) {
            *y = self.at(x);
        }
    }
}

impl<T: Scalar> Evaluate<T> for Step {
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], _: &mut Scratch<T>) {
        self.each(batch.inputs[0].data, output);
    }

    fn vjp(&self, _: usize, _: &Backward<'_, T>, _: &[T], result: &mut [T], _: &mut Scratch<T>) {
        result.fill(T::ZERO);
    }

    fn interval(&self, boxes: &Boxes<'_, T>, lower: &mut [T], upper: &mut [T], _: &mut Scratch<T>) {
        self.each(boxes.inputs[0].lower.data, lower);
        self.each(boxes.inputs[0].upper.data, upper);
    }
}

impl Operator for Step {
    fn kind(&self) -> &'static str {
        match self {
            Self::Floor => "Floor",
            Self::Ceil => "Ceil",
            Self::Round => "Round",
            Self::Sign => "Sign",
            Self::Truncate => "Cast",
        }
    }

    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        shape_of_one(self.kind(), inputs).cloned()
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
        let all = [
            Step::Floor,
            Step::Ceil,
            Step::Round,
            Step::Sign,
            Step::Truncate,
        ];
        for step in all {
            laws.check(&step, &[&[1, 2, 3]], &[], (-3.0, 3.0), 7);
        }
    }

    #[test]
    fn halves_round_to_even_and_zero_has_no_sign() {
        assert_eq!(Step::Round.at(2.5f32), 2.0);
        assert_eq!(Step::Round.at(3.5f32), 4.0);
        assert_eq!(Step::Sign.at(-0.0f32), 0.0);
        assert_eq!(Step::Sign.at(-3.0f64), -1.0);
    }
}
