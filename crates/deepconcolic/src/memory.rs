//! What a run keeps for its requirements, said before it is taken, and the most that it may be.

use deepconcolic_criteria::{Family, Group};

use crate::error::Error;

/// Bits of a requirement in the sets of a run: required, open, uncovered, aimed at, counted, and again in the audit.
const BITS: u64 = 10;
/// Bytes of a requirement in the audit: the test that shows it, or the two.
const SHOWN: u64 = 4;
/// Bytes of a row of the table of results, without and with what proofs say.
const ROW: u64 = 10;
const PROVEN: u64 = 12;
/// Bytes of a requirement in the ranking: its number, best value and test; of a section the most there can be, a
/// value and a test with room to grow.
const RANKED: u64 = 12;
const RANKED_SECTION: u64 = 16;

/// Bytes that a run keeps for the requirements of a family, at most.
pub fn needed(family: &dyn Family, proofs: bool) -> u64 {
    let guide = family.guide().ok();
    let of_group = |(number, group): (usize, &Group)| {
        let is_of_pairs = family.pairs(number).is_some();
        let each = if is_of_pairs {
            2 * SHOWN
        } else {
            SHOWN + ROW + if proofs { PROVEN } else { 0 }
        };
        let ranked = match guide.filter(|_| !is_of_pairs) {
            Some(guide) if guide.sections(number).is_some() => RANKED_SECTION,
            Some(_) => RANKED,
            None => 0,
        };
        let slots = group.slots() as u64;
        slots * (each + ranked) + slots * BITS / 8
    };
    family.groups().iter().enumerate().map(of_group).sum()
}

/// Refuses a family that needs more than a run may take: so much, or three quarters of what the machine has.
pub fn check(family: &dyn Family, proofs: bool, limit: Option<u64>) -> Result<(), Error> {
    let Some(limit) = limit.or_else(|| installed().map(|all| all / 4 * 3)) else {
        return Ok(());
    };
    let needed = needed(family, proofs);
    if needed <= limit {
        return Ok(());
    }
    let requirements: usize = family.groups().iter().map(Group::slots).sum();
    Err(Error::Request(format!(
        "{requirements} requirements need up to {} of memory and --memory allows {}: choose --layers or --neurons, \
         fewer --sections, or allow more",
        words(needed),
        words(limit)
    )))
}

/// A size as people write it, such as `512M` or `8G`; bytes without a unit.
pub fn parse(text: &str) -> Result<u64, Error> {
    let wrong = || {
        Error::Request(format!(
            "`{text}` is no size of memory: give a number with K, M, G or T, for example 8G"
        ))
    };
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix('B').unwrap_or(&upper);
    let power = upper.chars().last().and_then(|unit| "KMGT".find(unit));
    let digits = power.map_or(upper, |_| &upper[..upper.len() - 1]);
    let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
    let bytes = number * 1024f64.powi(power.map_or(0, |power| power as i32 + 1));
    if !(bytes >= 1.0 && bytes < 2f64.powi(63)) {
        return Err(wrong());
    }
    Ok(bytes as u64)
}

/// A size in words.
pub fn words(bytes: u64) -> String {
    let gigabytes = bytes as f64 / f64::from(1 << 30);
    if gigabytes >= 1.0 {
        format!("{gigabytes:.1} GB")
    } else {
        format!("{:.1} MB", bytes as f64 / f64::from(1 << 20))
    }
}

/// What this machine has, or what this process may take of it, where that can be read.
fn installed() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    let allowed = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let allowed = allowed.and_then(|text| text.trim().parse().ok());
    Some((kilobytes * 1024).min(allowed.unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("1", 1),
            ("512", 512),
            ("2k", 2048),
            ("1.5M", 3 << 19),
            ("8G", 8 << 30),
            ("8GB", 8 << 30),
            (" 1 T ", 1 << 40),
        ] {
            assert_eq!(parse(text).ok(), Some(bytes), "{text}");
        }
        for text in ["", "G", "-1G", "0", "nan", "1X", "1e30T", "8 G B B"] {
            let why = parse(text).unwrap_err().to_string();
            assert!(why.contains("8G"), "{text}: {why}");
        }
        assert_eq!(words(3 << 29), "1.5 GB");
    }
}
