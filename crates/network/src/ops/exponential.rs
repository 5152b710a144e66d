//! The exponential function without branches, so that loops over it run on vectors.

/// Adding this to a number below 2^51 rounds it to an integer, which the low bits then hold.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2, and what that lacks.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Beyond this every result is 0 or infinite.
const FAR: f64 = 1100.0;

/// `exp(x)`, within a rounding or two of its size, on every machine the same.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    // Not `clamp` and not `max`: what is no number stays so.
    let x = if x < -FAR { -FAR } else { x };
    let x = if x > FAR { FAR } else { x };
    let n = (x * std::f64::consts::LOG2_E + ROUND) - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    // exp(r) for |r| <= ln 2 / 2; the next term of the series is below 2^-57.
    let mut sum = 1.0 / 6_227_020_800.0;
    for factorial in [
        479_001_600.0,
        39_916_800.0,
        3_628_800.0,
        362_880.0,
        40_320.0,
        5_040.0,
        720.0,
        120.0,
        24.0,
        6.0,
        2.0,
        1.0,
        1.0,
    ] {
        sum = sum * r + 1.0 / factorial;
    }
    // In two steps, so that small results lose digits only where there are none.
    let half = (n * 0.5 + ROUND) - ROUND;
    sum * power_of_two(half) * power_of_two(n - half)
}

/// `exp(x)` for a number that is not positive, within 2^-40 of its size: all that is left of it once it is rounded to
/// single precision, for two thirds of the work.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
pub(super) fn exp_for_single(x: f64) -> f64 {
    let (power, excess) = power_and_excess(x);
    power + power * excess
}

/// `exp(x) - 1` in the same way.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
pub(super) fn exp_m1_for_single(x: f64) -> f64 {
    let (power, excess) = power_and_excess(x);
    // The difference on the right is exact, and 0 where the product must keep its digits.
    power * excess + (power - 1.0)
}

/// A power of two, and by how much the exponential of a number that is not positive exceeds it, as a share of it.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
fn power_and_excess(x: f64) -> (f64, f64) {
    // Below this the exponential is 0 in single precision.
    let x = if x < -200.0 { -200.0 } else { x };
    let n = (x * std::f64::consts::LOG2_E + ROUND) - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    // (exp(r) - 1) / r; the next term of the series is below 2^-41.
    let mut sum = 1.0 / 3_628_800.0;
    for factorial in [
        362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0,
    ] {
        sum = sum * r + 1.0 / factorial;
    }
    (power_of_two(n), sum * r)
}

/// `2^n` for an integer of at most a thousand.
#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for wide vectors"
)]
#[inline(always)]
fn power_of_two(n: f64) -> f64 {
    let exponent = (n + ROUND).to_bits() << 52;
    f64::from_bits(exponent.wrapping_add(1.0f64.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::{exp, exp_for_single, exp_m1_for_single};

    #[test]
    fn the_shorter_ones_keep_forty_bits() {
        let near = |ours: f64, theirs: f64| (ours - theirs).abs() <= theirs.abs() * 2f64.powi(-40);
        for step in 0..400_000 {
            let x = f64::from(step) * -0.000_412_3 * f64::from(step % 5) / 4.0;
            let (all, less) = (exp_for_single(x), exp_m1_for_single(x));
            assert!(
                near(all, x.exp()) && (0.0..=1.0).contains(&all),
                "{x}: {all}"
            );
            assert!(
                near(less, x.exp_m1()) && (-1.0..=0.0).contains(&less),
                "{x}: {less}"
            );
        }
        assert!(exp_for_single(f64::NAN).is_nan() && exp_m1_for_single(f64::NAN).is_nan());
        let far = f64::NEG_INFINITY;
        assert!(exp_for_single(far) < 1e-80 && (exp_m1_for_single(far) + 1.0).abs() == 0.0);
    }

    #[test]
    fn it_is_the_exponential_function_to_a_few_roundings() {
        for step in -80_000..80_000 {
            let x = f64::from(step) * 0.009_123;
            let (ours, theirs) = (exp(x), x.exp());
            let near = ours.to_bits() == theirs.to_bits()
                || (ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs;
            assert!(
                near || theirs < 1e-300 && (ours - theirs).abs() < 1e-315,
                "{x}: {ours} {theirs}"
            );
        }
    }

    #[test]
    fn ends_of_the_range_are_what_they_should_be() {
        assert!(exp(f64::NAN).is_nan());
        for (x, y) in [
            (0.0, 1.0),
            (-0.0, 1.0),
            (f64::NEG_INFINITY, 0.0),
            (-5000.0, 0.0),
        ] {
            assert!((exp(x) - y).abs() == 0.0, "{x}");
        }
        assert!(exp(f64::INFINITY).is_infinite() && exp(710.0).is_infinite());
        assert!(exp(709.0).is_finite());
    }
}
