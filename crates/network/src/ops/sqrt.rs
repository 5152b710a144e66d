//! Sqrt: the square root; NaN left of 0.

use super::curve::Curve;

/// `sqrt(x)`.
#[derive(Clone, Copy, Debug)]
pub struct Sqrt;

impl Curve for Sqrt {
    fn kind(&self) -> &'static str {
        "Sqrt"
    }

    fn value(&self, x: f64) -> f64 {
        x.sqrt()
    }

    fn slope(&self, x: f64) -> f64 {
        0.5 / x.sqrt()
    }

    fn is_activation(&self) -> bool {
        false
    }

    fn defined(&self, l: f64, _u: f64) -> bool {
        l >= 0.0
    }

    fn range(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Sqrt;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Sqrt, (0.01, 5.0));
    }
}
