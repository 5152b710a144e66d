//! A certificate that was changed, swapped or used elsewhere is rejected. Seals are made anew after
//! each change, so that it is the checker that notices and not the seal alone.

use deepconcolic_check::{Certificate, Expectation, Region, Rejection, Split, Tree, check, sha256};
use deepconcolic_language::{Requirement, RequirementFile, Signature};
use deepconcolic_network::Network;
use deepconcolic_proofs::{ProofLimits, Verdict, prove};
use deepconcolic_testing::{Family, network};

fn requirement(network: &Network, text: &str) -> Requirement {
    let file = RequirementFile::parse(text).unwrap();
    file.resolve(&Signature::of(network))
        .unwrap()
        .get(0)
        .unwrap()
}

fn region(network: &Network, radius: f64) -> Region {
    let elements = network.input_elements();
    Region {
        lower: vec![-radius; elements],
        upper: vec![radius; elements],
        ..Region::default()
    }
}

/// Certificates with split trees, by phases and by inputs, and the networks they are about. The
/// thresholds are about as tight as the search can prove, so that little can be changed.
fn certified() -> Vec<(Network, Certificate)> {
    let mut found = Vec::new();
    for seed in 0..6 {
        for few_inputs in [0, 100] {
            let network = network(Family::Relu, seed);
            let output = Signature::of(&network).depth();
            let limits = ProofLimits {
                few_inputs,
                nodes: 200,
                ..ProofLimits::default()
            };
            let ask = |threshold: f64| {
                let text = format!("exists x: v[x][{output},0] >= {threshold}");
                let asked = requirement(&network, &text);
                let region = region(&network, 0.5);
                prove(&network, &sha256(b"model"), &asked, &region, &limits).unwrap()
            };
            // Between a value that is reached and one that is not.
            let (mut low, mut high) = (-20.0, 20.0);
            let mut best = None;
            for _ in 0..14 {
                let middle = 0.5 * (low + high);
                if let Verdict::Infeasible(accepted) = ask(middle) {
                    high = middle;
                    best = Some(accepted.certificate().clone());
                } else {
                    low = middle;
                }
            }
            let certificate = best.expect("20 is never reached");
            if certificate.entries[0].proofs[0][0].len() > 4 {
                found.push((network, certificate));
            }
        }
    }
    assert!(found.len() > 3, "{}", found.len());
    found
}

fn verdict(network: &Network, certificate: &Certificate) -> Result<(), Rejection> {
    let again = Certificate::from_bytes(&certificate.to_bytes(network), network)?;
    let model = sha256(b"model");
    let expectation = Expectation {
        model: &model,
        regions: Some(&[region(network, 0.5)]),
        requirements: None,
    };
    check(network, &again, &expectation).map(|_| ())
}

#[test]
fn a_certificate_is_read_as_it_was_written() {
    for (network, certificate) in certified() {
        let again = Certificate::from_bytes(&certificate.to_bytes(&network), &network);
        assert_eq!(again, Ok(certificate));
    }
}

#[test]
fn a_certificate_of_the_first_version_is_refused_with_a_sentence() {
    let (network, certificate) = certified().swap_remove(0);
    let mut bytes = certificate.to_bytes(&network);
    bytes.truncate(bytes.len() - 32);
    bytes[..8].copy_from_slice(b"DCCERT1\n");
    let seal = sha256(&bytes);
    bytes.extend(seal);
    let refused = Certificate::from_bytes(&bytes, &network).unwrap_err();
    assert!(refused.to_string().contains("earlier version"), "{refused}");
}

#[test]
fn changed_certificates_are_rejected() {
    for (network, certificate) in certified() {
        assert_eq!(verdict(&network, &certificate), Ok(()));
        let proof = |c: &mut Certificate| -> Vec<Tree> { c.entries[0].proofs[0][0].clone() };
        let with = |tree: Vec<Tree>| {
            let mut changed = certificate.clone();
            changed.entries[0].proofs[0][0] = tree;
            changed
        };
        let tree = proof(&mut certificate.clone());
        // A leaf or a split is missing, or one too many.
        let mut shorter = tree.clone();
        shorter.pop();
        assert!(verdict(&network, &with(shorter)).is_err());
        let mut longer = tree.clone();
        longer.push(Tree::Leaf(deepconcolic_check::Leaf::default()));
        assert!(verdict(&network, &with(longer)).is_err());
        // The root alone does not prove it.
        let leaf = tree.iter().find(|node| matches!(node, Tree::Leaf(_)));
        assert!(verdict(&network, &with(vec![leaf.unwrap().clone()])).is_err());
        for (at, node) in tree.iter().enumerate() {
            let mut changed = tree.clone();
            match &mut changed[at] {
                Tree::Split(Split::Input { at, .. }) => *at = f64::INFINITY,
                Tree::Split(Split::Phase(unit)) => unit.element += 1000,
                Tree::Split(Split::Changes { positions, .. }) => positions.clear(),
                Tree::Leaf(leaf) => match leaf.factors.first_mut() {
                    Some((_, factor)) => *factor = -*factor,
                    // Its phases alone exclude each other; without their multipliers nothing does.
                    None => leaf.multipliers.clear(),
                },
                Tree::Forward(_) => unreachable!("these regions are boxes"),
                Tree::Corner => unreachable!("these certificates are about real numbers"),
            }
            assert!(verdict(&network, &with(changed)).is_err(), "{node:?}");
        }
        // A multiplier below 0.
        let multiplied = tree.iter().position(
            |node| matches!(node, Tree::Leaf(leaf) if leaf.multipliers.iter().any(|m| *m > 0.0)),
        );
        if let Some(at) = multiplied {
            let mut changed = tree.clone();
            if let Tree::Leaf(leaf) = &mut changed[at] {
                for multiplier in &mut leaf.multipliers {
                    *multiplier = -*multiplier - 1.0;
                }
            }
            assert!(verdict(&network, &with(changed)).is_err());
        }
    }
}

