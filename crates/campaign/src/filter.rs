//! What a caller allows as a test, beyond region, grid and similarity: a function that is asked of many inputs at a time.

use std::fmt;
use std::sync::Arc;

/// Says of each input whether it may be a test.
type Judge = dyn Fn(&[&[f32]]) -> Vec<bool> + Send + Sync;

/// A caller's own condition on tests. Seeds are not asked about: they are the caller's data.
#[derive(Clone)]
pub struct Filter(Arc<Judge>);

impl Filter {
    /// Of a function that says of each input whether it may be a test.
    pub fn new(judge: impl Fn(&[&[f32]]) -> Vec<bool> + Send + Sync + 'static) -> Self {
        Self(Arc::new(judge))
    }

    /// Which of these inputs may be tests; one that the function says nothing of may not.
    pub fn allows(&self, inputs: &[&[f32]]) -> Vec<bool> {
        let mut allowed = if inputs.is_empty() {
            Vec::new()
        } else {
            (self.0)(inputs)
        };
        allowed.resize(inputs.len(), false);
        allowed
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_nothing_is_said_of_is_not_allowed() {
        let filter = Filter::new(|inputs| inputs.iter().take(1).map(|x| x[0] > 0.0).collect());
        assert_eq!(filter.allows(&[&[1.0], &[1.0]]), [true, false]);
        assert!(filter.allows(&[]).is_empty());
    }
}
