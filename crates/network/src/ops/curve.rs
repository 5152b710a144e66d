//! Functions of one number, from which [`super::Elementwise`] makes an operator and
//! [`super::envelope`] its bounds: a new one states its value, its slope and where it bends.

use std::fmt::Debug;

use crate::operator::Nature;
use crate::{Head, Scalar};

/// A continuous function of one number.
///
/// [`Curve::value`] and [`Curve::slope`] must be accurate to a few roundings *relative to their
/// size* (up to what a rounding of the argument does), also far out: the bounds rely on it.
pub trait Curve: Debug + Send + Sync + 'static {
    /// Its name in ONNX.
    fn kind(&self) -> &'static str;

    /// `f(x)`.
    fn value(&self, x: f64) -> f64;

    /// `f'(x)`; at a kink, the slope to the right, since a neuron is active at 0.
    fn slope(&self, x: f64) -> f64;

    /// Finite points in ascending order that cut the line into parts on each of which the function
    /// is convex or concave.
    fn breaks(&self) -> &[f64] {
        &[]
    }

    /// Slope and intercept of the part that begins at or holds `x`, where it is straight.
    fn line(&self, _x: f64) -> Option<(f64, f64)> {
        None
    }

    /// [`Nature::PiecewiseLinear`] if every part is straight, else [`Nature::Smooth`].
    fn nature(&self) -> Nature {
        Nature::Smooth
    }

    /// Whether this is an activation.
    fn is_activation(&self) -> bool {
        true
    }

    /// What this makes of logits when it is the last operator.
    fn head(&self) -> Option<Head> {
        None
    }

    /// Whether the function is defined on all of an interval.
    fn defined(&self, _l: f64, _u: f64) -> bool {
        true
    }

    /// Limits that neither the function nor its computed value ever leaves.
    fn range(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// Whether [`Curve::at`] neither rounds nor falls, so that it maps the ends of an interval to
    /// the ends of the result.
    fn keeps_order(&self) -> bool {
        false
    }

    /// The value, before it is rounded to single precision: within 2^-39 of its size, and within
    /// [`Curve::range`].
    #[inline]
    fn value_for_single(&self, x: f64) -> f64 {
        self.value(x)
    }

    /// The value in a number type. Through `f64` unless the computation is exact in `T` or rounds
    /// but once.
    #[inline]
    fn at<T: Scalar>(&self, x: T) -> T
    where
        Self: Sized,
    {
        T::of(if T::SINGLE {
            self.value_for_single(x.f64())
        } else {
            self.value(x.f64())
        })
    }

    /// Slopes of the lines below and above over `[l, u]`. Any finite slopes are sound; these decide
    /// how tight the lines are.
    fn slopes(&self, l: f64, u: f64) -> (f64, f64) {
        let chord = chord(self, l, u);
        let mut inside = self.breaks().iter().filter(|&&b| l < b && b < u);
        match (self.nature(), inside.next(), inside.next()) {
            (Nature::PiecewiseLinear, Some(&kink), None) => {
                let (left, right) = (self.slope(l), self.slope(kink));
                // DeepPoly's rule: touch along the wider part.
                let touching = if kink - l > u - kink { left } else { right };
                if left < right {
                    (touching, chord)
                } else {
                    (chord, touching)
                }
            }
            _ => (chord, chord),
        }
    }
}

/// Slope between the ends; the tangent where the ends are too close to tell.
fn chord<C: Curve + ?Sized>(curve: &C, l: f64, u: f64) -> f64 {
    let width = u - l;
    let chord = (curve.value(u) - curve.value(l)) / width;
    if width > 1e-7 * l.abs().max(u.abs()) && chord.is_finite() {
        return chord;
    }
    let tangent = curve.slope(0.5 * l + 0.5 * u);
    if tangent.is_finite() { tangent } else { 0.0 }
}

/// The one point where a piecewise-linear function changes its slope, if there is just one.
pub(super) fn only_kink<C: Curve>(curve: &C) -> Option<f64> {
    match (curve.nature(), curve.breaks()) {
        (Nature::PiecewiseLinear, &[kink]) => Some(kink),
        _ => None,
    }
}

/// The parameter, if it is a finite number.
pub(super) fn finite(name: &str, value: f64) -> Result<f64, String> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(format!("{name} is {value}, not a finite number"))
    }
}
