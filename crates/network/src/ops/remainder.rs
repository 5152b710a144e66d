//! Mod: what a division leaves. It jumps where the quotient passes a whole number; no analysis sees through it.

use super::binary::{Ends, Pairwise};
use crate::Scalar;
use crate::operator::Nature;

/// The remainder of a division, by the sign it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// The divisor's: the quotient is rounded down.
    OfDivisor,
    /// The dividend's: the quotient is rounded towards zero.
    OfDividend,
}

impl Pairwise for Remainder {
    fn kind(&self) -> &'static str {
        "Mod"
    }

    fn nature(&self, _: [bool; 2]) -> Nature {
        Nature::Discrete
    }

    fn at<T: Scalar>(&self, x: T, y: T) -> T {
        let (x, y) = (x.f64(), y.f64());
        let remainder = x % y;
        let turned = *self == Self::OfDivisor && remainder != 0.0 && (remainder < 0.0) != (y < 0.0);
        T::of(if turned { remainder + y } else { remainder })
    }

    /// The slope between two jumps.
    fn pull<T: Scalar>(&self, input: usize, cotangent: T, _: T, _: T) -> T {
        if input == 0 { cotangent } else { T::ZERO }
    }

    fn interval<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> Ends<T> {
        if !(y[0] > T::ZERO || y[1] < T::ZERO) {
            return [T::NEG_INFINITY, T::INFINITY];
        }
        match self {
            Self::OfDivisor => [y[0].min(T::ZERO), y[1].max(T::ZERO)],
            Self::OfDividend => {
                let size = y[0].abs().max(y[1].abs());
                [x[0].min(T::ZERO).max(-size), x[1].max(T::ZERO).min(size)]
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for remainder in [Remainder::OfDivisor, Remainder::OfDividend] {
            laws.pairwise(remainder, (0.5, 3.0));
            laws.pairwise(remainder, (-3.0, -0.5));
        }
    }

    #[test]
    fn the_sign_is_the_divisors_or_the_dividends() {
        assert_eq!(Remainder::OfDivisor.at(-7.0f32, 3.0), 2.0);
        assert_eq!(Remainder::OfDividend.at(-7.0f32, 3.0), -1.0);
        assert_eq!(Remainder::OfDivisor.at(7.0f32, -3.0), -2.0);
    }
}
