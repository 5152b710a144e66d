//! Erf: the Gauss error function.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::curve::Curve;

/// `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to `x`. Not an activation: models use it
/// to spell out Gelu.
#[derive(Clone, Copy, Debug)]
pub struct Erf;

impl Curve for Erf {
    fn kind(&self) -> &'static str {
        "Erf"
    }

    fn value(&self, x: f64) -> f64 {
        libm::erf(x)
    }

    fn slope(&self, x: f64) -> f64 {
        FRAC_2_SQRT_PI * (-x * x).exp()
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn is_activation(&self) -> bool {
        false
    }

    fn range(&self) -> (f64, f64) {
        (-1.0, 1.0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Erf;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Erf, (-4.0, 4.0));
    }
}
