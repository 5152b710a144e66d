//! Sub: the difference of two tensors.

use super::binary::{Ends, Pairwise};
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

    fn interval<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> Ends<T> {
        [sum_down(x[0], -y[1]), sum_up(x[1], -y[0])]
    }
}
