//! Div: the quotient of two tensors.

use super::binary::{Ends, Pairwise, Plane};
use super::outward::{hull, quotient};
use crate::Scalar;
use crate::operator::Nature;

/// `x / y`.
#[derive(Clone, Copy, Debug)]
pub struct Div;

impl Pairwise for Div {
    fn kind(&self) -> &'static str {
        "Div"
    }

    fn nature(&self, constant: [bool; 2]) -> Nature {
        if constant[1] {
            Nature::Affine
        } else {
            Nature::Smooth
        }
    }

    #[inline]
    fn at<T: Scalar>(&self, x: T, y: T) -> T {
        x / y
    }

    #[inline]
    fn pull<T: Scalar>(&self, input: usize, cotangent: T, x: T, y: T) -> T {
        if input == 0 {
            cotangent / y
        } else {
            -cotangent * (x / y) / y
        }
    }

    /// The coefficient is the nearest double of the reciprocal.
    fn plane(&self, _: Option<f64>, y: Option<f64>) -> Option<Plane<f64>> {
        Some(Plane {
            slopes: [1.0 / y?, 0.0],
            constant: 0.0,
        })
    }

    fn interval<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> Ends<T> {
        if y[0] <= T::ZERO && y[1] >= T::ZERO {
            return [T::NEG_INFINITY, T::INFINITY];
        }
        hull([
            quotient(x[0], y[0]),
            quotient(x[0], y[1]),
            quotient(x[1], y[0]),
            quotient(x[1], y[1]),
        ])
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Div;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.pairwise(Div, (0.5, 3.0));
        laws.pairwise(Div, (-3.0, -0.5));
    }
}
