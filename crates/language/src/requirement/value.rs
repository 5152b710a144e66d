//! The ranking value: how near a formula is to being true, one rule for every formula.
//!
//! It generalises the heuristics of the paper's Section 7.1: a comparison is worth its left side,
//! scaled by how large the values of its layers usually are; conjunction takes the smallest part,
//! disjunction the largest, negation swaps the sign.

use super::{
    Assignment, Comparison, Evaluator, Formula, Linear, Observations, Quantifier, Relation,
    Requirement,
};

/// The tests that come nearest to settling a requirement, and how near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The value of the formula searched for; above 0 it is true, below 0 it is false.
    pub value: f64,
    /// The tests that have it.
    pub tests: Assignment,
}

impl<O: Observations + ?Sized> Evaluator<'_, O> {
    /// The value of a formula for these tests. Above 0 the formula is true, below 0 it is false;
    /// at 0, which a strict and a non-strict comparison share, ask
    /// [`satisfies`](Evaluator::satisfies).
    ///
    /// `means[k - 1]` is the mean |u| of layer k over a data sample (|x| for layer 1). An atom is
    /// divided by the sum of |coefficient| times mean |u| of its terms; where that is no positive
    /// number, or there are no terms, it is left as it is.
    ///
    /// Region and distance conditions filter: a test that breaks one is worth minus infinity and
    /// one that keeps it is worth plus infinity, which takes no part in the minimum.
    pub fn value(&self, formula: &Formula, tests: Assignment, means: &[f64]) -> f64 {
        let value = |part: &Formula| self.value(part, tests, means);
        match formula {
            Formula::Compare(comparison) => self.atom(comparison, tests, means),
            Formula::Within { .. } | Formula::Distance { .. } => {
                if self.satisfies(formula, tests) {
                    f64::INFINITY
                } else {
                    f64::NEG_INFINITY
                }
            }
            Formula::Not(inner) => -value(inner),
            Formula::And(of) => of.iter().map(value).fold(f64::INFINITY, f64::min),
            Formula::Or(of) => of.iter().map(value).fold(f64::NEG_INFINITY, f64::max),
            Formula::Iff(a, b) => alike(value(a), value(b)),
            Formula::Xor(a, b) => -alike(value(a), value(b)),
            Formula::Count {
                of,
                relation,
                count,
            } => cardinality(of.iter().map(value).collect(), *relation, *count),
        }
    }

    /// The tests of the suite that are worth most to a search for this requirement; for a `forall`
    /// those nearest to refuting it. The first of equals; none when every test is filtered out.
    pub fn best(&self, requirement: &Requirement, means: &[f64]) -> Option<Ranked> {
        let sign = match requirement.quantifier {
            Quantifier::Exists => 1.0,
            Quantifier::Forall => -1.0,
        };
        self.assignments(requirement.inputs)
            .map(|tests| Ranked {
                value: sign * self.value(&requirement.formula, tests, means),
                tests,
            })
            .filter(|ranked| ranked.value > f64::NEG_INFINITY)
            .reduce(|best, next| if next.value > best.value { next } else { best })
    }

    fn atom(&self, comparison: &Comparison, tests: Assignment, means: &[f64]) -> f64 {
        let left = self.linear(&comparison.linear, tests) / scale(&comparison.linear, means);
        if left.is_nan() {
            return f64::NEG_INFINITY;
        }
        match comparison.relation {
            Relation::Ge | Relation::Gt => left,
            Relation::Le | Relation::Lt => -left,
            Relation::Eq => -left.abs(),
            Relation::Ne => left.abs(),
        }
    }
}

/// The sum of |coefficient| times mean |u|; for one layer, the paper's 1 / `c_k`.
fn scale(linear: &Linear, means: &[f64]) -> f64 {
    let mean = |layer: usize| means.get(layer.wrapping_sub(1)).copied().unwrap_or(0.0);
    let sum: f64 = linear
        .terms
        .iter()
        .map(|&(coefficient, var)| coefficient.abs() * mean(var.layer))
        .sum();
    if sum > 0.0 && sum.is_finite() {
        sum
    } else {
        1.0
    }
}

/// `(a and b) or (not a and not b)`
fn alike(a: f64, b: f64) -> f64 {
    a.min(b).max((-a).min(-b))
}

