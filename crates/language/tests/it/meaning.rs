//! Sugar means what it stands for, and properties keep their meaning on the way in.

use std::fmt::Write as _;

use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{
    Assignment, Evaluator, Property, RecordedTest, Recording, Requirement, RequirementFile,
    Signature,
};
use proptest::prelude::*;

fn signature() -> Signature {
    Signature::feed_forward([("in", 2), ("relu-1", 4), ("fc", 3), ("out", 2)])
}

fn requirements(text: &str) -> Vec<Requirement> {
    let file = RequirementFile::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let set = file.resolve(&signature());
    let set = set.unwrap_or_else(|error| panic!("{error}"));
    set.iter().map(Result::unwrap).collect()
}

fn printed(text: &str) -> Vec<String> {
    requirements(text)
        .iter()
        .map(Requirement::to_string)
        .collect()
}

#[test]
fn sugar_is_spelled_out() {
    for (sugar, plain) in [
        (
            "exists x: 0 <= u[x][2,0] < 1",
            "exists x: -u[x][2,0] <= 0 and u[x][2,0] - 1 < 0",
        ),
        (
            "exists y: ap[y][\"relu-1\",3] = true",
            "exists x: ap[x][2,3] = true",
        ),
        (
            "exists x: ap[x][fc,0] => false",
            "exists x: not ap[x][3,0] or false",
        ),
        (
            "exists x: ap[x][K-1,0] iff ap[x][2,0]",
            "exists x: ap[x][3,0] = ap[x][2,0]",
        ),
        (
            "exists x: u[x][2,0]/3*3 - u[x][2,1]*2 + 1 > 1",
            "exists x: u[x][2,0] - 2*u[x][2,1] > 0",
        ),
        (
            "exists x: abs(u[x][2,0]) >= 1",
            "exists x: u[x][2,0] - 1 >= 0 or -u[x][2,0] - 1 >= 0",
        ),
        (
            "exists x: abs(u[x][2,0]) <= 1",
            "exists x: -u[x][2,0] + 1 >= 0 and u[x][2,0] + 1 >= 0",
        ),
        (
            "exists x: any{ap[x][2,i] for i in 0..4 if i != 1 and i < 3}",
            "exists x: ap[x][2,0] or ap[x][2,2]",
        ),
        (
            "exists x: |{ap[x][2,i+1] for i in neurons(2) if i < 3}| > 1",
            "exists x: |{ap[x][2,1], ap[x][2,2], ap[x][2,3]}| > 1",
        ),
        ("exists x: u[x][2,0] - u[x][2,0] >= 0", "exists x: 0 >= 0"),
    ] {
        assert_eq!(printed(sugar), [plain], "{sugar}");
    }
}

#[test]
fn families_run_their_last_index_fastest() {
    let text = "require \"f\": for k in {fc, 2}, i in k-1..=k: exists x: ap[x][k, i-1]";
    let names: Vec<String> = requirements(text)
        .into_iter()
        .filter_map(|r| r.name)
        .collect();
    assert_eq!(
        names,
        ["f[k=3, i=2]", "f[k=3, i=3]", "f[k=2, i=1]", "f[k=2, i=2]"]
    );
    assert_eq!(
        printed("for k in layers, i in 5..k: exists x: true").len(),
        0
    );
}

#[test]
fn statements_need_no_line_ends() {
    assert_eq!(
        printed("exists x: true exists\nx:\nfalse;;forall y: true;").len(),
        3
    );
}

#[test]
fn negation_free_formulas_are_recognised() {
    for (formula, negation_free) in [
        ("ap[x1][2,0] != ap[x2][2,0] and dist(x1, x2) < 1", true),
        (
            "|{u[x1][2,0] < 0, x1 in box(0, 1)}| <= 1 or u[x1][2,0] != 0",
            true,
        ),
        ("not ap[x1][2,0]", false),
        ("ap[x1][2,0] => ap[x2][2,0]", false),
        ("(ap[x1][2,0] and ap[x1][2,1]) = ap[x2][2,0]", false),
    ] {
        let requirement = &requirements(&format!("exists x1, x2: {formula}"))[0];
        assert_eq!(requirement.is_dr_plus(), negation_free, "{formula}");
    }
}

#[test]
fn a_forall_is_searched_through_its_negation() {
    let requirement = &requirements("forall x: ap[x][2,0] or v[x][out,0] <= 1")[0];
    assert_eq!(
        requirement.goal().to_string(),
        "u[x1][2,0] < 0 and v[x1][4,0] - 1 > 0"
    );
}

/// A suite of one test with these values in layers 1 and 4.
fn one_test(input: [f32; 2], output: [f32; 2]) -> Recording {
    let layers = vec![vec![0.0; 4], vec![0.0; 3], output.to_vec()];
    Recording {
        tests: vec![RecordedTest {
            input: input.to_vec(),
            u: layers.clone(),
            v: layers,
        }],
    }
}

