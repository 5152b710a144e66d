//! Bounds of a [`Curve`] over an interval: its range, and lines below and above it.
//!
//! Both are one question: between which values does `f(x) - s x` lie on `[l, u]`? (The range is the
//! case `s = 0`.) On a part where `f` is convex or concave, the extremes lie at the ends or where
//! `f' = s`, and a bracket of that point bounds them by the tangents at its ends. All of it is
//! computed in `f64` and widened by more than its rounding errors.
//!
//! Curves come here as `dyn Curve`, so that one copy serves all of them: a copy for each curve was some 70 kB of code,
//! and a line costs a few such calls beside a product over every neuron.

use super::curve::Curve;
use super::outward::{down, up};
use crate::Scalar;

/// Relative error allowed for a value, a slope and the few operations on them.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Slope and intercept of a line.
pub(super) type EnvelopeLine<T> = (T, T);

/// Least and largest value over `[l, u]`, computed ones included.
#[inline(never)]
pub(super) fn interval<T: Scalar>(curve: &dyn Curve, l: T, u: T) -> (T, T) {
    let (l, u) = (l.f64(), u.f64());
    if !curve.defined(l, u) {
        return (T::NEG_INFINITY, T::INFINITY);
    }
    let (low, high) = extremes(curve, 0.0, l, u);
    let (least, maximum) = curve.range();
    (down(low.max(least)), up(high.min(maximum)))
}

/// Lines below and above over `[l, u]`, as a function of real numbers.
#[inline(never)]
pub(super) fn lines<T: Scalar>(
    curve: &dyn Curve,
    l: T,
    u: T,
) -> (EnvelopeLine<T>, EnvelopeLine<T>) {
    let (from, to) = (l.f64(), u.f64());
    let straight = !curve.breaks().iter().any(|&b| from < b && b < to);
    if let (true, Some((slope, intercept))) = (straight, curve.line(from)) {
        let line = (T::of(slope), T::of(intercept));
        return (line, line);
    }
    let ends = [from, to, curve.value(from), curve.value(to)];
    if !curve.defined(from, to) || !ends.iter().all(|x| x.is_finite()) {
        let (low, high) = interval(curve, l, u);
        return ((T::ZERO, low), (T::ZERO, high));
    }
    let (below, above) = curve.slopes(from, to);
    // The intercepts belong to the slopes as T holds them.
    let (below, above) = (representable::<T>(below), representable::<T>(above));
    let (low, mut high) = extremes(curve, below.f64(), from, to);
    if above != below {
        high = extremes(curve, above.f64(), from, to).1;
    }
    ((below, down(low)), (above, up(high)))
}

fn representable<T: Scalar>(slope: f64) -> T {
    let nearest = T::of(slope);
    if nearest.f64().is_finite() {
        nearest
    } else {
        T::ZERO
    }
}

/// Bounds of `f(x) - slope x` over `[l, u]`.
fn extremes(curve: &dyn Curve, slope: f64, l: f64, u: f64) -> (f64, f64) {
    let mut band = Band {
        curve,
        slope,
        // Zero times infinity must stay out of it.
        tilt: match slope {
            0.0 => 0.0,
            _ => slope.abs() * l.abs().max(u.abs()),
        },
        low: f64::INFINITY,
        high: f64::NEG_INFINITY,
    };
    let mut from = l;
    let inside = curve.breaks().iter().copied().filter(|&b| l < b && b < u);
    for to in inside.chain([u]) {
        band.part(from, to);
        from = to;
    }
    (band.low, band.high)
}

/// The tilted curve at one place.
struct Point {
    x: f64,
    /// `f(x) - slope x`.
    value: f64,
    /// `f'(x) - slope`.
    steepness: f64,
    /// A number that the rounding error of the value is in proportion to.
    size: f64,
}

/// What is known of the extremes after some parts of the interval.
struct Band<'a> {
    curve: &'a dyn Curve,
    slope: f64,
    /// The largest `|slope x|`.
    tilt: f64,
    low: f64,
    high: f64,
}

