//! Numbers of a job as people write them: fractions, times with units, radii, constants.

use std::str::FromStr;
use std::time::Duration;

use crate::error::Error;
use crate::job::Radius;

/// A number: 0.03, or 8/255.
///
/// ```
/// assert_eq!(deepconcolic::notation::number("8/255"), Some(8.0 / 255.0));
/// assert_eq!(deepconcolic::notation::number("1/0"), None);
/// ```
pub fn number(text: &str) -> Option<f64> {
    let number: f64 = match text.split_once('/') {
        None => text.trim().parse().ok()?,
        Some((above, below)) => {
            let (above, below): (f64, f64) =
                (above.trim().parse().ok()?, below.trim().parse().ok()?);
            above / below
        }
    };
    number.is_finite().then_some(number)
}

/// A distance: a number of at least 0.
pub fn distance(text: &str) -> Option<f64> {
    number(text).filter(|number| *number >= 0.0)
}

impl FromStr for Radius {
    type Err = Error;

    /// A distance, or `none` for as far as the domain reaches.
    fn from_str(text: &str) -> Result<Self, Error> {
        match distance(text) {
            _ if text == "none" => Ok(Self::Anywhere),
            Some(radius) => Ok(Self::Within(radius)),
            None => Err(Error::Request(format!(
                "--radius must be a number of at least 0 (for example 0.03 or 8/255), or none, not `{text}`"
            ))),
        }
    }
}

/// How long a run may take: 90, 60s, 10m, 2h, or none.
pub fn budget(text: &str) -> Result<Option<Duration>, Error> {
    if text == "none" {
        return Ok(None);
    }
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let seconds = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    });
    match seconds {
        Some(seconds) if seconds > 0.0 && seconds < 1e9 => {
            Ok(Some(Duration::from_secs_f64(seconds)))
        }
        _ => Err(Error::Request(format!(
            "--budget `{text}` is no time; for example 90, 60s, 10m, 2h, or none"
        ))),
    }
}

/// A time as [`budget`] reads it.
pub fn budget_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let whole = |unit: f64| seconds >= unit && seconds % unit == 0.0;
    match () {
        () if whole(3600.0) => format!("{}h", seconds / 3600.0),
        () if whole(60.0) => format!("{}m", seconds / 60.0),
        () => format!("{seconds}s"),
    }
}

/// The constant of lipschitz; none for `max`, the search for the largest.
pub fn constant(text: &str) -> Result<Option<f64>, Error> {
    match text.parse::<f64>() {
        _ if text == "max" => Ok(None),
        Ok(constant) if constant.is_finite() && constant > 0.0 => Ok(Some(constant)),
        _ => Err(Error::Request(format!(
            "--constant must be a number above 0, or max, not `{text}`"
        ))),
    }
}

/// The least similarity to a seed: `ssim:0.9`.
pub fn least_similarity(text: &str) -> Result<f64, Error> {
    let least = text.strip_prefix("ssim:").and_then(|s| s.parse().ok());
    least
        .filter(|least| (0.0..=1.0).contains(least))
        .ok_or_else(|| {
            Error::Request(format!(
                "--validity `{text}` is not of the form ssim:S with S from 0 to 1, for example ssim:0.9"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text: &str| budget(text).unwrap().map(|time| time.as_secs());
        assert_eq!(seconds("90"), Some(90));
        assert_eq!(budget("1.5m").unwrap(), budget("90s").unwrap());
        assert_eq!(budget("120m").unwrap(), budget("2h").unwrap());
        assert_eq!(budget("none").unwrap(), None);
        for text in ["4h", "90m", "100s", "0.5s"] {
            assert_eq!(budget_words(budget(text).unwrap().unwrap()), text);
        }
        for bad in ["", "s", "-3", "0", "ten", "1d", "nan", "inf"] {
            assert!(budget(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn radii_are_distances_or_none() {
        let radius = |text: &str| text.parse::<Radius>().ok();
        assert_eq!(radius("8/255"), Some(Radius::Within(8.0 / 255.0)));
        assert_eq!(radius(" 0.03 "), Some(Radius::Within(0.03)));
        assert_eq!(radius("none"), Some(Radius::Anywhere));
        for bad in [
            "", "-1", "/", "8/", "1/0", "0/0", "a/b", "8/255/2", "nan", "inf",
        ] {
            assert_eq!(radius(bad), None, "{bad}");
        }
    }

    #[test]
    fn constants_and_similarities_have_ranges() {
        assert_eq!(constant("max").unwrap(), None);
        assert_eq!(constant("2.5").unwrap(), Some(2.5));
        for bad in ["0", "-1", "nan", "inf", "", "most"] {
            assert!(constant(bad).is_err(), "{bad}");
        }
        assert_eq!(least_similarity("ssim:0.9").ok(), Some(0.9));
        for bad in ["0.9", "ssim:1.1", "ssim:", "ssim:nan"] {
            assert!(least_similarity(bad).is_err(), "{bad}");
        }
    }
}