fn satisfied(requirement: &Requirement, suite: &Recording) -> bool {
    let space = InputSpace::default();
    Evaluator::new(suite, &space).satisfies(&requirement.formula, Assignment::One(0))
}

/// Small integers, whose sums are exact.
fn small() -> impl Strategy<Value = i8> + Clone {
    -3..=3_i8
}

fn numbers() -> impl Strategy<Value = [f32; 2]> {
    [small(), small()].prop_map(|pair| pair.map(f32::from))
}

fn symbol() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["<", "<=", "=", ">=", ">"])
}

fn compares(left: f32, symbol: &str, right: f32) -> bool {
    match symbol {
        "<" => left < right,
        "<=" => left <= right,
        ">=" => left >= right,
        ">" => left > right,
        _ => (left - right).abs() < 0.5,
    }
}

/// A VNN-LIB condition as text, and its truth for the given values of X and Y.
#[derive(Debug, Clone)]
enum Condition {
    Compare(&'static str, [i8; 4], i8),
    Bound(&'static str, usize, i8),
    Join(&'static str, Vec<Condition>),
    Not(Box<Condition>),
}

impl Condition {
    fn text(&self) -> String {
        match self {
            Self::Compare(symbol, [a, b, c, d], e) => {
                format!("({symbol} (+ (* {a} X_0) (* X_1 {b})) (- {e} (* {c} Y_0) (* {d} Y_1)))")
            }
            Self::Bound(symbol, input, limit) => format!("({symbol} X_{input} {limit})"),
            Self::Join(symbol, parts) => {
                let parts: Vec<String> = parts.iter().map(Self::text).collect();
                format!("({symbol} {})", parts.join(" "))
            }
            Self::Not(inner) => format!("(not {})", inner.text()),
        }
    }

    fn holds(&self, x: [f32; 2], y: [f32; 2]) -> bool {
        match self {
            Self::Compare(symbol, factors, constant) => {
                let [a, b, c, d] = factors.map(f32::from);
                let left = a * x[0] + b * x[1];
                compares(left, symbol, f32::from(*constant) - c * y[0] - d * y[1])
            }
            Self::Bound(symbol, input, limit) => compares(x[*input], symbol, f32::from(*limit)),
            Self::Join("and", parts) => parts.iter().all(|part| part.holds(x, y)),
            Self::Join(_, parts) => parts.iter().any(|part| part.holds(x, y)),
            Self::Not(inner) => !inner.holds(x, y),
        }
    }
}

fn condition() -> impl Strategy<Value = Condition> {
    let factors = [small(), small(), small(), small()];
    let compare = (symbol(), factors, small())
        .prop_map(|(symbol, factors, constant)| Condition::Compare(symbol, factors, constant));
    let bound = (symbol(), 0..2_usize, small())
        .prop_map(|(symbol, input, limit)| Condition::Bound(symbol, input, limit));
    prop_oneof![compare, bound].prop_recursive(4, 24, 4, |inner| {
        let join = prop::sample::select(vec!["and", "or"]);
        let parts = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            4 => (join, parts).prop_map(|(symbol, parts)| Condition::Join(symbol, parts)),
            1 => inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_property_means_what_its_text_says(
        conditions in prop::collection::vec(condition(), 0..3),
        points in prop::collection::vec((numbers(), numbers()), 1..8),
    ) {
        let mut text = "(declare-const X_0 Real) (declare-const X_1 Real)
            (declare-const Y_0 Real) (declare-const Y_1 Real)
            (assert (and (<= -2 X_0 2) (<= X_1 2) (>= X_1 -2)))".to_owned();
        for condition in &conditions {
            write!(text, "\n(assert {})", condition.text()).unwrap();
        }
        let requirement = Property::parse(&text).unwrap().requirement(&signature()).unwrap();
        for (x, y) in points {
            let boxed = x.iter().all(|value| value.abs() <= 2.0);
            let expected = boxed && conditions.iter().all(|condition| condition.holds(x, y));
            prop_assert_eq!(satisfied(&requirement, &one_test(x, y)), expected, "{}", text);
        }
    }

    #[test]
    fn absolute_values_mean_what_they_say(
        symbol in symbol(),
        [a, b, c, d] in [small(), small(), small(), small()],
        x in numbers(),
        y in numbers(),
    ) {
        let text = format!(
            "exists x: {a}*abs(v[x][1,0] - {b}) + v[x][1,1] {symbol} {c}*abs(v[x][4,0] + v[x][4,1]) - {d}"
        );
        let [fa, fb, fc, fd] = [a, b, c, d].map(f32::from);
        let left = fa * (x[0] - fb).abs() + x[1];
        let expected = compares(left, symbol, fc * (y[0] + y[1]).abs() - fd);
        let suite = one_test(x, y);
        prop_assert_eq!(satisfied(&requirements(&text)[0], &suite), expected, "{}", text);
    }
}
