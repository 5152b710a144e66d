//! The suite: every input that coverage is claimed for.

use std::collections::HashMap;

use deepconcolic_check::Confirmed;
use deepconcolic_criteria::Prediction;

use crate::identity::{TestId, TestRef};
use crate::provenance::Provenance;

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
    /// Where it comes from.
    pub provenance: Provenance,
    /// Its distance to the root.
    pub distance: f64,
    /// What the network says of it.
    pub prediction: Prediction,
}

impl Test {
    /// What it is called wherever it is.
    pub fn id(&self) -> TestId {
        TestId::of(self.provenance.root, &self.input)
    }
}

/// Tests, seeds first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    tests: Vec<Test>,
    /// The first test of each name.
    numbers: HashMap<TestId, usize>,
}

impl Suite {
    /// Adds a test; only confirmed ones can be.
    pub fn add(&mut self, test: &Confirmed, provenance: Provenance) {
        let test = Test {
            input: test.input().to_vec(),
            provenance,
            distance: test.distance(),
            prediction: test.prediction().clone(),
        };
        let number = self.tests.len();
        self.numbers.entry(test.id()).or_insert(number);
        self.tests.push(test);
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

    /// The number of the first test of a name.
    pub fn find(&self, id: TestId) -> Option<usize> {
        self.numbers.get(&id).copied()
    }

    /// What a round calls the test with this number.
    pub(crate) fn name(&self, number: usize) -> TestRef {
        let test = &self.tests[number];
        match test.provenance.parent {
            None => TestRef::Seed(number as u32),
            Some(_) => TestRef::Known(test.id()),
        }
    }

    /// The number of a test that a round names, whose own tests come after all that are here; none if there
    /// is no such test. The round's own must be among its first `here`.
    pub(crate) fn number(&self, name: TestRef, here: usize) -> Option<usize> {
        match name {
            TestRef::Seed(number) => {
                let number = number as usize;
                let test = self.tests.get(number)?;
                test.provenance.parent.is_none().then_some(number)
            }
            TestRef::Here(number) => {
                ((number as usize) < here).then_some(self.tests.len() + number as usize)
            }
            TestRef::Known(id) => self.find(id),
        }
    }
}
