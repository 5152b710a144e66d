//! Sub: the difference of two tensors.

use super::binary::{Ends, Pairwise, Plane};
use super::outward::{sum_down, sum_up};
use crate::Scalar;
use crate::operator::Nature;

/// `x - y`.
#[derive(Clone, Copy, Debug)]
pub struct Sub;

impl Pairwise for Sub {
    fn kind(&self) -> &'static str {
        "Sub"
    }

    fn nature(&self, _constant: [bool; 2]) -> Nature {
        Nature::Affine
    }

    #[inline]
    fn at<T: Scalar>(&self, x: T, y: T) -> T {
        x - y
    }

    #[inline]
    fn pull<T: Scalar>(&self, input: usize, cotangent: T, _x: T, _y: T) -> T {
        if input == 0 { cotangent } else { -cotangent }
    }

    fn plane(&self, x: Option<f64>, y: Option<f64>) -> Option<Plane<f64>> {
        Some(Plane {
            slopes: [1.0, -1.0],
            constant: x.or(y.map(|y| -y)).unwrap_or(0.0),
        })
    }

    fn interval<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> Ends<T> {
        [sum_down(x[0], -y[1]), sum_up(x[1], -y[0])]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Sub;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.pairwise(Sub, (-3.0, 3.0));
    }
}
