//! Boxes so thin that no number of single precision lies in them: a decimal such as 0.1 as both ends.
//!
//! The input of a network is in single precision, so that no input lies in such a box. Where a tolerance is
//! granted, the number nearest to the box stands for it.

use std::sync::Arc;

use super::{Bound, Formula, InputBox};

/// How far outside its box the verification competition lets an input lie.
pub const TOLERANCE: f64 = 1e-4;

/// An interval; where no number of single precision lies in it, with the nearest one, if that is within the
/// tolerance.
///
/// ```
/// use deepconcolic_language::with_single;
///
/// assert_eq!(with_single(0.0, 0.1, 1e-4), (0.0, 0.1));
/// assert_eq!(with_single(0.1, 0.1, 1e-4), (0.1, f64::from(0.1f32)));
/// assert_eq!(with_single(1e6 + 0.1, 1e6 + 0.1, 1e-4), (1e6 + 0.1, 1e6 + 0.1));
/// ```
pub fn with_single(lower: f64, upper: f64, tolerance: f64) -> (f64, f64) {
    let near = f64::from((0.5 * lower + 0.5 * upper) as f32);
    let missed = (lower - near).max(near - upper);
    if missed > 0.0 && missed <= tolerance && !has_single(lower, upper) {
        (lower.min(near), upper.max(near))
    } else {
        (lower, upper)
    }
}

/// Whether a number of single precision lies in an interval.
pub fn has_single(lower: f64, upper: f64) -> bool {
    let first = lower as f32;
    let first = if f64::from(first) < lower {
        first.next_up()
    } else {
        first
    };
    f64::from(first) <= upper
}

impl Formula {
    /// The formula with every box widened to the nearest number of single precision in those of so many
    /// elements in which none lies.
    #[must_use]
    pub fn with_single(&self, elements: usize, tolerance: f64) -> Self {
        let part = |part: &Self| part.with_single(elements, tolerance);
        let all = |of: &[Self]| of.iter().map(part).collect();
        match self {
            Self::Within { input, region } => Self::Within {
                input: *input,
                region: region.with_single(elements, tolerance),
            },
            Self::And(of) => Self::And(all(of)),
            Self::Or(of) => Self::Or(all(of)),
            // Elsewhere a larger box would not only be easier to lie in.
            other => other.clone(),
        }
    }
}

impl InputBox {
    fn with_single(&self, elements: usize, tolerance: f64) -> Self {
        let ends = |e: usize| (self.lower.at(e), self.upper.at(e));
        let widened = |e: usize| {
            let (lower, upper) = ends(e);
            with_single(lower, upper, tolerance)
        };
        if (0..elements).all(|e| widened(e) == ends(e)) {
            return self.clone();
        }
        let (lower, upper): (Vec<f64>, Vec<f64>) = (0..elements).map(widened).unzip();
        Self {
            lower: Bound::PerElement(Arc::from(lower)),
            upper: Bound::PerElement(Arc::from(upper)),
        }
    }
}
