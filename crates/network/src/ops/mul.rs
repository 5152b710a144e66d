//! Mul: the product of two tensors.

use super::binary::{Ends, Pairwise, Plane};
use super::outward::{hull, product};
use crate::Scalar;
use crate::operator::Nature;

/// `x y`.
#[derive(Clone, Copy, Debug)]
pub struct Mul;

impl Pairwise for Mul {
    fn kind(&self) -> &'static str {
        "Mul"
    }

    fn nature(&self, constant: [bool; 2]) -> Nature {
        if constant == [false, false] {
            Nature::Smooth
        } else {
            Nature::Affine
        }
    }

    #[inline]
    fn at<T: Scalar>(&self, x: T, y: T) -> T {
        x * y
    }

    #[inline]
    fn pull<T: Scalar>(&self, input: usize, cotangent: T, x: T, y: T) -> T {
        cotangent * if input == 0 { y } else { x }
    }

    fn plane(&self, x: Option<f64>, y: Option<f64>) -> Option<Plane<f64>> {
        let slopes = match (x, y) {
            (None, Some(y)) => [y, 0.0],
            (Some(x), None) => [0.0, x],
            _ => return None,
        };
        Some(Plane {
            slopes,
            constant: 0.0,
        })
    }

    fn interval<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> Ends<T> {
        hull([
            product(x[0], y[0]),
            product(x[0], y[1]),
            product(x[1], y[0]),
            product(x[1], y[1]),
        ])
    }

    /// `McCormick`'s: `(x - lx) (y - ly) >= 0` and `(x - lx) (uy - y) >= 0`.
    fn planes<T: Scalar>(&self, [lx, _]: Ends<T>, [ly, uy]: Ends<T>) -> [Plane<T>; 2] {
        [
            Plane {
                slopes: [ly, lx],
                constant: -product(lx, ly)[1],
            },
            Plane {
                slopes: [uy, lx],
                constant: -product(lx, uy)[0],
            },
        ]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Mul;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.pairwise(Mul, (-3.0, 3.0));
    }
}
