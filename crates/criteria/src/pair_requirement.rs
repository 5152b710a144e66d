//! What a requirement of a pair criterion means, as plain data: between two inputs a condition and a decision
//! change, and other signs stay. Whoever counts, searches, judges or proves pairs reads it here; nobody
//! writes it down again.

use std::iter;
use std::sync::Arc;

use deepconcolic_language::{Formula, Input, Linear, Observations, Relation, Var};

/// How a condition or a decision must change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// ap differs.
    Sign,
    /// |u| grows by this factor at least, from a value that is not 0, and ap stays.
    Value(f64),
}

/// What is asked of a single neuron between `x1` and `x2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Contrast {
    /// ap differs.
    SignChanges,
    /// ap is the same.
    SignStays,
    /// `|u[x2]|` is at least this many times `|u[x1]|`, and `u[x1]` is not 0.
    Grows(f64),
}

impl Change {
    /// All that a neuron which changes so must show.
    pub fn contrasts(self) -> impl Iterator<Item = Contrast> {
        let (first, second) = match self {
            Self::Sign => (Contrast::SignChanges, None),
            Self::Value(factor) => (Contrast::Grows(factor), Some(Contrast::SignStays)),
        };
        iter::once(first).chain(second)
    }

    /// Whether a neuron with these values on the two inputs changes so.
    pub fn happens(self, first: f32, second: f32) -> bool {
        self.contrasts()
            .all(|contrast| contrast.holds(first, second))
    }

    fn formula(self, layer: usize, neuron: usize) -> Formula {
        match self {
            Self::Sign => {
                let [first, second] = active_on_both(layer, neuron);
                Formula::Xor(first, second)
            }
            Self::Value(factor) => value_change(layer, neuron, factor),
        }
    }
}

impl Contrast {
    /// Whether a neuron with these values on the two inputs shows it.
    pub fn holds(self, first: f32, second: f32) -> bool {
        let same_sign = (first >= 0.0) == (second >= 0.0);
        match self {
            Self::SignChanges => !same_sign,
            Self::SignStays => same_sign,
            Self::Grows(factor) => {
                first != 0.0 && f64::from(second).abs() >= factor * f64::from(first).abs()
            }
        }
    }
}

/// A neuron of a hidden layer, and how it must change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changing {
    /// The hidden layer, `0..`.
    pub layer: usize,
    /// The neuron.
    pub neuron: usize,
    /// Its change.
    pub change: Change,
}

/// The neurons of the condition's layer whose signs stay, next to those that change.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// All of the layer, which has so many.
    Layer(usize),
    /// The conditions of the decision, in ascending order.
    Field(Arc<[usize]>),
}

/// One requirement of a pair criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRequirement {
    /// The neuron of the earlier layer.
    pub condition: Changing,
    /// The neuron of the layer that follows.
    pub decision: Changing,
    /// Whose signs stay in the condition's layer.
    pub kept: Kept,
}

impl PairRequirement {
    /// The neurons of the condition's layer other than the condition whose signs stay, in ascending order.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        let (all, some) = match &self.kept {
            Kept::Layer(neurons) => (0..*neurons, &[][..]),
            Kept::Field(neurons) => (0..0, &neurons[..]),
        };
        let neurons = all.chain(some.iter().copied());
        neurons.filter(|&neuron| neuron != self.condition.neuron)
    }

    fn is_other(&self, neuron: usize) -> bool {
        let inside = match &self.kept {
            Kept::Layer(neurons) => neuron < *neurons,
            Kept::Field(neurons) => neurons.binary_search(&neuron).is_ok(),
        };
        inside && neuron != self.condition.neuron
    }

    /// All that is asked: hidden layer, neuron, and what it must show.
    pub fn contrasts(&self) -> impl Iterator<Item = (usize, usize, Contrast)> + '_ {
        let changing = |of: &Changing| {
            let (layer, neuron) = (of.layer, of.neuron);
            let contrasts = of.change.contrasts();
            contrasts.map(move |contrast| (layer, neuron, contrast))
        };
        let layer = self.condition.layer;
        let others = self.others();
        changing(&self.condition)
            .chain(others.map(move |neuron| (layer, neuron, Contrast::SignStays)))
            .chain(changing(&self.decision))
    }

    /// Whether the first two tests meet it, as `x1` and `x2`.
    pub fn judge<O: Observations + ?Sized>(&self, tests: &O) -> bool {
        self.contrasts().all(|(layer, neuron, contrast)| {
            let [first, second] = [0, 1].map(|test| tests.u(test, layer + 2, neuron));
            contrast.holds(first, second)
        })
    }

    /// It as a formula on two inputs.
    pub fn formula(&self) -> Formula {
        self.conjunction(self.others())
    }

    /// The formula where, of the signs that stay, only those of some neurons are asked about. Fewer make it
    /// easier to meet.
    pub fn formula_about(&self, neurons: &[usize]) -> Formula {
        let others = neurons.iter().copied();
        self.conjunction(others.filter(|&neuron| self.is_other(neuron)))
    }

    fn conjunction(&self, others: impl Iterator<Item = usize>) -> Formula {
        let change = |of: &Changing| of.change.formula(of.layer, of.neuron);
        let mut parts = vec![change(&self.condition)];
        parts.extend(others.map(|neuron| {
            let [first, second] = active_on_both(self.condition.layer, neuron);
            Formula::Iff(first, second)
        }));
        parts.push(change(&self.decision));
        Formula::And(parts)
    }
}

