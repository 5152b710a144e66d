//! What the check must not accept, each with a twin that it does accept.

use std::sync::atomic::{AtomicBool, Ordering};

use deepconcolic_check::{
    Accepted, Certificate, Entry, Expectation, Leaf, Proof, Region, Rejection, Split, Tree, Unit,
    Until, check, check_each, check_until, sha256,
};
use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Pass, Point, Shape};

/// u0 = x0 + x1, u1 = x0 - x1, both cut off at 0; y = 1 u0 + 1 u1, cut off at 0.
fn network() -> Network {
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2]).unwrap());
    let first = Dense::new(2, 2, vec![1.0, 1.0, 1.0, -1.0], vec![0.0; 2]).unwrap();
    let x = builder.add(first, &[x], "first").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "relu").unwrap();
    let second = Dense::new(2, 1, vec![1.0, 1.0], vec![0.0]).unwrap();
    let x = builder.add(second, &[x], "second").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "last").unwrap();
    let last = Dense::new(1, 1, vec![1.0], vec![0.0]).unwrap();
    let x = builder.add(last, &[x], "y").unwrap();
    builder.finish(&[("y", x)], 0).unwrap()
}

fn square(low: f64, high: f64) -> Region {
    Region {
        lower: vec![low; 2],
        upper: vec![high; 2],
        ..Region::default()
    }
}

fn leaf(factor: f32, multipliers: &[f32]) -> Tree {
    Tree::Leaf(Leaf {
        factors: vec![(0, factor)],
        multipliers: multipliers.to_vec(),
        ..Leaf::default()
    })
}

fn certificate(regions: Vec<Region>, text: &str, proof: &Proof) -> Certificate {
    let proofs = regions.iter().map(|_| vec![proof.clone()]).collect();
    Certificate {
        model: sha256(b"m"),
        regions,
        entries: vec![Entry {
            requirement: text.to_owned(),
            proofs,
        }],
    }
}

fn judged(certificate: &Certificate) -> Result<Accepted, Rejection> {
    let expectation = Expectation {
        model: &sha256(b"m"),
        regions: None,
        requirements: None,
    };
    check(&network(), certificate, &expectation)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "trees are made where they are asked about"
)]
fn is_accepted(text: &str, proof: Proof) -> bool {
    judged(&certificate(vec![square(-1.0, 1.0)], text, &proof)).is_ok()
}

/// y is at most 2 over the square; bounds without a split say 3.
const TRUE: &str = "exists x: u[x][3,0] >= 3.5";
const FALSE: &str = "exists x: u[x][3,0] >= 1.5";

fn unit(element: u32) -> Unit {
    Unit {
        node: 1,
        element,
        part: 0,
    }
}

#[test]
fn factors_must_be_positive_numbers() {
    assert!(is_accepted(TRUE, vec![leaf(1.0, &[])]));
    for factor in [-1.0, 0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(!is_accepted(TRUE, vec![leaf(factor, &[])]), "{factor}");
        assert!(!is_accepted(FALSE, vec![leaf(factor, &[])]), "{factor}");
    }
    // Turned round, a condition that is met everywhere would be refuted.
    let met = "exists x: u[x][3,0] >= -3";
    assert!(!is_accepted(met, vec![leaf(-1.0, &[])]));
}

#[test]
fn multipliers_must_not_be_negative() {
    let split = |m: f32| {
        vec![
            Tree::Split(Split::Phase(unit(0))),
            leaf(1.0, &[m]),
            leaf(1.0, &[m]),
        ]
    };
    assert!(is_accepted(TRUE, split(0.0)));
    for wrong in [-0.25, -1.0, -100.0, f32::NAN, f32::INFINITY] {
        assert!(!is_accepted(TRUE, split(wrong)), "{wrong}");
        assert!(!is_accepted(FALSE, split(wrong)), "{wrong}");
    }
}

