//! What tests are called in rounds: by names that mean the same to every worker, whatever its suite holds.

use std::fmt;

use deepconcolic_check::sha256;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The name of a test by its content: half of the SHA-256 of its root's number and its values. Two tests
/// with the same name are the same input round the same seed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TestId([u8; 16]);

impl TestId {
    /// Of an input round the seed with this number.
    pub fn of(root: usize, input: &[f32]) -> Self {
        let mut bytes = (root as u64).to_le_bytes().to_vec();
        bytes.extend(input.iter().flat_map(|value| value.to_le_bytes()));
        let mut half = [0; 16];
        half.copy_from_slice(&sha256(&bytes)[..16]);
        Self(half)
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for TestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u128::from_str_radix(&text, 16).ok();
        let number = number.filter(|_| text.len() == 32 && !text.starts_with('+'));
        let number = number.ok_or_else(|| de::Error::custom("no name of a test"))?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// A test as a round names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestRef {
    /// The seed with this number.
    Seed(u32),
    /// The test with this number among those that the round itself adds.
    Here(u32),
    /// A test that was there before the round.
    Known(TestId),
}

impl fmt::Display for TestRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(number) => write!(f, "seed {number}"),
            Self::Here(number) => write!(f, "test {number} of the round"),
            Self::Known(id) => write!(f, "test {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_the_input_and_its_root() {
        let name = TestId::of(0, &[0.5, 1.0]);
        assert_eq!(name, TestId::of(0, &[0.5, 1.0]));
        assert_ne!(name, TestId::of(1, &[0.5, 1.0]));
        assert_ne!(name, TestId::of(0, &[0.5, 1.5]));
    }

    #[test]
    fn a_reference_survives_its_text() {
        let all = [
            TestRef::Seed(3),
            TestRef::Here(0),
            TestRef::Known(TestId::of(2, &[0.25])),
        ];
        for name in all {
            let text = serde_json::to_string(&name).unwrap();
            assert_eq!(serde_json::from_str::<TestRef>(&text).unwrap(), name);
        }
        for bad in [
            "{\"known\":\"+1\"}",
            "{\"known\":\"\"}",
            "{\"seed\":-1}",
            "1",
        ] {
            assert!(serde_json::from_str::<TestRef>(bad).is_err(), "{bad}");
        }
    }
}
