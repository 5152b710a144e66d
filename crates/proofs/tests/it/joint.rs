//! Two inputs at once: exact on networks of one input, where all patterns can be listed; never against
//! executions elsewhere; and nothing follows from what was tampered with.

use deepconcolic_check::{Certificate, Expectation, ProvenFacts, Region, check, sha256};
use deepconcolic_criteria::{ALL, Decision, Family as Criterion, Parameters, Selection, Setting};
use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{
    Evaluator, RecordedTest, Recording, Requirement, RequirementFile, Signature,
};
use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Pass, Point, Shape};
use deepconcolic_proofs::{BatchLimits, Jointly, RegionProver};
use deepconcolic_testing::{Family, Random, network};

/// A box round 0.
fn region(network: &Network, radius: f64) -> Region {
    let elements = network.input_elements();
    Region {
        lower: vec![-radius; elements],
        upper: vec![radius; elements],
        ..Region::default()
    }
}

fn decide(network: &Network, radius: f64, asked: &[Requirement]) -> (Jointly, ProvenFacts) {
    let region = region(network, radius);
    let middle = vec![0.0; network.input_elements()];
    let model = sha256(b"m");
    let mut place = RegionProver::new(network, &model, &(region.clone(), middle), []);
    let found = place.decide_jointly(asked, &BatchLimits::default());
    let mut facts = ProvenFacts::new(network, model, vec![region]);
    facts.add_accepted(network, &found.accepted).unwrap();
    (found, facts)
}

/// All requirements of a criterion.
fn requirements(network: &Network, name: &str) -> Vec<Requirement> {
    let selection = Selection::everything(network);
    let space = InputSpace::default();
    let setting = Setting {
        network,
        selection: &selection,
        parameters: &Parameters::default(),
        decision: &Decision::shown(network),
        seeds: &[],
        space: &space,
        profile: None,
    };
    let criterion = ALL.iter().find(|c| c.name() == name).unwrap();
    let family: Box<dyn Criterion> = criterion.family(&setting).unwrap();
    let groups = family.groups().iter().enumerate();
    let slots = groups.flat_map(|(group, content)| (0..content.slots()).map(move |s| (group, s)));
    slots
        .map(|(group, slot)| family.requirement(group, slot).unwrap())
        .collect()
}

/// One input, two layers of Relus, one output.
fn narrow(seed: u64) -> Network {
    let mut random = Random::new(seed);
    let mut numbers = |count: usize, spread: f64| -> Vec<f64> {
        let list = random.list(count, -spread, spread);
        list.iter().map(|&x| f64::from(x as f32)).collect()
    };
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
    for (inputs, outputs) in [(1, 5), (5, 4), (4, 1)] {
        let weights = numbers(inputs * outputs, 1.5);
        let dense = Dense::new(inputs, outputs, weights, numbers(outputs, 0.7)).unwrap();
        x = builder.add(dense, &[x], "").unwrap();
        if outputs > 1 {
            x = builder.add(Elementwise::new(Relu), &[x], "relu").unwrap();
        }
    }
    builder.finish(&[("y", x)], 0).unwrap()
}

/// Signs of both layers at points of a fine grid, each once, if they last for some points: where they do
/// not, nothing is known for certain.
fn patterns(network: &Network) -> (Vec<[Vec<bool>; 2]>, bool) {
    const POINTS: usize = 20_001;
    const FEW: usize = 8;
    let grid = |at: usize| (2.0 * at as f64 / (POINTS - 1) as f64 - 1.0) as f32;
    let inputs: Vec<f32> = (0..POINTS).map(grid).collect();
    let points = [Point::Pre(0), Point::Pre(1)];
    let trace = network.forward(&inputs, &Pass::keep(points));
    let signs = |at: usize| {
        points.map(|point| {
            let u = trace.sample(point, at).iter();
            u.map(|&u| u >= 0.0).collect::<Vec<bool>>()
        })
    };
    let mut all: Vec<([Vec<bool>; 2], usize)> = Vec::new();
    for at in 0..POINTS {
        let now = signs(at);
        match all.last_mut() {
            Some((last, count)) if *last == now => *count += 1,
            _ => all.push((now, 1)),
        }
    }
    let certain = all.iter().all(|(_, count)| *count >= FEW);
    (all.into_iter().map(|(signs, _)| signs).collect(), certain)
}

