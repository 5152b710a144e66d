//! Sigmoid: the logistic function.

use super::curve::Curve;
use super::exponential::{exp, exp_for_single};
use crate::Head;

/// `1 / (1 + exp(-x))`.
#[derive(Clone, Copy, Debug)]
pub struct Sigmoid;

/// The logistic function, accurate relative to its size on both sides.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
pub(super) fn logistic(x: f64) -> f64 {
    let small = exp(-x.abs());
    let above = if x >= 0.0 { 1.0 } else { small };
    above / (1.0 + small)
}

/// Its derivative.
pub(super) fn logistic_slope(x: f64) -> f64 {
    let small = exp(-x.abs());
    small / ((1.0 + small) * (1.0 + small))
}

impl Curve for Sigmoid {
    fn kind(&self) -> &'static str {
        "Sigmoid"
    }

    fn head(&self) -> Option<Head> {
        Some(Head::Sigmoid)
    }

    #[inline]
    fn value(&self, x: f64) -> f64 {
        logistic(x)
    }

    #[inline]
    fn value_for_single(&self, x: f64) -> f64 {
        let small = exp_for_single(-x.abs());
        let above = if x >= 0.0 { 1.0 } else { small };
        above / (1.0 + small)
    }

    fn slope(&self, x: f64) -> f64 {
        logistic_slope(x)
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn range(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Sigmoid;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Sigmoid, (-9.0, 9.0));
    }
}