/// A tree of phases holds over each half of the region too; over one half alone it proves nothing of
/// the other.
#[test]
fn splits_of_both_kinds_can_be_mixed() {
    let mut accepted = 0;
    for (network, certificate) in certified() {
        let tree = &certificate.entries[0].proofs[0][0];
        let is_phase = |node: &Tree| matches!(node, Tree::Split(Split::Phase(_)));
        if !tree.iter().any(is_phase) {
            continue;
        }
        let halved = |halves: [&[Tree]; 2]| {
            let split = Split::Input {
                element: 0,
                at: 0.0,
            };
            let mut changed = certificate.clone();
            changed.entries[0].proofs[0][0] =
                [&[Tree::Split(split)], halves[0], halves[1]].concat();
            verdict(&network, &changed)
        };
        // Default slopes differ over smaller boxes, so that not every bound is as tight as before.
        accepted += usize::from(halved([tree, tree]).is_ok());
        let leaf = tree.iter().find(|node| matches!(node, Tree::Leaf(_)));
        let mut alone = leaf.unwrap().clone();
        if let Tree::Leaf(leaf) = &mut alone {
            leaf.multipliers.clear();
            leaf.factors.clear();
        }
        assert!(halved([tree, std::slice::from_ref(&alone)]).is_err());
        assert!(halved([std::slice::from_ref(&alone), tree]).is_err());
    }
    assert!(accepted > 0);
}

#[test]
fn a_certificate_holds_for_its_own_question_only() {
    let all = certified();
    for (number, (network, certificate)) in all.iter().enumerate() {
        let mut stronger = certificate.clone();
        let text = certificate.entries[0].requirement.as_str();
        let (left, right) = text.split_once('-').unwrap_or((text, ""));
        stronger.entries[0].requirement = format!("{left} + 1 - {right}");
        if !right.is_empty() {
            assert!(verdict(network, &stronger).is_err(), "{stronger:?}");
        }
        let model = sha256(b"another model");
        let expectation = Expectation {
            model: &model,
            regions: None,
            requirements: None,
        };
        let rejection = check(network, certificate, &expectation).unwrap_err();
        assert!(matches!(rejection, Rejection::Model { .. }));
        // Another radius, said and not said.
        let model = sha256(b"model");
        let wider = [region(network, 1.5)];
        let expectation = Expectation {
            model: &model,
            regions: Some(&wider),
            requirements: None,
        };
        let rejection = check(network, certificate, &expectation).unwrap_err();
        assert_eq!(rejection, Rejection::Region);
        let mut changed = certificate.clone();
        changed.regions = wider.to_vec();
        assert!(check(network, &changed, &expectation).is_err());
        // Another requirement.
        let other = ["exists x: ap[x][2,0]".to_owned()];
        let expectation = Expectation {
            model: &model,
            regions: None,
            requirements: Some(&other),
        };
        let rejection = check(network, certificate, &expectation).unwrap_err();
        assert!(matches!(rejection, Rejection::Requirement { .. }));
        // The proof of another certificate, the same network's or another's.
        let (_, other) = &all[(number + 2) % all.len()];
        let mut swapped = certificate.clone();
        swapped.entries[0].proofs = other.entries[0].proofs.clone();
        assert!(verdict(network, &swapped).is_err());
    }
}

#[test]
fn a_broken_seal_and_every_cut_are_noticed() {
    let (network, certificate) = certified().swap_remove(0);
    let bytes = certificate.to_bytes(&network);
    for at in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(Certificate::from_bytes(&changed, &network).is_err());
        assert!(Certificate::from_bytes(&bytes[..at], &network).is_err());
    }
}

#[test]
fn bytes_that_are_no_certificate_never_panic() {
    let (network, certificate) = certified().swap_remove(0);
    let bytes = certificate.to_bytes(&network);
    let content = bytes.len() - 32;
    let mut random = deepconcolic_testing::Random::new(7);
    for _ in 0..300 {
        let mut changed = bytes[..content].to_vec();
        for _ in 0..=random.below(3) {
            let at = 8 + random.below(content - 8);
            changed[at] = random.bits() as u8;
        }
        let seal = sha256(&changed);
        changed.extend(seal);
        if let Ok(read) = Certificate::from_bytes(&changed, &network) {
            let model = read.model;
            let expectation = Expectation {
                model: &model,
                regions: None,
                requirements: None,
            };
            // Some changes do no harm, such as a tighter box; none may be accepted for the wrong
            // region or panic.
            let _ = check(&network, &read, &expectation);
        }
    }
}
