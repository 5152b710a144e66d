//! Relu: `max(x, 0)`.

use super::curve::Curve;
use crate::Scalar;
use crate::operator::Nature;

/// `max(x, 0)`.
#[derive(Clone, Copy, Debug)]
pub struct Relu;

impl Curve for Relu {
    fn kind(&self) -> &'static str {
        "Relu"
    }

    fn value(&self, x: f64) -> f64 {
        self.at(x)
    }

    fn slope(&self, x: f64) -> f64 {
        if x >= 0.0 { 1.0 } else { 0.0 }
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn line(&self, x: f64) -> Option<(f64, f64)> {
        Some((self.slope(x), 0.0))
    }

    fn nature(&self) -> Nature {
        Nature::PiecewiseLinear
    }

    fn keeps_order(&self) -> bool {
        true
    }

    #[inline]
    fn at<T: Scalar>(&self, x: T) -> T {
        x.max(T::ZERO)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Relu;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Relu, (-3.0, 3.0));
    }
}
