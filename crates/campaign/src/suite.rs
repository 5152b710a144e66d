//! The suite: every input that coverage is claimed for.

use deepconcolic_check::Confirmed;
use deepconcolic_criteria::Prediction;

/// The part of a campaign that made a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Stage {
    /// A seed: taken from the data, run and measured.
    Measure = 0,
    /// Many requirements at once.
    Ascend = 1,
    /// One requirement at a time.
    Focus = 2,
    /// Drawn at random.
    Random = 3,
    /// One requirement at a time, by the symbolic engines.
    Symbolic = 4,
    /// Pairs of neurons, by the symbolic engines.
    Pairs = 5,
    /// A step of the paper's algorithm.
    Paper = 6,
    /// Found by a proof that it cannot be found.
    Prove = 7,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Self; 8] = [
        Self::Measure,
        Self::Ascend,
        Self::Focus,
        Self::Random,
        Self::Symbolic,
        Self::Pairs,
        Self::Paper,
        Self::Prove,
    ];

    /// What it is called in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measure => "measure",
            Self::Ascend => "ascend",
            Self::Focus => "focus",
            Self::Random => "random",
            Self::Symbolic => "symbolic",
            Self::Pairs => "pairs",
            Self::Paper => "paper",
            Self::Prove => "prove",
        }
    }

    /// The stage with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&stage| stage as u8 == number)
    }
}

/// The inputs that a campaign starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Seeds {
    /// One after the other.
    inputs: Vec<f32>,
    /// Their numbers in the data.
    indices: Vec<usize>,
    elements: usize,
}

impl Seeds {
    /// Seeds with their numbers in the data.
    ///
    /// # Panics
    /// When there is not a row of elements for each number.
    pub fn new(indices: Vec<usize>, inputs: Vec<f32>, elements: usize) -> Self {
        assert_eq!(
            inputs.len(),
            indices.len() * elements,
            "a row for each seed"
        );
        Self {
            inputs,
            indices,
            elements,
        }
    }

    pub(crate) fn push(&mut self, index: usize, input: &[f32]) {
        self.indices.push(index);
        self.inputs.extend_from_slice(input);
    }

    /// Numbers in one of them.
    pub(crate) fn elements(&self) -> usize {
        self.elements
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// A seed by number.
    pub fn input(&self, number: usize) -> &[f32] {
        &self.inputs[number * self.elements..(number + 1) * self.elements]
    }

    /// All inputs, one after the other.
    pub fn values(&self) -> &[f32] {
        &self.inputs
    }

    /// Its number in the data.
    pub fn index(&self, number: usize) -> usize {
        self.indices[number]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &[f32]> {
        (0..self.len()).map(|number| self.input(number))
    }
}

/// One test.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The input.
    pub input: Vec<f32>,
    /// Number of its root seed.
    pub root: usize,
    /// The test it was made from; none for a seed.
    pub parent: Option<usize>,
    /// What made it.
    pub stage: Stage,
    /// Its distance to the root.
    pub distance: f64,
    /// What the network says of it.
    pub prediction: Prediction,
}

/// Tests, seeds first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    tests: Vec<Test>,
}

impl Suite {
    /// Adds a test; only confirmed ones can be.
    pub fn add(&mut self, test: &Confirmed, root: usize, parent: Option<usize>, stage: Stage) {
        self.tests.push(Test {
            input: test.input().to_vec(),
            root,
            parent,
            stage,
            distance: test.distance(),
            prediction: test.prediction().clone(),
        });
    }

    /// The tests, in order.
    pub fn tests(&self) -> &[Test] {
        &self.tests
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tests.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }
}