#[test]
fn sign_pairs_of_one_input_are_settled_exactly() {
    let mut counts = [0, 0];
    for seed in 0..60 {
        let network = narrow(seed);
        let (patterns, certain) = patterns(&network);
        if !certain {
            continue;
        }
        let asked = requirements(&network, "ssc");
        let (found, facts) = decide(&network, 1.0, &asked);
        for (number, requirement) in asked.iter().enumerate() {
            // Pairs are listed decision by decision, and all of five are conditions.
            let (decision, condition) = (number / 5, number % 5);
            let is_met = patterns.iter().any(|a| {
                patterns.iter().any(|b| {
                    let differ = (0..5).filter(|&n| a[0][n] != b[0][n]);
                    differ.eq([condition]) && a[1][decision] != b[1][decision]
                })
            });
            let shown = found.met.iter().any(|(met, _)| *met == number);
            let refuted = facts.refute(requirement);
            assert_eq!((shown, refuted), (is_met, !is_met), "{seed}: {requirement}");
            counts[usize::from(is_met)] += 1;
        }
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

fn sampled(network: &Network, radius: f64, count: usize) -> Recording {
    let mut random = Random::new(5);
    let inputs = (0..count).map(|_| {
        let input = random.list(network.input_elements(), -radius, radius);
        input.iter().map(|&x| x as f32).collect()
    });
    recorded(network, inputs.collect())
}

fn recorded(network: &Network, inputs: Vec<Vec<f32>>) -> Recording {
    let layers = network.layers().len();
    let tests = inputs.into_iter().map(|input| {
        let trace = network.forward(&input, &Pass::keep((0..layers).map(Point::Pre)));
        let u = (0..layers).map(|l| trace.sample(Point::Pre(l), 0).to_vec());
        RecordedTest {
            u: u.collect(),
            v: Vec::new(),
            input,
        }
    });
    Recording {
        tests: tests.collect(),
    }
}

#[test]
fn executions_contradict_nothing() {
    const RADIUS: f64 = 0.3;
    let space = InputSpace::default();
    let mut counts = [[0; 3]; 4];
    for (kind, name) in ["ssc", "vsc", "svc", "vvc"].into_iter().enumerate() {
        for seed in 0..4 {
            let network = network(Family::Relu, seed);
            let asked: Vec<Requirement> = requirements(&network, name);
            let asked: Vec<Requirement> = asked.into_iter().step_by(3).take(60).collect();
            let (found, facts) = decide(&network, RADIUS, &asked);
            let suite = sampled(&network, RADIUS, 80);
            let evaluator = Evaluator::new(&suite, &space);
            for (number, inputs) in &found.met {
                let pair = recorded(&network, inputs.to_vec());
                let evaluator = Evaluator::new(&pair, &space);
                assert!(evaluator.decisive(&asked[*number]).is_some());
                assert!(!facts.refute(&asked[*number]));
                counts[kind][1] += 1;
            }
            for (number, requirement) in asked.iter().enumerate() {
                if facts.refute(requirement) {
                    assert_eq!(evaluator.decisive(requirement), None, "{requirement}");
                    counts[kind][0] += 1;
                } else if !found.met.iter().any(|(met, _)| *met == number) {
                    counts[kind][2] += 1;
                }
            }
        }
    }
    println!("refuted, met, open: {counts:?}");
    for [refuted, met, open] in counts {
        assert!(refuted > 20 && met > 5, "{counts:?}");
        assert!(open * 10 < refuted + met, "{counts:?}");
    }
}

/// A pair that depends on the pattern: either neuron changes, and not without the other.
fn twins() -> (Network, Requirement) {
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2]).unwrap());
    // u0 = x0, u1 = x0 + 0.1 x1 - 0.3, u2 = x1; the decision is v1 - 0.05 + 0.01 v2.
    let first = Dense::new(
        2,
        3,
        vec![1.0, 1.0, 0.0, 0.0, 0.1, 1.0],
        vec![0.0, -0.3, 0.0],
    );
    let x = builder.add(first.unwrap(), &[x], "").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "relu").unwrap();
    let second = Dense::new(3, 1, vec![0.0, 1.0, 0.01], vec![-0.05]).unwrap();
    let x = builder.add(second, &[x], "").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "relu").unwrap();
    let last = Dense::new(1, 1, vec![1.0], vec![0.0]).unwrap();
    let x = builder.add(last, &[x], "").unwrap();
    let network = builder.finish(&[("y", x)], 0).unwrap();
    let text = "exists x1, x2: ap[x1][2,0] != ap[x2][2,0] and ap[x1][2,1] = ap[x2][2,1] \
                and ap[x1][2,2] = ap[x2][2,2] and ap[x1][3,0] != ap[x2][3,0]";
    let set = RequirementFile::parse(text).unwrap();
    let set = set.resolve(&Signature::of(&network)).unwrap();
    let requirement = set.get(0).unwrap();
    (network, requirement)
}

fn follows(network: &Network, certificate: &Certificate, requirement: &Requirement) -> bool {
    let model = sha256(b"m");
    let expectation = Expectation {
        model: &model,
        regions: None,
        requirements: None,
    };
    let accepted = check(network, certificate, &expectation).unwrap();
    let mut facts = ProvenFacts::new(network, model, vec![region(network, 1.0)]);
    facts.add_accepted(network, &accepted).unwrap();
    facts.refute(requirement)
}

#[test]
fn every_part_of_the_proof_is_needed() {
    let (network, requirement) = twins();
    let (found, facts) = decide(&network, 1.0, std::slice::from_ref(&requirement));
    assert!(facts.refute(&requirement));
    let certificate = found.accepted.certificate();
    assert!(certificate.entries.len() > 1, "{certificate:?}");
    for entry in 0..certificate.entries.len() {
        let mut less = certificate.clone();
        less.entries.remove(entry);
        assert!(!follows(&network, &less, &requirement), "{entry}");
        // An entry that says more than it shows is rejected.
        let mut bold = certificate.clone();
        let text = bold.entries[entry].requirement.clone();
        let (_, conditions) = text.split_once(": ").unwrap();
        let (first, _) = conditions.split_once(" and ").unwrap();
        bold.entries[entry].requirement = format!("exists x: {first}");
        let expectation = Expectation {
            model: &sha256(b"m"),
            regions: None,
            requirements: None,
        };
        assert!(check(&network, &bold, &expectation).is_err(), "{entry}");
    }
    let mut elsewhere = certificate.clone();
    elsewhere.regions = vec![region(&network, 0.9)];
    assert!(!follows(&network, &elsewhere, &requirement));
}
