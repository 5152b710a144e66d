//! What the end of a run will take: every test run again, verdicts, controls, saving. It is kept back from the search,
//! sized by the suite and by what was measured so far.

use std::collections::BTreeSet;
use std::time::Duration;

use deepconcolic_criteria::Group;
use deepconcolic_network::{Layer, Point};

use crate::prepare::Prepared;

/// What the audit takes beyond the first look at a test, and some of the controls: these run as many inputs, and fewer
/// where there is no time.
const LOOKS: f64 = 1.5;
/// Looks that a pair of tests takes beside: both are run again, and it is told where they lie together.
const PAIR: f64 = 3.0;
/// Seconds that a requirement takes in the end, whatever shows it: counts and notes; and a row of tables and the report,
/// which of pairs only those have that are covered or infeasible.
const REQUIREMENT: f64 = 1e-8;
const ROW: f64 = 4.5e-8;
/// Seconds that a value of a test takes: the suite is packed, written, read back and shown.
const VALUE: f64 = 6e-8;
/// Seconds that a value of a test takes when its nearest reference is looked for, as long as nobody has measured that.
const VERDICT: f64 = 1.5e-7;
/// Seconds that a value of an adversarial test takes beside: it is drawn, and packed once more.
const PICTURE: f64 = 6e-8;
/// Seconds that the file of a picture takes, however small it is.
const FILE: f64 = 2e-4;
/// Most pictures that are drawn.
const MAX_PICTURES: usize = 1000;
/// Seconds that a neuron takes whose range of u is kept: written, read back, shown on the page of its layer.
const NEURON: f64 = 9e-8;
/// Seconds to conclude and save where there is next to nothing: hashes, pages, the disk.
const LEAST: f64 = 0.1;

/// Times and counts of work that the end repeats.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closing {
    /// Seeds measured: each was run, and what it meets was looked up.
    looked: Measured,
    /// Tests judged.
    judged: Measured,
    /// Requirements, and those that have a row in tables whatever becomes of them.
    requirements: usize,
    rows: usize,
    /// Neurons whose range of u is kept.
    neurons: usize,
    /// Values of an input.
    elements: usize,
}

/// What there is of a run when it ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Suite {
    /// Tests, seeds among them.
    pub tests: usize,
    /// Those that are not judged yet.
    pub unjudged: usize,
    /// Those that are adversarial.
    pub adversarial: usize,
    /// Pairs of tests.
    pub pairs: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    seconds: f64,
    count: usize,
}

impl Measured {
    fn add(&mut self, time: Duration, count: usize) {
        self.seconds += time.as_secs_f64();
        self.count += count;
    }

    fn each(self) -> f64 {
        self.seconds / self.count.max(1) as f64
    }
}

impl Closing {
    /// Of a run that has measured nothing yet.
    pub fn of_run(prepared: &Prepared) -> Self {
        let family = prepared.family.as_ref();
        let groups = || family.groups().iter().enumerate();
        let has_rows = |(number, _): &(usize, &Group)| family.pairs(*number).is_none();
        let rows = groups().filter(has_rows).map(|(_, group)| group.slots());
        let layers: BTreeSet<usize> = (family.points().into_iter())
            .filter_map(|point| match point {
                Point::Pre(layer) => Some(layer),
                _ => None,
            })
            .collect();
        let layers = layers
            .iter()
            .map(|&layer| &prepared.network.layers()[layer]);
        Self {
            requirements: groups().map(|(_, group)| group.slots()).sum(),
            rows: rows.sum(),
            neurons: layers.map(Layer::neurons).sum(),
            elements: prepared.network.input_elements(),
            ..Self::default()
        }
    }

    /// So many tests were run and looked at in this time.
    pub fn looked(&mut self, time: Duration, tests: usize) {
        self.looked.add(time, tests);
    }

    /// So many tests were judged in this time.
    pub fn judged(&mut self, time: Duration, tests: usize) {
        self.judged.add(time, tests);
    }

    /// Seconds that the end will take.
    pub fn seconds(&self, suite: Suite) -> f64 {
        let look = self.looked.each();
        let runs = suite.tests as f64 * LOOKS + suite.pairs as f64 * PAIR;
        let verdict = if self.judged.count == 0 {
            // The reference that is found is run where data have no labels.
            look + VERDICT * self.elements as f64
        } else {
            self.judged.each()
        };
        self.saving(suite) + look * runs + verdict * suite.unjudged as f64
    }

    /// Seconds that the end will take however few tests there are.
    pub fn at_least(&self) -> f64 {
        self.saving(Suite::default())
    }

    /// Seconds of it that come last: what is known by then is saved and shown.
    pub fn saving(&self, suite: Suite) -> f64 {
        // What is not judged yet may be adversarial.
        let pictures = (suite.adversarial + suite.unjudged).min(MAX_PICTURES);
        let values = VALUE * suite.tests as f64 + PICTURE * pictures as f64;
        LEAST
            + REQUIREMENT * self.requirements as f64
            + ROW * self.rows as f64
            + NEURON * self.neurons as f64
            + values * self.elements as f64
            + FILE * pictures as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_takes_longer_the_more_there_is_to_look_at() {
        let mut closing = Closing::default();
        closing.looked(Duration::from_secs(2), 4);
        closing.judged(Duration::from_secs(1), 10);
        let ten = Suite {
            tests: 10,
            ..Suite::default()
        };
        let few = closing.seconds(ten);
        assert!((few - LEAST - 0.5 * LOOKS * 10.0).abs() < 1e-9);
        let unjudged = Suite {
            unjudged: 10,
            ..ten
        };
        assert!(closing.seconds(unjudged) > few);
        assert!(closing.seconds(Suite { pairs: 5, ..ten }) > few);
    }

    #[test]
    fn saving_takes_longer_the_more_neurons_and_pictures_there_are() {
        let ten = Suite {
            tests: 10,
            ..Suite::default()
        };
        let of = |neurons, elements| Closing {
            requirements: 100,
            rows: 100,
            neurons,
            elements,
            ..Closing::default()
        };
        let small = of(100, 784);
        let many_neurons = of(10_000_000, 784);
        assert!(many_neurons.saving(ten) > small.saving(ten) + 0.5);
        let large_inputs = of(100, 300_000);
        let plain = large_inputs.saving(ten);
        for drawn in [
            Suite {
                adversarial: 10,
                ..ten
            },
            Suite {
                unjudged: 10,
                ..ten
            },
        ] {
            assert!(large_inputs.saving(drawn) > plain + 0.1);
        }
        let thousand = Suite {
            adversarial: MAX_PICTURES,
            ..ten
        };
        let more = Suite {
            adversarial: 2 * MAX_PICTURES,
            ..ten
        };
        let difference = large_inputs.saving(more) - large_inputs.saving(thousand);
        assert!(difference.abs() < 1e-12);
    }
}
