//! Max: the larger of two tensors, element by element.

use super::binary::{Ends, Pairwise, Plane};
use super::outward::up;
use crate::Scalar;
use crate::operator::Nature;

/// The larger of `x` and `y`; `x` where they are equal.
#[derive(Clone, Copy, Debug)]
pub struct Max;

impl Pairwise for Max {
    fn kind(&self) -> &'static str {
        "Max"
    }

    fn nature(&self, _constant: [bool; 2]) -> Nature {
        Nature::PiecewiseLinear
    }

    #[inline]
    fn at<T: Scalar>(&self, x: T, y: T) -> T {
        if x >= y {
            x
        } else if x < y {
            y
        } else {
            // One is NaN, and so is the sum.
            x + y
        }
    }

    fn is_larger(&self) -> bool {
        true
    }

    fn takes_first<T: Scalar>(&self, x: T, y: T) -> bool {
        x >= y
    }

    fn interval<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> Ends<T> {
        [x[0].max(y[0]), x[1].max(y[1])]
    }

    fn planes<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> [Plane<T>; 2] {
        if x[0] >= y[1] {
            return [Plane::operand(0); 2];
        }
        if y[0] >= x[1] {
            return [Plane::operand(1); 2];
        }
        let nearer = usize::from(middle(y) > middle(x));
        [Plane::operand(nearer), above(x, y)]
    }
}

fn middle<T: Scalar>(ends: Ends<T>) -> f64 {
    0.5 * ends[0].f64() + 0.5 * ends[1].f64()
}

/// The chord of `max(x - y, 0)` added to `y`, or the largest value, whichever is lower in the
/// middle.
fn above<T: Scalar>(x: Ends<T>, y: Ends<T>) -> Plane<T> {
    let (least, maximum) = (x[0].f64() - y[1].f64(), x[1].f64() - y[0].f64());
    let share = T::of(maximum / (maximum - least));
    let chord = Plane {
        slopes: [share, T::ONE - share],
        constant: up(height([share.f64(), (T::ONE - share).f64()], x, y)),
    };
    let level = Plane::level(x[1].max(y[1]));
    let central = |plane: &Plane<T>| {
        let [p, q] = plane.slopes.map(Scalar::f64);
        p * middle(x) + q * middle(y) + plane.constant.f64()
    };
    if central(&chord) < central(&level) {
        chord
    } else {
        level
    }
}

/// The least constant that lifts a plane with these slopes above both operands: the largest of
/// `x - p x - q y` and `y - p x - q y` at the corners, widened by more than its rounding error.
fn height<T: Scalar>([p, q]: [f64; 2], x: Ends<T>, y: Ends<T>) -> f64 {
    let largest = |slope: f64, ends: Ends<T>| {
        let [a, b] = ends.map(|end| slope * end.f64());
        a.max(b)
    };
    let first = largest(1.0 - p, x) + largest(-q, y);
    let second = largest(-p, x) + largest(1.0 - q, y);
    let size: f64 = x.iter().chain(&y).map(|end| end.f64().abs()).sum();
    first.max(second) + 8.0 * f64::EPSILON * size
}

#[cfg(test)]
pub(super) mod tests {
    use super::Max;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.pairwise(Max, (-3.0, 3.0));
    }
}
