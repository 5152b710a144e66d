//! Celu: an Elu whose slope does not jump at 0.

use super::curve::{Curve, finite};

/// `x` where `x >= 0`, else `alpha (exp(x / alpha) - 1)`.
#[derive(Clone, Copy, Debug)]
pub struct Celu {
    alpha: f64,
}

impl Celu {
    /// With the depth of the left part (ONNX: 1 unless given).
    pub fn new(alpha: f64) -> Result<Self, String> {
        match finite("alpha of Celu", alpha)? {
            0.0 => Err("alpha of Celu is 0, and Celu divides by it".to_owned()),
            alpha => Ok(Self { alpha }),
        }
    }
}

impl Curve for Celu {
    fn kind(&self) -> &'static str {
        "Celu"
    }

    fn value(&self, x: f64) -> f64 {
        if x >= 0.0 {
            x
        } else {
            self.alpha * (x / self.alpha).exp_m1()
        }
    }

    fn slope(&self, x: f64) -> f64 {
        if x >= 0.0 {
            1.0
        } else {
            (x / self.alpha).exp()
        }
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
    use super::Celu;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for alpha in [1.0, 0.3, 2.0, -0.5] {
            laws.curve(Celu::new(alpha).unwrap(), (-3.0, 3.0));
        }
    }
}
