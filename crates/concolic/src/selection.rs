//! Choosing seeds: inputs of the data that the network gets right.

use deepconcolic_network::{Network, Pass, Point, label};

use crate::Inputs;
use crate::suite::Seeds;

/// Inputs run at a time.
const BATCH: usize = 64;

/// The seeds of a run and what it took to find them.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The seeds.
    pub seeds: Seeds,
    /// Inputs looked at that the network gets wrong.
    pub misclassified: Vec<usize>,
    /// Inputs run.
    pub runs: usize,
}

/// The first so many inputs that the network gets right; where labels are not known, the first.
pub fn first_seeds(network: &Network, data: &dyn Inputs, count: usize) -> Choice {
    let mut choice = Choice {
        seeds: Seeds::new(Vec::new(), Vec::new(), network.input_elements()),
        misclassified: Vec::new(),
        runs: 0,
    };
    let mut first = 0;
    while choice.seeds.len() < count && first < data.len() {
        let numbers: Vec<usize> = (first..data.len().min(first + BATCH)).collect();
        first += numbers.len();
        choice.look(network, data, &numbers, count);
    }
    choice
}

/// These inputs, whatever the network makes of them; which it gets wrong is told.
pub fn given_seeds(network: &Network, data: &dyn Inputs, indices: &[usize]) -> Choice {
    let mut choice = first_seeds(network, data, 0);
    for numbers in indices.chunks(BATCH) {
        choice.look(network, data, numbers, 0);
    }
    let mut inputs = vec![0.0; indices.len() * network.input_elements()];
    data.gather(indices, &mut inputs);
    choice.seeds = Seeds::new(indices.to_vec(), inputs, network.input_elements());
    choice
}

impl Choice {
    /// Runs inputs if labels are known, and takes those that are right, up to `count` in all.
    fn look(&mut self, network: &Network, data: &dyn Inputs, numbers: &[usize], count: usize) {
        let elements = network.input_elements();
        let mut inputs = vec![0.0; numbers.len() * elements];
        data.gather(numbers, &mut inputs);
        let labels = data.labels().map(|truth| {
            let trace = network.forward(&inputs, &Pass::keep([Point::Logits]));
            self.runs += numbers.len();
            let right = |(sample, &number): (usize, &usize)| {
                usize::try_from(truth[number]) == Ok(label(trace.sample(Point::Logits, sample)))
            };
            numbers.iter().enumerate().map(right).collect::<Vec<_>>()
        });
        for (i, &number) in numbers.iter().enumerate() {
            if count > 0 && self.seeds.len() == count {
                return;
            }
            if labels.as_ref().is_some_and(|right| !right[i]) {
                self.misclassified.push(number);
            } else if count > 0 {
                self.seeds
                    .push(number, &inputs[i * elements..(i + 1) * elements]);
            }
        }
    }
}
