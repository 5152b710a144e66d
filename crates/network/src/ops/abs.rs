//! Abs: the absolute value.

use super::curve::Curve;
use crate::Scalar;
use crate::operator::Nature;

/// `|x|`.
#[derive(Clone, Copy, Debug)]
pub struct Abs;

impl Curve for Abs {
    fn kind(&self) -> &'static str {
        "Abs"
    }

    fn value(&self, x: f64) -> f64 {
        x.abs()
    }

    fn slope(&self, x: f64) -> f64 {
        if x >= 0.0 { 1.0 } else { -1.0 }
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

    fn at<T: Scalar>(&self, x: T) -> T {
        x.abs()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Abs;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Abs, (-3.0, 3.0));
    }
}
