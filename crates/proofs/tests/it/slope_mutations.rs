//! Certificates of steepness that were changed, number by number and byte by byte: whatever is still accepted is
//! held against derivatives and pairs of inputs of its own box, in its own norm and widths.

use deepconcolic_check::steepness::{
    SlopeCertificate, SlopeLeaf, SlopeProblem, SlopeSubject, SlopeTree, check_slopes,
};
use deepconcolic_check::{Region, Until, sha256};
use deepconcolic_geometry::Norm;
use deepconcolic_network::ops::{
    Abs, Add, Binary, Clip, Conv, Dense, Elementwise, HardSigmoid, LeakyRelu, Max, MaxPool, Min,
    Relu, View, Window,
};
use deepconcolic_network::{Network, NetworkBuilder, Point, Shape, Tensor};
use deepconcolic_proofs::{SlopeLimits, prove_slope};
use deepconcolic_testing::{Family, Random, network};

use crate::slopes::{inside, steepest, steepness, subject};

const SIZE: [usize; 3] = [4, 3, 2];

/// A curve of any kind, over a tensor.
fn bent(builder: &mut NetworkBuilder, random: &mut Random, x: Tensor, name: &str) -> Tensor {
    let curve = match random.below(6) {
        0 => builder.add(Elementwise::new(Relu), &[x], name),
        1 => builder.add(Elementwise::new(LeakyRelu::new(1.75).unwrap()), &[x], name),
        2 => builder.add(Elementwise::new(LeakyRelu::new(-0.5).unwrap()), &[x], name),
        3 => builder.add(Elementwise::new(Abs), &[x], name),
        4 => builder.add(Elementwise::new(Clip::new(-0.3, 0.5).unwrap()), &[x], name),
        _ => builder.add(
            Elementwise::new(HardSigmoid::new(0.7, 0.4).unwrap()),
            &[x],
            name,
        ),
    };
    curve.unwrap()
}

/// Convolutions, curves of any kind, pools whose windows overlap and are padded, sums and maxima of two branches.
fn varied(seed: u64) -> Network {
    let mut random = Random::new(seed);
    let shape = Shape::new([1, SIZE[0], SIZE[1], SIZE[2]]).unwrap();
    let (mut builder, x) = NetworkBuilder::new("x", shape);
    let around = Window {
        before: [1, 1],
        after: [1, 1],
        ..Window::new([3, 3])
    };
    let mut image = x;
    for depth in 0..=random.below(2) {
        let weights = random.list(9 * SIZE[2] * SIZE[2], -0.6, 0.6);
        let bias = random.list(SIZE[2], -0.2, 0.2);
        let conv = Conv::new(around.clone(), 1, SIZE, SIZE[2], weights, bias).unwrap();
        let u = builder
            .add(conv, &[image], &format!("conv{depth}"))
            .unwrap();
        let v = bent(&mut builder, &mut random, u, &format!("curve{depth}"));
        let pool = MaxPool::new(&around, SIZE).unwrap();
        let pooled = |builder: &mut NetworkBuilder, of: Tensor| {
            builder.add(pool, &[of], &format!("pool{depth}")).unwrap()
        };
        let name = format!("join{depth}");
        image = match random.below(5) {
            0 => pooled(&mut builder, v),
            1 => {
                let p = pooled(&mut builder, v);
                builder.add(Binary::new(Add), &[p, image], &name).unwrap()
            }
            2 => builder.add(Binary::new(Max), &[v, u], &name).unwrap(),
            3 => builder.add(Binary::new(Min), &[v, v], &name).unwrap(),
            _ => builder.add(Binary::new(Add), &[v, image], &name).unwrap(),
        };
    }
    let n = SIZE.iter().product();
    let flat = View::new(Shape::new([1, n]).unwrap());
    let mut last = builder.add(flat, &[image], "").unwrap();
    let hidden = 3 + random.below(4);
    for (depth, (from, to)) in [(n, hidden), (hidden, 3)].into_iter().enumerate() {
        if depth == 1 {
            last = bent(&mut builder, &mut random, last, "last");
        }
        let weights = random.list(from * to, -0.6, 0.6);
        let dense = Dense::new(from, to, weights, random.list(to, -0.2, 0.2)).unwrap();
        last = builder
            .add(dense, &[last], &format!("dense{depth}"))
            .unwrap();
    }
    builder.finish(&[("y", last)], 0).unwrap()
}

/// A number in place of another: next to it, near it, and far from all sense.
fn instead(random: &mut Random, x: f64) -> f64 {
    let relative = [1e-15, 1e-12, 1e-7, 1e-3, 0.1, 0.5];
    let change = relative[random.below(relative.len())];
    let odd = [
        0.0,
        -0.0,
        -1.0,
        1e-300,
        5e-324,
        1e-40,
        1e40,
        1e300,
        f64::MAX,
    ];
    match random.below(8) {
        0 => x * (1.0 + change),
        1 => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -x][random.below(4)],
        2 => odd[random.below(odd.len())],
        3 => x * 4.0,
        _ => x * (1.0 - change),
    }
}