#[test]
fn what_some_input_meets_is_not_refuted_by_any_tree() {
    for met in [
        FALSE,
        "exists x: u[x][3,0] >= 1.999",
        "exists x: u[x][2,0] >= 2",
    ] {
        assert!(!is_accepted(met, vec![leaf(1.0, &[])]), "{met}");
        for element in 0..2 {
            for (a, b) in [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (1.0, 1.0)] {
                let tree = vec![
                    Tree::Split(Split::Phase(unit(element))),
                    leaf(1.0, &[a]),
                    leaf(1.0, &[b]),
                ];
                assert!(!is_accepted(met, tree), "{met}");
                let at = 0.5;
                let tree = vec![
                    Tree::Split(Split::Input { element, at }),
                    leaf(1.0, &[]),
                    leaf(1.0, &[]),
                ];
                assert!(!is_accepted(met, tree), "{met}");
            }
        }
    }
}

#[test]
fn every_part_of_the_region_needs_a_leaf() {
    assert!(!is_accepted(TRUE, vec![]));
    assert!(!is_accepted(TRUE, vec![Tree::Split(Split::Phase(unit(0)))]));
    let half = vec![Tree::Split(Split::Phase(unit(0))), leaf(1.0, &[])];
    assert!(!is_accepted(TRUE, half));
    let twice = vec![leaf(1.0, &[]), leaf(1.0, &[])];
    assert!(!is_accepted(TRUE, twice));
}

#[test]
fn a_certificate_is_about_the_model_regions_and_requirements_asked_for() {
    let network = network();
    let region = square(-1.0, 1.0);
    let good = certificate(vec![region.clone()], TRUE, &vec![leaf(1.0, &[])]);
    let ask = |model: &[u8], regions: &[Region], requirements: &[String]| {
        let expectation = Expectation {
            model: &sha256(model),
            regions: Some(regions),
            requirements: Some(requirements),
        };
        let whole = check(&network, &good, &expectation).is_ok();
        let each = check_each(&network, good.clone(), &expectation, Until::NEVER).is_ok();
        assert_eq!(whole, each);
        whole
    };
    let text = || vec![TRUE.to_owned()];
    assert!(ask(b"m", std::slice::from_ref(&region), &text()));
    assert!(!ask(b"other", std::slice::from_ref(&region), &text()));
    assert!(!ask(b"m", &[square(-1.0, 2.0)], &text()));
    assert!(!ask(b"m", &[square(-1.0, 0.5)], &text()));
    assert!(!ask(b"m", &[region.clone(), region.clone()], &text()));
    assert!(!ask(
        b"m",
        std::slice::from_ref(&region),
        &[FALSE.to_owned()]
    ));
    assert!(!ask(b"m", std::slice::from_ref(&region), &[]));
    assert!(!ask(b"m", &[region], &[TRUE.to_owned(), TRUE.to_owned()]));
}

#[test]
fn a_file_whose_seal_is_broken_is_not_read() {
    let network = network();
    let good = certificate(vec![square(-1.0, 1.0)], TRUE, &vec![leaf(1.0, &[])]);
    let bytes = good.to_bytes(&network);
    assert_eq!(Certificate::from_bytes(&bytes, &network).unwrap(), good);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(Certificate::from_bytes(&changed, &network).is_err(), "{at}");
    }
}

#[test]
fn entries_that_are_rejected_are_taken_out_and_the_others_stay() {
    let mut mixed = certificate(vec![square(-1.0, 1.0)], TRUE, &vec![leaf(1.0, &[])]);
    let bad = certificate(vec![square(-1.0, 1.0)], FALSE, &vec![leaf(1.0, &[])]);
    mixed.entries.insert(0, bad.entries[0].clone());
    let expectation = Expectation {
        model: &sha256(b"m"),
        regions: None,
        requirements: None,
    };
    assert!(judged(&mixed).is_err());
    let (accepted, numbers) = check_each(&network(), mixed, &expectation, Until::NEVER).unwrap();
    assert!(numbers[0].is_err() && numbers[1] == Ok(0));
    assert_eq!(accepted.certificate().entries.len(), 1);
    assert_eq!(accepted.certificate().entries[0].requirement, TRUE);
    assert_eq!(accepted.bounds().len(), 1);
}

