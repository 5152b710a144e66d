//! Regions in which few positions may change, against the slow answer: every choice of positions, each on a
//! grid; along one input, from kink to kink.

use deepconcolic_check::{
    Accepted, Certificate, Changes, Expectation, Region, Rejection, Split, Tree, check, sha256,
};
use deepconcolic_language::{Requirement, RequirementFile, Signature};
use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Pass, Point, Shape};
use deepconcolic_proofs::{ProofLimits, ProverLimits, RegionProver, Verdict, prove};
use deepconcolic_testing::Random;

const INPUTS: usize = 6;

/// A network of two layers of Relus with one output, in double precision and as a network. Its numbers are those
/// of single precision.
struct Case {
    layers: Vec<(Vec<f64>, Vec<f64>)>,
    network: Network,
    centre: Vec<f64>,
    /// Inputs that share a position.
    channels: usize,
}

impl Case {
    fn new(seed: u64, channels: usize) -> Self {
        let mut random = Random::new(seed);
        let mut numbers = |count: usize, spread: f64| -> Vec<f64> {
            let list = random.list(count, -spread, spread);
            list.iter().map(|&x| f64::from(x as f32)).collect()
        };
        let widths = [INPUTS, 6, 5, 1];
        let layers: Vec<(Vec<f64>, Vec<f64>)> = widths
            .windows(2)
            .map(|w| (numbers(w[0] * w[1], 1.5), numbers(w[1], 0.7)))
            .collect();
        let centre = numbers(INPUTS, 1.0);
        let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, INPUTS]).unwrap());
        for (number, (weights, bias)) in layers.iter().enumerate() {
            let inputs = weights.len() / bias.len();
            let dense = Dense::new(inputs, bias.len(), weights.clone(), bias.clone()).unwrap();
            x = builder.add(dense, &[x], "").unwrap();
            if number + 1 < layers.len() {
                let name = format!("relu{number}");
                x = builder.add(Elementwise::new(Relu), &[x], &name).unwrap();
            }
        }
        let network = builder.finish(&[("y", x)], 0).unwrap();
        Self {
            layers,
            network,
            centre,
            channels,
        }
    }

    fn region(&self, allowed: u32) -> Region {
        Region {
            lower: vec![-1.0; INPUTS],
            upper: vec![1.0; INPUTS],
            changes: Some(Changes {
                centre: self.centre.clone(),
                positions: (0..INPUTS).map(|e| (e / self.channels) as u32).collect(),
                allowed,
            }),
        }
    }

    /// The output in double precision.
    fn value(&self, input: &[f64]) -> f64 {
        let mut now = input.to_vec();
        for (number, (weights, bias)) in self.layers.iter().enumerate() {
            let outputs = bias.len();
            let sum = |o: usize| -> f64 {
                let terms = now.iter().enumerate();
                terms
                    .map(|(i, v)| weights[i * outputs + o] * v)
                    .sum::<f64>()
                    + bias[o]
            };
            now = (0..outputs).map(sum).collect();
            if number + 1 < self.layers.len() {
                for v in &mut now {
                    *v = v.max(0.0);
                }
            }
        }
        now[0]
    }

    /// The largest output found with some elements anywhere, the others at the centre: on a grid, and from
    /// there along each element in turn.
    fn largest_on(&self, elements: &[usize], steps: usize) -> f64 {
        let (mut best, mut at) = (f64::NEG_INFINITY, self.centre.clone());
        let count = (steps + 1).pow(elements.len() as u32);
        for number in 0..count {
            let (mut input, mut rest) = (self.centre.clone(), number);
            for &element in elements {
                input[element] = -1.0 + 2.0 * (rest % (steps + 1)) as f64 / steps as f64;
                rest /= steps + 1;
            }
            let value = self.value(&input);
            if value > best {
                (best, at) = (value, input);
            }
        }
        for round in 0..4 * elements.len() {
            let element = elements[round % elements.len()];
            for step in 0..=400 {
                let mut input = at.clone();
                input[element] = -1.0 + f64::from(step) / 200.0;
                let value = self.value(&input);
                if value > best {
                    (best, at) = (value, input);
                }
            }
        }
        best
    }

    /// The largest output on a grid, over every choice of positions.
    fn largest(&self, allowed: usize) -> f64 {
        let positions = INPUTS / self.channels;
        let sets = (0..1usize << positions).filter(|set| set.count_ones() as usize == allowed);
        let steps = [1, 2000, 60, 16, 8, 4, 4][allowed * self.channels];
        sets.map(|set| {
            let chosen = (0..INPUTS).filter(|e| set >> (e / self.channels) & 1 == 1);
            self.largest_on(&chosen.collect::<Vec<usize>>(), steps)
        })
        .fold(f64::NEG_INFINITY, f64::max)
    }

    fn requirement(&self, threshold: f64) -> Requirement {
        let text = format!("exists x: v[x][4,0] >= {threshold}");
        let file = RequirementFile::parse(&text).unwrap();
        let set = file.resolve(&Signature::of(&self.network)).unwrap();
        set.get(0).unwrap()
    }

    fn prove(&self, threshold: f64, allowed: u32, nodes: usize) -> Verdict {
        let limits = ProofLimits {
            nodes,
            ..ProofLimits::default()
        };
        let asked = self.requirement(threshold);
        let region = self.region(allowed);
        prove(&self.network, &sha256(b"model"), &asked, &region, &limits).unwrap()
    }
}

