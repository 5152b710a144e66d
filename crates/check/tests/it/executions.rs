//! What is said of executions is true of executions: networks that overflow, underflow or round, run.

use deepconcolic_check::{
    Accepted, Certificate, Entry, Expectation, Leaf, ProvenFacts, Region, Tree, check, sha256,
};
use deepconcolic_language::{Requirement, RequirementFile, Signature};
use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Pass, Point, Shape};
use deepconcolic_testing::Random;

/// Dense layers with these weights, row by row, each followed by a Relu.
fn layers(inputs: usize, weights: &[Vec<f64>]) -> Network {
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, inputs]).unwrap());
    let mut width = inputs;
    for weights in weights {
        let outputs = weights.len() / width;
        let layer = Dense::new(width, outputs, weights.clone(), vec![0.0; outputs]).unwrap();
        x = builder.add(layer, &[x], "").unwrap();
        x = builder.add(Elementwise::new(Relu), &[x], "").unwrap();
        width = outputs;
    }
    let last = Dense::new(width, 1, vec![1.0; width], vec![0.0]).unwrap();
    let x = builder.add(last, &[x], "").unwrap();
    builder.finish(&[("y", x)], 0).unwrap()
}

fn requirement(network: &Network, text: &str) -> Requirement {
    let set = RequirementFile::parse(text).unwrap();
    set.resolve(&Signature::of(network))
        .unwrap()
        .get(0)
        .unwrap()
}

/// One leaf for one condition, multiplied by a factor.
fn accepted(network: &Network, region: &Region, text: &str, factor: f32) -> Option<Accepted> {
    let leaf = Leaf {
        factors: vec![(0, factor)],
        ..Leaf::default()
    };
    let certificate = Certificate {
        model: sha256(b"m"),
        regions: vec![region.clone()],
        entries: vec![Entry {
            requirement: requirement(network, text).to_string(),
            proofs: vec![vec![vec![Tree::Leaf(leaf)]]],
        }],
    };
    let expectation = Expectation {
        model: &sha256(b"m"),
        regions: None,
        requirements: None,
    };
    check(network, &certificate, &expectation).ok()
}

fn covers(network: &Network, region: &Region, text: &str, factor: f32) -> bool {
    let accepted = accepted(network, region, text, factor).expect("true in real numbers");
    accepted.bounds()[0].covers_executions()
}

fn run(network: &Network, input: &[f32], layer: usize) -> Vec<f32> {
    let trace = network.forward(input, &Pass::keep([Point::Pre(layer)]));
    trace.sample(Point::Pre(layer), 0).to_vec()
}

fn square(low: f64, high: f64) -> Region {
    Region {
        lower: vec![low; 2],
        upper: vec![high; 2],
        ..Region::default()
    }
}

#[test]
fn a_network_that_overflows_inside_the_box_is_not_said_to_be_safe_from_rounding() {
    let network = layers(2, &[vec![3e38, 3e38]]);
    // In real numbers u is at most 1.2e39.
    let text = "exists x: u[x][2,0] >= 5e39";
    assert!(!covers(&network, &square(0.0, 2.0), text, 1.0));
    assert!(run(&network, &[2.0, 2.0], 0)[0] == f32::INFINITY);
    // Where nothing can overflow, it is.
    assert!(covers(&network, &square(0.0, 0.01), text, 1.0));
}

#[test]
fn partial_sums_overflow_too() {
    // The sum is 0 in real numbers; in the order of the weights it becomes an infinity less another.
    let network = layers(2, &[vec![3e38, -3e38]]);
    let region = square(1.5, 1.5);
    let text = "exists x: u[x][2,0] >= 1";
    let found = accepted(&network, &region, text, 1.0);
    assert!(found.is_none_or(|found| !found.bounds()[0].covers_executions()));
    assert!(!run(&network, &[1.5, 1.5], 0)[0].is_finite());
    // Deeper down the overflow is carried along, also by a weight of 0.
    let network = layers(2, &[vec![3e38, 0.0, 0.0, 1.0], vec![0.0, 1.0]]);
    let text = "exists x: u[x][3,0] >= 9";
    assert!(!covers(&network, &square(0.0, 2.0), text, 1.0));
    assert!(run(&network, &[2.0, 1.0], 1)[0].is_nan());
}

#[test]
fn what_underflows_is_not_said_to_be_there() {
    // 1e-50 in real numbers, 0 in single precision.
    let network = layers(2, &[vec![1e-30, 1e-30]]);
    let region = square(1e-20, 1e-19);
    assert!(!covers(&network, &region, "exists x: u[x][2,0] <= 0", 1.0));
    assert!(run(&network, &[1e-20, 1e-20], 0)[0] == 0.0);
    // A subnormal weight may be taken as 0.
    let network = layers(2, &[vec![1e-40, 0.0]]);
    let region = square(1e3, 1e4);
    assert!(!covers(&network, &region, "exists x: u[x][2,0] <= 0", 1.0));
    // And so may a thousand products.
    let many = Region {
        lower: vec![1e-19; 1000],
        upper: vec![1e-19; 1000],
        ..Region::default()
    };
    let network = layers(1000, &[vec![1.1e-19; 1000]]);
    let text = "exists x: u[x][2,0] <= 1e-36";
    assert!(!covers(&network, &many, text, 1.0));
}

