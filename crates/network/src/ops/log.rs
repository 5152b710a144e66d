//! Log: the natural logarithm; NaN left of 0.

use super::curve::Curve;

/// `ln(x)`.
#[derive(Clone, Copy, Debug)]
pub struct Log;

impl Curve for Log {
    fn kind(&self) -> &'static str {
        "Log"
    }

    fn value(&self, x: f64) -> f64 {
        x.ln()
    }

    fn slope(&self, x: f64) -> f64 {
        1.0 / x
    }

    fn is_activation(&self) -> bool {
        false
    }

    fn defined(&self, l: f64, _u: f64) -> bool {
        l >= 0.0
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Log;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Log, (0.01, 5.0));
    }
}
