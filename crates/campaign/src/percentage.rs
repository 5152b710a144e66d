//! Shares in percent, by one rule wherever they are printed.

/// A share of 1 in percent, rounded down to so many decimals: what falls short of all, or of a limit, must not look as
/// if it did not, and the same share reads the same in every line.
pub fn percent(share: f64, decimals: i32) -> f64 {
    let steps = 10_f64.powi(decimals);
    // What is off by a rounding of the division is not a whole digit less.
    (share * 100.0 * steps + 1e-9).floor() / steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_of_it_is_a_hundred() {
        let text = |part: u32, whole: u32| {
            let share = f64::from(part) / f64::from(whole);
            format!("{:.2}", percent(share, 2))
        };
        assert_eq!(text(50_816, 50_960), "99.71");
        assert_eq!(text(999_999, 1_000_000), "99.99");
        assert_eq!(text(999_999_999, 1_000_000_000), "99.99");
        assert_eq!(text(7, 7), "100.00");
        assert_eq!(text(0, 7), "0.00");
        // Every hundredth that a share can be is printed as it is.
        for part in 0..=10_000 {
            let exact = format!("{}.{:02}", part / 100, part % 100);
            assert_eq!(text(part, 10_000), exact);
        }
    }
}
