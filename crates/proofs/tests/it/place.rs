//! Requirements of every form over one region: what follows from certificates is contradicted by no
//! execution, and what no execution meets mostly follows.

use deepconcolic_check::{Certificate, Expectation, ProvenFacts, Region, check, sha256};
use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{
    Evaluator, RecordedTest, Recording, Requirement, RequirementFile, Signature,
};
use deepconcolic_network::{Network, Pass, Point};
use deepconcolic_proofs::{ProverLimits, RegionProver};
use deepconcolic_testing::{Family, Random, network};

fn region(network: &Network) -> Region {
    let elements = network.input_elements();
    Region {
        lower: vec![-0.3; elements],
        upper: vec![0.4; elements],
        ..Region::default()
    }
}

fn requirements(network: &Network, text: &str) -> Vec<Requirement> {
    let file = RequirementFile::parse(text).unwrap();
    let set = file.resolve(&Signature::of(network)).unwrap();
    set.iter().collect::<Result<_, _>>().unwrap()
}

/// Random inputs of the region, and corners of it, as the language sees them.
fn sampled(network: &Network, count: usize) -> Recording {
    let region = region(network);
    let mut random = Random::new(11);
    let mut recording = Recording::default();
    let layers = network.layers().len();
    for number in 0..count {
        let ends = region.lower.iter().zip(&region.upper);
        let input: Vec<f32> = ends
            .map(|(l, u)| {
                let share = random.list(1, 0.0, 1.0)[0];
                let share = if number % 2 == 0 {
                    share.round()
                } else {
                    share
                };
                (l + share * (u - l)).clamp(-0.2999, 0.3999) as f32
            })
            .collect();
        let points = (0..layers).flat_map(|l| [Point::Pre(l), Point::Post(l)]);
        let trace = network.forward(&input, &Pass::keep(points.chain([Point::Logits])));
        let all = |point: &dyn Fn(usize) -> Point| {
            let hidden = (0..layers).map(|l| trace.sample(point(l), 0).to_vec());
            let logits = trace.sample(Point::Logits, 0).to_vec();
            hidden.chain([logits]).collect()
        };
        recording.tests.push(RecordedTest {
            u: all(&Point::Pre),
            v: all(&Point::Post),
            input,
        });
    }
    recording
}

/// Every form: sections of a range, the largest of a layer, conjunctions, `forall`, two inputs.
fn forms(network: &Network) -> String {
    let signature = Signature::of(network);
    let output = signature.depth();
    let sections = (-4..4).map(|section| {
        let (low, high) = (f64::from(section), f64::from(section + 1));
        format!(
            "for i in neurons(2): exists x: {low} <= u[x][2,i] < {high}\n\
             exists x: u[x][{output},0] >= {low} and u[x][{output},1] >= {high}\n\
             forall x: u[x][{output},0] <= {low} or u[x][3,0] < {high}\n\
             forall x: u[x][{output},1] <= {high}\n"
        )
    });
    let mut text: String = sections.collect();
    text += "for i in neurons(2): exists x: |{u[x][2,j] > u[x][2,i] for j in neurons(2) if j != i}| < 2\n";
    text += "for i in neurons(3): exists x: |{u[x][3,j] > u[x][3,i] for j in neurons(3) if j != i}| < 1\n";
    text += "for i in neurons(2), j in neurons(3): exists x1, x2: ap[x1][2,i] != ap[x2][2,i] and \
             all{ap[x1][2,k] = ap[x2][2,k] for k in neurons(2) if k != i} and ap[x1][3,j] != ap[x2][3,j]\n";
    text += "for i in neurons(2): exists x1, x2: u[x1][2,i] > 0.3 and u[x2][2,i] < -0.3\n";
    text += "for i in neurons(2): exists x: ap[x][2,i] and u[x][3,0] = 2\n";
    text += "for i in neurons(2), c in 0..4: exists x1, x2: u[x1][2,i] - u[x2][3,0] > c\n";
    text += "for i in neurons(2), c in 0..4: forall x1, x2: 2*u[x1][2,i] + u[x2][2,i] <= c\n";
    text
}