/// Elements for themselves, and pixels of two channels, with numbers of changes.
fn cases() -> impl Iterator<Item = (Case, u32)> {
    let elements = (0..6).flat_map(|seed| [1, 2, 3].map(|k| (Case::new(seed, 1), k)));
    let pixels = (6..10).flat_map(|seed| [1, 2].map(|k| (Case::new(seed, 2), k)));
    elements.chain(pixels)
}

#[test]
fn what_is_called_infeasible_no_choice_of_positions_reaches_and_little_is_left_open() {
    for (number, (case, allowed)) in cases().enumerate() {
        let top = case.largest(allowed as usize);
        let below = case.prove(top - 1e-4, allowed, 20_000);
        assert!(
            !matches!(below, Verdict::Infeasible(_)),
            "case {number}: {top}"
        );
        if let Verdict::Witness(input) = &below {
            assert!(case.region(allowed).has(input), "case {number}: {input:?}");
        }
        // A grid misses the top by little; one more change reaches far more.
        let above = case.prove(top + 0.02, allowed, 20_000);
        assert!(
            matches!(above, Verdict::Infeasible(_)),
            "case {number}: {above:?}"
        );
        let more = case.largest(allowed as usize + 1);
        if more > top + 0.05 && allowed * (case.channels as u32) < 3 {
            let verdict = case.prove(top + 0.02, allowed + 1, 20_000);
            assert!(
                matches!(verdict, Verdict::Witness(_)),
                "case {number}: {verdict:?}"
            );
        }
    }
}

#[test]
fn one_change_is_decided_to_the_digit() {
    let mut exact = 0;
    for seed in 20..40 {
        let case = Case::new(seed, 1);
        let lines = (0..INPUTS).map(|e| case.largest_on(&[e], 200_000));
        let top = lines.fold(f64::NEG_INFINITY, f64::max);
        let above = case.prove(top + 1e-4, 1, 20_000);
        assert!(matches!(above, Verdict::Infeasible(_)), "{seed}: {above:?}");
        exact += usize::from(matches!(
            case.prove(top - 1e-4, 1, 20_000),
            Verdict::Witness(_)
        ));
    }
    assert_eq!(exact, 20);
}

/// A certificate about as tight as can be proven, with a split on changes.
fn certified(case: &Case, allowed: u32) -> Option<Accepted> {
    let top = case.largest(allowed as usize);
    match case.prove(top + 0.02, allowed, 20_000) {
        Verdict::Infeasible(accepted) => Some(*accepted),
        _ => None,
    }
}

