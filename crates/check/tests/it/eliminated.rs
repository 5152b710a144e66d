//! Certificates of steepness whose leaves eliminate groups of variables: accepted as they are, refused once changed,
//! whatever the change.

use deepconcolic_check::steepness::{
    Eliminated, SlopeCertificate, SlopeLeaf, SlopeProblem, SlopeSubject, SlopeTree, check_slopes,
};
use deepconcolic_check::{Region, Rejection, Until, sha256};
use deepconcolic_geometry::Norm;
use deepconcolic_network::Network;
use deepconcolic_testing::{Family, network};

/// A certificate with one leaf for which all groups are eliminated, by factors where several variables read one.
fn certificate(network: &Network) -> SlopeCertificate {
    let elements = network.input_elements();
    let region = Region {
        lower: vec![-0.3; elements],
        upper: vec![0.3; elements],
        ..Region::default()
    };
    let subject = SlopeSubject {
        outputs: vec![0],
        norm: Norm::L2,
        widths: vec![1.0; elements],
    };
    let problem = SlopeProblem::new(network, &region, &subject, Until::NEVER);
    let problem = problem.unwrap().expect("bounded");
    let mut part = problem.part(0, &[], Until::NEVER).unwrap();
    let mut factors = Vec::new();
    for group in 0..problem.groups() {
        if part.reading().is_none() {
            part.advance(Until::NEVER);
            continue;
        }
        let mut factor = 1e-6;
        while !part.advance_within(factor, Until::NEVER) {
            factor *= 1.1;
        }
        factors.push((group as u32, factor));
    }
    let bound = part.by_magnitudes();
    let eliminated = Eliminated {
        groups: problem.groups() as u32,
        factors,
    };
    SlopeCertificate {
        model: sha256(b"model"),
        region,
        subject,
        bound,
        proofs: vec![vec![SlopeTree::Leaf(SlopeLeaf::Magnitudes { eliminated })]],
    }
}

fn verdict(network: &Network, certificate: &SlopeCertificate) -> Result<f64, Rejection> {
    let bytes = certificate.to_bytes(network);
    let read = SlopeCertificate::from_bytes(&bytes, network)?;
    check_slopes(network, &read, &sha256(b"model")).map(|accepted| accepted.bound())
}

/// What the leaf eliminates.
fn eliminated(certificate: &mut SlopeCertificate) -> &mut Eliminated {
    match &mut certificate.proofs[0][0] {
        SlopeTree::Leaf(SlopeLeaf::Magnitudes { eliminated }) => eliminated,
        other => panic!("{other:?}"),
    }
}

#[test]
fn factors_are_accepted_as_they_are_and_refused_once_changed() {
    for family in [Family::Relu, Family::PiecewiseLinear, Family::Image] {
        let network = network(family, 11);
        let good = certificate(&network);
        assert_eq!(verdict(&network, &good), Ok(good.bound));
        let count = eliminated(&mut good.clone()).factors.len();
        assert!(count > 2, "{family:?} {count}");
        let refused = |why: &str, change: &dyn Fn(&mut Eliminated)| {
            let mut changed = good.clone();
            change(eliminated(&mut changed));
            let said = verdict(&network, &changed).expect_err(why).to_string();
            assert!(said.contains(why), "{why}: {said}");
        };
        for k in 0..count {
            for factor in [f32::NAN, f32::INFINITY, -1.0, 0.0, f32::from_bits(1)] {
                refused("does not follow", &|e| e.factors[k].1 = factor);
            }
            refused("does not follow", &|e| e.factors[k].1 *= 0.8);
            // More is sound, and says less.
            refused("does not follow", &|e| e.factors[k].1 *= 1e3);
        }
        refused("more groups", &|e| e.groups += 1);
        refused("more groups", &|e| e.groups = u32::MAX);
        let groups = eliminated(&mut good.clone()).groups;
        for group in [groups, groups + 1, u32::MAX] {
            refused("not eliminated", &|e| e.factors.push((group, 1.0)));
        }
        refused("not in order", &|e| e.factors.swap(0, 1));
        refused("not in order", &|e| e.factors.insert(0, e.factors[0]));
        refused("not eliminated", &|e| e.groups = 0);
    }
}

#[test]
fn counts_that_the_file_does_not_hold_are_refused() {
    let network = network(Family::Image, 11);
    let mut one = certificate(&network);
    *eliminated(&mut one) = Eliminated {
        groups: 1,
        factors: vec![(0, 1e9)],
    };
    one.bound = 1e12;
    assert_eq!(verdict(&network, &one), Ok(one.bound));
    let bytes = one.to_bytes(&network);
    // Behind the kind, how many groups, how many factors, a group and a factor lie before the seal.
    let content = &bytes[..bytes.len() - 32];
    let node = content.len() - 8;
    assert_eq!(content[node..node + 4], [3, 1, 1, 0]);
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    for place in node + 1..node + 4 {
        let mut changed = [&content[..place], &huge, &content[place + 1..]].concat();
        let seal = sha256(&changed);
        changed.extend(seal);
        let read = SlopeCertificate::from_bytes(&changed, &network);
        assert!(read.is_err(), "{place}: {read:?}");
    }
}
