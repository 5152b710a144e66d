//! Reciprocal: `1 / x`, with a pole at 0.

use super::curve::Curve;

/// `1 / x`.
#[derive(Clone, Copy, Debug)]
pub struct Reciprocal;

impl Curve for Reciprocal {
    fn kind(&self) -> &'static str {
        "Reciprocal"
    }

    fn value(&self, x: f64) -> f64 {
        1.0 / x
    }

    fn slope(&self, x: f64) -> f64 {
        -1.0 / (x * x)
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn is_activation(&self) -> bool {
        false
    }

    fn defined(&self, l: f64, u: f64) -> bool {
        // 0 itself has both signs.
        l > 0.0 || u < 0.0
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Reciprocal;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Reciprocal, (0.1, 5.0));
        laws.curve(Reciprocal, (-5.0, -0.1));
    }
}