#[test]
fn what_follows_is_never_executed() {
    let (mut refuted, mut unseen, mut met) = (0, 0, 0);
    for seed in 0..8 {
        let family = [Family::Relu, Family::PiecewiseLinear][seed % 2];
        let network = network(family, seed as u64);
        if network.layers().len() < 2 {
            continue;
        }
        let asked = requirements(&network, &forms(&network));
        let (region, model) = (region(&network), sha256(b"m"));
        let point = vec![0.05; network.input_elements()];
        let mut place = RegionProver::new(&network, &model, &(region.clone(), point), []);
        let decided = place.decide(&asked, &ProverLimits::default());
        assert!(place.nodes() > 0);
        let bytes = decided.accepted.certificate().to_bytes(&network);
        let again = Certificate::from_bytes(&bytes, &network).unwrap();
        let expectation = Expectation {
            model: &model,
            regions: Some(&again.regions),
            requirements: None,
        };
        let accepted = check(&network, &again, &expectation).unwrap();
        let mut facts = ProvenFacts::new(&network, model, vec![region]);
        facts.add_accepted(&network, &accepted).unwrap();
        let suite = sampled(&network, 300);
        let space = InputSpace::default();
        let evaluator = Evaluator::new(&suite, &space);
        for requirement in &asked {
            let seen = evaluator.decisive(requirement).is_some();
            if facts.refute(requirement) {
                refuted += 1;
                assert!(!seen, "{requirement}");
            }
            if seen {
                met += 1;
            } else {
                unseen += 1;
            }
        }
    }
    println!("{refuted} refuted of {unseen} not met, {met} met");
    assert!(refuted * 10 > unseen * 4, "{refuted} of {unseen}");
}

#[test]
fn facts_hold_where_their_certificates_do() {
    let network = network(Family::Relu, 1);
    let (whole, model) = (region(&network), sha256(b"m"));
    let asked = requirements(&network, "for i in neurons(2): exists x: u[x][2,i] >= 2");
    let point = vec![0.05; network.input_elements()];
    let mut place = RegionProver::new(&network, &model, &(whole.clone(), point), []);
    let accepted = place.decide(&asked, &ProverLimits::default()).accepted;
    let refuted = |boxes: Vec<Region>| {
        let mut facts = ProvenFacts::new(&network, model, boxes);
        facts.add_accepted(&network, &accepted).unwrap();
        asked.iter().filter(|r| facts.refute(r)).count()
    };
    let part = Region {
        lower: whole.lower.iter().map(|l| l + 0.1).collect(),
        upper: whole.upper.clone(),
        ..Region::default()
    };
    let wider = Region {
        lower: whole.lower.iter().map(|l| l - 0.1).collect(),
        upper: whole.upper.clone(),
        ..Region::default()
    };
    let all = refuted(vec![whole.clone()]);
    assert!(all > 0);
    assert_eq!(refuted(vec![part.clone()]), all);
    assert_eq!(refuted(vec![part.clone(), whole]), all);
    assert_eq!(refuted(vec![part, wider.clone()]), 0);
    assert_eq!(refuted(vec![wider]), 0);
    assert_eq!(refuted(Vec::new()), 0);
    // A harder condition follows, an easier one does not.
    let mut facts = ProvenFacts::new(&network, model, vec![region(&network)]);
    facts.add_accepted(&network, &accepted).unwrap();
    for (n, requirement) in asked.iter().enumerate() {
        let ask = |text: String| facts.refute(&requirements(&network, &text)[0]);
        if facts.refute(requirement) {
            assert!(ask(format!("exists x: u[x][2,{n}] >= 2.5")));
            assert!(ask(format!("exists x: u[x][2,{n}] > 2")));
            assert!(ask(format!(
                "exists x1, x2: u[x2][2,{n}] > 2 and ap[x1][2,0]"
            )));
            assert!(!ask(format!("exists x: u[x][2,{n}] >= 1.9999")));
            assert!(!ask(format!("exists x: v[x][2,{n}] >= 2")));
            assert!(!ask(format!("exists x: u[x][2,{n}] > 2 or ap[x][2,0]")));
            assert!(!ask(format!(
                "exists x1, x2: u[x2][2,{n}] > 2 + u[x1][2,{n}]"
            )));
            let both = |c: &str| format!("exists x1, x2: u[x1][2,{n}] + u[x2][2,{n}] >= {c}");
            assert!(ask(both("4.001")) && !ask(both("3.999")));
        }
    }
}

#[test]
fn threads_make_no_difference() {
    let network = network(Family::Relu, 2);
    let asked = requirements(&network, &forms(&network));
    let model = sha256(b"m");
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let point = vec![0.05; network.input_elements()];
            let mut place = RegionProver::new(&network, &model, &(region(&network), point), []);
            let decided = place.decide(&asked, &ProverLimits::default());
            (decided.accepted, decided.witnesses, place.nodes())
        })
    };
    assert_eq!(with(1), with(3));
}
