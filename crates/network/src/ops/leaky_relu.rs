//! `LeakyRelu`: `x` to the right of 0, `alpha x` to its left.

use super::curve::{Curve, finite};
use crate::Scalar;
use crate::operator::Nature;

/// `x` where `x >= 0`, else `alpha x`. Any finite `alpha` will do.
#[derive(Clone, Copy, Debug)]
pub struct LeakyRelu {
    alpha: f64,
}

impl LeakyRelu {
    /// With the slope of the left part, rounded to `f32` as ONNX stores it, so that both number
    /// types mean the same function.
    pub fn new(alpha: f64) -> Result<Self, String> {
        finite("alpha of LeakyRelu", f64::from(alpha as f32)).map(Self::with)
    }

    pub(super) fn with(alpha: f64) -> Self {
        Self { alpha }
    }
}

impl Curve for LeakyRelu {
    fn kind(&self) -> &'static str {
        "LeakyRelu"
    }

    fn value(&self, x: f64) -> f64 {
        self.at(x)
    }

    fn slope(&self, x: f64) -> f64 {
        if x >= 0.0 { 1.0 } else { self.alpha }
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn line(&self, x: f64) -> Option<(f64, f64)> {
        Some((self.slope(x), 0.0))
    }

    fn nature(&self) -> Nature {
        Nature::PiecewiseLinear
    }

    #[inline]
    fn at<T: Scalar>(&self, x: T) -> T {
        let leaked = T::of(self.alpha) * x;
        if x >= T::ZERO { x } else { leaked }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for alpha in [0.01, 0.0, -0.5, 1.0, 2.5] {
            laws.curve(LeakyRelu::new(alpha).unwrap(), (-3.0, 3.0));
        }
    }

    #[test]
    fn leaks_on_the_left_only() {
        let leaky = LeakyRelu::new(0.25).unwrap();
        assert_eq!(leaky.at(-2.0f32), -0.5);
        assert_eq!(leaky.at(3.0f32), 3.0);
        assert!(leaky.at(f32::NAN).is_nan());
        assert!(LeakyRelu::new(f64::NAN).is_err());
    }
}