/// `u_i = x0 + x1 - i / 8`, each cut off at 0 and then in another unit: over the square of 1 it is at most 2 - i / 8.
fn many_neurons(neurons: usize) -> Network {
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2]).unwrap());
    let first = Dense::new(2, 2, vec![1.0, 1.0, 1.0, -1.0], vec![0.0; 2]).unwrap();
    let x = builder.add(first, &[x], "first").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "relu").unwrap();
    let offsets = (0..neurons).map(|i| i as f64 / -8.0).collect();
    let weights = [vec![1.0; neurons], vec![0.0; neurons]].concat();
    let second = Dense::new(2, neurons, weights, offsets).unwrap();
    let x = builder.add(second, &[x], "second").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "last").unwrap();
    builder.finish(&[("y", x)], 0).unwrap()
}

#[test]
fn entries_about_the_neurons_of_a_layer_are_judged_each_by_itself() {
    let network = many_neurons(40);
    let expectation = Expectation {
        model: &sha256(b"m"),
        regions: None,
        requirements: None,
    };
    let mut all = certificate(vec![square(-1.0, 1.0)], TRUE, &vec![leaf(1.0, &[])]);
    let entry = |neuron: usize, least: f64| Entry {
        requirement: format!("exists x: u[x][3,{neuron}] >= {least}"),
        proofs: vec![vec![vec![leaf(1.0, &[])]]],
    };
    let most = |neuron: usize| 2.0 - neuron as f64 / 8.0;
    // Every third is wrong.
    let least = |neuron: usize| most(neuron) + if neuron % 3 == 1 { -0.01 } else { 0.01 };
    all.entries = (0..40).map(|n| entry(n, least(n))).collect();
    let (accepted, numbers) =
        check_each(&network, all.clone(), &expectation, Until::NEVER).unwrap();
    for (neuron, number) in numbers.iter().enumerate() {
        assert_eq!(number.is_ok(), neuron % 3 != 1, "{neuron}: {number:?}");
    }
    // What is shown of each is what is shown of it alone.
    for (entry, bound) in accepted.entries() {
        let mut alone = all.clone();
        alone.entries = vec![entry.clone()];
        let alone = check(&network, &alone, &expectation).unwrap().bounds()[0];
        assert!((bound.value - alone.value).abs() < 1e-9 && bound.value < -0.009);
        assert!((bound.margin - alone.margin).abs() < 1e-9 && alone.margin > 0.0);
    }
}

#[test]
fn a_leaf_does_not_show_an_entry_by_the_conditions_of_another() {
    let network = many_neurons(2);
    let expectation = Expectation {
        model: &sha256(b"m"),
        regions: None,
        requirements: None,
    };
    let mut both = certificate(vec![square(-1.0, 1.0)], TRUE, &vec![leaf(1.0, &[])]);
    let entry = |text: &str, atom: u32| {
        let leaf = Leaf {
            factors: vec![(atom, 1.0)],
            ..Leaf::default()
        };
        Entry {
            requirement: text.to_owned(),
            proofs: vec![vec![vec![Tree::Leaf(leaf)]]],
        }
    };
    let (wrong, right) = ("exists x: u[x][3,0] >= 1.5", "exists x: u[x][3,1] >= 1.9");
    both.entries = vec![entry(right, 0), entry(right, 0)];
    assert!(check(&network, &both, &expectation).is_ok());
    for entries in [
        [entry(wrong, 1), entry(right, 0)],
        [entry(wrong, 0), entry(right, 0)],
    ] {
        both.entries = entries.to_vec();
        let judged = check_each(&network, both.clone(), &expectation, Until::NEVER);
        let (_, numbers) = judged.unwrap();
        assert!(numbers[0].is_err() && numbers[1].is_ok(), "{numbers:?}");
    }
}

