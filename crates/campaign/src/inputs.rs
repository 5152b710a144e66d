//! Where inputs come from, without saying from what kind of file.

use deepconcolic_criteria::Truth;

/// Inputs by number, in the model file's order of axes.
pub trait Inputs: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes these inputs one after the other.
    fn gather(&self, indices: &[usize], into: &mut [f32]);

    /// What an input should be predicted as, where that is known.
    fn truth(&self, _index: usize) -> Option<Truth> {
        None
    }
}
