//! What certificates of steepness of small networks may claim: the slope that is known, and nothing below it.

use std::time::{Duration, Instant};

use deepconcolic_check::steepness::{
    Eliminated, SlopeCertificate, SlopeLeaf, SlopeSubject, SlopeTree, check_slopes,
    check_slopes_until,
};
use deepconcolic_check::{Changes, Region, Rejection, Unit, Until, sha256};
use deepconcolic_geometry::Norm;
use deepconcolic_network::Network;

use crate::layers::Layers;

fn magnitudes(groups: u32) -> SlopeTree {
    let factors = Vec::new();
    SlopeTree::Leaf(SlopeLeaf::Magnitudes {
        eliminated: Eliminated { groups, factors },
    })
}

fn form(multipliers: &[(Unit, f32)]) -> SlopeTree {
    SlopeTree::Leaf(SlopeLeaf::Quadratic {
        eliminated: Eliminated::default(),
        multipliers: multipliers.to_vec(),
    })
}

/// A certificate about all outputs over a box of this half width, with one proof for all cases.
fn claim(network: &Network, norm: Norm, proof: &[SlopeTree]) -> SlopeCertificate {
    let elements = network.input_elements();
    let outputs = network.elements(deepconcolic_network::Point::Logits);
    let cases = if norm == Norm::LINF { outputs } else { 1 };
    SlopeCertificate {
        model: sha256(b"model"),
        region: Region {
            lower: vec![-1.0; elements],
            upper: vec![1.0; elements],
            ..Region::default()
        },
        subject: SlopeSubject {
            outputs: (0..outputs as u32).collect(),
            norm,
            widths: vec![1.0; elements],
        },
        bound: 0.0,
        proofs: vec![proof.to_vec(); cases],
    }
}

fn holds(network: &Network, certificate: &SlopeCertificate) -> bool {
    check_slopes(network, certificate, &sha256(b"model")).is_ok()
}

/// Whether it is accepted with this bound and with nothing below.
fn shows(network: &Network, certificate: &SlopeCertificate, bound: f64) -> bool {
    let with = |bound: f64| SlopeCertificate {
        bound,
        ..certificate.clone()
    };
    assert!(!holds(network, &with(bound * (1.0 - 1e-6))), "{bound}");
    holds(network, &with(bound * (1.0 + 1e-6)))
}

/// One input, two outputs: 3 and 4 times as much.
fn two_outputs() -> Network {
    Layers::of(1).dense(2, &[3.0, 4.0], 0.5).finish()
}

#[test]
fn outputs_together_are_as_steep_as_the_norm_says() {
    let network = two_outputs();
    for (norm, by_magnitudes, by_form) in [
        (Norm::L2, 5.0, 5.0),
        (Norm::LINF, 4.0, 4.0),
        // By the form of both, a change of 1 makes at most so much as if both outputs changed alike.
        (Norm::L1, 7.0, 50_f64.sqrt()),
    ] {
        let claimed = claim(&network, norm, &[magnitudes(0)]);
        assert!(shows(&network, &claimed, by_magnitudes), "{norm}");
        let claimed = claim(&network, norm, &[form(&[])]);
        assert!(shows(&network, &claimed, by_form), "{norm}");
    }
}

#[test]
fn widths_are_what_a_change_counts_in() {
    let network = Layers::of(2).dense(1, &[3.0, 4.0], 0.5).finish();
    for (norm, bound) in [(Norm::L2, 10.0), (Norm::LINF, 14.0), (Norm::L1, 8.0)] {
        for leaf in [magnitudes(0), magnitudes(1), form(&[])] {
            let mut claimed = claim(&network, norm, std::slice::from_ref(&leaf));
            claimed.subject.widths = vec![2.0; 2];
            // The form of a column is that of all, and magnitudes that are eliminated are those of l2.
            let own = if norm == Norm::L1 && leaf != magnitudes(0) && leaf != magnitudes(1) {
                10.0
            } else {
                bound
            };
            assert!(shows(&network, &claimed, own), "{norm} {leaf:?}");
            claimed.subject.widths = vec![2.0, 0.0];
            assert!(shows(&network, &claimed, 6.0), "{norm} {leaf:?}");
        }
    }
}