fn verdict(
    case: &Case,
    certificate: &Certificate,
    region: Option<Region>,
) -> Result<(), Rejection> {
    let bytes = certificate.to_bytes(&case.network);
    let again = Certificate::from_bytes(&bytes, &case.network)?;
    assert_eq!(again, *certificate);
    let (model, regions) = (sha256(b"model"), region.map(|region| [region]));
    let expectation = Expectation {
        model: &model,
        regions: regions.as_ref().map(|regions| &regions[..]),
        requirements: None,
    };
    check(&case.network, &again, &expectation).map(|_| ())
}

#[test]
fn certificates_of_few_changes_are_read_as_written_and_edited_ones_are_rejected() {
    let (mut splits, mut wider) = (0, 0);
    for (case, allowed) in cases() {
        let accepted = certified(&case, allowed).expect("proven");
        let certificate = accepted.certificate();
        let region = case.region(allowed);
        assert_eq!(verdict(&case, certificate, Some(region.clone())), Ok(()));
        let of_changes = |node: &&Tree| matches!(node, Tree::Split(Split::Changes { .. }));
        splits += certificate.entries[0].proofs[0][0]
            .iter()
            .filter(of_changes)
            .count();
        let edited = |edit: &dyn Fn(&mut Region)| {
            let mut certificate = certificate.clone();
            edit(&mut certificate.regions[0]);
            certificate
        };
        let changes = |region: &mut Region, edit: &dyn Fn(&mut Changes)| {
            edit(region.changes.as_mut().unwrap());
        };
        // Whatever is said of another region is not what was asked.
        let of_other = [
            edited(&|r| changes(r, &|c| c.allowed += 1)),
            edited(&|r| changes(r, &|c| c.allowed -= 1)),
            edited(&|r| changes(r, &|c| c.centre[0] += 0.125)),
            edited(&|r| changes(r, &|c| c.positions = vec![0; INPUTS].into())),
            edited(&|r| r.changes = None),
        ];
        for certificate in &of_other {
            let judged = verdict(&case, certificate, Some(region.clone()));
            assert_eq!(judged, Err(Rejection::Region));
        }
        // And what it says of more changes, or of all elements as one position, is not shown.
        let (top, more) = (
            case.largest(allowed as usize),
            case.largest(allowed as usize + 1),
        );
        if allowed * (case.channels as u32) < 3 && more > top + 0.05 {
            for certificate in [&of_other[0], &of_other[3], &of_other[4]] {
                assert!(verdict(&case, certificate, None).is_err());
            }
            wider += 1;
        }
        // Nor that less is not reached.
        let mut lowered = certificate.clone();
        lowered.entries[0].requirement = case.requirement(top - 0.01).to_string();
        assert!(verdict(&case, &lowered, None).is_err());
    }
    assert!(splits > 20 && wider > 8, "{splits} {wider}");
}

#[test]
fn splits_that_leave_positions_out_are_rejected() {
    let mut rejected = 0;
    for (case, allowed) in cases() {
        let accepted = certified(&case, allowed).expect("proven");
        let tree = &accepted.certificate().entries[0].proofs[0][0];
        for (at, node) in tree.iter().enumerate() {
            let Tree::Split(Split::Changes { positions, most }) = node else {
                continue;
            };
            let with = |positions: Vec<u32>, most: u32| {
                let mut certificate = accepted.certificate().clone();
                let split = Split::Changes { positions, most };
                certificate.entries[0].proofs[0][0][at] = Tree::Split(split);
                verdict(&case, &certificate, None).is_err()
            };
            assert!(with(Vec::new(), *most));
            assert!(with(vec![INPUTS as u32], *most));
            // Another split is a proof of its own, or none; what matters is that none proves too much.
            rejected += usize::from(with(positions[..positions.len() - 1].to_vec(), *most));
            rejected += usize::from(with(positions.clone(), most + 1));
        }
    }
    assert!(rejected > 20, "{rejected}");
}

