//! Numbers as people read them: thousands apart, shares that are never rounded up, few digits.

use std::fmt::{self, Display, Formatter};

/// A count, thousands apart: `50,960`.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in percent with one decimal, rounded down: only all of it is `100 %`.
pub fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "–".into();
    }
    share(part as f64 / whole.max(1) as f64)
}

/// A share of 1 in percent, rounded down.
pub fn share(share: f64) -> String {
    if share >= 1.0 {
        return "100 %".into();
    }
    format!("{:.1} %", deepconcolic::percent(share.max(0.0), 1))
}

/// Four digits that count, without zeros at the end: a distance, a value.
pub fn short(number: f64) -> String {
    if !number.is_finite() {
        return "none".into();
    }
    let size = number.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e6).contains(&size) {
        return format!("{number:.2e}");
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{number:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Seconds.
pub fn seconds(number: f64) -> String {
    match number {
        n if n < 0.1 => format!("{:.0} ms", n * 1000.0),
        n if n < 100.0 => format!("{n:.1} s"),
        n => format!("{:.0} min {:.0} s", (n / 60.0).floor(), n % 60.0),
    }
}

/// One of something, or several.
pub fn plural(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A place in a drawing: two decimals are enough.
#[derive(Clone, Copy)]
pub struct At(pub f64);

impl Display for At {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 * 100.0).round() / 100.0;
        // Not -0.
        write!(f, "{}", hundredths + 0.0)
    }
}

/// The ticks on an axis of counts, which has no halves.
pub fn whole_ticks(end: f64) -> Vec<f64> {
    let mut ticks = ticks(end);
    ticks.retain(|tick| tick.fract() == 0.0);
    ticks
}

/// Ends of an axis from 0 and the ticks on it, at most six of them.
pub fn ticks(end: f64) -> Vec<f64> {
    if !(end.is_finite() && end > 0.0) {
        return vec![0.0, 1.0];
    }
    let rough = end / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = steps.iter().map(|step| step * power);
    let step = step
        .into_iter()
        .find(|step| end / step <= 5.0 + 1e-9)
        .unwrap_or(10.0 * power);
    let number = (end / step + 1e-9).floor() as usize;
    (0..=number).map(|n| n as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let counted: Vec<String> = [0, 999, 1000, 50_960, 11_166_208].map(count).into();
        assert_eq!(counted, ["0", "999", "1,000", "50,960", "11,166,208"]);
    }

    #[test]
    fn a_share_is_all_only_when_nothing_is_missing() {
        assert_eq!(percent(50_959, 50_960), "99.9 %");
        assert_eq!(percent(3, 3), "100 %");
        assert_eq!(percent(0, 0), "–");
        assert_eq!(percent(1, 10), "10.0 %");
        assert_eq!(share(0.29), "29.0 %");
    }

    #[test]
    fn few_digits_are_shown() {
        let shown = [0.3, 0.041_23, 12.0, 12345.6, 0.000_01, 0.0].map(short);
        assert_eq!(shown, ["0.3", "0.04123", "12", "12346", "1.00e-5", "0"]);
    }

    #[test]
    fn an_axis_of_counts_has_whole_ticks_only() {
        assert_eq!(whole_ticks(12.0), [0.0, 5.0, 10.0]);
        assert_eq!(whole_ticks(1.0), [0.0, 1.0]);
        assert_eq!(whole_ticks(3.0), [0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn an_axis_has_at_most_six_ticks() {
        for end in [0.3, 1.0, 7.0, 99.0, 552.0, 50_960.0, 1e-7, f64::NAN, -1.0] {
            let ticks = ticks(end);
            assert!((2..=6).contains(&ticks.len()), "{end}: {ticks:?}");
            assert!(ticks[0].abs() < f64::MIN_POSITIVE);
        }
    }
}
