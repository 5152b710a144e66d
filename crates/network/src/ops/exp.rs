//! Exp: the exponential function.

use super::curve::Curve;

/// `exp(x)`.
#[derive(Clone, Copy, Debug)]
pub struct Exp;

impl Curve for Exp {
    fn kind(&self) -> &'static str {
        "Exp"
    }

    fn value(&self, x: f64) -> f64 {
        x.exp()
    }

    fn slope(&self, x: f64) -> f64 {
        x.exp()
    }

    fn is_activation(&self) -> bool {
        false
    }

    fn range(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Exp;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Exp, (-5.0, 5.0));
    }
}
