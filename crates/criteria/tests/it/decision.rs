//! What a network's answer is, on networks that pass their inputs on.

use deepconcolic_criteria::{Decision, Prediction, Rule, Truth};
use deepconcolic_network::ops::{Dense, Elementwise, Sigmoid, Softmax};
use deepconcolic_network::{Network, NetworkBuilder, Shape};
use deepconcolic_testing::Random;

#[derive(Clone, Copy)]
enum End {
    Plain,
    Sigmoid,
    Softmax,
}

/// As many inputs as outputs, which are the logits.
fn identity(outputs: usize, end: End) -> Network {
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, outputs]).unwrap());
    let mut weights = vec![0.0; outputs * outputs];
    (0..outputs).for_each(|i| weights[i * outputs + i] = 1.0);
    let dense = Dense::new(outputs, outputs, weights, vec![0.0; outputs]).unwrap();
    let mut y = builder.add(dense, &[x], "y").unwrap();
    y = match end {
        End::Plain => y,
        End::Sigmoid => builder.add(Elementwise::new(Sigmoid), &[y], "p").unwrap(),
        End::Softmax => builder.add(Softmax::new(1), &[y], "p").unwrap(),
    };
    builder.finish(&[("y", y)], 0).unwrap()
}

fn decide(outputs: usize, end: End, rule: &str) -> Result<Decision, String> {
    Decision::of(&identity(outputs, end), Some(rule.parse().unwrap()))
}

#[test]
fn a_rule_is_guessed_only_where_the_model_shows_it() {
    let shown = |outputs, end| Decision::shown(&identity(outputs, end)).rule();
    assert_eq!(shown(3, End::Plain), Some(Rule::Argmax));
    assert_eq!(shown(3, End::Sigmoid), Some(Rule::Argmax));
    assert_eq!(shown(3, End::Softmax), Some(Rule::Argmax));
    assert_eq!(shown(1, End::Sigmoid), Some(Rule::Threshold(0.5)));
    assert_eq!(shown(1, End::Plain), None);
    let unread = Decision::shown(&identity(1, End::Plain));
    assert_eq!(unread.predict(&[2.0]), Prediction::Unstated);
    assert!(unread.departure(&[2.0]).unwrap_err().contains("--decision"));
}

#[test]
fn rules_that_do_not_fit_are_refused() {
    for (outputs, end, rule, way_out) in [
        (1, End::Plain, "argmax", "threshold:T"),
        (3, End::Plain, "threshold:0", "argmax"),
        (1, End::Sigmoid, "threshold:0", "between 0 and 1"),
        (1, End::Sigmoid, "threshold:1", "between 0 and 1"),
        (3, End::Softmax, "within:1", "argmax"),
    ] {
        let message = decide(outputs, end, rule).unwrap_err();
        assert!(message.contains(way_out), "{rule}: {message}");
    }
}

#[test]
fn a_threshold_is_reached_where_it_is_met() {
    let plain = decide(1, End::Plain, "threshold:2").unwrap();
    let class = |decision: &Decision, logit: f32| decision.predict(&[logit]).label();
    assert_eq!([1.9, 2.0, 2.1].map(|z| class(&plain, z)), [0, 1, 1]);
    let half = decide(1, End::Sigmoid, "threshold:0.5").unwrap();
    assert_eq!([-1e-30, 0.0, 1e-30].map(|z| class(&half, z)), [0, 1, 1]);
    // The logit of 0.9 is 2.19722...
    let high = decide(1, End::Sigmoid, "threshold:0.9").unwrap();
    assert_eq!([2.19, 2.2].map(|z| class(&high, z)), [0, 1]);
}

#[test]
fn the_first_of_equal_outputs_is_the_class() {
    let decision = Decision::shown(&identity(3, End::Plain));
    assert_eq!(decision.predict(&[1.0, 2.0, 2.0]), Prediction::Class(1));
    let departure = decision.departure(&[1.0, 2.0, 2.0]).unwrap();
    assert!(departure.holds(&[2.0, 2.0, 2.0]));
    assert!(!departure.holds(&[1.9, 2.0, 2.0]));
}

#[test]
fn numbers_that_are_none_have_no_answer() {
    for (outputs, end, rule) in [
        (2, End::Plain, "argmax"),
        (2, End::Plain, "within:1"),
        (1, End::Sigmoid, "threshold:0.5"),
    ] {
        let decision = decide(outputs, end, rule).unwrap();
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut logits = vec![0.5; outputs];
            let departure = decision.departure(&logits).unwrap();
            logits[outputs - 1] = bad;
            assert_eq!(decision.predict(&logits), Prediction::NotFinite);
            assert!(!departure.holds(&logits));
            assert!(decision.departure(&logits).is_err());
        }
    }
}

#[test]
fn quantities_are_right_up_to_the_tolerance() {
    let decision = decide(1, End::Plain, "within:0.25").unwrap();
    let right = |output: f32, wanted: f64| {
        decision.agrees(&decision.predict(&[output]), &Truth::Values(vec![wanted]))
    };
    assert!(right(0.75, 0.5) && right(0.25, 0.5));
    assert!(!right(0.750_000_06, 0.5) && !right(0.249_999_98, 0.5));
    assert!(!decision.agrees(&Prediction::Class(0), &Truth::Values(vec![0.0])));
}

/// An answer is another one exactly where the departure says so.
#[test]
fn departures_are_where_answers_differ() {
    let mut random = Random::new(5);
    for (outputs, end, rule) in [
        (4, End::Plain, "argmax"),
        (4, End::Sigmoid, "argmax"),
        (1, End::Plain, "threshold:0.3"),
        (1, End::Sigmoid, "threshold:0.3"),
        (1, End::Plain, "within:0.5"),
        (3, End::Plain, "within:0.5"),
        (1, End::Sigmoid, "within:0.2"),
        (2, End::Sigmoid, "within:0.6"),
    ] {
        let decision = decide(outputs, end, rule).unwrap();
        // A Sigmoid makes small what was wide.
        let spread = if matches!(end, End::Sigmoid) {
            4.0
        } else {
            1.0
        };
        let mut differing = 0;
        for _ in 0..3000 {
            let mut draw = || -> Vec<f32> {
                let mut each = || spread * random.between(-4.0, 4.0).round() / 4.0;
                (0..outputs).map(|_| each() as f32).collect()
            };
            let (seed, test) = (draw(), draw());
            let departure = decision.departure(&seed).unwrap();
            let (own, found) = (decision.predict(&seed), decision.predict(&test));
            let same = decision.agrees(&found, &own.as_truth().unwrap());
            assert_eq!(departure.holds(&test), !same, "{rule}: {seed:?} {test:?}");
            assert!(!departure.holds(&seed));
            differing += usize::from(!same);
            if let Some((value, _)) = departure.nearest(&test) {
                assert!((value > 0.0) <= !same && (value < 0.0) <= same, "{rule}");
            }
        }
        assert!(differing > 100 && differing < 2900, "{rule}: {differing}");
    }
}