/// Changes one thing of a certificate.
fn change(random: &mut Random, certificate: &mut SlopeCertificate) {
    let elements = certificate.region.lower.len();
    let case = random.below(certificate.proofs.len().max(1));
    let Some(proof) = certificate.proofs.get_mut(case) else {
        return;
    };
    let at = random.below(proof.len().max(1));
    let e = random.below(elements);
    match random.below(16) {
        0 => certificate.bound = instead(random, certificate.bound),
        1 => certificate.region.lower[e] = instead(random, certificate.region.lower[e]),
        2 => certificate.region.upper[e] = instead(random, certificate.region.upper[e]),
        3 => certificate.subject.widths[e] = instead(random, certificate.subject.widths[e]),
        4 => certificate.subject.norm = [Norm::L1, Norm::L2, Norm::LINF][random.below(3)],
        5 => {
            let outputs = &mut certificate.subject.outputs;
            let output = random.below(outputs.len());
            outputs[output] = random.below(4) as u32;
        }
        6 if !proof.is_empty() => {
            proof.remove(at);
        }
        7 if !proof.is_empty() => {
            let other = proof[random.below(proof.len())].clone();
            proof[at] = other;
        }
        _ => match proof.get_mut(at) {
            Some(SlopeTree::Split(unit)) => unit.element = random.below(8) as u32,
            Some(SlopeTree::Leaf(leaf)) => change_leaf(random, leaf),
            None => {}
        },
    }
}

fn change_leaf(random: &mut Random, leaf: &mut SlopeLeaf) {
    let (SlopeLeaf::Magnitudes { eliminated } | SlopeLeaf::Quadratic { eliminated, .. }) = leaf;
    match random.below(6) {
        0 => eliminated.groups = random.below(12) as u32,
        1 | 2 if !eliminated.factors.is_empty() => {
            let at = random.below(eliminated.factors.len());
            let (group, factor) = &mut eliminated.factors[at];
            if random.below(4) == 0 {
                *group = random.below(12) as u32;
            } else {
                *factor = instead(random, f64::from(*factor)) as f32;
            }
        }
        3 if !eliminated.factors.is_empty() => {
            let at = random.below(eliminated.factors.len());
            eliminated.factors.remove(at);
        }
        4 => {
            *leaf = SlopeLeaf::Magnitudes {
                eliminated: eliminated.clone(),
            };
        }
        _ => {
            if let SlopeLeaf::Quadratic { multipliers, .. } = leaf
                && !multipliers.is_empty()
            {
                let at = random.below(multipliers.len());
                let (_, multiplier) = &mut multipliers[at];
                *multiplier = instead(random, f64::from(*multiplier)) as f32;
            }
        }
    }
}

/// The least bound with which a certificate is accepted.
fn least(problem: &SlopeProblem, certificate: &mut SlopeCertificate) -> Option<f64> {
    certificate.bound = 1e12;
    problem.judge(certificate, Until::NEVER).ok()?;
    let mut ends = [0.0, 1e12];
    for _ in 0..90 {
        let middle = if ends[0] > 0.0 {
            0.5 * (ends[0] + ends[1])
        } else {
            ends[1] * 1e-2
        };
        if ends[1] < 1e-9 || ends[1] - ends[0] < 1e-9 * ends[1] {
            break;
        }
        certificate.bound = middle;
        ends[usize::from(problem.judge(certificate, Until::NEVER).is_ok())] = middle;
    }
    certificate.bound = ends[1];
    Some(ends[1])
}

/// The steepest that is found in a box: drawn, then climbed from where it was steepest.
fn climbed(network: &Network, region: &Region, subject: &SlopeSubject, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let mut found: Vec<(f64, Vec<f64>)> = (0..STARTS)
        .map(|_| inside(&mut random, region))
        .map(|at| (steepness(network, subject, &at), at))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(4);
    for (best, at) in &mut found {
        for step in 0..STEPS {
            let far = inside(&mut random, region);
            let reach = 0.5_f64.powi((step % 8) as i32);
            let some = 1 + random.below(3);
            let near = at.iter().zip(&far).map(|(a, b)| {
                let moves = random.below(some) == 0;
                if moves { a + reach * (b - a) } else { *a }
            });
            let near: Vec<f64> = near.collect();
            let steep = steepness(network, subject, &near);
            if steep > *best {
                (*best, *at) = (steep, near);
            }
        }
    }
    let highest = found.iter().map(|(best, _)| *best).fold(0.0, f64::max);
    highest.max(steepest(network, region, subject, seed))
}