fn active_on_both(layer: usize, neuron: usize) -> [Box<Formula>; 2] {
    [Input::First, Input::Second].map(|input| Box::new(Formula::active(input, layer + 2, neuron)))
}

/// |u2| >= factor |u1|, u1 is not 0, and the sign stays.
fn value_change(layer: usize, neuron: usize, factor: f64) -> Formula {
    let u = |input, weight: f64| Linear::variable(Var::u(input, layer + 2, neuron)).scaled(weight);
    let case = |sign: f64, kept: Relation| {
        let mut grown = u(Input::Second, sign);
        grown.add(-factor, &u(Input::First, sign));
        Formula::And(vec![
            Formula::compare(u(Input::First, sign), Relation::Gt),
            Formula::compare(u(Input::Second, sign), kept),
            Formula::compare(grown, Relation::Ge),
        ])
    };
    Formula::Or(vec![case(1.0, Relation::Ge), case(-1.0, Relation::Gt)])
}

#[cfg(test)]
mod tests {
    use deepconcolic_geometry::InputSpace;
    use deepconcolic_language::{Assignment, Evaluator, RecordedTest, Recording};

    use super::*;

    /// Values on both sides of 0, at 0, and a factor of 2 apart.
    const VALUES: [f32; 7] = [-2.0, -1.0, -0.0, 0.0, 1.0, 1.5, 2.0];

    /// Two neurons of the first hidden layer and one of the second, on two inputs.
    fn recorded(values: [[f32; 3]; 2]) -> Recording {
        let test = |[a, b, c]: [f32; 3]| RecordedTest {
            input: Vec::new(),
            u: vec![vec![a, b], vec![c]],
            v: vec![vec![a, b], vec![c]],
        };
        Recording {
            tests: values.map(test).to_vec(),
        }
    }

    fn pair(condition: Change, decision: Change, kept: Kept) -> PairRequirement {
        let changing = |layer: usize, change: Change| Changing {
            layer,
            neuron: 0,
            change,
        };
        PairRequirement {
            condition: changing(0, condition),
            decision: changing(1, decision),
            kept,
        }
    }

    #[test]
    fn judging_and_the_formula_agree_on_all_values() {
        let space = InputSpace::default();
        let changes = [Change::Sign, Change::Value(2.0)];
        let mut met = [0, 0];
        for condition in changes {
            for decision in changes {
                for kept in [Kept::Layer(2), Kept::Field(Arc::new([0]))] {
                    let pair = pair(condition, decision, kept);
                    let formula = pair.formula();
                    let values = VALUES.iter().flat_map(|&a| VALUES.map(|b| (a, b)));
                    let all: Vec<(f32, f32)> = values.collect();
                    for (&(a, b), &(c, d)) in
                        all.iter().flat_map(|x| all.iter().map(move |y| (x, y)))
                    {
                        for other in [1.0, -1.0] {
                            let tests = recorded([[a, 1.0, c], [b, other, d]]);
                            let evaluator = Evaluator::new(&tests, &space);
                            let satisfied = evaluator.satisfies(&formula, Assignment::Two(0, 1));
                            assert_eq!(pair.judge(&tests), satisfied, "{pair:?} {tests:?}");
                            met[usize::from(satisfied)] += 1;
                        }
                    }
                }
            }
        }
        assert!(met[1] > 1000, "{met:?}");
    }

    #[test]
    fn only_the_neurons_in_scope_are_asked_to_keep_their_sign() {
        let layer = pair(Change::Sign, Change::Sign, Kept::Layer(4));
        assert_eq!(layer.others().collect::<Vec<_>>(), [1, 2, 3]);
        let field = pair(
            Change::Value(2.0),
            Change::Sign,
            Kept::Field(Arc::new([0, 2])),
        );
        assert_eq!(field.others().collect::<Vec<_>>(), [2]);
        // Neurons that are not kept, or not asked about, take no part.
        assert_eq!(field.formula_about(&[0, 1, 2, 3]), field.formula());
        assert_eq!(
            layer.formula_about(&[2, 9]),
            pair(Change::Sign, Change::Sign, Kept::Field(Arc::new([2]))).formula()
        );
    }
}
