//! Random requirements with every index resolved, and suites to evaluate them on.

use deepconcolic_geometry::Norm;
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{
    Activation, Bound, Formula, Input, InputBox, Inputs, Linear, Quantifier, RecordedTest,
    Recording, Relation, Requirement, Var,
};
use crate::signature::Signature;

/// The network all random requirements speak of.
pub fn signature() -> Signature {
    Signature::feed_forward([
        ("in", SIZES[0]),
        ("a", SIZES[1]),
        ("b", SIZES[2]),
        ("out", SIZES[3]),
    ])
}

const SIZES: [usize; 4] = [3, 4, 3, 2];

/// Few values, so that ties and equalities happen all the time.
fn grid() -> impl Strategy<Value = f64> + Clone {
    (-4..=4_i32).prop_map(|quarter| f64::from(quarter) / 4.0)
}

pub fn relation() -> impl Strategy<Value = Relation> + Clone {
    use Relation::{Eq, Ge, Gt, Le, Lt, Ne};
    prop::sample::select(vec![Lt, Le, Eq, Ne, Ge, Gt])
}

/// Relations without the two that a value of 0 decides.
fn order() -> impl Strategy<Value = Relation> + Clone {
    use Relation::{Ge, Gt, Le, Lt};
    prop::sample::select(vec![Lt, Le, Ge, Gt])
}

fn input(inputs: Inputs) -> BoxedStrategy<Input> {
    match inputs {
        Inputs::One => Just(Input::First).boxed(),
        Inputs::Two => prop::sample::select(vec![Input::First, Input::Second]).boxed(),
    }
}

fn var(inputs: Inputs) -> impl Strategy<Value = Var> + Clone {
    let neuron = (1..=SIZES.len()).prop_flat_map(|layer| (Just(layer), 0..SIZES[layer - 1]));
    let pre = prop::sample::select(vec![Activation::Pre, Activation::Post]);
    let drawn = (input(inputs), pre, neuron);
    drawn.prop_map(|(input, activation, (layer, neuron))| Var {
        input,
        activation,
        layer,
        neuron,
    })
}

fn linear(inputs: Inputs) -> impl Strategy<Value = Linear> + Clone {
    let terms = vec((grid(), var(inputs)), 0..4);
    let drawn = (terms, grid());
    drawn.prop_map(|(terms, constant)| Linear { terms, constant }.simplified())
}

fn atom(
    inputs: Inputs,
    relation: impl Strategy<Value = Relation> + Clone + 'static,
) -> BoxedStrategy<Formula> {
    let compare = (linear(inputs), relation.clone())
        .prop_map(|(linear, relation)| Formula::compare(linear, relation));
    let uniform = grid().prop_map(Bound::Uniform);
    let lower = vec(grid(), SIZES[0]).prop_map(|list| Bound::PerElement(list.into()));
    let within = (input(inputs), prop_oneof![uniform, lower]).prop_map(|(input, lower)| {
        let upper = Bound::Uniform(1.0);
        let region = InputBox { lower, upper };
        Formula::Within { input, region }
    });
    let norms = prop::sample::select(Norm::ALL.to_vec());
    let distance =
        (norms, relation, grid()).prop_map(|(norm, relation, radius)| Formula::Distance {
            norm,
            relation,
            radius,
        });
    match inputs {
        Inputs::One => prop_oneof![6 => compare, 1 => within].boxed(),
        Inputs::Two => prop_oneof![6 => compare, 1 => within, 1 => distance].boxed(),
    }
}

fn formula_over(
    inputs: Inputs,
    relation: impl Strategy<Value = Relation> + Clone + 'static,
) -> BoxedStrategy<Formula> {
    let counted = relation.clone();
    atom(inputs, relation)
        .prop_recursive(4, 24, 4, move |inner| {
            let boxed = inner.clone().prop_map(Box::new);
            prop_oneof![
                boxed.clone().prop_map(Formula::Not),
                vec(inner.clone(), 0..4).prop_map(Formula::And),
                vec(inner.clone(), 0..4).prop_map(Formula::Or),
                (boxed.clone(), boxed.clone()).prop_map(|(a, b)| Formula::Iff(a, b)),
                (boxed.clone(), boxed).prop_map(|(a, b)| Formula::Xor(a, b)),
                (vec(inner, 0..5), counted.clone(), 0_usize..6).prop_map(
                    |(of, relation, count)| Formula::Count {
                        of,
                        relation,
                        count
                    }
                ),
            ]
        })
        .prop_filter("nested too deep for the language", |formula| {
            doublings(formula) <= 3
        })
        .boxed()
}

fn doublings(formula: &Formula) -> usize {
    let deepest = |of: &[Formula]| of.iter().map(doublings).max().unwrap_or(0);
    match formula {
        Formula::Compare(_) | Formula::Within { .. } | Formula::Distance { .. } => 0,
        Formula::Not(inner) => doublings(inner),
        Formula::And(of) | Formula::Or(of) => deepest(of),
        Formula::Iff(a, b) | Formula::Xor(a, b) => 1 + doublings(a).max(doublings(b)),
        Formula::Count { of, .. } => 1 + deepest(of),
    }
}

/// Any formula.
pub fn formula(inputs: Inputs) -> BoxedStrategy<Formula> {
    formula_over(inputs, relation())
}

/// A formula without `=` and `!=` between numbers.
pub fn ordered_formula(inputs: Inputs) -> BoxedStrategy<Formula> {
    formula_over(inputs, order())
}

fn inputs() -> impl Strategy<Value = Inputs> {
    prop::sample::select(vec![Inputs::One, Inputs::Two])
}

pub fn requirement() -> impl Strategy<Value = Requirement> {
    let name = prop::option::of(".*");
    let quantifier = prop::sample::select(vec![Quantifier::Exists, Quantifier::Forall]);
    let quantified = inputs().prop_flat_map(|inputs| (Just(inputs), formula(inputs)));
    let drawn = (name, quantifier, quantified);
    drawn.prop_map(|(name, quantifier, (inputs, formula))| Requirement {
        name,
        quantifier,
        inputs,
        formula,
    })
}

/// A suite of `tests` tests. u and v are unrelated: evaluation must not lean on a relation.
pub fn recording(tests: std::ops::Range<usize>) -> impl Strategy<Value = Recording> {
    let value = || grid().prop_map(|value| value as f32);
    let layers = move || {
        let sizes = &SIZES[1..];
        sizes
            .iter()
            .map(|&size| vec(value(), size))
            .collect::<Vec<_>>()
    };
    let test = (vec(value(), SIZES[0]), layers(), layers());
    let test = test.prop_map(|(input, u, v)| RecordedTest { input, u, v });
    vec(test, tests).prop_map(|tests| Recording { tests })
}

pub fn means() -> impl Strategy<Value = Vec<f64>> {
    vec(0.0..3.0_f64, SIZES.len())
}
