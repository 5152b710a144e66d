//! Sinh, Cosh and the inverses Asinh, Acosh, Atanh.

use super::curve::Curve;

/// A hyperbolic function other than Tanh, which is an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hyperbolic {
    /// The hyperbolic sine.
    Sinh,
    /// The hyperbolic cosine.
    Cosh,
    /// The inverse of the hyperbolic sine.
    Asinh,
    /// The inverse of the hyperbolic cosine, defined from 1 on.
    Acosh,
    /// The inverse of the hyperbolic tangent, defined between -1 and 1.
    Atanh,
}

impl Curve for Hyperbolic {
    fn kind(&self) -> &'static str {
        match self {
            Self::Sinh => "Sinh",
            Self::Cosh => "Cosh",
            Self::Asinh => "Asinh",
            Self::Acosh => "Acosh",
            Self::Atanh => "Atanh",
        }
    }

    fn value(&self, x: f64) -> f64 {
        match self {
            Self::Sinh => x.sinh(),
            Self::Cosh => x.cosh(),
            Self::Asinh => x.asinh(),
            Self::Acosh => x.acosh(),
            Self::Atanh => x.atanh(),
        }
    }

    fn slope(&self, x: f64) -> f64 {
        match self {
            Self::Sinh => x.cosh(),
            Self::Cosh => x.sinh(),
            Self::Asinh => 1.0 / x.hypot(1.0),
            Self::Acosh => 1.0 / ((x - 1.0) * (x + 1.0)).sqrt(),
            Self::Atanh => 1.0 / ((1.0 - x) * (1.0 + x)),
        }
    }

    fn breaks(&self) -> &[f64] {
        match self {
            Self::Sinh | Self::Cosh | Self::Asinh | Self::Atanh => &[0.0],
            Self::Acosh => &[],
        }
    }

    fn is_activation(&self) -> bool {
        false
    }

    fn defined(&self, l: f64, u: f64) -> bool {
        match self {
            Self::Sinh | Self::Cosh | Self::Asinh => true,
            Self::Acosh => l >= 1.0,
            Self::Atanh => l > -1.0 && u < 1.0,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Hyperbolic;
    use crate::ops::Elementwise;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Hyperbolic::Sinh, (-3.0, 3.0));
        laws.curve(Hyperbolic::Cosh, (-3.0, 3.0));
        laws.curve(Hyperbolic::Asinh, (-5.0, 5.0));
        laws.curve(Hyperbolic::Acosh, (1.1, 5.0));
        laws.curve(Hyperbolic::Atanh, (0.05, 0.9));
        laws.curve(Hyperbolic::Atanh, (-0.9, -0.05));
        let across = Elementwise::new(Hyperbolic::Atanh);
        laws.check(&across, &[&[1, 70]], &[], (-0.9, 0.9), 1);
    }
}
