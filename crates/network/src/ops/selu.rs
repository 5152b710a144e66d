//! Selu: a scaled Elu (Klambauer et al., Self-Normalizing Neural Networks, 2017).

use super::curve::{Curve, finite};

/// `gamma x` where `x >= 0`, else `gamma alpha (exp(x) - 1)`.
#[derive(Clone, Copy, Debug)]
pub struct Selu {
    alpha: f64,
    gamma: f64,
}

impl Selu {
    /// With the depth of the left part and the scale of the whole (ONNX: 1.6732632 and 1.0507010
    /// unless given).
    pub fn new(alpha: f64, gamma: f64) -> Result<Self, String> {
        Ok(Self {
            alpha: finite("alpha of Selu", alpha)?,
            gamma: finite("gamma of Selu", gamma)?,
        })
    }
}

impl Curve for Selu {
    fn kind(&self) -> &'static str {
        "Selu"
    }

    fn value(&self, x: f64) -> f64 {
        if x >= 0.0 {
            self.gamma * x
        } else {
            self.gamma * self.alpha * x.exp_m1()
        }
    }

    fn slope(&self, x: f64) -> f64 {
        if x >= 0.0 {
            self.gamma
        } else {
            self.gamma * self.alpha * x.exp()
        }
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn line(&self, x: f64) -> Option<(f64, f64)> {
        (x >= 0.0).then_some((self.gamma, 0.0))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Selu;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Selu::new(1.673_263_2, 1.050_701).unwrap(), (-5.0, 3.0));
    }
}
