//! Arithmetic that rounds away from the interval it bounds, so that the true result and the
//! rounded one both stay inside.

use crate::Scalar;

/// Largest `T` not above `value`.
pub(super) fn down<T: Scalar>(value: f64) -> T {
    let nearest = T::of(value);
    if nearest.f64() > value {
        nearest.next_down()
    } else {
        nearest
    }
}

/// Smallest `T` not below `value`.
pub(super) fn up<T: Scalar>(value: f64) -> T {
    let nearest = T::of(value);
    if nearest.f64() < value {
        nearest.next_up()
    } else {
        nearest
    }
}

/// The sum with its rounding error (Knuth's two-sum), which tells an exact sum from a rounded one.
fn two_sum<T: Scalar>(a: T, b: T) -> (T, T) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// Not above `a + b`.
pub(super) fn sum_down<T: Scalar>(a: T, b: T) -> T {
    let (sum, error) = two_sum(a, b);
    if error >= T::ZERO {
        sum
    } else if is_number(sum) {
        // Also reached on overflow, where the error is no number.
        sum.next_down()
    } else {
        T::NEG_INFINITY
    }
}

/// Not below `a + b`.
pub(super) fn sum_up<T: Scalar>(a: T, b: T) -> T {
    -sum_down(-a, -b)
}

/// Not above and not below `a * b`. Zero times infinity is zero: the infinity only stands for
/// numbers without a limit.
pub(super) fn product<T: Scalar>(a: T, b: T) -> [T; 2] {
    if a == T::ZERO || b == T::ZERO {
        return [T::ZERO; 2];
    }
    let exact = a.abs() == T::ONE || b.abs() == T::ONE;
    around(a * b, exact)
}

/// Not above and not below `a / b`.
pub(super) fn quotient<T: Scalar>(a: T, b: T) -> [T; 2] {
    let exact = b.abs() == T::ONE || (a == T::ZERO && b != T::ZERO);
    around(a / b, exact)
}

fn around<T: Scalar>(rounded: T, exact: bool) -> [T; 2] {
    if !is_number(rounded) {
        [T::NEG_INFINITY, T::INFINITY]
    } else if exact {
        [rounded; 2]
    } else {
        [rounded.next_down(), rounded.next_up()]
    }
}

/// The smallest interval that holds all of the given ones.
pub(super) fn hull<T: Scalar, const N: usize>(parts: [[T; 2]; N]) -> [T; 2] {
    parts
        .into_iter()
        .fold([T::INFINITY, T::NEG_INFINITY], |[low, high], part| {
            [low.min(part[0]), high.max(part[1])]
        })
}

/// Whether this is anything but NaN.
pub(super) fn is_number<T: Scalar>(x: T) -> bool {
    !x.f64().is_nan()
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
mod tests {
    use super::*;

    #[test]
    fn sums_are_widened_only_when_rounded() {
        assert_eq!(sum_down(1.0f32, 2.0), 3.0);
        assert_eq!(sum_up(1.0f32, 2.0), 3.0);
        assert_eq!(sum_down(1.0f64, 1e-30), 1.0);
        assert_eq!(sum_up(1.0f64, 1e-30), 1.0f64.next_up());
        assert_eq!(sum_down(f32::MAX, f32::MAX), f32::MAX);
        assert_eq!(sum_up(f32::MAX, f32::MAX), f32::INFINITY);
        assert_eq!(
            sum_down(f32::NEG_INFINITY, f32::INFINITY),
            f32::NEG_INFINITY
        );
    }

    #[test]
    fn conversions_round_outward() {
        assert!(f64::from(down::<f32>(0.1)) <= 0.1 && f64::from(up::<f32>(0.1)) >= 0.1);
        assert_eq!(down::<f32>(1e300), f32::MAX);
        assert_eq!(up::<f32>(1e300), f32::INFINITY);
        assert_eq!(up::<f32>(0.5), 0.5);
    }

    #[test]
    fn products_and_quotients_hold_the_exact_result() {
        let (a, b) = (0.1f32, 0.7f32);
        let holds = |[low, high]: [f32; 2], exact: f64| {
            assert!(f64::from(low) < exact && exact < f64::from(high));
        };
        holds(product(a, b), f64::from(a) * f64::from(b));
        holds(product(a, -b), -f64::from(a) * f64::from(b));
        holds(quotient(a, b), f64::from(a) / f64::from(b));
    }

    #[test]
    fn zero_absorbs_infinity_and_poles_are_unbounded() {
        assert_eq!(product(0.0f64, f64::INFINITY), [0.0; 2]);
        assert_eq!(quotient(0.0f64, 0.0), [f64::NEG_INFINITY, f64::INFINITY]);
        assert_eq!(quotient(3.0f64, 1.0), [3.0; 2]);
    }
}
