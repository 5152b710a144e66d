//! Where inputs come from, without saying from what kind of file.

use std::ops::Range;

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

/// Some inputs of many, numbered from 0.
pub struct InputsRange<'a> {
    /// All of them.
    pub inputs: &'a dyn Inputs,
    /// Which ones.
    pub range: Range<usize>,
}

impl Inputs for InputsRange<'_> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        let numbers: Vec<usize> = indices.iter().map(|i| self.range.start + i).collect();
        self.inputs.gather(&numbers, into);
    }

    fn truth(&self, index: usize) -> Option<Truth> {
        self.inputs.truth(self.range.start + index)
    }
}
