//! Choosing seeds: inputs of the data that the network gets right.

use deepconcolic_criteria::{Decision, Prediction};
use deepconcolic_network::{Network, Pass, Point};

use crate::Inputs;
use crate::limits::Limits;
use crate::portion;
use crate::suite::Seeds;

/// Inputs run at a time, at most.
const BATCH: usize = 64;

/// The seeds of a run and what it took to find them.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The seeds.
    pub seeds: Seeds,
    /// Inputs looked at that the network gets wrong.
    pub misclassified: Vec<usize>,
    /// Inputs looked at for which an output is NaN or infinite: never seeds.
    pub not_finite: Vec<usize>,
    /// Inputs run.
    pub runs: usize,
    /// Whether a limit ended the choice before all that were asked for were found.
    pub cut: bool,
}

/// How the network's answer for an input compares with its label.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// As the label says, or there is none to compare with.
    Right,
    Wrong,
    NotFinite,
}

/// The first so many inputs that the network gets right; where labels are not known, or nobody has said how
/// outputs are read, the first. When time is up, those that were found; some are looked at in any case.
pub fn first_seeds(
    network: &Network,
    data: &dyn Inputs,
    decision: &Decision,
    count: usize,
    limits: &Limits<'_>,
) -> Choice {
    let mut choice = Choice::empty(network);
    let batch = BATCH.min(portion::passes(network));
    let mut first = 0;
    while choice.seeds.len() < count && first < data.len() {
        if first > 0 && limits.is_over() {
            choice.cut = true;
            break;
        }
        let numbers: Vec<usize> = (first..data.len().min(first + batch)).collect();
        first += numbers.len();
        let standings = choice.look(network, data, decision, &numbers);
        for (&number, standing) in numbers.iter().zip(standings) {
            if choice.seeds.len() == count {
                break;
            }
            match standing {
                Standing::Right => choice.take(data, number),
                Standing::Wrong => choice.misclassified.push(number),
                Standing::NotFinite => choice.not_finite.push(number),
            }
        }
    }
    choice
}

/// These inputs, right or wrong; which the network gets wrong is told. Those without an answer are left
/// out. When time is up, those that were run; some are in any case.
pub fn given_seeds(
    network: &Network,
    data: &dyn Inputs,
    decision: &Decision,
    indices: &[usize],
    limits: &Limits<'_>,
) -> Choice {
    let mut choice = Choice::empty(network);
    for numbers in indices.chunks(BATCH.min(portion::passes(network))) {
        if choice.runs > 0 && limits.is_over() {
            choice.cut = true;
            break;
        }
        let standings = choice.look(network, data, decision, numbers);
        for (&number, standing) in numbers.iter().zip(standings) {
            match standing {
                Standing::NotFinite => choice.not_finite.push(number),
                Standing::Wrong => {
                    choice.misclassified.push(number);
                    choice.take(data, number);
                }
                Standing::Right => choice.take(data, number),
            }
        }
    }
    choice
}

impl Choice {
    fn empty(network: &Network) -> Self {
        Self {
            seeds: Seeds::new(Vec::new(), Vec::new(), network.input_elements()),
            misclassified: Vec::new(),
            not_finite: Vec::new(),
            runs: 0,
            cut: false,
        }
    }

    fn take(&mut self, data: &dyn Inputs, number: usize) {
        let mut input = vec![0.0; self.seeds.elements()];
        data.gather(&[number], &mut input);
        self.seeds.push(number, &input);
    }

    /// Runs inputs and compares with their labels.
    fn look(
        &mut self,
        network: &Network,
        data: &dyn Inputs,
        decision: &Decision,
        numbers: &[usize],
    ) -> Vec<Standing> {
        let mut inputs = vec![0.0; numbers.len() * network.input_elements()];
        data.gather(numbers, &mut inputs);
        let trace = network.forward(&inputs, &Pass::keep([Point::Logits]));
        self.runs += numbers.len();
        let standing = |(sample, &number): (usize, &usize)| {
            let prediction = decision.predict(trace.sample(Point::Logits, sample));
            match data.truth(number) {
                _ if prediction == Prediction::NotFinite => Standing::NotFinite,
                Some(truth) if !decision.agrees(&prediction, &truth) => Standing::Wrong,
                _ => Standing::Right,
            }
        };
        numbers.iter().enumerate().map(standing).collect()
    }
}
