//! Elu: `x` to the right of 0, an exponential that levels off to its left.

use super::curve::{Curve, finite};

/// `x` where `x >= 0`, else `alpha (exp(x) - 1)`.
#[derive(Clone, Copy, Debug)]
pub struct Elu {
    alpha: f64,
}

impl Elu {
    /// With the depth of the left part (ONNX: 1 unless given).
    pub fn new(alpha: f64) -> Result<Self, String> {
        finite("alpha of Elu", alpha).map(|alpha| Self { alpha })
    }
}

impl Curve for Elu {
    fn kind(&self) -> &'static str {
        "Elu"
    }

    fn value(&self, x: f64) -> f64 {
        if x >= 0.0 { x } else { self.alpha * x.exp_m1() }
    }

    fn slope(&self, x: f64) -> f64 {
        if x >= 0.0 { 1.0 } else { self.alpha * x.exp() }
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn line(&self, x: f64) -> Option<(f64, f64)> {
        (x >= 0.0).then_some((1.0, 0.0))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Elu;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for alpha in [1.0, 0.3, 2.0, -0.5] {
            laws.curve(Elu::new(alpha).unwrap(), (-5.0, 3.0));
        }
    }
}