#[test]
fn regions_that_make_no_sense_are_rejected_and_never_end_the_program() {
    let case = Case::new(3, 2);
    let accepted = certified(&case, 1).expect("proven");
    let edits: [&dyn Fn(&mut Changes); 8] = [
        &|c| c.positions = (1..=INPUTS as u32).collect(),
        &|c| c.positions = vec![u32::MAX; INPUTS].into(),
        &|c| c.centre[2] = f64::NAN,
        &|c| c.centre[2] = f64::INFINITY,
        &|c| c.centre[2] = 1.5,
        &|c| c.centre.truncate(3),
        &|c| c.positions = vec![0; 2].into(),
        &|c| c.positions = Vec::new().into(),
    ];
    for (number, edit) in edits.iter().enumerate() {
        let mut certificate = accepted.certificate().clone();
        edit(certificate.regions[0].changes.as_mut().unwrap());
        let bytes = certificate.to_bytes(&case.network);
        let model = sha256(b"model");
        let expectation = Expectation {
            model: &model,
            regions: None,
            requirements: None,
        };
        let read = Certificate::from_bytes(&bytes, &case.network);
        let judged = read.and_then(|read| check(&case.network, &read, &expectation));
        assert!(judged.is_err(), "edit {number}");
        assert!(check(&case.network, &certificate, &expectation).is_err());
    }
    // More changes than there are positions is the whole box: sound, and no proof of this.
    let mut certificate = accepted.certificate().clone();
    certificate.regions[0].changes.as_mut().unwrap().allowed = u32::MAX;
    assert!(verdict(&case, &certificate, None).is_err());
}

#[test]
fn hostile_bytes_are_refused_or_judged() {
    let case = Case::new(1, 1);
    let accepted = certified(&case, 2).expect("proven");
    let mut bytes = accepted.certificate().to_bytes(&case.network);
    assert_eq!(&bytes[..8], b"DCCERT3\n");
    bytes.truncate(bytes.len() - 32);
    let mut random = Random::new(9);
    let model = sha256(b"model");
    let (mut refused, mut read) = (0, 0);
    for _ in 0..3000 {
        let mut changed = bytes.clone();
        for _ in 0..=random.below(3) {
            let at = 40 + random.below(changed.len() - 40);
            changed[at] = [0, 1, 0x7f, 0x80, 0xff, random.below(256) as u8][random.below(6)];
        }
        if random.below(4) == 0 {
            changed.truncate(40 + random.below(changed.len() - 40));
        }
        let seal = sha256(&changed);
        changed.extend(seal);
        let expectation = Expectation {
            model: &model,
            regions: None,
            requirements: None,
        };
        let judged = Certificate::from_bytes(&changed, &case.network)
            .and_then(|certificate| check(&case.network, &certificate, &expectation));
        match judged {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 1500, "{refused} {read}");
}

#[test]
fn bounds_that_are_left_open_hold_of_every_input_that_differs_so_little() {
    let mut random = Random::new(4);
    for (case, allowed) in cases() {
        let region = case.region(allowed);
        let seed: Vec<f32> = case.centre.iter().map(|&c| c as f32).collect();
        let model = sha256(b"model");
        let place = (region.clone(), seed.clone());
        let mut prover = RegionProver::new(&case.network, &model, &place, []);
        // So easy that it is met, or so hard that only its bound is known.
        let asked = [case.requirement(case.largest(allowed as usize) + 1e-3)];
        let decided = prover.decide(&asked, &ProverLimits::cheap());
        let bound = decided.bounds[0].map(|bound| bound + case.largest(allowed as usize) + 1e-3);
        for _ in 0..200 {
            let mut input = seed.clone();
            let positions = INPUTS / case.channels;
            for _ in 0..allowed {
                let position = random.below(positions);
                for x in &mut input[position * case.channels..][..case.channels] {
                    *x = random.between(-1.0, 1.0) as f32;
                }
            }
            assert!(region.has(&input));
            let trace = case.network.forward(&input, &Pass::keep([Point::Logits]));
            let y = f64::from(trace.sample(Point::Logits, 0)[0]);
            if let Some(bound) = bound {
                assert!(y <= bound + 1e-4, "{y} {bound}");
            }
        }
    }
}
