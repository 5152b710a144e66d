//! What the tests of a suite made the network do: all that evaluation asks for.

use super::Input;

/// The tests of a suite and the neuron values seen when each ran.
///
/// Layers are numbered as in the paper. Layer 1 is never asked for through [`u`](Self::u) and
/// [`v`](Self::v): its values are those of [`input`](Self::input). In layer K, u is v.
pub trait Observations {
    /// How many tests there are.
    fn tests(&self) -> usize;
    /// `u[test]` of a neuron: the value before its activation function.
    fn u(&self, test: usize, layer: usize, neuron: usize) -> f32;
    /// `v[test]` of a neuron: the value after its activation function.
    fn v(&self, test: usize, layer: usize, neuron: usize) -> f32;
    /// The test itself.
    fn input(&self, test: usize) -> &[f32];
}

/// Which tests stand for a requirement's inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Assignment {
    /// `x` is this test.
    One(usize),
    /// `x1` and `x2` are these tests.
    Two(usize, usize),
}

impl Assignment {
    /// The test that stands for an input.
    pub fn test(self, input: Input) -> usize {
        match (self, input) {
            (Self::One(test), _)
            | (Self::Two(test, _), Input::First)
            | (Self::Two(_, test), Input::Second) => test,
        }
    }
}

/// One test held in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedTest {
    /// The input.
    pub input: Vec<f32>,
    /// u of layers 2, 3, ..., K.
    pub u: Vec<Vec<f32>>,
    /// v of layers 2, 3, ..., K.
    pub v: Vec<Vec<f32>>,
}

/// A small suite held in memory, for examples and tests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recording {
    /// The tests, in order.
    pub tests: Vec<RecordedTest>,
}

impl Observations for Recording {
    fn tests(&self) -> usize {
        self.tests.len()
    }

    fn u(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        self.tests[test].u[layer - 2][neuron]
    }

    fn v(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        self.tests[test].v[layer - 2][neuron]
    }

    fn input(&self, test: usize) -> &[f32] {
        &self.tests[test].input
    }
}
