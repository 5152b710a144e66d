//! Where inputs come from, without saying from what kind of file.

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

    /// The true label of each input, where known.
    fn labels(&self) -> Option<&[i64]> {
        None
    }
}
