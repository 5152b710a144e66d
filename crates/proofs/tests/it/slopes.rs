//! Bounds of steepness against derivatives and pairs of inputs that were run, and against every activation
//! pattern; certificates that were changed.

use deepconcolic_check::steepness::{
    SlopeCertificate, SlopeLeaf, SlopeSubject, SlopeTree, check_slopes,
};
use deepconcolic_check::{Region, Rejection, sha256};
use deepconcolic_geometry::Norm;
use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Pass, Point, Row, Shape};
use deepconcolic_proofs::{SlopeLimits, SlopeProof, prove_slope};
use deepconcolic_testing::{Family, Random, network};

fn region(network: &Network, radius: f64) -> Region {
    let elements = network.input_elements();
    Region {
        lower: vec![-radius; elements],
        upper: vec![radius; elements],
        ..Region::default()
    }
}

pub fn subject(network: &Network, norm: Norm, outputs: &[u32]) -> SlopeSubject {
    let widths = (0..network.input_elements()).map(|e| [1.0, 2.5, 0.25][e % 3]);
    SlopeSubject {
        outputs: outputs.to_vec(),
        norm,
        widths: widths.collect(),
    }
}

fn proof(network: &Network, region: &Region, subject: &SlopeSubject, parts: usize) -> SlopeProof {
    let limits = SlopeLimits {
        parts,
        ..SlopeLimits::default()
    };
    let found = prove_slope(network, &sha256(b"model"), region, subject, &limits);
    found.expect("a bound")
}

/// The length of a change in a norm.
fn length(norm: Norm, change: &[f64]) -> f64 {
    let sizes = change.iter().map(|x| x.abs());
    match norm {
        n if n == Norm::L1 => sizes.sum(),
        n if n == Norm::L2 => sizes.map(|x| x * x).sum::<f64>().sqrt(),
        _ => sizes.fold(0.0, f64::max),
    }
}

/// Logits that count, in double precision.
fn values(network: &Network, subject: &SlopeSubject, input: &[f64]) -> Vec<f64> {
    let logits = network.logits(input);
    let outputs = subject.outputs.iter();
    outputs.map(|&output| logits[output as usize]).collect()
}

/// The steepest that the network is at an input, at least: derivatives of every output, in units of widths.
pub fn steepness(network: &Network, subject: &SlopeSubject, input: &[f64]) -> f64 {
    let pass = Pass::keep([]).differentiating([Point::Logits]);
    let trace = network.forward(input, &pass);
    let rows: Vec<Row<f64>> = subject
        .outputs
        .iter()
        .map(|&output| Row::of(0, Point::Logits, output as usize))
        .collect();
    let derivatives = network.vjp(trace.tape().unwrap(), &rows);
    let n = input.len();
    let scaled = |row: usize, e: usize| derivatives[row * n + e] * subject.widths[e];
    let outputs = rows.len();
    if subject.norm == Norm::L1 {
        let column = |e: usize| (0..outputs).map(|row| scaled(row, e).abs()).sum::<f64>();
        return (0..n).map(column).fold(0.0, f64::max);
    }
    if subject.norm == Norm::LINF {
        let sum = |row: usize| (0..n).map(|e| scaled(row, e).abs()).sum::<f64>();
        return (0..outputs).map(sum).fold(0.0, f64::max);
    }
    // The largest singular value, from below: power steps.
    let mut share = vec![1.0; outputs];
    let mut value = 0.0;
    for _ in 0..60 {
        let norm = length(Norm::L2, &share).max(1e-300);
        for s in &mut share {
            *s /= norm;
        }
        let back = |e: usize| (0..outputs).map(|row| share[row] * scaled(row, e)).sum();
        let back: Vec<f64> = (0..n).map(back).collect();
        value = length(Norm::L2, &back);
        let forth = |row: usize| (0..n).map(|e| scaled(row, e) * back[e]).sum();
        share = (0..outputs).map(forth).collect();
    }
    value
}

pub fn inside(random: &mut Random, region: &Region) -> Vec<f64> {
    let ends = region.lower.iter().zip(&region.upper);
    ends.map(|(l, u)| l + random.between(0.0, 1.0) * (u - l))
        .collect()
}

