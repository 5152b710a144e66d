//! Gelu: `x` times the normal distribution function, exactly or by its tanh approximation.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::curve::Curve;
use super::sigmoid::{logistic, logistic_slope};

/// `x` times the probability that a standard normal number is below `x`.
#[derive(Clone, Copy, Debug)]
pub enum Gelu {
    /// By the error function.
    Exact,
    /// By `0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`.
    Tanh,
}

/// Cubic term of the approximation.
const CUBIC: f64 = 0.044_715;

/// Where the second derivative of the approximation is 0 (computed to 25 digits).
const TANH_BREAK: f64 = 1.418_504_008_790_828_4;

/// `2 sqrt(2 / pi)`; twice, since `(1 + tanh(z)) / 2` is the logistic function of `2 z`.
const STEEPNESS: f64 = 2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;

impl Gelu {
    /// The probability, and its derivative.
    fn step(self, x: f64) -> (f64, f64) {
        match self {
            Self::Exact => {
                // Not 1 + erf, which loses every digit on the far left.
                let below = 0.5 * libm::erfc(-x * FRAC_1_SQRT_2);
                let density = 0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (-0.5 * x * x).exp();
                (below, density)
            }
            Self::Tanh => {
                let z = STEEPNESS * x * (1.0 + CUBIC * x * x);
                let bell = logistic_slope(z);
                let rise = if bell == 0.0 {
                    0.0
                } else {
                    bell * STEEPNESS * (1.0 + 3.0 * CUBIC * x * x)
                };
                (logistic(z), rise)
            }
        }
    }
}

impl Curve for Gelu {
    fn kind(&self) -> &'static str {
        "Gelu"
    }

    fn value(&self, x: f64) -> f64 {
        x * self.step(x).0
    }

    fn slope(&self, x: f64) -> f64 {
        let (below, density) = self.step(x);
        if density == 0.0 {
            below
        } else {
            below + x * density
        }
    }

    fn breaks(&self) -> &[f64] {
        match self {
            // The second derivative is the density times 2 - x^2.
            Self::Exact => &[-std::f64::consts::SQRT_2, std::f64::consts::SQRT_2],
            Self::Tanh => &[-TANH_BREAK, TANH_BREAK],
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Gelu::Exact, (-7.0, 7.0));
        laws.curve(Gelu::Tanh, (-7.0, 7.0));
    }

    #[test]
    fn known_values() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        near(Gelu::Exact.value(1.0), 0.841_344_746_068_543);
        near(Gelu::Exact.value(-1.0), -0.158_655_253_931_457);
        near(Gelu::Tanh.value(1.0), 0.841_191_990_608_276_8);
        near(Gelu::Exact.value(0.0), 0.0);
    }

    #[test]
    fn the_far_left_keeps_its_digits() {
        // Phi(-10) = 7.61985302416047e-24
        let value = Gelu::Exact.value(-10.0);
        assert!((value / -7.619_853_024_160_5e-23 - 1.0).abs() < 1e-12);
    }
}