/// 5 max(x, 0) + 2 x.
fn bent() -> (Network, Unit) {
    let network = Layers::of(1)
        .dense(2, &[1.0, -1.0], 0.0)
        .relu()
        .dense(1, &[7.0, -2.0], 0.0)
        .finish();
    let relu = network.node_named("layer2").expect("it is named so");
    let unit = Unit {
        node: relu as u32,
        element: 0,
        part: 0,
    };
    (network, unit)
}

fn other(unit: Unit) -> Unit {
    Unit { element: 1, ..unit }
}

#[test]
fn a_derivative_that_rounding_takes_away_is_there() {
    // (1e8 + 1)(1e8 - 1) is 1e16 - 1, next to which there is no double but 1e16.
    let network = Layers::of(1)
        .dense(2, &[1e8 + 1.0, -1e8], 0.0)
        .dense(1, &[1e8 - 1.0, 1e8], 0.0)
        .finish();
    for norm in [Norm::L2, Norm::LINF, Norm::L1] {
        for leaf in [magnitudes(0), magnitudes(1), magnitudes(2), form(&[])] {
            let mut claimed = claim(&network, norm, &[leaf]);
            claimed.bound = 0.9;
            assert!(!holds(&network, &claimed), "{norm}");
            claimed.bound = 1e18;
            assert!(holds(&network, &claimed), "{norm}");
        }
    }
}

/// A tree that splits one unit on every way down.
fn bushy(unit: Unit, depth: u32) -> Vec<SlopeTree> {
    if depth == 0 {
        return vec![magnitudes(0)];
    }
    let half = bushy(unit, depth - 1);
    [vec![SlopeTree::Split(unit)], half.clone(), half].concat()
}

