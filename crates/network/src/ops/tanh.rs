//! Tanh: the hyperbolic tangent.

use super::curve::Curve;
use super::sigmoid::logistic_slope;

/// `tanh(x)`.
#[derive(Clone, Copy, Debug)]
pub struct Tanh;

impl Curve for Tanh {
    fn kind(&self) -> &'static str {
        "Tanh"
    }

    fn value(&self, x: f64) -> f64 {
        x.tanh()
    }

    fn slope(&self, x: f64) -> f64 {
        // 1 - tanh^2 would lose every digit far out.
        4.0 * logistic_slope(2.0 * x)
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn range(&self) -> (f64, f64) {
        (-1.0, 1.0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Tanh;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Tanh, (-5.0, 5.0));
    }
}