/// The steepest that is met among derivatives and pairs of inputs that are drawn.
pub fn steepest(network: &Network, region: &Region, subject: &SlopeSubject, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let mut steepest: f64 = 0.0;
    for _ in 0..400 {
        let a = inside(&mut random, region);
        steepest = steepest.max(steepness(network, subject, &a));
        let far = inside(&mut random, region);
        let near: Vec<f64> = a
            .iter()
            .zip(&far)
            .map(|(a, b)| a + 1e-3 * (b - a))
            .collect();
        for b in [far, near] {
            let change = values(network, subject, &a);
            let change: Vec<f64> = change
                .iter()
                .zip(values(network, subject, &b))
                .map(|(x, y)| x - y)
                .collect();
            let step = a.iter().zip(&b).zip(&subject.widths);
            let step: Vec<f64> = step.map(|((a, b), w)| (a - b) / w).collect();
            let ratio = length(subject.norm, &change) / length(subject.norm, &step);
            steepest = steepest.max(ratio);
        }
    }
    steepest
}

#[test]
fn no_derivative_and_no_pair_is_steeper_than_the_bound() {
    let mut tight = 0;
    for seed in 0..24 {
        let family = [Family::Relu, Family::PiecewiseLinear, Family::Image][seed % 3];
        let network = network(family, seed as u64);
        let norm = [Norm::L2, Norm::LINF, Norm::L1][(seed / 3) % 3];
        let logits = network.elements(Point::Logits) as u32;
        let outputs: Vec<u32> = if seed % 2 == 0 {
            vec![logits - 1]
        } else {
            (0..logits).collect()
        };
        let subject = subject(&network, norm, &outputs);
        let region = region(&network, [0.05, 0.3, 1.0][seed % 3]);
        let parts = [1, 40][seed % 2];
        let found = proof(&network, &region, &subject, parts);
        let bound = found.accepted.bound();
        let steepest = steepest(&network, &region, &subject, seed as u64);
        assert!(
            steepest <= bound * (1.0 + 1e-9),
            "{seed}: {steepest} {bound}"
        );
        tight += usize::from(bound < 2.0 * steepest);
    }
    assert!(tight > 12, "{tight}");
}

#[test]
fn nothing_is_steeper_than_a_bound_for_which_groups_were_eliminated_by_factors() {
    let mut by_factors = 0;
    for seed in 0..24 {
        let family = [Family::Relu, Family::PiecewiseLinear, Family::Image][seed % 3];
        let network = network(family, 100 + seed as u64);
        let norm = [Norm::L2, Norm::LINF, Norm::L1][(seed / 3) % 3];
        let logits = network.elements(Point::Logits) as u32;
        let outputs: Vec<u32> = (0..if seed % 2 == 0 { 1 } else { logits }).collect();
        let subject = subject(&network, norm, &outputs);
        let region = region(&network, [0.05, 0.3, 1.0][seed % 3]);
        let limits = SlopeLimits {
            unknowns: [0, 3][seed % 2],
            parts: 1,
            ..SlopeLimits::default()
        };
        let model = sha256(b"model");
        let found = prove_slope(&network, &model, &region, &subject, &limits).expect("a bound");
        let bytes = found.certificate.to_bytes(&network);
        let read = SlopeCertificate::from_bytes(&bytes, &network);
        assert_eq!(read.as_ref(), Ok(&found.certificate));
        let bound = found.accepted.bound();
        let steepest = steepest(&network, &region, &subject, seed as u64);
        assert!(
            steepest <= bound * (1.0 + 1e-9),
            "{seed}: {steepest} {bound}"
        );
        let mut changed = found.certificate;
        for node in changed.proofs.iter_mut().flatten() {
            let SlopeTree::Leaf(
                SlopeLeaf::Magnitudes { eliminated } | SlopeLeaf::Quadratic { eliminated, .. },
            ) = node
            else {
                continue;
            };
            by_factors += eliminated.factors.len();
            for factor in &mut eliminated.factors {
                factor.1 *= 0.5;
            }
            if !eliminated.factors.is_empty() {
                let reason = verdict(&network, &changed).expect_err("factors are too small");
                assert!(reason.to_string().contains("does not follow"), "{reason}");
                break;
            }
        }
    }
    assert!(by_factors > 12, "{by_factors}");
}