/// A point at which the executed sum is larger than the real one, and both sums.
fn rounded_up(network: &Network, weights: &[f64]) -> (Vec<f32>, f64, f64) {
    let mut random = Random::new(8);
    loop {
        let point: Vec<f32> = random.list(2, 0.0, 1.0).iter().map(|&x| x as f32).collect();
        let executed = f64::from(run(network, &point, 0)[0]);
        // Exact: two products of singles, apart by few bits.
        let real = weights[0] * f64::from(point[0]) + weights[1] * f64::from(point[1]);
        if executed > real + 1e-9 {
            return (point, real, executed);
        }
    }
}

#[test]
fn a_large_factor_does_not_clear_the_margin() {
    let weights = vec![f64::from(0.3f32), f64::from(0.7f32)];
    let network = layers(2, std::slice::from_ref(&weights));
    let (point, real, executed) = rounded_up(&network, &weights);
    assert!(real < executed);
    let ends: Vec<f64> = point.iter().map(|&x| f64::from(x)).collect();
    let region = Region {
        lower: ends.clone(),
        upper: ends,
        ..Region::default()
    };
    // Missed in real numbers, met by this execution.
    let met = format!("exists x: u[x][2,0] >= {executed}");
    for factor in [1.0, 1e3, 1e9, 1e30, 1e-30] {
        assert!(!covers(&network, &region, &met, factor), "{factor}");
        let clear = format!("exists x: u[x][2,0] >= {}", executed + 1e-3);
        assert!(covers(&network, &region, &clear, factor), "{factor}");
    }
}

#[test]
fn what_follows_for_executions_uses_no_fact_within_its_margin() {
    let weights = vec![f64::from(0.3f32), f64::from(0.7f32)];
    let network = layers(2, std::slice::from_ref(&weights));
    let (point, _, executed) = rounded_up(&network, &weights);
    let ends: Vec<f64> = point.iter().map(|&x| f64::from(x)).collect();
    let region = Region {
        lower: ends.clone(),
        upper: ends,
        ..Region::default()
    };
    let mut facts = ProvenFacts::new(&network, sha256(b"m"), vec![region.clone()]);
    let within = format!("exists x: u[x][2,0] >= {executed}");
    let found = accepted(&network, &region, &within, 1.0).unwrap();
    facts.add_accepted(&network, &found).unwrap();
    let asked = requirement(&network, &within);
    assert!(facts.refute(&asked) && !facts.executions().refute(&asked));
    let both = "exists x1, x2: u[x1][2,0] >= 3 and u[x2][2,0] >= 3";
    let both = requirement(&network, both);
    assert!(facts.refute(&both) && !facts.executions().refute(&both));
    let clear = format!("exists x: u[x][2,0] >= {}", executed + 1e-3);
    let found = accepted(&network, &region, &clear, 1.0).unwrap();
    facts.add_accepted(&network, &found).unwrap();
    assert!(facts.executions().refute(&both));
    assert!(!facts.executions().refute(&asked));
}

#[test]
fn conditions_that_confine_units_say_nothing_of_executions() {
    let network = layers(2, &[vec![1.0, 1.0], vec![-1.0]]);
    let text = "exists x: u[x][2,0] <= 0 and u[x][3,0] <= -0.75";
    let region = square(-1.0, 1.0);
    let leaf = Leaf {
        factors: vec![(1, 1.0)],
        ..Leaf::default()
    };
    let certificate = Certificate {
        model: sha256(b"m"),
        regions: vec![region],
        entries: vec![Entry {
            requirement: requirement(&network, text).to_string(),
            proofs: vec![vec![vec![Tree::Leaf(leaf)]]],
        }],
    };
    let expectation = Expectation {
        model: &sha256(b"m"),
        regions: None,
        requirements: None,
    };
    let accepted = check(&network, &certificate, &expectation).unwrap();
    assert!(!accepted.bounds()[0].covers_executions());
}

#[test]
fn facts_take_certificates_of_their_own_model_and_boxes_only() {
    let network = layers(2, &[vec![1.0, 1.0]]);
    let text = "exists x: u[x][2,0] >= 5";
    let found = accepted(&network, &square(0.0, 1.0), text, 1.0).unwrap();
    let asked = requirement(&network, text);
    let refutes = |model: &[u8], region: Region| {
        let mut facts = ProvenFacts::new(&network, sha256(model), vec![region]);
        let added = facts.add_accepted(&network, &found);
        (added.is_ok(), facts.refute(&asked))
    };
    assert_eq!(refutes(b"m", square(0.0, 1.0)), (true, true));
    assert_eq!(refutes(b"m", square(0.25, 0.5)), (true, true));
    assert_eq!(refutes(b"m", square(0.0, 1.5)), (true, false));
    assert_eq!(refutes(b"m", square(-0.5, 1.0)), (true, false));
    assert_eq!(refutes(b"other", square(0.0, 1.0)), (false, false));
    let mut sum = found.clone();
    assert!(sum.extend(found.clone()).is_ok() && sum.bounds().len() == 2);
    let elsewhere = accepted(&network, &square(0.0, 0.5), text, 1.0).unwrap();
    assert!(sum.extend(elsewhere).is_err() && sum.bounds().len() == 2);
}
