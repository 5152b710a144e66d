//! Tanh: the hyperbolic tangent.

use super::curve::Curve;
use super::exponential::exp_m1_for_single;
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

    #[inline]
    fn value_for_single(&self, x: f64) -> f64 {
        let fall = exp_m1_for_single(-2.0 * x.abs());
        (-fall / (2.0 + fall)).copysign(x)
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
