//! Numbers of a model, kept once and shared, in the precision that holds them exactly.

use std::sync::Arc;

/// A list of numbers that are part of a model. Cheap to clone: clones share the memory.
#[derive(Debug, Clone)]
pub enum Numbers {
    /// As nearly every model file has them.
    Single(Arc<[f32]>),
    /// Numbers that single precision would round.
    Double(Arc<[f64]>),
}

impl Numbers {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Single(numbers) => numbers.len(),
            Self::Double(numbers) => numbers.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    ///
    /// # Panics
    /// When there are not so many.
    #[inline]
    pub fn at(&self, index: usize) -> f64 {
        match self {
            Self::Single(numbers) => f64::from(numbers[index]),
            Self::Double(numbers) => numbers[index],
        }
    }

    /// All of them, in double precision.
    pub fn to_double(&self) -> Vec<f64> {
        match self {
            Self::Single(numbers) => numbers.iter().copied().map(f64::from).collect(),
            Self::Double(numbers) => numbers.to_vec(),
        }
    }

    /// The place of the first that single precision holds as an infinity or not at all.
    pub fn not_finite(&self) -> Option<usize> {
        match self {
            Self::Single(numbers) => numbers.iter().position(|n| !n.is_finite()),
            Self::Double(numbers) => numbers.iter().position(|&n| !(n as f32).is_finite()),
        }
    }
}

impl From<Vec<f32>> for Numbers {
    fn from(numbers: Vec<f32>) -> Self {
        Self::Single(numbers.into())
    }
}

/// Takes half the memory where nothing is lost by it.
impl From<Vec<f64>> for Numbers {
    fn from(numbers: Vec<f64>) -> Self {
        if numbers.iter().all(|&n| is_single(n)) {
            Self::Single(numbers.iter().map(|&n| n as f32).collect())
        } else {
            Self::Double(numbers.into())
        }
    }
}

/// Whether single precision holds a number as it is. A number that is none keeps all of its bits only in
/// its own precision.
fn is_single(number: f64) -> bool {
    f64::from(number as f32).to_bits() == number.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_single_precision_would_round_stays_double() {
        let exact = Numbers::from(vec![0.5, -0.0, f64::INFINITY]);
        assert!(matches!(exact, Numbers::Single(_)));
        assert_eq!(exact.at(1).to_bits(), (-0.0f64).to_bits());
        let fine = Numbers::from(vec![0.5, 0.1]);
        assert!(matches!(fine, Numbers::Double(_)));
        assert_eq!(fine.to_double(), [0.5, 0.1]);
        assert_eq!(Numbers::from(vec![0.5, 1e300]).not_finite(), Some(1));
        assert_eq!(Numbers::from(vec![1.0f32, f32::NAN]).not_finite(), Some(1));
    }
}
