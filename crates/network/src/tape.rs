//! What a forward pass leaves behind for derivatives: the phase of every operator at every sample.

use crate::operator::{Phase, PhaseRow};

/// Phases of a batch, in the chunks it was run in.
#[derive(Debug, Clone, PartialEq)]
pub struct Tape<T> {
    chunk: usize,
    parts: Vec<Vec<Phase<T>>>,
}

impl<T> Tape<T> {
    pub(crate) fn new(chunk: usize, parts: Vec<Vec<Phase<T>>>) -> Self {
        Self { chunk, parts }
    }

    /// The phase of one node at one sample.
    pub(crate) fn phase(&self, node: usize, sample: usize) -> PhaseRow<'_, T> {
        self.parts[sample / self.chunk][node].row(sample % self.chunk)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.parts.iter().flatten().map(Phase::bytes).sum()
    }
}
