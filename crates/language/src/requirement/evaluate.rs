//! Truth of a requirement over a suite: the paper's Definition 4.

use deepconcolic_geometry::InputSpace;

use super::{
    Activation, Assignment, Formula, Inputs, Linear, Observations, Quantifier, Requirement, Var,
};

/// Evaluates requirements and formulas over the tests of a suite.
///
/// Arithmetic is in double precision. A comparison of a value that is not a number is false.
///
/// ```
/// use deepconcolic_geometry::InputSpace;
/// use deepconcolic_language::{Assignment, Evaluator, RecordedTest, Recording, RequirementFile, Signature};
///
/// let signature = Signature::feed_forward([("in", 1), ("relu", 2), ("out", 1)]);
/// let suite = Recording {
///     tests: vec![RecordedTest {
///         input: vec![0.5],
///         u: vec![vec![0.0, -1.0], vec![2.0]],
///         v: vec![vec![0.0, 0.0], vec![2.0]],
///     }],
/// };
/// let domain = InputSpace::default();
/// let evaluator = Evaluator::new(&suite, &domain);
///
/// let file = RequirementFile::parse("for i in neurons(2): exists x: ap[x][2,i]").unwrap();
/// let set = file.resolve(&signature).unwrap();
/// assert!(evaluator.holds(&set.get(0).unwrap()));
/// assert!(!evaluator.holds(&set.get(1).unwrap()));
/// assert_eq!(evaluator.decisive(&set.get(0).unwrap()), Some(Assignment::One(0)));
/// ```
#[derive(Debug)]
pub struct Evaluator<'a, O: ?Sized> {
    observations: &'a O,
    space: &'a InputSpace,
}

impl<'a, O: Observations + ?Sized> Evaluator<'a, O> {
    /// An evaluator over these observations; distances are measured in this input space.
    pub fn new(observations: &'a O, space: &'a InputSpace) -> Self {
        Self {
            observations,
            space,
        }
    }

    /// Whether the suite satisfies the requirement. Over no tests at all, an `exists` is false
    /// and a `forall` is true.
    pub fn holds(&self, requirement: &Requirement) -> bool {
        let found = self.decisive(requirement).is_some();
        found == (requirement.quantifier == Quantifier::Exists)
    }

    /// The first tests that decide the requirement: those that satisfy an `exists`, or those that
    /// refute a `forall`.
    pub fn decisive(&self, requirement: &Requirement) -> Option<Assignment> {
        let wanted = requirement.quantifier == Quantifier::Exists;
        self.assignments(requirement.inputs)
            .find(|&assignment| self.satisfies(&requirement.formula, assignment) == wanted)
    }

    /// Every test, or every ordered pair of tests, each paired with itself too.
    pub fn assignments(&self, inputs: Inputs) -> impl Iterator<Item = Assignment> + use<O> {
        let tests = self.observations.tests();
        let seconds = if inputs == Inputs::One { 1 } else { tests };
        (0..tests).flat_map(move |first| {
            (0..seconds).map(move |second| match inputs {
                Inputs::One => Assignment::One(first),
                Inputs::Two => Assignment::Two(first, second),
            })
        })
    }

    /// Whether these tests satisfy the formula.
    pub fn satisfies(&self, formula: &Formula, tests: Assignment) -> bool {
        let satisfied = |part: &Formula| self.satisfies(part, tests);
        match formula {
            Formula::Compare(comparison) => comparison
                .relation
                .holds(&self.linear(&comparison.linear, tests), &0.0),
            Formula::Within { input, region } => {
                region.contains(self.observations.input(tests.test(*input)))
            }
            Formula::Distance {
                norm,
                relation,
                radius,
            } => {
                let (a, b) = self.pair(tests);
                relation.holds(&norm.distance(a, b, self.space), radius)
            }
            Formula::Not(inner) => !satisfied(inner),
            Formula::And(of) => of.iter().all(satisfied),
            Formula::Or(of) => of.iter().any(satisfied),
            Formula::Iff(a, b) => satisfied(a) == satisfied(b),
            Formula::Xor(a, b) => satisfied(a) != satisfied(b),
            Formula::Count {
                of,
                relation,
                count,
            } => relation.holds(&of.iter().filter(|part| satisfied(part)).count(), count),
        }
    }

    /// The value of a sum.
    pub fn linear(&self, linear: &Linear, tests: Assignment) -> f64 {
        let terms = linear.terms.iter();
        terms.fold(linear.constant, |sum, &(coefficient, var)| {
            sum + coefficient * f64::from(self.observed(var, tests))
        })
    }

    fn observed(&self, var: Var, tests: Assignment) -> f32 {
        let test = tests.test(var.input);
        match (var.layer, var.activation) {
            (1, _) => self.observations.input(test)[var.neuron],
            (layer, Activation::Pre) => self.observations.u(test, layer, var.neuron),
            (layer, Activation::Post) => self.observations.v(test, layer, var.neuron),
        }
    }

    fn pair(&self, tests: Assignment) -> (&[f32], &[f32]) {
        let input = |input| self.observations.input(tests.test(input));
        (input(super::Input::First), input(super::Input::Second))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Input, Recording, Relation, arbitrary};
    use super::*;

