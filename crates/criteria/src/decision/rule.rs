//! The rule by which outputs become an answer, as a user writes it and files hold it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How the outputs of a model file are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The class is the position of the first largest output.
    Argmax,
    /// One output: class 1 where it is at least this, else class 0.
    Threshold(f64),
    /// The outputs are quantities; one that is off by more than this is wrong.
    Within(f64),
}

impl Rule {
    /// What it says, for people.
    pub fn words(self) -> String {
        match self {
            Self::Argmax => "argmax".into(),
            Self::Threshold(threshold) => format!("output >= {threshold}"),
            Self::Within(tolerance) => format!("output within {tolerance}"),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argmax => f.write_str("argmax"),
            Self::Threshold(threshold) => write!(f, "threshold:{threshold}"),
            Self::Within(tolerance) => write!(f, "within:{tolerance}"),
        }
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
        let rule = match text.split_once(':') {
            None if text == "argmax" => Some(Self::Argmax),
            Some(("threshold", text)) => number(text).map(Self::Threshold),
            Some(("within", text)) => number(text).filter(|&d| d >= 0.0).map(Self::Within),
            _ => None,
        };
        rule.ok_or_else(|| {
            "give argmax, threshold:T (for one output), or within:D (for a regression), with T a number and D \
             a number of at least 0"
                .into()
        })
    }
}

/// In a file a rule is what a user writes.
impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_as_it_is_written() {
        for rule in [
            Rule::Argmax,
            Rule::Threshold(-0.1),
            Rule::Threshold(0.5),
            Rule::Within(1e-300),
        ] {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_with_what_to_give() {
        for text in [
            "",
            "max",
            "threshold",
            "threshold:",
            "threshold:nan",
            "within:-1",
            "within:inf",
            "argmax:1",
        ] {
            let message = text.parse::<Rule>().unwrap_err();
            assert!(message.contains("threshold:T"), "{text}: {message}");
        }
    }
}
