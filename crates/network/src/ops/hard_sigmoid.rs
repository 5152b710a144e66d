//! `HardSigmoid`: a straight line held between 0 and 1.

use super::curve::{Curve, finite};
use crate::operator::Nature;

/// `min(max(alpha x + beta, 0), 1)`.
#[derive(Clone, Debug)]
pub struct HardSigmoid {
    alpha: f64,
    beta: f64,
    breaks: Vec<f64>,
}

impl HardSigmoid {
    /// With the slope and the height of the line (ONNX: 0.2 and 0.5 unless given).
    pub fn new(alpha: f64, beta: f64) -> Result<Self, String> {
        let alpha = finite("alpha of HardSigmoid", alpha)?;
        let beta = finite("beta of HardSigmoid", beta)?;
        let mut breaks = vec![-beta / alpha, (1.0 - beta) / alpha];
        if alpha == 0.0 {
            breaks.clear();
        } else if alpha < 0.0 {
            breaks.reverse();
        }
        if breaks.iter().any(|b| !b.is_finite()) {
            return Err(format!(
                "alpha of HardSigmoid is {alpha}, too small to work with"
            ));
        }
        breaks.dedup();
        Ok(Self {
            alpha,
            beta,
            breaks,
        })
    }

    /// Whether `x` lies on the sloping part. The breaks decide, not the value, so that slopes and
    /// bounds never disagree about a rounded kink.
    fn slopes_at(&self, x: f64) -> bool {
        match self.breaks.as_slice() {
            [first, .., last] => first <= &x && x < *last,
            _ => false,
        }
    }
}

impl Curve for HardSigmoid {
    fn kind(&self) -> &'static str {
        "HardSigmoid"
    }

    fn value(&self, x: f64) -> f64 {
        (self.alpha * x + self.beta).clamp(0.0, 1.0)
    }

    fn slope(&self, x: f64) -> f64 {
        if self.slopes_at(x) { self.alpha } else { 0.0 }
    }

    fn breaks(&self) -> &[f64] {
        &self.breaks
    }

    fn line(&self, x: f64) -> Option<(f64, f64)> {
        Some(if self.slopes_at(x) {
            (self.alpha, self.beta)
        } else if self.alpha == 0.0 {
            (0.0, self.value(0.0))
        } else {
            let beyond = self.breaks.first().is_some_and(|&first| first <= x);
            let full = beyond == (self.alpha > 0.0);
            (0.0, if full { 1.0 } else { 0.0 })
        })
    }

    fn nature(&self) -> Nature {
        Nature::PiecewiseLinear
    }

    fn range(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for (alpha, beta) in [(0.2, 0.5), (1.0 / 6.0, 0.5), (-0.3, 0.1), (0.0, 0.4)] {
            laws.curve(HardSigmoid::new(alpha, beta).unwrap(), (-5.0, 5.0));
        }
    }

    #[test]
    fn is_a_line_between_zero_and_one() {
        let hard = HardSigmoid::new(0.25, 0.5).unwrap();
        assert_eq!(
            [-3.0, -2.0, 0.0, 1.0, 2.0, 9.0].map(|x| hard.value(x)),
            [0.0, 0.0, 0.5, 0.75, 1.0, 1.0]
        );
        assert_eq!(
            [-3.0, -2.0, 0.0, 2.0].map(|x| hard.slope(x)),
            [0.0, 0.25, 0.25, 0.0]
        );
        assert!(hard.value(f64::NAN).is_nan());
        assert!(HardSigmoid::new(f64::INFINITY, 0.5).is_err());
    }
}
