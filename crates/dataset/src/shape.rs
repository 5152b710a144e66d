//! Shapes: how they are written in messages, and how many elements they hold.

use std::fmt;

/// Writes a shape as users say it: `28x28x1`.
pub(crate) struct Shape<'a>(pub &'a [usize]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("()");
        }
        for (axis, size) in self.0.iter().enumerate() {
            if axis > 0 {
                f.write_str("x")?;
            }
            write!(f, "{size}")?;
        }
        Ok(())
    }
}

/// Number of elements, or `None` when it does not fit: shapes come from headers, so they may lie.
pub(crate) fn element_count(shape: &[usize]) -> Option<usize> {
    shape
        .iter()
        .try_fold(1_usize, |count, &size| count.checked_mul(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_written_with_crosses() {
        assert_eq!(Shape(&[28, 28, 1]).to_string(), "28x28x1");
        assert_eq!(Shape(&[5]).to_string(), "5");
        assert_eq!(Shape(&[]).to_string(), "()");
    }

    #[test]
    fn a_count_that_overflows_is_none() {
        assert_eq!(element_count(&[2, 3, 4]), Some(24));
        assert_eq!(element_count(&[]), Some(1));
        assert_eq!(element_count(&[usize::MAX, 2]), None);
    }
}