/// x to 4 Relus to 3 Relus to one output, and its layers.
fn small(seed: u64) -> (Network, Vec<Vec<f64>>) {
    let mut random = Random::new(seed);
    let (mut builder, mut x) = NetworkBuilder::new("x", Shape::new([1, 3]).unwrap());
    let sizes = [3, 4, 3, 1];
    let mut layers = Vec::new();
    for k in 0..3 {
        let weights = random.list(sizes[k] * sizes[k + 1], -1.0, 1.0);
        let weights: Vec<f64> = weights.into_iter().map(|w| f64::from(w as f32)).collect();
        let bias = random.list(sizes[k + 1], -0.2, 0.2);
        let dense = Dense::new(sizes[k], sizes[k + 1], weights.clone(), bias).unwrap();
        layers.push(weights);
        x = builder.add(dense, &[x], &format!("d{k}")).unwrap();
        if k < 2 {
            x = builder
                .add(Elementwise::new(Relu), &[x], &format!("r{k}"))
                .unwrap();
        }
    }
    (builder.finish(&[("y", x)], 0).unwrap(), layers)
}

/// The longest gradient over every pattern of the seven Relus, for a region so large that any of them is open.
fn longest_of_patterns(layers: &[Vec<f64>], widths: &[f64]) -> f64 {
    let on = |pattern: u32, unit: usize| f64::from(pattern >> unit & 1);
    let mut longest: f64 = 0.0;
    for pattern in 0..128 {
        // Weights are stored input by input: entry (i, o) of a layer with n outputs is i * n + o.
        let gradient: Vec<f64> = (0..3)
            .map(|i| {
                let mut sum = 0.0;
                for j in 0..4 {
                    for k in 0..3 {
                        sum += layers[0][i * 4 + j]
                            * on(pattern, j)
                            * layers[1][j * 3 + k]
                            * on(pattern, 4 + k)
                            * layers[2][k];
                    }
                }
                sum * widths[i]
            })
            .collect();
        longest = longest.max(length(Norm::L2, &gradient));
    }
    longest
}

#[test]
fn split_to_the_end_the_bound_is_the_steepest_pattern() {
    let mut split = 0;
    for seed in 0..8 {
        let (network, layers) = small(seed);
        let subject = subject(&network, Norm::L2, &[0]);
        let expected = longest_of_patterns(&layers, &subject.widths);
        let found = proof(&network, &region(&network, 100.0), &subject, 10_000);
        let bound = found.accepted.bound();
        assert!(
            bound >= expected * (1.0 - 1e-9),
            "{seed}: {bound} {expected}"
        );
        assert!(
            bound <= expected * (1.0 + 1e-6),
            "{seed}: {bound} {expected}"
        );
        split += usize::from(found.parts > 1);
    }
    assert!(split > 3, "{split}");
}

#[test]
fn the_same_whatever_the_number_of_threads() {
    let network = network(Family::Relu, 5);
    let subject = subject(&network, Norm::L2, &[0]);
    let bytes = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        let found = pool.install(|| proof(&network, &region(&network, 1.0), &subject, 60));
        found.certificate.to_bytes(&network)
    };
    assert_eq!(bytes(1), bytes(3));
}

fn verdict(network: &Network, certificate: &SlopeCertificate) -> Result<f64, Rejection> {
    let bytes = certificate.to_bytes(network);
    let again = SlopeCertificate::from_bytes(&bytes, network)?;
    assert_eq!(again.to_bytes(network), bytes);
    check_slopes(network, &again, &sha256(b"model")).map(|accepted| accepted.bound())
}