#[test]
fn a_tree_of_many_leaves_is_judged_until_time_is_up_and_no_longer() {
    let (network, unit) = bent();
    let mut claimed = claim(&network, Norm::L2, &bushy(unit, 6));
    claimed.bound = 1e9;
    assert!(holds(&network, &claimed));
    let model = sha256(b"model");
    let within = |claimed: &SlopeCertificate, limit: Duration| {
        let until = Until {
            deadline: Some(Instant::now() + limit),
            ..Until::NEVER
        };
        check_slopes_until(&network, claimed, &model, until).map(|accepted| accepted.bound())
    };
    assert_eq!(within(&claimed, Duration::from_mins(10)), Ok(1e9));
    assert_eq!(within(&claimed, Duration::ZERO), Err(Rejection::Time));
    // Half a million leaves take seconds.
    claimed.proofs = vec![bushy(unit, 19)];
    let began = Instant::now();
    let limit = Duration::from_millis(100);
    assert_eq!(within(&claimed, limit), Err(Rejection::Time));
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn every_part_of_a_tree_counts() {
    let (network, unit) = bent();
    let split = SlopeTree::Split;
    let leaf = || magnitudes(0);
    // Each unit by itself is 7 and 2; split by both, they are never open together.
    let whole = [
        split(unit),
        split(other(unit)),
        leaf(),
        leaf(),
        split(other(unit)),
        leaf(),
        leaf(),
    ];
    let mut claimed = claim(&network, Norm::L2, &whole);
    // Where both are above their kinks there is one input only, which nothing in the bounds says.
    claimed.bound = 9.0 * (1.0 + 1e-6);
    assert!(holds(&network, &claimed));
    for only in [[1.0, 2.0], [-2.0, -1.0]] {
        claimed.region.lower = vec![only[0]];
        claimed.region.upper = vec![only[1]];
        let own = if only[0] > 0.0 { 7.0 } else { 2.0 };
        assert!(shows(&network, &claimed, own), "{only:?}");
    }
    claimed.region.lower = vec![-1.0];
    claimed.region.upper = vec![1.0];
    claimed.bound = 20.0;
    let changed = |proof: &[SlopeTree]| SlopeCertificate {
        proofs: vec![proof.to_vec()],
        ..claimed.clone()
    };
    assert!(holds(&network, &changed(&whole)));
    assert!(!holds(&network, &changed(&whole[..6])));
    assert!(!holds(&network, &changed(&whole[..1])));
    assert!(!holds(&network, &changed(&[])));
    let more: Vec<SlopeTree> = whole.iter().cloned().chain([leaf()]).collect();
    assert!(!holds(&network, &changed(&more)));
    let nowhere = Unit { node: 99, ..unit };
    assert!(!holds(
        &network,
        &changed(&[split(nowhere), leaf(), leaf()])
    ));
    // A part of the tree that is steep is not hidden by one that is not.
    for (above, bound) in [(true, 8.0), (false, 8.0)] {
        let proof = [split(unit), leaf(), leaf()];
        let mut claimed = changed(&proof);
        claimed.bound = bound;
        assert!(!holds(&network, &claimed), "{above}");
        claimed.bound = 9.0 * (1.0 + 1e-6);
        assert!(holds(&network, &claimed), "{above}");
    }
}

#[test]
fn multipliers_are_not_negative_and_each_unit_has_one() {
    let (network, unit) = bent();
    let with = |multipliers: &[(Unit, f32)]| {
        let mut claimed = claim(&network, Norm::L2, &[form(multipliers)]);
        claimed.bound = 100.0;
        holds(&network, &claimed)
    };
    assert!(with(&[(unit, 2.5), (other(unit), 2.5)]));
    for wrong in [-2.5, f32::NAN, f32::INFINITY, -f32::MIN_POSITIVE] {
        assert!(!with(&[(unit, 2.5), (other(unit), wrong)]), "{wrong}");
    }
    assert!(!with(&[(unit, 2.5)]));
    assert!(!with(&[(unit, 2.5), (other(unit), 2.5), (unit, 2.5)]));
}

#[test]
fn where_one_input_is_fixed_at_a_kink_the_other_still_moves() {
    let network = Layers::of(2).relu().dense(1, &[1.0, 1.0], 0.0).finish();
    for leaf in [magnitudes(0), form(&[])] {
        let mut claimed = claim(&network, Norm::L2, &[leaf]);
        claimed.region.lower = vec![0.0, 1.0];
        claimed.region.upper = vec![0.0, 2.0];
        claimed.bound = 0.9;
        assert!(!holds(&network, &claimed));
    }
}

#[test]
fn what_a_certificate_is_about_must_be_said_properly() {
    let network = two_outputs();
    let mut good = claim(&network, Norm::LINF, &[magnitudes(0)]);
    good.bound = 10.0;
    assert!(holds(&network, &good));
    let refused = |change: &dyn Fn(&mut SlopeCertificate)| {
        let mut changed = good.clone();
        change(&mut changed);
        assert!(!holds(&network, &changed), "{changed:?}");
    };
    for bound in [f64::NAN, f64::INFINITY, -1.0, -f64::MIN_POSITIVE] {
        refused(&|c| c.bound = bound);
    }
    refused(&|c| c.model = sha256(b"other"));
    refused(&|c| {
        c.proofs.pop();
    });
    refused(&|c| c.proofs.push(c.proofs[0].clone()));
    refused(&|c| c.subject.norm = Norm::L0);
    for width in [-1.0, f64::NAN, f64::INFINITY] {
        refused(&|c| c.subject.widths[0] = width);
        refused(&|c| {
            c.subject.norm = Norm::L2;
            c.proofs.pop();
            c.subject.widths[0] = width;
        });
    }
    refused(&|c| c.subject.widths.push(1.0));
    refused(&|c| c.subject.outputs = vec![1, 0]);
    refused(&|c| c.subject.outputs = vec![0, 0]);
    refused(&|c| c.subject.outputs = vec![0, 2]);
    for end in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.0] {
        refused(&|c| c.region.lower[0] = end);
    }
    refused(&|c| c.region.upper.push(1.0));
    refused(&|c| {
        c.region.changes = Some(Changes {
            centre: vec![0.0],
            positions: vec![0].into(),
            allowed: 1,
        });
    });
}