#[test]
fn what_was_not_judged_in_time_is_not_accepted() {
    let good = certificate(vec![square(-1.0, 1.0)], TRUE, &vec![leaf(1.0, &[])]);
    let expectation = Expectation {
        model: &sha256(b"m"),
        regions: None,
        requirements: None,
    };
    let flag = AtomicBool::new(true);
    let until = Until {
        interrupt: Some(&flag),
        ..Until::NEVER
    };
    let late = check_until(&network(), &good, &expectation, until);
    assert_eq!(late, Err(Rejection::Time));
    assert!(check_each(&network(), good.clone(), &expectation, until).is_err());
    flag.store(false, Ordering::Relaxed);
    assert!(check_until(&network(), &good, &expectation, until).is_ok());
}

#[test]
fn the_bound_of_an_entry_is_that_of_its_worst_region() {
    let text = "exists x: u[x][3,0] >= 1.25";
    let two = certificate(
        vec![square(0.0, 0.25), square(0.0, 0.499)],
        text,
        &vec![leaf(1.0, &[])],
    );
    let bound = judged(&two).unwrap().bounds()[0];
    assert!(bound.value > -0.01 && bound.value < 0.0, "{bound:?}");
    let wrong = certificate(
        vec![square(0.0, 0.25), square(0.0, 1.0)],
        text,
        &vec![leaf(1.0, &[])],
    );
    assert!(judged(&wrong).is_err());
}

#[test]
fn numbers_too_large_to_reason_about_prove_nothing() {
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
    for _ in 0..10 {
        let layer = Dense::new(1, 1, vec![3e38], vec![0.0]).unwrap();
        x = builder.add(layer, &[x], "").unwrap();
        x = builder.add(Elementwise::new(Relu), &[x], "").unwrap();
    }
    let last = Dense::new(1, 1, vec![1.0], vec![0.0]).unwrap();
    let x = builder.add(last, &[x], "").unwrap();
    let network = builder.finish(&[("y", x)], 0).unwrap();
    let region = Region {
        lower: vec![0.5],
        upper: vec![1.0],
        ..Region::default()
    };
    for text in [
        "exists x: v[x][12,0] >= 5",
        "exists x: u[x][11,0] >= 5",
        "exists x: u[x][9,0] <= 5",
    ] {
        let bold = certificate(vec![region.clone()], text, &vec![leaf(1.0, &[])]);
        let expectation = Expectation {
            model: &sha256(b"m"),
            regions: None,
            requirements: None,
        };
        assert!(check(&network, &bold, &expectation).is_err(), "{text}");
    }
}

#[test]
fn a_corner_speaks_of_executions_by_this_tool_alone() {
    let network = network();
    let region = square(0.0, 1.0);
    let u = |input: &[f32]| {
        let trace = network.forward(input, &Pass::keep([Point::Pre(0)]));
        trace.sample(Point::Pre(0), 0)[0]
    };
    assert!(u(&[1.0, 1.0]).to_bits() == 2.0f32.to_bits());
    let ask = |text: &str| {
        judged(&certificate(
            vec![region.clone()],
            text,
            &vec![Tree::Corner],
        ))
    };
    let attained = ask("exists x: u[x][2,0] > 2").unwrap();
    assert!(!attained.bounds()[0].covers_executions());
    let clear = ask("exists x: u[x][2,0] >= 3").unwrap();
    assert!(!clear.bounds()[0].covers_executions());
    assert!(ask("exists x: u[x][2,0] >= 2").is_err());
    assert!(ask("exists x: u[x][2,0] > 1.5").is_err());
    assert!(ask("exists x: u[x][2,1] > 0.5").is_err());
    assert!(ask("exists x: u[x][2,1] < -0.5").is_err());
    assert!(ask("exists x: u[x][2,1] < -1").is_ok());
}
