//! Pairs of neurons that cannot change: no two executions contradict what follows, and the short way
//! agrees with the formulas.

use deepconcolic_check::{ProvenFacts, Region, sha256};
use deepconcolic_criteria::{ALL, Decision, Parameters, Selection, Setting};
use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{
    Evaluator, RecordedTest, Recording, Requirement, RequirementFile, Signature,
};
use deepconcolic_network::{BitSet, Network, Pass, Point};
use deepconcolic_proofs::{ProverLimits, RegionProver};
use deepconcolic_testing::{Family, Random, network};

const RADIUS: f64 = 0.2;

fn sampled(network: &Network, count: usize) -> Recording {
    let mut random = Random::new(5);
    let mut recording = Recording::default();
    let layers = network.layers().len();
    for _ in 0..count {
        let input = random.list(network.input_elements(), -RADIUS, RADIUS);
        let input: Vec<f32> = input.iter().map(|&x| x as f32).collect();
        let points = (0..layers).map(Point::Pre);
        let trace = network.forward(&input, &Pass::keep(points));
        let u = (0..layers).map(|l| trace.sample(Point::Pre(l), 0).to_vec());
        recording.tests.push(RecordedTest {
            u: u.collect(),
            v: Vec::new(),
            input,
        });
    }
    recording
}

/// Signs of all neurons, and ends of ranges that are a factor apart.
fn questions(network: &Network) -> Vec<Requirement> {
    let mut text = String::from(
        "for k in hidden, i in neurons(k): exists x: ap[x][k,i]\n\
         for k in hidden, i in neurons(k): exists x: not ap[x][k,i]\n",
    );
    for end in ["0.1", "0.15", "0.2", "0.3", "0.4", "0.6", "0.8", "1.2"] {
        for (low, high) in [("<=", ">="), (">=", "<=")] {
            let sign = if low == "<=" { "" } else { "-" };
            text += &[
                "for k in hidden, i in neurons(k): exists x: u[x][k,i] ",
                low,
                " ",
                sign,
                end,
                "\n",
            ]
            .concat();
            text += &[
                "for k in hidden, i in neurons(k): exists x: u[x][k,i] ",
                high,
                " ",
                sign,
                end,
                "\n",
            ]
            .concat();
        }
    }
    let file = RequirementFile::parse(&text).unwrap();
    let set = file.resolve(&Signature::of(network)).unwrap();
    set.iter().collect::<Result<_, _>>().unwrap()
}

#[test]
fn refuted_pairs_are_never_seen() {
    let mut refuted = [0; 4];
    for seed in 0..5 {
        let network = network(Family::Relu, seed);
        let elements = network.input_elements();
        let region = Region {
            lower: vec![-RADIUS; elements],
            upper: vec![RADIUS; elements],
            ..Region::default()
        };
        let model = sha256(b"m");
        let mut place =
            RegionProver::new(&network, &model, &(region.clone(), vec![0.0; elements]), []);
        let decided = place.decide(&questions(&network), &ProverLimits::default());
        let mut facts = ProvenFacts::new(&network, model, vec![region]);
        facts.add_accepted(&network, &decided.accepted).unwrap();
        let suite = sampled(&network, 60);
        let space = InputSpace::default();
        let evaluator = Evaluator::new(&suite, &space);
        let selection = Selection::everything(&network);
        let setting = Setting {
            network: &network,
            selection: &selection,
            parameters: &Parameters::default(),
            decision: &Decision::shown(&network),
            seeds: &[],
            space: &space,
            profile: None,
        };
        for (kind, name) in ["ssc", "vsc", "svc", "vvc"].into_iter().enumerate() {
            let criterion = ALL.iter().find(|c| c.name() == name).unwrap();
            let family = criterion.family(&setting).unwrap();
            for (group, content) in family.groups().iter().enumerate() {
                let pairs = family.pairs(group).unwrap();
                let all = BitSet::new(content.slots()).complement();
                let (before, layer) = pairs.layers(group);
                let neurons = |l: usize| network.layers()[l].neurons();
                let sizes = (neurons(before), neurons(layer));
                let found = facts.refuted_pairs(pairs, group, sizes, &all);
                for slot in 0..content.slots() {
                    let requirement = family.requirement(group, slot).unwrap();
                    let follows = facts.refute(&requirement);
                    if found.contains(slot) {
                        refuted[kind] += 1;
                        assert_eq!(evaluator.decisive(&requirement), None, "{requirement}");
                    } else {
                        // The short way misses nothing that the formula gives.
                        assert!(!follows, "{requirement}");
                    }
                    // Of signs it claims nothing that the formula does not give.
                    assert!(name != "ssc" || follows == found.contains(slot));
                }
            }
        }
    }
    println!("{refuted:?}");
    assert!(refuted.iter().all(|&count| count > 20), "{refuted:?}");
}
