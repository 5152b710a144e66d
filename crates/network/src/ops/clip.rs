//! Clip: `x` held between two limits, either of which may be infinite.

use super::curve::Curve;
use crate::Scalar;
use crate::operator::Nature;

/// `min(max(x, low), high)`.
#[derive(Clone, Debug)]
pub struct Clip {
    low: f64,
    high: f64,
    breaks: Vec<f64>,
}

impl Clip {
    /// Between two limits. Where `low > high`, everything becomes `high`, as ONNX says.
    pub fn new(low: f64, high: f64) -> Result<Self, String> {
        let nowhere = low == f64::INFINITY || high == f64::NEG_INFINITY;
        if low.is_nan() || high.is_nan() || nowhere {
            return Err(format!("limits of Clip are {low} and {high}"));
        }
        let low = low.min(high);
        let mut breaks = vec![low, high];
        breaks.retain(|b| b.is_finite());
        breaks.dedup();
        Ok(Self { low, high, breaks })
    }
}

impl Curve for Clip {
    fn kind(&self) -> &'static str {
        "Clip"
    }

    fn value(&self, x: f64) -> f64 {
        self.at(x)
    }

    fn slope(&self, x: f64) -> f64 {
        if self.low <= x && x < self.high {
            1.0
        } else {
            0.0
        }
    }

    fn breaks(&self) -> &[f64] {
        &self.breaks
    }

    fn line(&self, x: f64) -> Option<(f64, f64)> {
        Some(if x < self.low {
            (0.0, self.low)
        } else if x >= self.high {
            (0.0, self.high)
        } else {
            (1.0, 0.0)
        })
    }

    fn nature(&self) -> Nature {
        Nature::PiecewiseLinear
    }

    fn keeps_order(&self) -> bool {
        true
    }

    #[inline]
    fn at<T: Scalar>(&self, x: T) -> T {
        x.max(T::of(self.low)).min(T::of(self.high))
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        let infinity = f64::INFINITY;
        for (low, high) in [
            (0.0, 6.0),
            (-1.0, 1.0),
            (-infinity, 1.5),
            (0.5, infinity),
            (-infinity, infinity),
            (2.0, 1.0),
        ] {
            laws.curve(Clip::new(low, high).unwrap(), (-8.0, 8.0));
        }
    }

    #[test]
    fn holds_between_limits() {
        let six = Clip::new(0.0, 6.0).unwrap();
        assert_eq!([-1.0, 2.0, 7.0].map(|x: f32| six.at(x)), [0.0, 2.0, 6.0]);
        assert!(six.at(f64::NAN).is_nan());
        assert_eq!([0.0, 5.9, 6.0].map(|x| six.slope(x)), [1.0, 1.0, 0.0]);
    }

    #[test]
    fn crossed_limits_give_the_upper_one() {
        let crossed = Clip::new(2.0, 1.0).unwrap();
        assert_eq!([0.0, 1.5, 3.0].map(|x| crossed.value(x)), [1.0; 3]);
        assert!(Clip::new(f64::NAN, 1.0).is_err());
        assert!(Clip::new(f64::INFINITY, f64::INFINITY).is_err());
        assert!(Clip::new(f64::NEG_INFINITY, f64::NEG_INFINITY).is_err());
    }
}
