//! Asin, Acos, Atan: the inverse functions of angles.

use std::f64::consts::{FRAC_PI_2, PI};

use super::curve::Curve;

/// An angle from a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arc {
    /// Whose sine it is.
    Sin,
    /// Whose cosine it is.
    Cos,
    /// Whose tangent it is.
    Tan,
}

impl Curve for Arc {
    fn kind(&self) -> &'static str {
        match self {
            Self::Sin => "Asin",
            Self::Cos => "Acos",
            Self::Tan => "Atan",
        }
    }

    fn value(&self, x: f64) -> f64 {
        match self {
            Self::Sin => x.asin(),
            Self::Cos => x.acos(),
            Self::Tan => x.atan(),
        }
    }

    fn slope(&self, x: f64) -> f64 {
        match self {
            Self::Sin => 1.0 / ((1.0 - x) * (1.0 + x)).sqrt(),
            Self::Cos => -1.0 / ((1.0 - x) * (1.0 + x)).sqrt(),
            Self::Tan => 1.0 / (1.0 + x * x),
        }
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn is_activation(&self) -> bool {
        false
    }

    fn defined(&self, l: f64, u: f64) -> bool {
        *self == Self::Tan || (l >= -1.0 && u <= 1.0)
    }

    /// A little wider than the angles are: single precision rounds half a turn up.
    fn range(&self) -> (f64, f64) {
        match self {
            Self::Sin | Self::Tan => (-FRAC_PI_2 - 1e-6, FRAC_PI_2 + 1e-6),
            Self::Cos => (0.0, PI + 1e-6),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Arc;
    use crate::ops::Elementwise;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for arc in [Arc::Sin, Arc::Cos] {
            laws.curve(arc, (0.05, 0.9));
            laws.curve(arc, (-0.9, -0.05));
            laws.check(&Elementwise::new(arc), &[&[1, 70]], &[], (-0.9, 0.9), 1);
        }
        laws.curve(Arc::Tan, (-5.0, 5.0));
    }
}