fn cardinality(mut values: Vec<f64>, relation: Relation, count: usize) -> f64 {
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    // The value of "at least `count` are true" is the `count`-th largest.
    let at_least = |count: usize| match count.checked_sub(1) {
        None => f64::INFINITY,
        Some(last) => values.get(last).copied().unwrap_or(f64::NEG_INFINITY),
    };
    let more = count.saturating_add(1);
    match relation {
        Relation::Ge => at_least(count),
        Relation::Gt => at_least(more),
        Relation::Le => -at_least(more),
        Relation::Lt => -at_least(count),
        Relation::Eq => at_least(count).min(-at_least(more)),
        Relation::Ne => (-at_least(count)).max(at_least(more)),
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use deepconcolic_geometry::InputSpace;
    use proptest::prelude::*;

    use super::super::{Input, Inputs, RecordedTest, Recording, RequirementFile, Var, arbitrary};
    use super::*;

    proptest! {
        #[test]
        fn the_sign_of_the_value_tells_the_truth(
            formula in arbitrary::ordered_formula(Inputs::Two),
            suite in arbitrary::recording(2..3),
            means in arbitrary::means(),
        ) {
            let space = InputSpace::default();
            let evaluator = Evaluator::new(&suite, &space);
            let tests = Assignment::Two(1, 0);
            let value = evaluator.value(&formula, tests, &means);
            let truth = evaluator.satisfies(&formula, tests);
            prop_assert!(value <= 0.0 || truth);
            prop_assert!(value >= 0.0 || !truth);
        }

        #[test]
        fn the_best_value_does_not_depend_on_the_order_of_tests(
            requirement in arbitrary::requirement(),
            suite in arbitrary::recording(0..4),
            means in arbitrary::means(),
        ) {
            let space = InputSpace::default();
            let best = |suite: &Recording| {
                let ranked = Evaluator::new(suite, &space).best(&requirement, &means);
                ranked.map(|ranked| ranked.value)
            };
            let mut turned = suite.clone();
            turned.tests.reverse();
            prop_assert_eq!(best(&suite), best(&turned));
        }
    }

    /// The values of each requirement of a text, for one test: u of layer 2 is (-2, 1), of layer
    /// 3 (10, -30); mean |u| is 4 in layer 2 and 20 in layer 3.
    fn values(text: &str) -> Vec<f64> {
        let suite = Recording {
            tests: vec![RecordedTest {
                input: vec![0.25],
                u: vec![vec![-2.0, 1.0], vec![10.0, -30.0]],
                v: vec![vec![0.0, 1.0], vec![10.0, -30.0]],
            }],
        };
        let space = InputSpace::default();
        let evaluator = Evaluator::new(&suite, &space);
        let signature = crate::Signature::feed_forward([("in", 1), ("relu", 2), ("out", 2)]);
        let set = RequirementFile::parse(text)
            .unwrap()
            .resolve(&signature)
            .unwrap();
        set.iter()
            .map(|requirement| {
                let formula = requirement.unwrap().formula;
                evaluator.value(&formula, Assignment::One(0), &[1.0, 4.0, 20.0])
            })
            .collect()
    }

    #[test]
    fn values_are_the_heuristics_of_the_paper() {
        // Neuron coverage c_k u, and boundary coverage c_k (u - h) and c_k (l - u).
        assert_eq!(values("for i in 0..2: exists x: ap[x][2,i]"), [-0.5, 0.25]);
        assert_eq!(values("exists x: u[x][2,0] > 4"), [-1.5]);
        assert_eq!(values("exists x: u[x][3,1] < -10"), [1.0]);
    }

    #[test]
    fn an_atom_over_several_layers_is_divided_by_all_their_scales() {
        // (2*10 - (-2)) / (2*20 + 4)
        assert_eq!(values("exists x: 2*u[x][3,0] - u[x][2,0] >= 0"), [0.5]);
        assert_eq!(values("exists x: u[x][2,0] = 0"), [-0.5]);
    }

    #[test]
    fn regions_filter_and_take_no_part_in_the_minimum() {
        let inside = "exists x: x in box(0, 1) and ap[x][3,0]";
        let outside = "exists x: x in box(0.5, 1) and ap[x][3,0]";
        assert_eq!(values(inside), [0.5]);
        assert_eq!(values(outside), [f64::NEG_INFINITY]);
    }

    #[test]
    fn a_cardinality_is_worth_its_qth_largest_part() {
        let count = |q| format!("|{{ap[x][2,0], ap[x][2,1], ap[x][3,0], ap[x][3,1]}}| {q}");
        let value = |q| values(&format!("exists x: {}", count(q)))[0];
        // The parts are worth 0.5, 0.25, -0.5, -1.5.
        assert_eq!(value(">= 1"), 0.5);
        assert_eq!(value(">= 3"), -0.5);
        assert_eq!(value("> 3"), -1.5);
        assert_eq!(value("<= 2"), 0.5);
        assert_eq!(value("= 2"), 0.25);
        assert_eq!(value(">= 0"), f64::INFINITY);
        assert_eq!(value(">= 5"), f64::NEG_INFINITY);
    }

    #[test]
    fn a_value_that_is_no_number_ranks_last() {
        let suite = Recording {
            tests: vec![RecordedTest {
                input: vec![f32::NAN],
                ..RecordedTest::default()
            }],
        };
        let space = InputSpace::default();
        let evaluator = Evaluator::new(&suite, &space);
        let nan = Linear::variable(Var::v(Input::First, 1, 0));
        let formula = Formula::compare(nan, Relation::Ge);
        let value = evaluator.value(&formula, Assignment::One(0), &[]);
        assert_eq!(value, f64::NEG_INFINITY);
        assert!(!evaluator.satisfies(&formula, Assignment::One(0)));
    }
}