impl Band<'_> {
    fn part(&mut self, from: f64, to: f64) {
        if let Some(line) = self.curve.line(from) {
            self.end_of_line(line, from);
            self.end_of_line(line, to);
        } else {
            self.end(from);
            self.end(to);
            self.turn(from, to);
        }
    }

    fn end_of_line(&mut self, (slope, intercept): EnvelopeLine<f64>, x: f64) {
        let steepness = slope - self.slope;
        let rise = if steepness == 0.0 || x == 0.0 {
            0.0
        } else {
            steepness * x
        };
        let plain = matches!(slope, -1.0 | 1.0) && intercept == 0.0;
        let exact = rise == 0.0 || (self.slope == 0.0 && plain);
        let size = if exact {
            0.0
        } else {
            rise.abs() + intercept.abs()
        };
        self.add(rise + intercept, size);
    }

    fn end(&mut self, x: f64) {
        let point = self.point(x);
        self.add(point.value, point.size);
    }

    fn point(&self, x: f64) -> Point {
        let slope = self.curve.slope(x);
        // A product such as 0 times infinity hides the limit of f; next to it is good enough.
        let limit = self.curve.value(x);
        let value = if limit.is_nan() && x.is_infinite() {
            self.curve.value(f64::MAX.copysign(x))
        } else {
            limit
        };
        // What a rounding of the argument does, where it can be told.
        let argument = (x * slope).abs();
        let argument = if argument.is_finite() { argument } else { 0.0 };
        let (value, size) = if x == 0.0 && value == 0.0 {
            (0.0, 0.0)
        } else if self.slope == 0.0 {
            (value, value.abs() + argument)
        } else {
            (value - self.slope * x, value.abs() + argument + self.tilt)
        };
        Point {
            x,
            value,
            steepness: slope - self.slope,
            size,
        }
    }

    /// Where a convex part falls below, or a concave part rises above, its ends.
    fn turn(&mut self, from: f64, to: f64) {
        // Left of `to`, since a kink there has another slope to its right.
        let (from, to) = (from.max(-f64::MAX), to.next_down());
        if from >= to {
            return;
        }
        let (left, right) = (self.point(from), self.point(to));
        if left.steepness < 0.0 && right.steepness > 0.0 {
            let (least, size) = self.bottom(1.0, left, right);
            self.add(least, size);
        } else if left.steepness > 0.0 && right.steepness < 0.0 {
            let (least, size) = self.bottom(-1.0, left, right);
            self.add(-least, size);
        }
    }

    /// A number not above the least of the convex `sign * (f(x) - slope x)`, which falls at `left`
    /// and rises at `right`: the tangents there lie below it.
    fn bottom(&self, sign: f64, mut left: Point, mut right: Point) -> (f64, f64) {
        // Halving from the largest numbers to the smallest would take some 2,000 steps; stopping
        // early is sound, only less tight.
        let mut steps = 200;
        loop {
            let width = right.x - left.x;
            let tangent = |p: &Point| sign * p.value - p.steepness.abs() * width;
            let bound = tangent(&left).max(tangent(&right));
            let size = left.size.max(right.size);
            let best = (sign * left.value).min(sign * right.value);
            // Halving always gets there; where the slope is nearly straight, the secant does soon.
            let halving = steps % 2 == 0;
            let share = if halving {
                0.5
            } else {
                left.steepness / (left.steepness - right.steepness)
            };
            let middle = (1.0 - share) * left.x + share * right.x;
            let inside = left.x < middle && middle < right.x;
            let settled = best - bound <= f64::EPSILON * size;
            if settled || steps == 0 || (halving && !inside) {
                return (bound, size);
            }
            steps -= 1;
            if !inside {
                continue;
            }
            let point = self.point(middle);
            if sign * point.steepness < 0.0 {
                left = point;
            } else {
                right = point;
            }
        }
    }

    fn add(&mut self, value: f64, size: f64) {
        if value.is_nan() || size.is_nan() {
            (self.low, self.high) = (f64::NEG_INFINITY, f64::INFINITY);
            return;
        }
        let margin = if size == 0.0 || value.is_infinite() {
            0.0
        } else {
            // The second term covers results that underflow.
            ROUNDING * size + f64::MIN_POSITIVE
        };
        self.low = self.low.min(value - margin);
        self.high = self.high.max(value + margin);
    }
}