    /// Definition 4 once more, as slowly and plainly as it can be said.
    fn obvious(formula: &Formula, suite: &Recording, first: usize, second: usize) -> bool {
        let again = |part: &Formula| obvious(part, suite, first, second);
        let test = |input: Input| &suite.tests[if input == Input::First { first } else { second }];
        match formula {
            Formula::Compare(comparison) => {
                let mut left = comparison.linear.constant;
                for (coefficient, var) in &comparison.linear.terms {
                    let test = test(var.input);
                    let values = match var.activation {
                        _ if var.layer == 1 => &test.input,
                        Activation::Pre => &test.u[var.layer - 2],
                        Activation::Post => &test.v[var.layer - 2],
                    };
                    left += coefficient * f64::from(values[var.neuron]);
                }
                compares(left, comparison.relation, 0.0)
            }
            Formula::Within { input, region } => {
                let mut inside = true;
                for (element, &value) in test(*input).input.iter().enumerate() {
                    inside &= f64::from(value) >= region.lower.at(element);
                    inside &= f64::from(value) <= region.upper.at(element);
                }
                inside
            }
            Formula::Distance {
                norm,
                relation,
                radius,
            } => {
                let (a, b) = (&suite.tests[first].input, &suite.tests[second].input);
                let mut gaps = Vec::new();
                for element in 0..a.len() {
                    gaps.push(f64::from((a[element] - b[element]).abs()));
                }
                let squares: f64 = gaps.iter().map(|gap| gap * gap).sum();
                let distance = match norm.name() {
                    "linf" => gaps.into_iter().fold(0.0, f64::max),
                    "l1" => gaps.into_iter().sum(),
                    "l2" => squares.sqrt(),
                    "l0" | "l0-elements" => {
                        gaps.into_iter().filter(|&gap| gap > 0.0).count() as f64
                    }
                    // Any other is held to what it means by the laws of norms.
                    _ => norm.distance(a, b, &InputSpace::default()),
                };
                compares(distance, *relation, *radius)
            }
            Formula::Not(inner) => !again(inner),
            Formula::And(of) => of.iter().filter(|part| !again(part)).count() == 0,
            Formula::Or(of) => of.iter().filter(|part| again(part)).count() > 0,
            Formula::Iff(a, b) => (again(a) && again(b)) || (!again(a) && !again(b)),
            Formula::Xor(a, b) => (again(a) || again(b)) && !(again(a) && again(b)),
            Formula::Count {
                of,
                relation,
                count,
            } => {
                let mut number = 0.0;
                for part in of {
                    if again(part) {
                        number += 1.0;
                    }
                }
                compares(number, *relation, *count as f64)
            }
        }
    }

    fn compares(left: f64, relation: Relation, right: f64) -> bool {
        let (less, greater) = (left < right, left > right);
        match relation {
            Relation::Lt => less,
            Relation::Gt => greater,
            Relation::Eq => !less && !greater,
            Relation::Ne => less || greater,
            Relation::Le => !greater,
            Relation::Ge => !less,
        }
    }

    fn obviously_holds(requirement: &Requirement, suite: &Recording) -> bool {
        let mut some = false;
        let mut every = true;
        for first in 0..suite.tests.len() {
            for second in 0..suite.tests.len() {
                let truth = obvious(&requirement.formula, suite, first, second);
                some |= truth;
                every &= truth;
            }
        }
        match requirement.quantifier {
            Quantifier::Exists => some,
            Quantifier::Forall => every,
        }
    }

    proptest! {
        #[test]
        fn the_evaluator_agrees_with_the_obvious_one(
            requirement in arbitrary::requirement(),
            suite in arbitrary::recording(0..4),
        ) {
            let space = InputSpace::default();
            let holds = Evaluator::new(&suite, &space).holds(&requirement);
            prop_assert_eq!(holds, obviously_holds(&requirement, &suite));
        }

        #[test]
        fn one_more_test_never_uncovers_and_order_does_not_matter(
            requirement in arbitrary::requirement(),
            suite in arbitrary::recording(1..5),
        ) {
            let space = InputSpace::default();
            let holds = |suite: &Recording| Evaluator::new(suite, &space).holds(&requirement);
            let mut turned = suite.clone();
            turned.tests.reverse();
            prop_assert_eq!(holds(&suite), holds(&turned));
            let mut smaller = suite.clone();
            smaller.tests.pop();
            match requirement.quantifier {
                Quantifier::Exists => prop_assert!(holds(&suite) || !holds(&smaller)),
                Quantifier::Forall => prop_assert!(holds(&smaller) || !holds(&suite)),
            }
        }
    }

    #[test]
    fn pairs_are_ordered_and_a_test_may_be_paired_with_itself() {
        let suite = Recording {
            tests: vec![crate::RecordedTest::default(); 2],
        };
        let space = InputSpace::default();
        let evaluator = Evaluator::new(&suite, &space);
        let pairs: Vec<Assignment> = evaluator.assignments(Inputs::Two).collect();
        let expected = [(0, 0), (0, 1), (1, 0), (1, 1)];
        assert_eq!(pairs, expected.map(|(a, b)| Assignment::Two(a, b)));
    }
}
