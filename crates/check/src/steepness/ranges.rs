//! Slopes that a kinked curve can have over an interval; rounding of positive numbers.

use deepconcolic_network::StraightPart;

use crate::bounds::lines::gap;

/// More than the relative error of a sum of fewer than a billion positive numbers.
const INFLATION: f64 = 1.0 + 1e-6;
/// More than underflow can take away from such a sum.
pub(super) const TINY: f64 = 1e-290;

/// A positive number that came of few operations, rounded up by more than they can err.
pub(super) fn up(number: f64) -> f64 {
    number * (1.0 + 16.0 * f64::EPSILON) + TINY
}

/// A sum of positive numbers, each of which came of few operations, rounded up.
pub(super) fn sum_up(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut terms) = (0.0, 0.0);
    for number in numbers {
        sum += up(number);
        terms += 1.0;
    }
    sum * (1.0 + 2.0 * f64::EPSILON * terms)
}

/// An accumulated error, rounded up by more than its accumulation can have lost.
pub(super) fn inflated(error: f64) -> f64 {
    error * INFLATION
}

/// The least and the largest slope of parts that a curve has over `[l, u]`. A part that is met at a kink only
/// does not count: where a unit stays at its kink nothing changes, whatever its slope.
pub(super) fn slope_range(parts: &[StraightPart], [l, u]: [f64; 2]) -> [f64; 2] {
    let gap = gap(parts);
    // Parts of one slope that do not meet: between two kinks that are one double lies a part with another slope.
    let hides = |two: &[StraightPart]| gap > 0.0 && (two[0].slope - two[1].slope).abs() <= 0.0;
    if parts.windows(2).any(hides) {
        return [f64::NEG_INFINITY, f64::INFINITY];
    }
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    for (k, part) in parts.iter().enumerate() {
        let before = k.checked_sub(1).map(|before| parts[before]);
        let next = parts.get(k + 1);
        // Where parts do not meet exactly, the curve may bend a rounding error beside the stored kink.
        let blur = |a: &StraightPart, b: &StraightPart| {
            if gap == 0.0 {
                0.0
            } else {
                2.0 * gap / (a.slope - b.slope).abs() + 1e-9 * (1.0 + b.from.abs())
            }
        };
        let begin = before.map_or(part.from, |before| part.from - blur(&before, part));
        let end = next.map_or(f64::INFINITY, |next| next.from + blur(part, next));
        // Written so that bounds that are no numbers leave everything possible.
        let beside = begin >= u || end <= l;
        if !beside || (l >= u && begin <= l && l <= end) {
            range = [range[0].min(part.slope), range[1].max(part.slope)];
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(from: f64, slope: f64, intercept: f64) -> StraightPart {
        StraightPart {
            from,
            slope,
            intercept,
        }
    }

    fn assert_range(parts: &[StraightPart], bounds: [f64; 2], expected: [f64; 2]) {
        let found = slope_range(parts, bounds);
        assert!(
            found.map(f64::to_bits) == expected.map(f64::to_bits),
            "{bounds:?}: {found:?}"
        );
    }

    #[test]
    fn slopes_are_those_of_the_parts_inside() {
        let relu = [part(f64::NEG_INFINITY, 0.0, 0.0), part(0.0, 1.0, 0.0)];
        assert_range(&relu, [-1.0, 2.0], [0.0, 1.0]);
        assert_range(&relu, [0.0, 2.0], [1.0, 1.0]);
        assert_range(&relu, [-2.0, 0.0], [0.0, 0.0]);
        assert_range(&relu, [0.0, 0.0], [0.0, 1.0]);
        assert_range(&relu, [f64::NAN, f64::NAN], [0.0, 1.0]);
        assert_range(&relu, [f64::NEG_INFINITY, f64::INFINITY], [0.0, 1.0]);
        let clip = [relu[0], relu[1], part(6.0, 0.0, 6.0)];
        assert_range(&clip, [1.0, 5.0], [1.0, 1.0]);
        assert_range(&clip, [1.0, 7.0], [0.0, 1.0]);
    }

    #[test]
    fn a_kink_that_is_off_by_rounding_has_both_slopes_beside_it() {
        // max(3 x + 0.1, 0), with the nearest double of -0.1 / 3.
        let kink = -0.1 / 3.0;
        let parts = [part(f64::NEG_INFINITY, 0.0, 0.0), part(kink, 3.0, 0.1)];
        assert_range(&parts, [kink, 1.0], [0.0, 3.0]);
        assert_range(&parts, [kink + 1e-3, 1.0], [3.0, 3.0]);
    }
}
