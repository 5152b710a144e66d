//! Softplus: a smooth Relu.

use super::curve::Curve;
use super::sigmoid::logistic;

/// `ln(1 + exp(x))`.
#[derive(Clone, Copy, Debug)]
pub struct Softplus;

impl Curve for Softplus {
    fn kind(&self) -> &'static str {
        "Softplus"
    }

    fn value(&self, x: f64) -> f64 {
        let above = (-x.abs()).exp().ln_1p();
        if x >= 0.0 { x + above } else { above }
    }

    fn slope(&self, x: f64) -> f64 {
        logistic(x)
    }

    fn range(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Softplus;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Softplus, (-9.0, 9.0));
    }
}
