//! Pow with a constant exponent.

use super::curve::{Curve, finite};
use crate::operator::Nature;

/// `x^exponent`, as IEEE 754 defines it: NaN where `x < 0` and the exponent is no integer.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    exponent: f64,
}

impl Power {
    /// With a finite exponent.
    pub fn new(exponent: f64) -> Result<Self, String> {
        finite("exponent of Pow", exponent).map(|exponent| Self { exponent })
    }

    fn is_integer(self) -> bool {
        self.exponent.fract() == 0.0
    }

    fn is_even(self) -> bool {
        (self.exponent / 2.0).fract() == 0.0
    }

    fn is_line(self) -> bool {
        matches!(self.exponent, 0.0 | 1.0)
    }
}

/// Cheap and exactly rounded where the exponent is one that models use.
fn raise(x: f64, exponent: f64) -> f64 {
    match exponent {
        0.5 => x.sqrt(),
        1.0 => x,
        2.0 => x * x,
        3.0 => x * x * x,
        _ => x.powf(exponent),
    }
}

impl Curve for Power {
    fn kind(&self) -> &'static str {
        "Pow"
    }

    fn value(&self, x: f64) -> f64 {
        raise(x, self.exponent)
    }

    fn slope(&self, x: f64) -> f64 {
        if self.exponent == 0.0 {
            0.0
        } else {
            self.exponent * raise(x, self.exponent - 1.0)
        }
    }

    fn breaks(&self) -> &[f64] {
        if self.is_line() || (self.exponent > 0.0 && (self.is_even() || !self.is_integer())) {
            &[]
        } else {
            &[0.0]
        }
    }

    fn line(&self, _x: f64) -> Option<(f64, f64)> {
        self.is_line()
            .then_some((self.exponent, 1.0 - self.exponent))
    }

    fn nature(&self) -> Nature {
        if self.is_line() {
            Nature::PiecewiseLinear
        } else {
            Nature::Smooth
        }
    }

    fn is_activation(&self) -> bool {
        false
    }

    fn defined(&self, l: f64, u: f64) -> bool {
        let left = self.is_integer() || l >= 0.0;
        let pole = self.exponent < 0.0 && l <= 0.0 && u >= 0.0;
        left && !pole
    }

    fn range(&self) -> (f64, f64) {
        if self.is_even() || !self.is_integer() {
            (0.0, f64::INFINITY)
        } else {
            (f64::NEG_INFINITY, f64::INFINITY)
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for exponent in [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] {
            laws.curve(Power::new(exponent).unwrap(), (-3.0, 3.0));
        }
        for exponent in [-1.0, -2.0, -0.5, 0.5, 1.5, 2.7] {
            laws.curve(Power::new(exponent).unwrap(), (0.1, 3.0));
        }
    }

    #[test]
    fn known_values() {
        let power = |x: f64, e: f64| Power::new(e).unwrap().value(x);
        assert_eq!(power(-3.0, 2.0), 9.0);
        assert_eq!(power(-2.0, 3.0), -8.0);
        assert_eq!(power(9.0, 0.5), 3.0);
        assert_eq!(power(2.0, -2.0), 0.25);
        assert_eq!(power(-5.0, 0.0), 1.0);
        assert!(power(-1.0, 0.5).is_nan());
        assert!(Power::new(f64::NAN).is_err());
    }
}