/// What came of changes.
#[derive(Debug, Default)]
struct Tally {
    certificates: usize,
    changes: usize,
    accepted: usize,
    tight: usize,
    samples: usize,
}

/// How many points and pairs a call of [`steepest`] draws.
const DRAWN: usize = 1200;
/// How many points [`climbed`] begins with, and how many steps it takes from the best four.
const STARTS: usize = 300;
const STEPS: usize = 300;

fn try_changes(seed: usize, changes: usize, tally: &mut Tally) {
    let network = match seed % 5 {
        0 => network(Family::Relu, seed as u64),
        1 => network(Family::PiecewiseLinear, seed as u64),
        2 => network(Family::Image, seed as u64),
        _ => varied(seed as u64),
    };
    let mut random = Random::new(seed as u64);
    let norm = [Norm::L2, Norm::LINF, Norm::L1][seed / 5 % 3];
    let logits = network.elements(Point::Logits) as u32;
    let outputs: Vec<u32> = if random.below(2) == 0 {
        vec![0]
    } else {
        (0..logits).collect()
    };
    let mut subject = subject(&network, norm, &outputs);
    let elements = network.input_elements();
    let radius = [0.05, 0.3, 1.0][random.below(3)];
    let mut region = Region {
        lower: vec![-radius; elements],
        upper: vec![radius; elements],
        ..Region::default()
    };
    if random.below(3) == 0 {
        // An element that is the same in all inputs.
        subject.widths[0] = 0.0;
        region.upper[0] = region.lower[0];
    }
    let limits = SlopeLimits {
        unknowns: [0, 3, 8, 520][random.below(4)],
        parts: [1, 12, 100][random.below(3)],
        ..SlopeLimits::default()
    };
    let model = sha256(b"model");
    let Ok(good) = prove_slope(&network, &model, &region, &subject, &limits) else {
        return;
    };
    let good = good.certificate;
    let problem = SlopeProblem::new(&network, &region, &subject, Until::NEVER);
    let problem = problem.unwrap().unwrap();
    let known = climbed(&network, &region, &subject, seed as u64);
    tally.certificates += 1;
    tally.samples += DRAWN + STARTS + 4 * STEPS;
    assert!(
        known <= good.bound * (1.0 + 1e-9),
        "{seed}: {known} {}",
        good.bound
    );
    tally.tight += usize::from(good.bound < 1.2 * known);
    for round in 0..changes {
        tally.changes += 1;
        let mut changed = good.clone();
        for _ in 0..=random.below(2) {
            change(&mut random, &mut changed);
        }
        let own = changed.region == region && changed.subject == subject;
        if own {
            if let Some(bound) = least(&problem, &mut changed) {
                tally.accepted += 1;
                assert!(
                    known <= bound * (1.0 + 1e-9),
                    "{seed} {round}: {known} {changed:?}"
                );
            }
        } else if let Ok(accepted) = check_slopes(&network, &changed, &model) {
            tally.accepted += 1;
            tally.samples += DRAWN;
            let drawn = steepest(&network, &changed.region, &changed.subject, seed as u64);
            // Where numbers are too large to run the network, nothing is seen.
            assert!(
                !drawn.is_finite() || drawn <= accepted.bound() * (1.0 + 1e-6),
                "{seed} {round}: {drawn} {changed:?}"
            );
        }
    }
    let bytes = good.to_bytes(&network);
    let content = &bytes[..bytes.len() - 32];
    for _ in 0..changes {
        tally.changes += 1;
        let mut bytes = content.to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] = if random.below(2) == 0 {
                random.below(256) as u8
            } else {
                bytes[at] ^ (1 << random.below(8))
            };
        }
        let seal = sha256(&bytes);
        bytes.extend(seal);
        let read = SlopeCertificate::from_bytes(&bytes, &network);
        let Ok(read) = read else { continue };
        if let Ok(accepted) = check_slopes(&network, &read, &model) {
            tally.accepted += 1;
            tally.samples += DRAWN;
            let drawn = steepest(&network, &read.region, &read.subject, seed as u64);
            assert!(
                !drawn.is_finite() || drawn <= accepted.bound() * (1.0 + 1e-6),
                "{seed}: {drawn} {read:?}"
            );
        }
    }
}

/// Looks further with more `SLOPE_SEEDS` from `SLOPE_FIRST` on, and with more `SLOPE_CHANGES` of each certificate.
#[test]
fn whatever_is_left_of_a_changed_certificate_is_true() {
    let number = |name: &str, or: usize| {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(or)
    };
    let (first, seeds) = (number("SLOPE_FIRST", 0), number("SLOPE_SEEDS", 10));
    let changes = number("SLOPE_CHANGES", 8);
    let mut tally = Tally::default();
    for seed in first..first + seeds {
        try_changes(seed, changes, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.accepted > tally.changes / 10, "{tally:?}");
}
