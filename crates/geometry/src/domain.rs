//! The domain of inputs: a box, and the unit of distances.

use crate::{InputSpace, Pixels};

/// Lowest and highest value of each input element.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    lower: Vec<f32>,
    upper: Vec<f32>,
}

impl Domain {
    /// The same interval for every element.
    pub fn uniform(elements: usize, lower: f32, upper: f32) -> Result<Self, String> {
        Self::new(vec![lower; elements], vec![upper; elements])
    }

    /// An interval for each element.
    pub fn new(lower: Vec<f32>, upper: Vec<f32>) -> Result<Self, String> {
        let sound = lower.len() == upper.len()
            && lower
                .iter()
                .zip(&upper)
                .all(|(l, u)| l.is_finite() && u.is_finite() && l <= u);
        if sound {
            Ok(Self { lower, upper })
        } else {
            Err("a domain needs finite ends, the lower not above the upper".into())
        }
    }

    /// Lowest values.
    pub fn lower(&self) -> &[f32] {
        &self.lower
    }

    /// Highest values.
    pub fn upper(&self) -> &[f32] {
        &self.upper
    }

    /// How distances are measured in it.
    pub fn space(&self, pixels: Pixels) -> InputSpace {
        let ends = self.lower.iter().zip(&self.upper);
        InputSpace {
            widths: ends.map(|(&l, &u)| f64::from(u) - f64::from(l)).collect(),
            pixels,
        }
    }
}
