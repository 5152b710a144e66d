//! Min: the smaller of two tensors, element by element.

use super::binary::{Ends, Pairwise, Plane};
use super::max::Max;
use crate::Scalar;
use crate::operator::Nature;

/// The smaller of `x` and `y`; `x` where they are equal. In all else `-max(-x, -y)`.
#[derive(Clone, Copy, Debug)]
pub struct Min;

impl Pairwise for Min {
    fn kind(&self) -> &'static str {
        "Min"
    }

    fn nature(&self, constant: [bool; 2]) -> Nature {
        Max.nature(constant)
    }

    #[inline]
    fn at<T: Scalar>(&self, x: T, y: T) -> T {
        -Max.at(-x, -y)
    }

    fn is_smaller(&self) -> bool {
        true
    }

    fn takes_first<T: Scalar>(&self, x: T, y: T) -> bool {
        Max.takes_first(-x, -y)
    }

    fn interval<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> Ends<T> {
        mirrored(Max.interval(mirrored(x), mirrored(y)))
    }

    fn planes<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> [Plane<T>; 2] {
        let [below, above] = Max.planes(mirrored(x), mirrored(y));
        [above, below].map(|plane| Plane {
            slopes: plane.slopes,
            constant: -plane.constant,
        })
    }
}

fn mirrored<T: Scalar>([low, high]: Ends<T>) -> Ends<T> {
    [-high, -low]
}

#[cfg(test)]
pub(super) mod tests {
    use super::Min;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.pairwise(Min, (-3.0, 3.0));
    }
}