#[test]
fn changed_certificates_are_rejected() {
    for seed in [0, 1, 2, 4] {
        let network = network(Family::Relu, seed);
        let region = region(&network, 0.7);
        let subject = subject(&network, Norm::L2, &[0]);
        let good = proof(&network, &region, &subject, 30).certificate;
        assert_eq!(verdict(&network, &good), Ok(good.bound));
        let refused = |change: &dyn Fn(&mut SlopeCertificate)| {
            let mut changed = good.clone();
            change(&mut changed);
            verdict(&network, &changed).is_err()
        };
        assert!(refused(&|c| c.bound *= 1.0 - 1e-6), "{seed}");
        assert!(refused(&|c| c.bound = f64::NAN));
        assert!(refused(&|c| c.bound = f64::INFINITY));
        assert!(refused(&|c| c.bound = -1.0));
        assert!(refused(&|c| c.model = sha256(b"other")));
        assert!(refused(&|c| {
            c.proofs[0].pop();
        }));
        assert!(refused(&|c| {
            let last = c.proofs[0][c.proofs[0].len() - 1].clone();
            c.proofs[0].push(last);
        }));
        assert!(refused(&|c| {
            let tree = c.proofs[0].clone();
            c.proofs.push(tree);
        }));
        assert!(refused(&|c| c
            .subject
            .widths
            .iter_mut()
            .for_each(|w| *w *= 1.01)));
        assert!(refused(&|c| c.subject.outputs.clear()));
        assert!(refused(&|c| c.subject.outputs = vec![1000]));
        assert!(refused(&|c| {
            c.region.lower.pop();
        }));
        assert!(refused(&|c| c.region.lower[0] = f64::NAN));
        assert!(refused(&|c| c.region.lower[0] = f64::NEG_INFINITY));
        let leaves = |c: &mut SlopeCertificate, change: &dyn Fn(&mut f32)| {
            for node in c.proofs.iter_mut().flatten() {
                if let SlopeTree::Leaf(SlopeLeaf::Quadratic { multipliers, .. }) = node {
                    for (_, multiplier) in multipliers {
                        change(multiplier);
                    }
                }
            }
        };
        let has_units = good.proofs[0].iter().any(|node| {
            matches!(node, SlopeTree::Leaf(SlopeLeaf::Quadratic { multipliers, .. })
                if !multipliers.is_empty())
        });
        if has_units {
            assert!(refused(&|c| leaves(c, &|m| *m = -*m)));
            assert!(refused(&|c| leaves(c, &|m| *m = f32::NAN)));
            assert!(refused(&|c| leaves(c, &|m| *m = f32::INFINITY)));
            assert!(refused(&|c| leaves(c, &|m| *m = 0.0)));
        }
        // About something else, it may hold, but then it is not about this.
        let about = |c: &SlopeCertificate, region: &Region, subject: &SlopeSubject| {
            let accepted = check_slopes(&network, c, &sha256(b"model")).unwrap();
            accepted.is_about(region, subject)
        };
        assert!(about(&good, &region, &subject));
        let mut wider = region.clone();
        wider.upper[0] += 1e-9;
        assert!(!about(&good, &wider, &subject));
        let mut other = subject.clone();
        other.widths[0] *= 2.0;
        assert!(!about(&good, &region, &other));
        other.clone_from(&subject);
        other.norm = Norm::LINF;
        assert!(!about(&good, &region, &other));
    }
}

#[test]
fn no_bytes_make_the_reader_or_the_check_panic() {
    for unknowns in [300, 0] {
        changed_bytes(unknowns);
    }
}

/// Changes bytes of a certificate for whose forms at most so many units were left.
fn changed_bytes(unknowns: usize) {
    let network = network(Family::Image, 2);
    let subject = subject(&network, Norm::LINF, &[0, 1]);
    let limits = SlopeLimits {
        parts: 4,
        unknowns,
        ..SlopeLimits::default()
    };
    let model = sha256(b"model");
    let good = prove_slope(&network, &model, &region(&network, 0.1), &subject, &limits);
    let good = good.expect("a bound");
    let bytes = good.certificate.to_bytes(&network);
    let mut random = Random::new(9);
    let content = &bytes[..bytes.len() - 32];
    for round in 0..400 {
        let mut changed = content.to_vec();
        let at = random.below(changed.len());
        match round % 3 {
            0 => changed[at] = random.below(256) as u8,
            1 => changed.truncate(at),
            _ => {
                let other = random.below(changed.len());
                let from = at.min(other)..at.max(other);
                changed.drain(from);
            }
        }
        let seal = sha256(&changed);
        changed.extend(seal);
        let read = SlopeCertificate::from_bytes(&changed, &network);
        let judged = read.and_then(|c| check_slopes(&network, &c, &sha256(b"model")));
        if let Ok(accepted) = judged {
            // A change that is accepted made the bound larger or says less.
            let same = accepted.is_about(&good.certificate.region, &subject);
            assert!(!same || accepted.bound() >= good.certificate.bound * (1.0 - 1e-6));
        }
    }
}

#[test]
fn what_has_no_bounds_is_said_to_have_none() {
    let network = network(Family::Smooth, 1);
    let region = region(&network, 0.1);
    let smooth = subject(&network, Norm::L2, &[0]);
    let limits = SlopeLimits::default();
    let ask = |subject: &SlopeSubject| {
        let found = prove_slope(&network, &sha256(b"model"), &region, subject, &limits);
        found.unwrap_err().to_string()
    };
    assert!(ask(&smooth).contains("has no bounds"), "{}", ask(&smooth));
    let counted = subject(&network, Norm::L0, &[0]);
    assert!(ask(&counted).contains("not in l0"), "{}", ask(&counted));
}
